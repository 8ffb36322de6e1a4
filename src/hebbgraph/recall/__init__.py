"""A question to hits; :mod:`hebbgraph.recall.pipeline` shows the way.

=================== =================================================================
``snapshot``        what one recall reads of one state of the database
``words``           word search
``question``        a question, read: words, cues
``evidence``        word and vector search, fused; sentences that link
``naming``          titles that a question names
``strategies``      what ranks chunks: spreading, or others; steps after it
``hits``            rows and scores to hits with paths
``pipeline``        all of these, in order
=================== =================================================================
"""
