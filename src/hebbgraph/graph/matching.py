"""Pass 2: find the phrases of a trie in tokens, leftmost longest, without overlap."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from hebbgraph.arrays import BoolArray, IntArray, flatnonzero
from hebbgraph.graph.trie import PhraseTrie
from hebbgraph.text.hashing import PhraseHasher
from hebbgraph.text.reader import TokenizedTexts

__all__ = ["Span", "leftmost_longest", "match_texts", "spans_in"]

Span: TypeAlias = tuple[int, int, int]
"""Start, stop and phrase of an occurrence."""


def spans_in(trie: PhraseTrie, hasher: PhraseHasher, tokens: Sequence[str]) -> list[Span]:
    """Return every occurrence of a phrase in a few tokens, shorter ones first.

    Takes a third of the time of :func:`match_texts` on a question: for few tokens, the overhead
    of numpy calls dominates.
    """
    spans = hashes = hasher.hash_tokens(tokens)
    starts, size = list(range(len(hashes))), 1
    occurrences: list[Span] = []
    while starts:
        numbers, extends = trie.find(spans)
        occurrences += [
            (start, start + size, number)
            for start, number in zip(starts, numbers.tolist(), strict=True)
            if number >= 0
        ]
        longer = [
            at
            for at, is_prefix in enumerate(extends.tolist())
            if is_prefix and starts[at] + size < len(hashes)
        ]
        starts = [starts[at] for at in longer]
        if starts:
            spans = hasher.extend(spans[longer], hashes[[start + size for start in starts]])
        size += 1
    return occurrences


def leftmost_longest(spans: Iterable[Span]) -> list[Span]:
    """Choose spans without overlap, from left to right.

    Of spans with the same start, the last one counts.
    """
    chosen: list[Span] = []
    longest = {span[0]: span for span in spans}
    for start in sorted(longest):
        if not chosen or start >= chosen[-1][1]:
            chosen.append(longest[start])
    return chosen


def match_texts(
    trie: PhraseTrie,
    hasher: PhraseHasher,
    texts: TokenizedTexts,
    are_known: Callable[[IntArray], BoolArray],
) -> tuple[IntArray, NDArray[np.int32]]:
    """Find the known phrases in many texts: leftmost longest, without overlap.

    All texts advance together, one token per pass, so no Python object is created per phrase.

    Returns
    -------
    owner : ndarray of int64, shape (n,), ascending
        Text of each occurrence.
    numbers : ndarray of int32, shape (n,)
        Phrase of each occurrence, in text order.
    """
    # Look up each distinct token once.
    occurs = np.zeros(len(texts.hashes), dtype=np.bool_)
    occurs[texts.tokens] = True
    distinct = flatnonzero(occurs)
    numbers, extends = trie.find(texts.hashes[distinct])
    at_known = _known(numbers, are_known)
    phrase_of = np.full(len(texts.hashes), -1, dtype=np.int32)
    phrase_of[distinct[at_known]] = numbers[at_known]
    occurs[distinct] = extends
    best, extends = phrase_of[texts.tokens], occurs[texts.tokens]

    ends = texts.lengths.cumsum()
    end = ends.repeat(texts.lengths)
    at = np.arange(len(texts.tokens))
    stop = at + 1
    hashes = texts.hashes[texts.tokens]
    spans, size = hashes, 1
    while True:
        longer = flatnonzero(extends)
        longer = longer[at[longer] + size < end[at[longer]]]
        at = at[longer]
        if not len(at):
            break
        spans = hasher.extend(spans[longer], hashes[at + size])
        size += 1
        numbers, extends = trie.find(spans)
        at_known = _known(numbers, are_known)
        best[at[at_known]] = numbers[at_known]
        stop[at[at_known]] = at[at_known] + size
    starts = _disjoint(flatnonzero(best >= 0), stop)
    return ends.searchsorted(starts, "right"), best[starts]


def _known(numbers: NDArray[np.int32], are_known: Callable[[IntArray], BoolArray]) -> IntArray:
    """Return the positions of the numbers that are those of known phrases."""
    at = flatnonzero(numbers >= 0)
    return at[are_known(numbers[at])]


def _disjoint(starts: IntArray, stop: NDArray[np.int64]) -> IntArray:
    """Choose, from left to right, each span that begins after the last chosen one has ended."""
    stops = stop[starts]
    # Overlapping spans form groups. Within a group, each chosen span determines the next;
    # all groups take that step together.
    reached = np.maximum.accumulate(stops)
    at = flatnonzero(np.concatenate((np.ones(1, np.bool_), starts[1:] >= reached[:-1])))
    if len(at) >= len(starts):
        return starts
    following = np.searchsorted(starts, stops)
    end = np.append(at[1:], len(starts))
    chosen = []
    while len(at):
        chosen.append(at)
        at = following[at]
        within = flatnonzero(at < end)
        at, end = at[within], end[within]
    return starts[np.sort(np.concatenate(chosen))]
