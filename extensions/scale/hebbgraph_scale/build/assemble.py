"""The last step: results of all partitions to one graph and one lexical index."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from hebbgraph.arrays import concatenated_ranges, prefix_sums, transpose
from hebbgraph.graph.tag_graph import GraphArrays, TagGraph
from hebbgraph.store.history import Commit
from numpy.typing import NDArray

from hebbgraph_scale.build.match import Matched, matched_of
from hebbgraph_scale.build.merge import vocabulary_of
from hebbgraph_scale.build.propose import prefixes_of

__all__ = ["Placed", "assembled"]


class Placed(NamedTuple):
    """A partition that was committed: its result, its postings, and the row of each chunk.

    A row is 0 for a chunk that is not in the index.
    """

    proposed: str
    matched: str
    rows: NDArray[np.int64]


def assembled(
    shelf: Path, vocabulary: str, partitions: Sequence[Placed], commit: Commit
) -> TagGraph:
    """Return the graph of all partitions, as of a commit."""
    phrases = vocabulary_of(shelf / vocabulary)
    rows = np.concatenate([one.rows[one.rows > 0] for one in partitions])
    parts = [matched_of(shelf / one.matched) for one in partitions]
    matched = Matched(*map(np.concatenate, zip(*parts, strict=True)))
    prefixes = np.concatenate(
        [prefixes_of(shelf / one.proposed)[one.rows > 0] for one in partitions]
    )
    order = np.argsort(rows, kind="stable")
    if not np.array_equal(order, np.arange(len(order))):
        rows, prefixes, matched = rows[order], prefixes[order], _reordered(matched, order)
    indptr = prefix_sums(matched.counts)
    columns, chunks, from_ = transpose(indptr, matched.tags, len(phrases.candidate_counts))
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
        column_is_title=matched.is_title[from_],
    )
    return TagGraph(commit.generation, arrays, phrases, mark=commit.mark)


def _reordered(matched: Matched, order: NDArray[np.int64]) -> Matched:
    counts, proposed_counts = matched.counts[order], matched.proposed_counts[order]
    at = concatenated_ranges(prefix_sums(matched.counts)[order], counts)
    from_ = concatenated_ranges(prefix_sums(matched.proposed_counts)[order], proposed_counts)
    return Matched(
        counts,
        matched.tags[at],
        matched.is_title[at],
        proposed_counts,
        matched.proposed[from_],
        matched.kinds[from_],
    )
