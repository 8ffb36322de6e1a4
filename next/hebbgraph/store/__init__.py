"""One database a namespace: what its tables hold, and how they are read and changed.

=============== =====================================================================
``schema``      the tables
``database``    what both databases offer, and one dialect of SQL for both
``sqlite``      a namespace as a file; ``forks`` keeps it safe when a process forks
``postgres``    a namespace as a schema; connections and values in ``postgres_server``
``meta``        settings, versions, counts
``chunks``      chunks and the facts of their metadata
``terms``       terms by key, and their counts
``postings``    which chunks hold a term
``vectors``     embeddings, and a file that maps them
``places``      which database a path or URL and a namespace mean
=============== =====================================================================
"""
