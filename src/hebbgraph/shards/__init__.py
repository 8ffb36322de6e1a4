"""One index over several directories, its *shards*, on this machine or kept by servers elsewhere.

===============  =============================================================
``plan``         ``shards.toml``: which shards there are, and whose a document is
``shard``        one shard: opened, watched, and down if it fails
``directory``    a shard in a directory of this machine
``together``     several shards asked at the same time
``served``       a shard that another process keeps
``kept``         that process's end of it
``calls``        what such a shard is asked
``message``      how that travels
``truth``        the chunks of all shards as one truth
``graph``        their postings as one graph, over one table of phrases
``lexical``      their lexical indexes as one, so that BM25 counts all chunks
``vectors``      their vectors as one table
``part``         what is derived from one shard
``derived``      the coordinator: one vocabulary, brought up to date in all shards
``moving``       documents moved from shard to shard
===============  =============================================================

Everything above, recalls and learning included, reads these as it reads the parts of one
directory. So there is one way to rank, and the ranking is that of one index.
"""
