"""Builds an index with many workers; the result equals that of ``add``.

=============  ==========================================================================
``recipe``     partitions of chunks, and how workers read them
``propose``    a partition to database rows, candidates, tokens and terms
``merge``      candidates of all partitions, by bucket of their hashes, to the vocabulary
``match``      a partition and the vocabulary to postings
``lexical``    terms of some partitions to a segment of the lexical index
``assemble``   postings of all partitions to one graph
``vectors``    the texts of a partition to vectors
``shelf``      results on disk, each whole or absent
``engines``    run tasks: here, in processes, on Ray (``ray_engine``)
``driver``     hands out tasks, commits and assembles
``sources``    files of chunks to partitions; ``documents``: other files
``building``   :func:`build`: what ``hebbgraph build`` does; ``adding``: ``add(workers=)``
=============  ==========================================================================

From ``propose`` to ``vectors``, all are functions of files that know no engine and no database.
"""
