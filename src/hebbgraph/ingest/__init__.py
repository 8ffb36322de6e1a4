"""Chunks to rows: a straight line from a caller's chunks to one transaction.

Read :mod:`hebbgraph.ingest.loading` first; docs/architecture.md tells the way in prose.
"""
