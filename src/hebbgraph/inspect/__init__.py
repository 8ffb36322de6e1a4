"""Looking into an index and maintaining it; no recall needs any of it.

==================  ====================================================================
``room``            the base class of the next four
``tags``            ``index.tags``: find and correct tags, show their neighbours
``log``             ``index.log``: export and import feedback, undo ``forget``
``view``            ``index.inspect``: traces, reports, statistics, communities
``maintenance``     ``index.maintenance``: doctor, backup, pruning, new vectors and tags
``documents``       the documents of an index, the latest first
``explain``         why a recall ranked a chunk as it did
``replay``          a recall spread again, with and without what was learned
``trace``           how activation spread, edge by edge
``lesson_report``   whether learning helped: the log replayed on its later questions
``neighborhood``    tags by name, and the neighbours of a tag
``cooccurrence``    tag – tag edges, the projection of the incidence graph
``statistics``      the graph in numbers
``export``          the graph for networkx
``corrections``     check and commit corrections of tags
``doctor``          compare everything with a rebuild in memory
``truth_problems``  problems of the database and the texts
==================  ====================================================================
"""
