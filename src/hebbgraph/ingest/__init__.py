"""Chunks to rows: a straight line from a caller's chunks to one transaction.

=============== =====================================================================
``prepare``     what a chunk says by itself: words, proposed tags
``writing``     a batch of chunks and deletions to rows, postings and counts
``tagging``     the phrases that are known, and which chunks hold them as tags
``loading``     any iterable to batches: unchanged chunks, taggers, embeddings
=============== =====================================================================
"""
