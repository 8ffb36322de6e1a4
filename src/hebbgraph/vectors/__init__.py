"""The vectors of a namespace and how the nearest ones are found.

======================  ==============================================================
:mod:`.file`            vectors on disk, memory-mapped and shared by all processes
:mod:`.scattered`       those of them that lie anywhere in it, read together
:mod:`.table`           rows and their vectors as one matrix; asks a search for candidates
:mod:`.searches`        a search by name, or a caller's own with its answers checked
:mod:`.products`        the arithmetic that these share
======================  ==============================================================

A search implements :class:`hebbgraph.protocols.VectorSearch`. Those named ``quantized`` and ``ivf``
come with the distribution hebbgraph-scale.
"""
