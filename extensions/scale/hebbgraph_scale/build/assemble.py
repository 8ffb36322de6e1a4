"""The last step: the postings of all partitions to one graph."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from hebbgraph.arrays import concatenated_ranges, prefix_sums, transpose
from hebbgraph.graph.tag_graph import GraphArrays, TagGraph
from hebbgraph.store.history import Commit
from numpy.typing import NDArray

from hebbgraph_scale.build.match import MatchedPostings, matched_of
from hebbgraph_scale.build.merge import vocabulary_of
from hebbgraph_scale.build.propose import NumberedPartition, prefixes_of

__all__ = ["assembled"]


def assembled(
    shelf: Path,
    vocabulary: str,
    partitions: Sequence[NumberedPartition],
    matches: Sequence[str],
    commit: Commit,
) -> TagGraph:
    """Return the graph of all partitions as of a commit; ``matches`` are their postings."""
    phrases = vocabulary_of(shelf / vocabulary)
    rows = np.concatenate([part.rows[part.rows > 0] for part in partitions])
    prefixes = np.concatenate(
        [prefixes_of(shelf / part.proposed)[part.rows > 0] for part in partitions]
    )
    parts = [matched_of(shelf / name) for name in matches]
    matched = MatchedPostings(*map(np.concatenate, zip(*parts, strict=True)))
    order = np.argsort(rows, kind="stable")
    if not np.array_equal(order, np.arange(len(order))):
        rows, prefixes, matched = rows[order], prefixes[order], _reordered(matched, order)
    indptr = prefix_sums(matched.counts)
    columns, chunks, postings = transpose(indptr, matched.tags, len(phrases.candidate_counts))
    arrays = GraphArrays(
        rows=rows,
        id_prefixes=prefixes,
        candidate_indptr=prefix_sums(matched.proposed_counts),
        candidates=matched.proposed,
        candidate_kinds=matched.kinds,
        posting_indptr=indptr,
        posting_tags=matched.tags,
        posting_is_title=matched.is_title,
        column_indptr=columns,
        column_chunks=chunks,
        column_is_title=matched.is_title[postings],
    )
    return TagGraph(commit.generation, arrays, phrases, mark=commit.mark)


def _reordered(matched: MatchedPostings, order: NDArray[np.int64]) -> MatchedPostings:
    counts, proposed_counts = matched.counts[order], matched.proposed_counts[order]
    tags = concatenated_ranges(prefix_sums(matched.counts)[order], counts)
    candidates = concatenated_ranges(prefix_sums(matched.proposed_counts)[order], proposed_counts)
    return MatchedPostings(
        counts,
        matched.tags[tags],
        matched.is_title[tags],
        proposed_counts,
        matched.proposed[candidates],
        matched.kinds[candidates],
    )
