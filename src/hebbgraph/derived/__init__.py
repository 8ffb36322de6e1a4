"""What follows from the truth: kept fresh in small steps, rebuilt when it lags or is damaged.

======================  ==============================================================
:mod:`.parts`           graph, lexical index and vectors: freshness, rebuilding, saving
:mod:`.folder`          the folder that all processes of a machine share, and its lock
:mod:`.corrected`       the graph as corrections to tags have it
:mod:`.steps`           one step of the graph and the lexical index
:mod:`.vector_steps`    one step of the vectors
:mod:`.snapshot`        the graph on disk
:mod:`.lexical`         BM25 by Tantivy
:mod:`.tantivy_errors`  what Tantivy raises, told apart
:mod:`.metadata`        metadata fields, which filters are evaluated on
:mod:`.timeline`        when chunks hold, and what follows which
:mod:`.languages`       the language of each chunk, and the vectors without it
:mod:`.translations`    names of one thing in several languages
:mod:`.colonies`        communities of chunks
======================  ==============================================================

There is one rule. What is replaced whole is one file of arrays (:mod:`hebbgraph.array_file`), what
grows in place has a manifest (:mod:`hebbgraph.manifest`); both say of which commit they are, and
have checksums. What does not fit the truth or cannot be read is built anew, once, with a line in
the log.
"""
