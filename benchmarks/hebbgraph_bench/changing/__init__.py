"""Texts that change: a set written for it, and what recalls make of time.

======================  ==============================================================
:mod:`.corpus`          60 documents in two to four versions, and 80 questions
:mod:`.measure`         which version is first, what is stale, and where it stands
======================  ==============================================================

``python -m hebbgraph_bench.changing`` prints the table of ``docs/time.md``.
"""
