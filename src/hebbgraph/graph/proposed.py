"""What chunks propose, as flat arrays: coded, counted, and turned into the tags of a chunk.

The same functions serve a graph that advances in one process (:mod:`.tag_graph`) and a build
whose partitions know nothing of each other (:mod:`hebbgraph_scale.build`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import repeat
from operator import itemgetter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hebbgraph.arrays import IntArray, concatenated_ranges, unique
from hebbgraph.graph.phrases import PhraseTable, Staged
from hebbgraph.text.reader import TokenizedTexts

__all__ = ["Proposed", "add_coded", "count_proposed", "tags_of_texts"]

_TITLE, _GIVEN, _OTHER, _ADDRESS, _OPENER, _CAPITAL, _NOUN = 0, 1, 2, 3, 4, 5, 6
#: The subject of an untitled chunk counts as its title. References are given to a chunk alone,
#: and so are addresses, which entitle it (see :mod:`hebbgraph.graph.references`).
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
#: How many mentions a proposal speaks for, by code: one in four has to propose a name, a code or
#: several words, one in three a noun, one in two a single word with a capital, and all a word that
#: only opens sentences or is named once.
_WORTH = np.array([16, 0, 4, 0, 1, 2, 3])
_OF_ITS_CHUNK = np.array([True, True, False, True, False, False, False])  # whether mentioned or not
_FIRST = itemgetter(0)


class Proposed(NamedTuple):
    """The phrases that chunks propose: chunk ``i`` has those from ``indptr[i]`` on.

    ``phrases`` holds numbers, ``kinds`` a code for each.
    """

    indptr: NDArray[np.int64]
    phrases: NDArray[np.int32]
    kinds: NDArray[np.int8]

    def of(self, chunks: IntArray) -> Proposed:
        """Return those of some chunks, in the given order."""
        starts = self.indptr[chunks]
        counts = self.indptr[chunks + 1] - starts
        at = concatenated_ranges(starts, counts)
        indptr = np.concatenate((np.zeros(1, np.int64), np.cumsum(counts)))
        return Proposed(indptr, self.phrases[at], self.kinds[at])

    @property
    def owners(self) -> IntArray:
        """The chunk of each phrase."""
        return np.repeat(np.arange(len(self.indptr) - 1), np.diff(self.indptr))


def add_coded(by_kind: Mapping[str, Iterable[str]], keys: list[str], kinds: list[int]) -> None:
    """Append the phrases of one chunk, each once a kind, and their codes."""
    coded = [(_KIND_CODES.get(kind, _OTHER), held) for kind, held in by_kind.items()]
    coded.sort(key=_FIRST)
    for code, held in coded:
        different = dict.fromkeys(held)
        keys += different
        kinds += repeat(code, len(different))


def count_proposed(proposed: Proposed, n_phrases: int) -> Staged:
    """Return what these chunks propose, and were given (links too)."""
    kinds, n_phrases = proposed.kinds, max(n_phrases, 1)
    pairs = proposed.owners * n_phrases + proposed.phrases
    given = (kinds == _GIVEN) | (kinds == _ADDRESS)
    return Staged(
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
        What these chunks propose, by the numbers of ``phrases``.
    texts : TokenizedTexts
        Their texts, tokenised with the hashes of ``phrases``.

    Returns
    -------
    counts : ndarray of int64, shape (n_chunks,)
    tags : ndarray of int32
        Ascending and distinct within a chunk.
    is_title : ndarray of bool
    """
    n_chunks = len(texts.n_texts)
    chunk_of = np.repeat(np.arange(n_chunks), texts.n_texts)
    text, _, _, found = phrases.match_texts(texts)
    own = np.flatnonzero(_OF_ITS_CHUNK[proposed.kinds])
    kinds = proposed.kinds[own]
    n_phrases = max(len(phrases), 1)
    held = proposed.owners[own] * n_phrases + proposed.phrases[own]
    titles = unique(held[(kinds == _TITLE) | (kinds == _ADDRESS)])
    pairs = unique(np.concatenate((held, chunk_of[text] * n_phrases + found)))
    is_title = np.zeros(len(pairs), dtype=np.bool_)
    is_title[np.searchsorted(pairs, titles)] = True
    return (
        np.bincount(pairs // n_phrases, minlength=n_chunks).astype(np.int64),
        (pairs % n_phrases).astype(np.int32),
        is_title,
    )
