"""A question to hits.

Read :mod:`hebbgraph.recall.pipeline` first; docs/architecture.md tells the way in prose.
"""
