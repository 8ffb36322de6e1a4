"""Texts that change: a set written for it, and how recalls handle time.

======================  ==============================================================
:mod:`.corpus`          60 documents in two to four versions, and 80 questions
:mod:`.measure`         which version is first, what is stale, and its rank
======================  ==============================================================

``python -m hebbgraph_bench.changing`` prints the table of ``docs/time.md``.
"""
