"""The formulas of the index: pure functions on arrays that know no texts, settings or files.

======================== ================================================================
``adjacency``            what formulas read of the graph, and sets of weighted edges
``weighted_graph``       an undirected graph whose weights may change
``evidence``             direct evidence: lexical and dense scores, fused
``dense_share``          how far dense search counts against lexical search
``length``               length normalisation: how far BM25 holds long passages back
``confidence``           how likely the corpus covers the question
``languages``            vectors with the mean of their language removed
``activation``           spreading activation over the incidence graph (the default)
``spreading_step``       one step of spreading: chunks to tags, tags to chunks
``spreading_parameters`` the constants of spreading
``links``                following explicit links from the best chunks
``paths``                the flows of each step, and the strongest path to a chunk
``diversity``            maximal marginal relevance (MMR)
``succession``           which chunk replaces which, without circles
``association``          memory: cues of questions, summed by the chunks that they cited
``trust``                how far memory is trusted, by exams
``agreement``            how far a citation agrees with search
``claims``               which side of a dispute counts how far
``credibility``          how far actors are believed
``parameters``           range checks for the dataclasses of parameters
``bootstrap``            confidence interval of the difference between two systems
``colony_parameters``    the constants of colonies
``communities``          colonies: Louvain, kept up to date by local moves
======================== ================================================================
"""
