"""Chunks to rows: a straight line from a caller's chunks to one transaction.

=============== =====================================================================
``prepare``     what a chunk says by itself: words, proposed tags, links
``writing``     a batch of chunks and deletions to rows, postings and counts
``vocabulary``  the phrases that texts are matched against
``tagging``     which chunks hold which tags, when the vocabulary has changed
``loading``     any iterable to batches: unchanged chunks, taggers, embeddings
=============== =====================================================================
"""
