"""Every formula of the index, as pure functions on arrays of small integers and floats.

Nothing here knows texts, settings or files.

==================== ================================================================
``adjacency``        what formulas read of the graph, and sets of weighted edges
``weighted_graph``   an undirected graph whose weights may change
``evidence``         direct evidence: lexical and dense scores, fused
``confidence``       how sure a recall can be that the corpus speaks of the question
``languages``        vectors without what they say about the language of a text
``activation``       spreading activation over the incidence graph (the default)
``links``            following explicit links from the best chunks
``paths``            what flowed in each step, and the strongest path to a chunk
``diversity``        maximal marginal relevance (MMR)
``succession``       what takes the place of what, without circles
``plasticity``       learning rules: how a citation changes a weight
``credibility``      how far the citations of an actor are believed
``homeostasis``      caps and normalisation that apply when learned weights are read
``learned_edges``    learned edges as spreading follows them
``calibration``      parameters of a corpus, fitted to citations
``parameters``       checks that the dataclasses of parameters share
``bootstrap``        how sure a difference between two systems is
``communities``      colonies: Louvain, kept up to date by local moves
==================== ================================================================
"""
