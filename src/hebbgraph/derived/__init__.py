"""What follows from the truth: kept fresh in small steps, rebuilt when it lags or is damaged.

======================  ==============================================================
:mod:`.parts`           what is held: locks, freshness, saving, compaction
:mod:`.folder`          the folder that all processes of a machine share, and its lock
:mod:`.steps`           one step of the graph and the lexical index
:mod:`.vector_steps`    one step of the vectors
:mod:`.snapshot`        the graph on disk
:mod:`.lexical`         BM25 by Tantivy
:mod:`.lexical_stamp`   which commit of the truth it follows from
:mod:`.lexical_faults`  what Tantivy raises, told apart
:mod:`.segments`        whether Tantivy's files are intact and belong together
:mod:`.metadata`        metadata fields, which filters are evaluated on
:mod:`.timeline`        when chunks hold, and what follows which
:mod:`.languages`       the language of each chunk, and the vectors without it
:mod:`.translations`    names of one thing in several languages
:mod:`.colonies`        communities of chunks
======================  ==============================================================
"""
