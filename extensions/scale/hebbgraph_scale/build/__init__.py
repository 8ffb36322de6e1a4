"""Building an index with many workers: the same index as ``add`` makes, sooner.

=============  ==========================================================================
``recipe``     what a build is made of (partitions) and made with
``propose``    a partition to rows of the truth, candidates, tokens and terms
``merge``      candidates of all partitions, by bucket of their hashes, to the vocabulary
``match``      a partition and the vocabulary to postings
``lexical``    terms of some partitions to a segment of the lexical index
``assemble``   postings of all partitions to one graph
``vectors``    the texts of a partition to vectors
``shelf``      results on disk, each whole or not there
``engines``    where tasks run: here, in processes, on Ray (``ray_engine``)
``driver``     hands out tasks and commits
``sources``    files of chunks to partitions; ``documents``: other files
``building``   :func:`build`: what ``hebbgraph build`` does; ``adding``: ``add(workers=)``
=============  ==========================================================================

The first six know no engine and no database: they are functions of files.
"""
