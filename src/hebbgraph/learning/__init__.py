"""Lessons to learned edges: rows that a recall looks up as it looks postings up.

Read :mod:`hebbgraph.learning.folding` first; docs/architecture.md tells the way in prose.
"""
