"""Phrases: their numbers, how many chunks propose each, and which of them are tags."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from hashlib import blake2b
from itertools import compress
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from hebbgraph.arrays import BoolArray, GrowableArray, IntArray, flatnonzero, unique
from hebbgraph.graph.matching import Span, leftmost_longest, match_texts, spans_in
from hebbgraph.graph.packed_strings import PackedStrings, pack_strings
from hebbgraph.graph.references import ADDRESS, EDGE, link_kind
from hebbgraph.graph.trie import PhraseTrie, find_sorted
from hebbgraph.text.hashing import PhraseHasher
from hebbgraph.text.reader import TextReader, TokenizedTexts

__all__ = [
    "MIN_CANDIDATES",
    "PhraseArrays",
    "PhraseTable",
    "StagedPhrases",
    "VocabularyChange",
    "order_keys",
]

#: A phrase is known once this many chunks propose it.
MIN_CANDIDATES = 2
#: A phrase of more than one in this many chunks tells nothing apart, in a corpus of more than
#: _COMMON_SHARE * _COMMON_MIN chunks.
_COMMON_SHARE, _COMMON_MIN = 4, 20
_SALT_BYTES = 16


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


class StagedPhrases(NamedTuple):
    """The phrases that some chunks propose; each array lists a phrase once per chunk.

    ``anchors`` (titles) are among the ``candidates``; ``given`` tags are not. ``proposed`` lists
    the candidates with the ``worth`` of each proposal in mentions.
    """

    candidates: IntArray
    anchors: IntArray
    given: IntArray
    proposed: IntArray
    worth: IntArray


class VocabularyChange(NamedTuple):
    """Phrases that became known, and phrases that ceased to be."""

    entered: list[int]
    left: list[int]


class PhraseTable:
    """Numbers every phrase that a live chunk proposes, and matches those in the vocabulary.

    A phrase is *known* while it is an anchor (a title) of one live chunk or a candidate of two;
    every chunk that mentions it holds it as a tag. A *given* phrase is a tag of the chunks it was
    given to, known or not, and is not matched in other chunks: there it would hide the shorter
    known phrases inside it, and undo the giver's selection. Matching the tags of a language model
    lowered recall@5 on musique_train100 from .79 to .75.

    Phrases live in arrays, possibly memory-mapped. New ones are collected in a dictionary,
    which the owner folds into new arrays before it grows large.

    Parameters
    ----------
    arrays : PhraseArrays, optional

    Attributes
    ----------
    keys : PackedStrings
        The key of each phrase.
    has_links : bool
        Whether any phrase is an address or an edge by metadata.
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
        self._has_given = bool(arrays.given_counts.any())
        self._order = GrowableArray(np.uint64, arrays.phrase_order)
        kinds = self._packed_link_kinds()
        self._link_kinds = GrowableArray(np.int8, kinds)
        self.has_links = bool(kinds.any())
        self._trie = PhraseTrie(arrays.span_hashes, arrays.span_numbers, arrays.span_extends)

    def _packed_link_kinds(self) -> NDArray[np.int8]:
        kinds = np.zeros(len(self.keys), np.int8)
        data, offsets = self._arrays.key_data, self._arrays.key_offsets
        if len(data):
            first = data[offsets[:-1]]
            for number in flatnonzero((first == ord(ADDRESS)) | (first == ord(EDGE))).tolist():
                kinds[number] = link_kind(self.keys[number])
        return kinds

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
        """Number of mentions that the proposals of each phrase justify."""
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

    @property
    def link_kinds(self) -> NDArray[np.int8]:
        """The :class:`~hebbgraph.formulas.adjacency.LinkKind` of each phrase."""
        return self._link_kinds.view

    @property
    def in_vocabulary(self) -> NDArray[np.bool_]:
        """Mask of the phrases that are tags, known or given."""
        every_phrase = np.arange(len(self))
        return self.are_known(every_phrase) | self.are_given(every_phrase)

    @property
    def in_use(self) -> NDArray[np.bool_]:
        """Mask of the phrases that a live chunk proposes or was given; folding drops the rest."""
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

        "need" and "compared" are candidates of a few chunks, where they happen to open a sentence
        or to stand among rare words, and words of very many. This is the *keyphraseness* of [1]_:
        the share of chunks that propose a phrase among those that mention it. Each proposal
        justifies as many mentions as its kind is worth; a phrase with more mentions is incidental.

        So is a phrase of more than a quarter of a large corpus, such as a function word of a
        language without a stop list.

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

    # -- numbers --------------------------------------------------------------------

    def intern(self, keys: Sequence[str]) -> list[int]:
        """Return the number of each phrase, numbering new ones."""
        fresh = self._fresh
        unknown = [key for key in dict.fromkeys(keys) if key not in fresh]
        packed = self._find_packed(unknown)
        if new := [key for key in unknown if key not in packed]:
            for key in new:
                fresh[key] = len(self.keys)
                self.keys.append(key)
            zeros = np.zeros(len(new), np.int32)
            for counts in (self._candidates, self._support, self._anchors, self._given):
                counts.extend(zeros)
            self._order.extend(order_keys(new))
            kinds = [link_kind(key) for key in new]
            self._link_kinds.extend(kinds)
            self.has_links = self.has_links or any(kinds)
        if not packed:
            return [fresh[key] for key in keys]
        return [packed[key] if key in packed else fresh[key] for key in keys]

    def number(self, key: str) -> int | None:
        """Return the number of a phrase, or None."""
        if key in self._fresh:
            return self._fresh[key]
        hashes = self._arrays.sorted_hashes
        wanted = np.uint64(self._hasher.hash_phrase(key))
        at = int(hashes.searchsorted(wanted))
        known = at < len(hashes) and hashes[at] == wanted
        return int(self._arrays.sorted_numbers[at]) if known else None

    def _find_packed(self, keys: Sequence[str]) -> dict[str, int]:
        """Return the numbers of the phrases in the base arrays."""
        if not len(self._arrays.sorted_hashes) or not keys:
            return {}
        numbers = self.numbers_of_hashes(self._hasher.hash_phrases(keys)).tolist()
        return {key: number for key, number in zip(keys, numbers, strict=True) if number >= 0}

    def numbers_of_hashes(self, hashes: NDArray[np.uint64]) -> NDArray[np.int32]:
        """Return the numbers of phrases in the base arrays, by hash; -1 if unknown."""
        if not len(self._arrays.sorted_numbers):
            return np.full(len(hashes), -1, np.int32)
        at = find_sorted(self._arrays.sorted_hashes, hashes)
        return np.where(at >= 0, self._arrays.sorted_numbers[at], np.int32(-1))

    # -- the vocabulary -------------------------------------------------------------

    def count(self, added: StagedPhrases, removed: StagedPhrases) -> VocabularyChange:
        """Update the counts, except those of given tags; return how the vocabulary changes."""
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
        self._add_to_trie(entered)
        return VocabularyChange(entered.tolist(), touched[before & ~after].tolist())

    def count_given(self, added: IntArray, removed: IntArray) -> None:
        """Update the counts of given tags; each array lists a phrase once per chunk."""
        given = self._given.writable()
        is_new = given[added] == 0
        np.add.at(given, added, 1)
        np.subtract.at(given, removed, 1)
        self._has_given = bool(given.any())
        self._add_to_trie(unique(added[is_new]))

    def _add_to_trie(self, numbers: IntArray) -> None:
        """Make these phrases matchable. Phrases that leave stay in the trie and are ignored."""
        hashes, last = self._hasher.hash_prefixes([self.keys[at] for at in numbers.tolist()])
        named = np.full(len(hashes), -1, dtype=np.int32)
        named[last] = numbers
        extends = np.ones(len(hashes), dtype=np.bool_)
        extends[last] = False
        self._trie.insert(hashes, named, extends)

    def match_question(self, tokens: Sequence[str]) -> tuple[list[Span], list[Span]]:
        """Find the known phrases in a few tokens, and the given ones.

        Each list is leftmost longest, without overlap.
        """
        spans = spans_in(self._trie, self._hasher, tokens)
        if not spans:
            return [], []
        numbers = np.array([number for _, _, number in spans])
        known = leftmost_longest(compress(spans, self.are_known(numbers).tolist()))
        if not self._has_given:
            return known, []
        return known, leftmost_longest(compress(spans, self.are_given(numbers).tolist()))

    def match_texts(self, texts: TokenizedTexts) -> tuple[IntArray, NDArray[np.int32]]:
        """Find the known phrases in tokenised texts; see :mod:`hebbgraph.graph.matching`."""
        return match_texts(self._trie, self._hasher, texts, self.are_known)

    def reader(self, language: str, earlier: TextReader | None = None) -> TextReader:
        """Return a reader for :meth:`match_texts`; ``earlier`` is reused if its salt fits."""
        if earlier is not None and earlier.salt == self._hasher.salt:
            return earlier
        return TextReader(self._hasher, language)

    # -- as arrays ------------------------------------------------------------------

    def arrays(self, used: BoolArray) -> PhraseArrays:
        """Return the ``used`` phrases as new base arrays, renumbered in order."""
        renumbered = np.where(used, np.cumsum(used) - 1, -1).astype(np.int32)
        at = flatnonzero(used)
        data, offsets = self.keys.take(at)
        old, fresh = self._arrays, self._fresh
        hashes = np.concatenate((old.sorted_hashes, self._hasher.hash_phrases(list(fresh))))
        fresh_numbers = np.fromiter(fresh.values(), np.int32, len(fresh))
        numbers = renumbered[np.concatenate((old.sorted_numbers, fresh_numbers))]
        hashes, numbers = hashes[numbers >= 0], numbers[numbers >= 0]
        order = np.argsort(hashes, kind="stable")
        return PhraseArrays(
            old.salt,
            data,
            offsets,
            self.candidate_counts[at],
            self.support[at],
            self.anchor_counts[at],
            self.given_counts[at],
            self.order[at],
            hashes[order],
            numbers[order],
            *self._trie.renumbered(renumbered),
        )


def order_keys(keys: Iterable[str]) -> NDArray[np.uint64]:
    """Return the tie-breaker of each phrase."""
    digests = b"".join(blake2b(key.encode(), digest_size=8).digest() for key in keys)
    return np.frombuffer(digests, dtype="<u8").astype(np.uint64)
