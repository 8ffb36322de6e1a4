"""What follows from the truth: kept fresh in small steps, rebuilt if it is damaged.

======================  ==============================================================
:mod:`.parts`           graph, lexical index and vectors: kept fresh, repaired, saved
:mod:`.folder`          the folder that all processes of a machine share, its lock and its files
:mod:`.corrected`       the graph read through corrections to tags
:mod:`.steps`           one step of all parts to a later commit
:mod:`.vector_steps`    one step of the vectors
:mod:`.snapshot`        the graph on disk
:mod:`.lexical`         BM25 by Tantivy
:mod:`.tantivy_errors`  errors of Tantivy
:mod:`.metadata`        metadata fields, for filters
:mod:`.timeline`        when chunks hold, and which chunk follows which
:mod:`.languages`       the language of each chunk, and vectors without it
:mod:`.translations`    names of one thing in several languages
:mod:`.colonies`        communities of chunks
======================  ==============================================================

There is one rule. A part that is replaced whole is one file of arrays
(:mod:`hebbgraph.array_file`), one that grows in place has a manifest (:mod:`hebbgraph.manifest`);
both name their commit and have checksums. A part that does not fit the truth or cannot be read is
rebuilt, once, with a line in the log.
"""
