"""The graph of chunks and tags, in arrays.

Data flows through the room in this order:

==================== ================================================================
``packed_strings``   many short strings in one array of bytes
``trie``             prefixes of phrases by hash
``matching``         pass 2: the phrases of a trie in texts and questions
``phrases``          the vocabulary: numbers and counts of phrases
``proposed``         the proposals of chunks, counted, and turned into tags
``references``       addresses, references and edges by metadata, as keys of tags
``incidence``        postings: the tags of each chunk, the chunks of each tag
``tag_graph``        all of these for one namespace, advanced step by step
``corrections``      the graph with users' corrections to tags applied
``aliases``          edges between variants of one tag
``foreign``          names of one thing in several languages
``chunk_edges``      edges between chunks, from which colonies are found
==================== ================================================================
"""
