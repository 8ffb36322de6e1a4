"""Measure what hebbgraph learns, how attacks affect it, and what it costs.

``use`` runs usebench with hebbgraph as one of its systems. ``attacks`` measures wrong citations,
``growth`` the cost of many feedbacks, ``deeds`` what opened hits teach. ``splits`` divides a set
into questions to learn from and questions to ask; ``lab`` opens the index.
"""
