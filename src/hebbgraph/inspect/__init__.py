"""What is seen of an index and done to it once in a while; no recall needs any of it.

==================  ====================================================================
``tags``            ``index.tags``: found, corrected, with their neighbours
``log``             ``index.log``: the feedback log in files, forgetting undone
``view``            ``index.inspect``: traces, reports, statistics, communities
``maintenance``     ``index.maintenance``: doctor, backup, pruning, new vectors and tags
``documents``       what the index was made of, the latest first
``explain``         why a recall ranked a chunk as it did
``replay``          a recall spread again, with what was learned and without
``trace``           how activation spread, edge by edge
``lesson_report``   whether learning helped: the log replayed on its later questions
``neighborhood``    the tags around one, however large the graph is
``cooccurrence``    tag – tag edges, the projection of the incidence graph
``statistics``      the graph in numbers
``export``          the graph for networkx
``corrections``     merged, renamed, muted and split tags, to commits
``doctor``          everything that must hold, against a rebuild in memory
``truth_problems``  what is wrong with the database and the texts
==================  ====================================================================
"""
