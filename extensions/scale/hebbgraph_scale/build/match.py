"""The third step: a partition and the vocabulary to postings."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from hebbgraph.graph.phrases import PhraseTable
from hebbgraph.graph.proposed import Proposed, tags_of_texts
from numpy.typing import NDArray

from hebbgraph_scale.build.merge import vocabulary_of
from hebbgraph_scale.build.propose import kept_texts, proposed_of, texts_of
from hebbgraph_scale.build.shelf import Summary, load_arrays, made_once, name_of, save_arrays

__all__ = ["Matched", "match", "matched_of"]


class Matched(NamedTuple):
    """The postings of some chunks, and what they propose, in the numbers of the vocabulary."""

    counts: NDArray[np.int64]
    tags: NDArray[np.int32]
    is_title: NDArray[np.bool_]
    proposed_counts: NDArray[np.int64]
    proposed: NDArray[np.int32]
    kinds: NDArray[np.int8]


_TABLES: list[tuple[Path, PhraseTable]] = []  # the last one of this worker


def match(shelf: Path, proposed: str, vocabulary: str, alive: NDArray[np.bool_] | None) -> Summary:
    """Match the vocabulary against the texts of a partition.

    Parameters
    ----------
    shelf : Path
    proposed : str
        The partition's result of the first step.
    vocabulary : str
    alive : ndarray of bool, optional
        Which of the chunks are in the index; by default all are.
    """
    name = name_of("match", proposed, vocabulary, None if alive is None else alive.tobytes().hex())

    def make(to: Path) -> Summary:
        matched = _matched(shelf / proposed, _table(shelf / vocabulary), alive)
        save_arrays(to, matched._asdict())
        return {"name": name, "postings": len(matched.tags)}

    return made_once(shelf, name, make)


def _table(folder: Path) -> PhraseTable:
    if not _TABLES or _TABLES[0][0] != folder:
        _TABLES[:] = [(folder, PhraseTable(vocabulary_of(folder)))]
    return _TABLES[0][1]


def _matched(folder: Path, table: PhraseTable, alive: NDArray[np.bool_] | None) -> Matched:
    held = proposed_of(folder)
    (own,) = load_arrays(folder, "phrase_hashes")
    # A phrase of dead chunks alone is not in the vocabulary, and no live chunk has it.
    numbers = table.numbers_of_hashes(own)
    parts: list[tuple[NDArray[Any], ...]] = []
    for chunks, texts in texts_of(folder):
        if alive is not None:
            kept = np.flatnonzero(alive[chunks])
            chunks, texts = chunks[kept], kept_texts(texts, kept)
        mine = held.of(chunks)
        mine = Proposed(mine.indptr, numbers[mine.phrases], mine.kinds)
        counts, tags, is_title = tags_of_texts(table, mine, texts)
        parts.append((counts, tags, is_title, np.diff(mine.indptr), mine.phrases, mine.kinds))
    if not parts:
        return Matched(*(np.empty(0, of) for of in ("i8", "i4", "?", "i8", "i4", "i1")))
    return Matched(*map(np.concatenate, zip(*parts, strict=True)))


def matched_of(folder: Path) -> Matched:
    """Map a result of :func:`match` into memory."""
    return Matched(*load_arrays(folder, *Matched._fields))
