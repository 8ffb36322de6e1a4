"""The vectors of a namespace, and the search for the nearest ones.

======================  ==============================================================
:mod:`.file`            vectors on disk, memory-mapped and shared by all processes
:mod:`.scattered`       random access to that file
:mod:`.table`           rows and their vectors as one matrix; asks a search for candidates
:mod:`.searches`        a search by name, or a caller's own with its answers checked
:mod:`.products`        inner products and the highest of them
======================  ==============================================================

A search implements :class:`hebbgraph.protocols.VectorSearch`. Those named ``quantized`` and ``ivf``
come with the distribution hebbgraph-scale.
"""
