"""Every formula of the index, as pure functions on arrays of small integers and floats.

Nothing here knows texts, settings or files.

======================== ================================================================
``adjacency``            what formulas read of the graph, and sets of weighted edges
``weighted_graph``       an undirected graph whose weights may change
``evidence``             direct evidence: lexical and dense scores, fused
``length``               how far long passages are held back
``confidence``           how sure a recall can be that the corpus speaks of the question
``languages``            vectors without what they say about the language of a text
``activation``           spreading activation over the incidence graph (the default)
``spreading_step``       one step of it: chunks to tags, tags to chunks
``spreading_parameters`` its constants
``links``                following explicit links from the best chunks
``paths``                what flowed in each step, and the strongest path to a chunk
``diversity``            maximal marginal relevance (MMR)
``succession``           what takes the place of what, without circles
``association``          memory: cues of questions, summed by the chunks that they cited
``trust``                how far memory is trusted, by exams
``credibility``          how far the citations of an actor are believed
``parameters``           checks that the dataclasses of parameters share
``bootstrap``            how sure a difference between two systems is
``colony_parameters``    the constants of colonies
``communities``          colonies: Louvain, kept up to date by local moves
======================== ================================================================
"""
