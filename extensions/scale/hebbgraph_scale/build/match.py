"""The third step: a partition and the vocabulary to postings."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from hebbgraph.graph.phrases import PhraseTable
from hebbgraph.graph.proposed import Proposed, tags_of_texts
from numpy.typing import NDArray

from hebbgraph_scale.build.merge import vocabulary_of
from hebbgraph_scale.build.propose import proposed_of, select_texts, texts_of
from hebbgraph_scale.build.shelf import Summary, load_arrays, made_once, save_arrays

__all__ = ["MatchedPostings", "match", "matched_of"]


class MatchedPostings(NamedTuple):
    """Postings and candidates of some chunks, by the numbers of the vocabulary."""

    counts: NDArray[np.int64]
    tags: NDArray[np.int32]
    is_title: NDArray[np.bool_]
    proposed_counts: NDArray[np.int64]
    proposed: NDArray[np.int32]
    kinds: NDArray[np.int8]


_TABLES: list[tuple[Path, PhraseTable]] = []  # the last table of this worker


def match(shelf: Path, proposed: str, vocabulary: str, alive: NDArray[np.bool_] | None) -> Summary:
    """Match the vocabulary against the texts of a partition.

    Parameters
    ----------
    shelf : Path
    proposed : str
        The result of the first step.
    vocabulary : str
    alive : ndarray of bool, optional
        The chunks that are in the index; by default all.
    """

    def make(to: Path) -> Summary:
        matched = _matched(shelf / proposed, _table(shelf / vocabulary), alive)
        save_arrays(to, matched._asdict())
        return {"postings": len(matched.tags)}

    mask = None if alive is None else alive.tobytes().hex()
    return made_once(shelf, "match", proposed, vocabulary, mask, make=make)


def _table(folder: Path) -> PhraseTable:
    if not _TABLES or _TABLES[0][0] != folder:
        _TABLES[:] = [(folder, PhraseTable(vocabulary_of(folder)))]
    return _TABLES[0][1]


def _matched(folder: Path, table: PhraseTable, alive: NDArray[np.bool_] | None) -> MatchedPostings:
    proposed = proposed_of(folder)
    (hashes,) = load_arrays(folder, "phrase_hashes")
    # A phrase of dead chunks alone is not in the vocabulary, and no live chunk has it.
    numbers = table.numbers_of_hashes(hashes)
    parts: list[tuple[NDArray[Any], ...]] = []
    for chunks, texts in texts_of(folder):
        if alive is not None:
            live = np.flatnonzero(alive[chunks])
            chunks, texts = chunks[live], select_texts(texts, live)
        page = proposed.of_chunks(chunks)
        page = Proposed(page.indptr, numbers[page.phrases], page.kinds)
        counts, tags, is_title = tags_of_texts(table, page, texts)
        parts.append((counts, tags, is_title, np.diff(page.indptr), page.phrases, page.kinds))
    if not parts:
        return MatchedPostings(
            *(np.empty(0, dtype) for dtype in ("i8", "i4", "?", "i8", "i4", "i1"))
        )
    return MatchedPostings(*map(np.concatenate, zip(*parts, strict=True)))


def matched_of(folder: Path) -> MatchedPostings:
    """Map a result of :func:`match` into memory."""
    return MatchedPostings(*load_arrays(folder, *MatchedPostings._fields))
