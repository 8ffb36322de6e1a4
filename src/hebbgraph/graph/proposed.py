"""The phrases that chunks propose, as flat arrays: encoded, counted, and turned into tags.

The same functions serve a graph that advances in one process (:mod:`.tag_graph`) and a build
of independent partitions (:mod:`hebbgraph_scale.build`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import repeat
from operator import itemgetter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hebbgraph.arrays import IntArray, prefix_sums, row_positions, unique
from hebbgraph.graph.incidence import Postings
from hebbgraph.graph.phrases import PhraseTable, StagedPhrases
from hebbgraph.text.reader import TokenizedTexts

__all__ = ["Proposed", "TaggedChunks", "add_coded", "count_proposed", "tags_of_texts"]

_TITLE, _GIVEN, _OTHER, _ADDRESS, _OPENER, _CAPITAL, _NOUN = 0, 1, 2, 3, 4, 5, 6
#: The subject of an untitled chunk counts as its title. References and addresses belong to their
#: chunk only; addresses entitle it (see :mod:`hebbgraph.graph.references`).
_KIND_CODES = {
    "title": _TITLE,
    "subject": _TITLE,
    "given": _GIVEN,
    "reference": _GIVEN,
    "address": _ADDRESS,
    "opener": _OPENER,
    "capital": _CAPITAL,
    "noun": _NOUN,
    "mention": _OPENER,
}
#: Mentions that a proposal justifies, by code; a phrase with more mentions is incidental. So one in
#: four mentions must propose a name, a code or several words, one in three a noun, one in two a
#: single word with a capital, and every mention a word that only opens sentences or occurs once.
_WORTH = np.array([16, 0, 4, 0, 1, 2, 3])
#: Codes whose phrases are tags of the chunk even if its text does not mention them.
_IS_UNCONDITIONAL = np.array([True, True, False, True, False, False, False])


class Proposed(NamedTuple):
    """The phrases that chunks propose: those of chunk ``i`` start at ``indptr[i]``.

    ``phrases`` holds numbers, ``kinds`` the code of each.
    """

    indptr: NDArray[np.int64]
    phrases: NDArray[np.int32]
    kinds: NDArray[np.int8]

    def of_chunks(self, chunks: IntArray) -> Proposed:
        """Return the proposals of some chunks, in the given order."""
        counts, at = row_positions(self.indptr, chunks)
        return Proposed(prefix_sums(counts), self.phrases[at], self.kinds[at])

    @property
    def owners(self) -> IntArray:
        """The chunk of each phrase."""
        return np.repeat(np.arange(len(self.indptr) - 1), np.diff(self.indptr))


class TaggedChunks:
    """Chunks and their tags, collected in flat arrays."""

    def __init__(self) -> None:
        self._slots = [np.empty(0, np.int64)]
        self._counts = [np.empty(0, np.int64)]
        self._tags = [np.empty(0, np.int32)]
        self._is_title = [np.empty(0, np.bool_)]

    def extend(
        self,
        slots: NDArray[np.int64],
        counts: NDArray[np.int64],
        tags: NDArray[np.int32],
        is_title: NDArray[np.bool_],
    ) -> None:
        """Add chunks; ``counts`` says how many of ``tags`` (ascending, distinct) each has."""
        self._slots.append(slots)
        self._counts.append(counts)
        self._tags.append(tags)
        self._is_title.append(is_title)

    @property
    def slots(self) -> NDArray[np.int64]:
        """The chunks, in order of addition."""
        return np.concatenate(self._slots)

    @property
    def postings(self) -> Postings:
        """Their tags, in the same order."""
        return Postings(
            prefix_sums(np.concatenate(self._counts)),
            np.concatenate(self._tags),
            np.concatenate(self._is_title),
        )


def add_coded(by_kind: Mapping[str, Iterable[str]], keys: list[str], kinds: list[int]) -> None:
    """Append the phrases of one chunk, each once per kind, and the codes of their kinds."""
    coded = [(_KIND_CODES.get(kind, _OTHER), phrases) for kind, phrases in by_kind.items()]
    coded.sort(key=itemgetter(0))
    for code, phrases in coded:
        distinct = dict.fromkeys(phrases)
        keys += distinct
        kinds += repeat(code, len(distinct))


def count_proposed(proposed: Proposed, n_phrases: int) -> StagedPhrases:
    """Return the phrases that these chunks propose and were given, links included."""
    kinds, n_phrases = proposed.kinds, max(n_phrases, 1)
    pairs = proposed.owners * n_phrases + proposed.phrases
    given = (kinds == _GIVEN) | (kinds == _ADDRESS)
    return StagedPhrases(
        unique(pairs[~given]) % n_phrases,
        unique(pairs[kinds == _TITLE]) % n_phrases,
        unique(pairs[given]) % n_phrases,
        pairs % n_phrases,
        _WORTH[kinds],
    )


def tags_of_texts(
    phrases: PhraseTable, proposed: Proposed, texts: TokenizedTexts
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.bool_]]:
    """Match the vocabulary against the texts of chunks (pass 2).

    Titles, subjects, given tags, addresses and references become tags whether the text
    mentions them or not.

    Parameters
    ----------
    phrases : PhraseTable
    proposed : Proposed
        The proposals of these chunks, numbered by ``phrases``.
    texts : TokenizedTexts
        Their texts, tokenised by a reader of ``phrases``.

    Returns
    -------
    counts : ndarray of int64, shape (n_chunks,)
    tags : ndarray of int32
        Ascending and distinct within a chunk.
    is_title : ndarray of bool
    """
    n_chunks = len(texts.n_texts)
    chunk_of = np.repeat(np.arange(n_chunks), texts.n_texts)
    text, mentioned = phrases.match_texts(texts)
    at = np.flatnonzero(_IS_UNCONDITIONAL[proposed.kinds])
    kinds = proposed.kinds[at]
    n_phrases = max(len(phrases), 1)
    unconditional = proposed.owners[at] * n_phrases + proposed.phrases[at]
    titles = unique(unconditional[(kinds == _TITLE) | (kinds == _ADDRESS)])
    pairs = unique(np.concatenate((unconditional, chunk_of[text] * n_phrases + mentioned)))
    is_title = np.zeros(len(pairs), dtype=np.bool_)
    is_title[np.searchsorted(pairs, titles)] = True
    return (
        np.bincount(pairs // n_phrases, minlength=n_chunks).astype(np.int64),
        (pairs % n_phrases).astype(np.int32),
        is_title,
    )
