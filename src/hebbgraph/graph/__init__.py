"""The graph of chunks and tags, in arrays.

Data flows through the room in this order:

==================== ================================================================
``packed_strings``   many short strings in one array of bytes
``trie``             prefixes of phrases by hash
``phrases``          the vocabulary, and pass 2: matching it against texts
``proposed``         what chunks propose, counted, and turned into tags
``references``       addresses, references and edges by metadata, as keys of tags
``incidence``        postings: the tags of each chunk, the chunks of each tag
``tag_graph``        all of these for one namespace, advanced step by step
``corrections``      the graph read through what users say about tags
``aliases``          edges between variants of one tag
``foreign``          names of one thing in several languages
``chunk_edges``      edges between chunks, from which colonies are found
==================== ================================================================
"""
