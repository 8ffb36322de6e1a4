"""Phrases: their numbers and candidate counts, the vocabulary, and matching it (pass 2)."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from hashlib import blake2b
from itertools import chain, compress
from typing import NamedTuple, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hebbgraph.arrays import BoolArray, GrowableArray, IntArray, flatnonzero, unique
from hebbgraph.graph.packed_strings import PackedStrings, pack_strings
from hebbgraph.graph.references import ADDRESS, EDGE, link_kind
from hebbgraph.graph.trie import PhraseTrie, find_sorted
from hebbgraph.text.hashing import PhraseHasher
from hebbgraph.text.reader import TextReader, TokenizedTexts

__all__ = ["MIN_CANDIDATES", "PhraseArrays", "PhraseTable", "Staged", "order_keys"]

#: A phrase is known that is a candidate of so many chunks.
MIN_CANDIDATES = 2
_COMMON_SHARE = 4
_COMMON_MIN = 20
_SALT_BYTES = 16
_NOTHING = np.empty(0, np.uint8)


_Found: TypeAlias = tuple[IntArray, IntArray, IntArray, NDArray[np.int32]]
"""Passage, start, stop and phrase of each occurrence."""

Span: TypeAlias = tuple[int, int, int]
"""Start, stop and phrase of an occurrence in one passage."""


class PhraseArrays(NamedTuple):
    """All phrases as arrays, as saved in a snapshot. Field names are file names.

    ``key_data`` and ``key_offsets`` hold the packed keys; the counts are indexed by phrase
    number; ``phrase_order`` breaks ties; ``sorted_hashes`` and ``sorted_numbers`` look up
    phrases by hash; ``span_*`` are the nodes of the trie of the vocabulary.
    """

    salt: NDArray[np.uint8]
    key_data: NDArray[np.uint8]
    key_offsets: NDArray[np.int64]
    candidate_counts: NDArray[np.int32]
    support: NDArray[np.int32]
    anchor_counts: NDArray[np.int32]
    given_counts: NDArray[np.int32]
    phrase_order: NDArray[np.uint64]
    sorted_hashes: NDArray[np.uint64]
    sorted_numbers: NDArray[np.int32]
    span_hashes: NDArray[np.uint64]
    span_numbers: NDArray[np.int32]
    span_extends: NDArray[np.bool_]

    @classmethod
    def empty(cls) -> Self:
        """Return arrays without phrases, with a random salt."""
        ints, hashes = np.empty(0, np.int32), np.empty(0, np.uint64)
        salt = np.frombuffer(os.urandom(_SALT_BYTES), np.uint8)
        data, offsets = pack_strings(())
        flags = np.empty(0, np.bool_)
        counts = ints, ints, ints, ints
        return cls(salt, data, offsets, *counts, hashes, hashes, ints, hashes, ints, flags)


class Staged(NamedTuple):
    """What some chunks propose; each array lists a phrase once for every chunk.

    ``anchors`` are among the ``candidates``, ``given`` are apart. ``proposed`` lists the
    candidates with the ``worth`` of each in mentions.
    """

    candidates: IntArray
    anchors: IntArray
    given: IntArray
    proposed: IntArray
    worth: IntArray


class PhraseTable:
    """Numbers every phrase that a live chunk proposes, and matches those in the vocabulary.

    A phrase is *known* while it is an anchor (a title) of one live chunk or a candidate
    of two; every chunk that mentions it holds it as a tag. A *given* phrase is a tag of
    the chunks it was given to, known or not, and is not matched in other chunks: there
    it would hide the shorter known phrases inside it, and undo the giver's selection.
    Matching the tags of a language model lowered recall@5 on musique_train100 from .79 to
    .75.

    Phrases live in arrays, possibly memory-mapped. New ones are collected in a dictionary,
    which the owner folds into new arrays before it grows large.

    Parameters
    ----------
    arrays : PhraseArrays, optional
    """

    def __init__(self, arrays: PhraseArrays | None = None) -> None:
        arrays = PhraseArrays.empty() if arrays is None else arrays
        self._arrays = arrays
        self._hasher = PhraseHasher(arrays.salt.tobytes())
        self.keys = PackedStrings(arrays.key_data, arrays.key_offsets)
        self._fresh: dict[str, int] = {}
        self._candidates = GrowableArray(np.int32, arrays.candidate_counts)
        self._support = GrowableArray(np.int32, arrays.support)
        self._anchors = GrowableArray(np.int32, arrays.anchor_counts)
        self._given = GrowableArray(np.int32, arrays.given_counts)
        self._order = GrowableArray(np.uint64, arrays.phrase_order)
        self._link_kinds = GrowableArray(np.int8, self._kinds_of_links(arrays))
        self._has_given: bool | None = None
        self._has_links = 0, False  # of how many phrases it is known
        self._trie = PhraseTrie(arrays.span_hashes, arrays.span_numbers, arrays.span_extends)

    def __len__(self) -> int:
        return len(self.keys)

    @property
    def n_fresh(self) -> int:
        """Number of phrases added since the arrays were built."""
        return len(self._fresh)

    @property
    def candidate_counts(self) -> NDArray[np.int32]:
        """Number of live chunks that propose each phrase."""
        return self._candidates.view

    @property
    def support(self) -> NDArray[np.int32]:
        """How many mentions the proposals of each phrase speak for."""
        return self._support.view

    @property
    def anchor_counts(self) -> NDArray[np.int32]:
        """Number of live chunks whose title each phrase is."""
        return self._anchors.view

    @property
    def given_counts(self) -> NDArray[np.int32]:
        """Number of live chunks each phrase was given to."""
        return self._given.view

    @property
    def order(self) -> NDArray[np.uint64]:
        """Tie-breaker for each phrase, derived from its text alone."""
        return self._order.view

    def _kinds_of_links(self, arrays: PhraseArrays) -> NDArray[np.int8]:
        """Return :func:`~hebbgraph.graph.references.link_kind` of the packed keys."""
        kinds = np.zeros(len(self.keys), np.int8)
        first = arrays.key_data[arrays.key_offsets[:-1]] if len(arrays.key_data) else _NOTHING
        marked = (first == ord(ADDRESS)) | (first == ord(EDGE))
        for number in flatnonzero(marked).tolist():
            kinds[number] = link_kind(self.keys[number])
        return kinds

    @property
    def link_kinds(self) -> NDArray[np.int8]:
        """The :class:`~hebbgraph.formulas.adjacency.LinkKind` of each phrase."""
        return self._link_kinds.view

    @property
    def has_links(self) -> bool:
        """Whether any phrase is an address or an edge by metadata."""
        kinds = self._link_kinds.view
        looked_at, found = self._has_links
        if looked_at != len(kinds):  # phrases are only ever appended
            found = found or bool(kinds[looked_at:].any())
            self._has_links = len(kinds), found
        return found

    @property
    def in_vocabulary(self) -> NDArray[np.bool_]:
        """Mask of the phrases that are tags, known or given."""
        everything = np.arange(len(self))
        return self.are_known(everything) | self.are_given(everything)

    @property
    def in_use(self) -> NDArray[np.bool_]:
        """Which phrases some live chunk proposes or was given; others wait to be dropped."""
        used: NDArray[np.bool_] = (self.candidate_counts > 0) | (self.given_counts > 0)
        return used

    def are_known(self, numbers: IntArray) -> NDArray[np.bool_]:
        """Return which of these phrases are known: tags of every chunk that mentions them."""
        known: NDArray[np.bool_] = (self.anchor_counts[numbers] > 0) | (
            self.candidate_counts[numbers] >= MIN_CANDIDATES
        )
        return known

    def are_given(self, numbers: IntArray) -> NDArray[np.bool_]:
        """Return which of these phrases were given to a live chunk."""
        given: NDArray[np.bool_] = self.given_counts[numbers] > 0
        return given

    def are_incidental(self, df: NDArray[np.int32], n_chunks: int) -> BoolArray:
        """Return which phrases are mentioned much more often than they are proposed.

        "need" and "compared" are candidates of a few chunks, where they happen to open a
        sentence or to stand among rare words, and words of very many. This is the
        *keyphraseness* of [1]_: the share of chunks that propose a phrase among those that
        mention it. Each proposal speaks for as many mentions as its kind is worth,
        and a phrase that is mentioned more often is incidental.

        A phrase of more than a quarter of a large corpus tells nothing apart, such as the
        function words of a language without a list.

        Parameters
        ----------
        df : ndarray of int32, shape (n_phrases,)
            Number of chunks that hold each phrase.
        n_chunks : int

        References
        ----------
        .. [1] Mihalcea and Csomai (2007), Wikify! Linking documents to encyclopedic knowledge.
        """
        common = max(n_chunks // _COMMON_SHARE, _COMMON_MIN)
        incidental: BoolArray = ((self.support < df) | (df > common)) & (self.given_counts == 0)
        return incidental

    @property
    def has_given(self) -> bool:
        """Whether any phrase was given to a live chunk."""
        if self._has_given is None:
            self._has_given = bool((self.given_counts > 0).any())
        return self._has_given

    # -- numbers --------------------------------------------------------------------

    def intern(self, keys: Sequence[str]) -> list[int]:
        """Return the number of each phrase, numbering new ones."""
        fresh = self._fresh
        unknown = [key for key in dict.fromkeys(keys) if key not in fresh]
        held = self._find_packed(unknown)
        new = [key for key in unknown if key not in held]
        if new:
            for key in new:
                fresh[key] = len(self.keys)
                self.keys.append(key)
            nothing = np.zeros(len(new), np.int32)
            self._candidates.extend(nothing)
            self._support.extend(nothing)
            self._anchors.extend(nothing)
            self._given.extend(nothing)
            self._order.extend(order_keys(new))
            self._link_kinds.extend([link_kind(key) for key in new])
        if not held:
            return [fresh[key] for key in keys]
        return [held[key] if key in held else fresh[key] for key in keys]

    def number(self, key: str) -> int | None:
        """Return the number of a phrase, or None."""
        if key in self._fresh:
            return self._fresh[key]
        hashes = self._arrays.sorted_hashes
        at = int(hashes.searchsorted(wanted := np.uint64(self._hasher.hash_phrase(key))))
        found = at < len(hashes) and hashes[at] == wanted
        return int(self._arrays.sorted_numbers[at]) if found else None

    def _find_packed(self, keys: Sequence[str]) -> dict[str, int]:
        """Return the numbers of the phrases in the base arrays."""
        if not len(self._arrays.sorted_hashes) or not keys:
            return {}
        at = find_sorted(self._arrays.sorted_hashes, self._hasher.hash_phrases(keys))
        numbers = np.where(at >= 0, self._arrays.sorted_numbers[at], -1)
        return {
            key: number for key, number in zip(keys, numbers.tolist(), strict=True) if number >= 0
        }

    def numbers_of_hashes(self, hashes: NDArray[np.uint64]) -> NDArray[np.int32]:
        """Return the numbers of phrases in the base arrays, by hash; 0 for what is not there."""
        at = find_sorted(self._arrays.sorted_hashes, hashes)
        if not len(self._arrays.sorted_numbers):
            return np.zeros(len(hashes), np.int32)
        return np.where(at >= 0, self._arrays.sorted_numbers[at], 0).astype(np.int32)

    # -- the vocabulary -------------------------------------------------------------

    def count(self, added: Staged, removed: Staged) -> tuple[list[int], list[int]]:
        """Update the counts, but those of given tags.

        Returns
        -------
        entered, left : lists of int
            Phrases that became known, and phrases that ceased to be.
        """
        touched = unique(np.concatenate((added.candidates, removed.candidates)))
        before = self.are_known(touched)
        candidates, anchors = self._candidates.writable(), self._anchors.writable()
        support = self._support.writable()
        for sign, staged in ((1, added), (-1, removed)):
            np.add.at(candidates, staged.candidates, sign)
            np.add.at(anchors, staged.anchors, sign)
            np.add.at(support, staged.proposed, sign * staged.worth)
        after = self.are_known(touched)
        entered = touched[after & ~before]
        left = touched[before & ~after]
        self._add_to_trie(entered)
        return entered.tolist(), left.tolist()

    def count_given(self, added: IntArray, removed: IntArray) -> None:
        """Update the counts of given tags; each array lists a phrase once per chunk."""
        given = self._given.writable()
        before = given[added] > 0
        np.add.at(given, added, 1)
        np.subtract.at(given, removed, 1)
        self._has_given = None
        self._add_to_trie(unique(added[~before]))

    def _add_to_trie(self, numbers: IntArray) -> None:
        """Make these phrases matchable. Phrases that leave stay in the trie and are ignored."""
        hashes, last = self._hasher.hash_prefixes([self.keys[at] for at in numbers.tolist()])
        named = np.full(len(hashes), -1, dtype=np.int32)
        named[last] = numbers
        extends = np.ones(len(hashes), dtype=np.bool_)
        extends[last] = False
        self._trie.insert(hashes, named, extends)

    def match(
        self, passages: Sequence[Sequence[str]], *, given: bool = False
    ) -> tuple[IntArray, IntArray, IntArray, NDArray[np.int32]]:
        """Find phrases in many passages: leftmost longest, without overlap.

        Parameters
        ----------
        passages : sequence of lists of tokens
        given : bool
            Match the given phrases instead of the known ones.

        Returns
        -------
        owner : ndarray of int64, shape (n,), ascending
            Passage of each occurrence.
        starts, stops : ndarrays of int64, shape (n,)
            Token range of each occurrence within its passage, ascending.
        numbers : ndarray of int32, shape (n,)
            Phrase of each occurrence.

        Notes
        -----
        All passages advance together, one token per pass, so no Python object is created
        per phrase.
        """
        lengths = np.fromiter(map(len, passages), np.int64, len(passages))
        hashes = self._hasher.hash_tokens(chain.from_iterable(passages))
        wanted = self.are_given if given else self.are_known
        return self._match(hashes, np.arange(len(hashes)), lengths, wanted)

    def match_question(self, tokens: Sequence[str]) -> tuple[list[Span], list[Span]]:
        """Find the known phrases in a few tokens, and the given ones; see :meth:`match`.

        The same in a third of the time: there are few tokens, and calls of numpy are what takes
        time.
        """
        spans = hashes = self._hasher.hash_tokens(tokens)
        starts, size = list(range(len(hashes))), 1
        found: list[Span] = []
        while starts:
            numbers, extends = self._trie.find(spans)
            found += [
                (start, start + size, number)
                for start, number in zip(starts, numbers.tolist(), strict=True)
                if number >= 0
            ]
            longer = [
                at
                for at, more in enumerate(extends.tolist())
                if more and starts[at] + size < len(hashes)
            ]
            starts = [starts[at] for at in longer]
            if starts:
                spans = self._hasher.extend(spans[longer], hashes[[at + size for at in starts]])
            size += 1
        if not found:
            return [], []
        numbers = np.array([number for _, _, number in found])
        known, given = self.are_known(numbers).tolist(), [False] * len(found)
        if self.has_given:
            given = self.are_given(numbers).tolist()
        return _leftmost_longest(compress(found, known)), _leftmost_longest(compress(found, given))

    def match_texts(
        self, texts: TokenizedTexts
    ) -> tuple[IntArray, IntArray, IntArray, NDArray[np.int32]]:
        """Find the known phrases in tokenised texts; see :meth:`match`."""
        return self._match(texts.hashes, texts.tokens, texts.lengths, self.are_known)

    def reader(self, language: str, earlier: TextReader | None = None) -> TextReader:
        """Return a reader for :meth:`match_texts`; ``earlier`` is reused if its salt fits."""
        if earlier is not None and earlier.salt == self._hasher.salt:
            return earlier
        return TextReader(self._hasher, language)

    def _match(
        self,
        different: NDArray[np.uint64],
        tokens: IntArray,
        lengths: IntArray,
        wanted: Callable[[IntArray], BoolArray],
    ) -> _Found:
        """Match tokens given as indices into ``different``, an array of hashes."""
        ends = lengths.cumsum()
        end = ends.repeat(lengths)
        best, extends = self._match_tokens(different, tokens, wanted)
        at = np.arange(len(tokens))
        stop = at + 1
        hashes = different[tokens]
        spans, size = hashes, 1
        while True:
            longer = flatnonzero(extends)
            longer = longer[at[longer] + size < end[at[longer]]]
            at = at[longer]
            if not len(at):
                break
            spans = self._hasher.extend(spans[longer], hashes[at + size])
            size += 1
            numbers, extends = self._trie.find(spans)
            named = flatnonzero(numbers >= 0)
            if len(named):
                found = named[wanted(numbers[named])]
                best[at[found]] = numbers[found]
                stop[at[found]] = at[found] + size
        return _placed(best, stop, ends, lengths)

    def _match_tokens(
        self,
        different: NDArray[np.uint64],
        tokens: IntArray,
        wanted: Callable[[IntArray], BoolArray],
    ) -> tuple[NDArray[np.int32], BoolArray]:
        """Return the phrase equal to each token, or -1, and whether longer phrases exist."""
        occurs = np.zeros(len(different), dtype=np.bool_)
        occurs[tokens] = True
        here = flatnonzero(occurs)  # look up each distinct token once
        numbers, extends = self._trie.find(different[here])
        named = flatnonzero(numbers >= 0)
        found = named[wanted(numbers[named])]
        best = np.full(len(different), -1, dtype=np.int32)
        best[here[found]] = numbers[found]
        occurs[here] = extends
        return best[tokens], occurs[tokens]

    # -- as arrays ------------------------------------------------------------------

    def arrays(self, used: BoolArray) -> PhraseArrays:
        """Return the ``used`` phrases as new base arrays, renumbered in order."""
        renumbered = np.where(used, np.cumsum(used) - 1, -1).astype(np.int32)
        kept = flatnonzero(used)
        data, offsets = self.keys.take(kept)
        old = self._arrays
        fresh = list(self._fresh)
        hashes = np.concatenate((old.sorted_hashes, self._hasher.hash_phrases(fresh)))
        numbers = np.concatenate(
            (
                old.sorted_numbers,
                np.fromiter(self._fresh.values(), np.int32, len(fresh)),
            )
        )
        numbers = renumbered[numbers]
        hashes, numbers = hashes[numbers >= 0], numbers[numbers >= 0]
        order = np.argsort(hashes, kind="stable")
        spans = self._trie.renumbered(renumbered)
        return PhraseArrays(
            old.salt,
            data,
            offsets,
            self.candidate_counts[kept],
            self.support[kept],
            self.anchor_counts[kept],
            self.given_counts[kept],
            self.order[kept],
            hashes[order],
            numbers[order],
            *spans,
        )


def _leftmost_longest(spans: Iterable[Span]) -> list[Span]:
    """Keep spans that do not overlap, from left to right, of one start the last one given."""
    kept: list[Span] = []
    longest = {span[0]: span for span in spans}
    for start in sorted(longest):
        if not kept or start >= kept[-1][1]:
            kept.append(longest[start])
    return kept


def _placed(
    best: NDArray[np.int32], stop: NDArray[np.int64], ends: IntArray, lengths: IntArray
) -> _Found:
    """Return what was found in all passages, by passage and place in it."""
    starts = _keep_disjoint(flatnonzero(best >= 0), stop)
    owner: IntArray = ends.searchsorted(starts, "right")
    first = (ends - lengths)[owner]
    return owner, starts - first, stop[starts] - first, best[starts]


def _keep_disjoint(starts: IntArray, stop: NDArray[np.int64]) -> IntArray:
    """Keep, from left to right, each span that begins after the last one kept has ended."""
    stops = stop[starts]
    # Overlapping spans form groups. Within a group, each kept span determines the next;
    # all groups take that step together.
    reached = np.maximum.accumulate(stops)
    at = flatnonzero(np.concatenate((np.ones(1, np.bool_), starts[1:] >= reached[:-1])))
    if len(at) >= len(starts):
        return starts
    following = np.searchsorted(starts, stops)
    end = np.append(at[1:], len(starts))
    kept = []
    while len(at):
        kept.append(at)
        at = following[at]
        within = flatnonzero(at < end)
        at, end = at[within], end[within]
    return starts[np.sort(np.concatenate(kept))]


def order_keys(keys: Iterable[str]) -> NDArray[np.uint64]:
    """Return the tie-breaker of each phrase."""
    digests = b"".join(blake2b(key.encode(), digest_size=8).digest() for key in keys)
    return np.frombuffer(digests, dtype="<u8").astype(np.uint64)
