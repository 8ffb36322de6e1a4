"""Three published retrievers as strategies of hebbgraph: ``pip install "hebbgraph[papers]"``.

============ ============================================================================
``bambookg`` BambooKG: the strongest neighbors by co-occurrence, then their chunks
``bio_rag``  Bio-RAG: breadth-first search over weighted edges; its own graph and learning
``nakg``     NAKG: edges and vectors of a small neural network (needs torch)
============ ============================================================================

The names are also those of the strategies: ``index.recall(question, strategy="bambookg")``.
"""
