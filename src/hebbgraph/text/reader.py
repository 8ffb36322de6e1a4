"""Tokenise many texts at once: each distinct word is analysed once, and no token is an object."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, compress
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hebbgraph.arrays import GrowableArray, IntArray, RaggedArray, prefix_sums
from hebbgraph.text.characters import is_unspaced
from hebbgraph.text.hashing import PhraseHasher
from hebbgraph.text.syllables import has_syllabic_letter, is_syllabic, syllabic_terms
from hebbgraph.text.tokens import (
    lexical_terms,
    simple_terms,
    simple_token,
    tokenize,
    tokenize_word,
)
from hebbgraph.text.words import Interner, WordTable, split_page

__all__ = ["TextReader", "TokenizedTexts"]


_KEPT_SHARE = 2  # forgetting keeps at most one in two of the capacity
_TOKENS_OF_A_WORD = 4  # high mean; in scripts without spaces, a whole text is one word


class TokenizedTexts(NamedTuple):
    """Texts as token hashes and lexical terms.

    Attributes
    ----------
    n_texts : ndarray of int64, shape (n_chunks,)
        Number of texts of each chunk.
    lengths : ndarray of int64, shape (n_texts,)
        Number of tokens of each text.
    tokens : ndarray of int64, shape (n_tokens,)
        Index of each token's hash in ``hashes``.
    hashes : ndarray of uint64
        Token hashes of all words known to the reader, possibly with duplicates.
    terms : list of str
        Lexical terms of each chunk, separated by spaces; empty if not requested.
    """

    n_texts: IntArray
    lengths: IntArray
    tokens: IntArray
    hashes: NDArray[np.uint64]
    terms: list[str]


class _Words(Interner):
    """Numbers words; words that differ only in case and punctuation share a number."""

    def __init__(self, size: int = 0) -> None:
        super().__init__()
        #: For each fresh word, whether it equals its only token.
        self.is_simple: list[bool] = []
        self._size = size

    def __missing__(self, word: str) -> int:
        token = simple_token(word)
        if token is not None and token != word:
            return self[token]
        self.fresh.append(word)
        self.is_simple.append(token is not None)
        self._size += 1
        return self.setdefault(word, self._size - 1)


def text_terms(texts: Sequence[str], language: str) -> list[str]:
    """Return the terms of the texts of a chunk.

    These are the :func:`~hebbgraph.text.tokens.lexical_terms`, and for Vietnamese, after them,
    the :func:`~hebbgraph.text.syllables.syllabic_terms`.

    Examples
    --------
    >>> text_terms(["Chợ", "Bạn bán."], "english")
    ['cho', 'ban', 'ban', 'chợ', 'bạn', 'bán', 'chợ_bạn', 'bạn_bán']
    """
    terms = [term for text in texts for term in lexical_terms(tokenize(text), language)]
    whole = " ".join(texts)
    return [*terms, *syllabic_terms(whole)] if is_syllabic(whole) else terms


class TextReader:
    """Turns texts into token hashes and lexical terms.

    Results equal those of :func:`~hebbgraph.text.tokens.tokenize` and :func:`text_terms`. The
    tokens and terms of each word are cached in arrays, and texts are assembled from these.

    Parameters
    ----------
    hasher : PhraseHasher
    language : str
        See :func:`~hebbgraph.text.tokens.lexical_terms`.
    capacity : int
        Beyond this many words (or the same volume of tokens), the next call forgets the
        words that occurred once and keeps the most frequent of the others.

    Examples
    --------
    >>> reader = TextReader(PhraseHasher(b"any"), "english")
    >>> texts = reader.read([("Synapse", "Synapses learn.")])
    >>> texts.terms, texts.lengths.tolist()
    (['synaps synaps learn'], [1, 2])
    """

    def __init__(self, hasher: PhraseHasher, language: str, *, capacity: int = 1 << 17) -> None:
        self._hasher = hasher
        self._language = language
        self._capacity = capacity
        self._words = _Words()
        self._table = WordTable(lambda words: [self._words[word] for word in words])
        self._tokens = RaggedArray(np.uint64)
        self._terms = RaggedArray(np.uint8)
        self._context_dependent = GrowableArray(np.bool_)
        self._counts: IntArray = np.zeros(0, np.int64)  # occurrences of each word

    @property
    def salt(self) -> bytes:
        """The key of the hashes."""
        return self._hasher.salt

    def _forget(self, most: int = 0) -> None:
        """Keep the ``most`` most frequent words that occurred more than once; forget the rest."""
        order = np.argsort(-self._counts, kind="stable")[:most]
        frequent = np.sort(order[self._counts[order] > 1])
        renumbered = np.full(len(self._context_dependent), -1, dtype=np.int64)
        renumbered[frequent] = np.arange(len(frequent))
        words, numbers = list(self._words), renumbered[list(self._words.values())]
        self._table.clear()
        self._words = _Words(len(frequent))
        for at in np.flatnonzero(numbers >= 0).tolist():
            self._words[words[at]] = int(numbers[at])
        self._tokens = self._tokens.take(frequent)
        self._terms = self._terms.take(frequent)
        self._context_dependent = GrowableArray(np.bool_, self._context_dependent.view[frequent])
        self._counts = np.zeros(0, np.int64)

    def read(self, chunks: Sequence[Sequence[str]], *, terms: bool = True) -> TokenizedTexts:
        """Tokenise the texts of chunks; ``terms=False`` omits the lexical terms."""
        known = max(len(self._words), len(self._tokens.values) // _TOKENS_OF_A_WORD)
        if known > self._capacity:
            self._forget(self._capacity // _KEPT_SHARE)
            if len(self._tokens.values) > _TOKENS_OF_A_WORD * self._capacity:
                self._forget()
        page = split_page([text for texts in chunks for text in texts])
        numbers = self._table.number(page)
        if self._words.fresh:
            self._learn(self._words.fresh, self._words.is_simple)
            self._words.fresh, self._words.is_simple = [], []
        occurrences = np.bincount(numbers, minlength=len(self._counts))
        occurrences[: len(self._counts)] += self._counts
        self._counts = occurrences
        n_texts = np.fromiter(map(len, chunks), np.int64, len(chunks))
        counts, tokens = self._tokens.positions(numbers)
        bounds = prefix_sums(np.diff(page.ends, prepend=-1))
        lengths = np.diff(prefix_sums(counts)[bounds])
        last_words = bounds[np.cumsum(n_texts)]
        return TokenizedTexts(
            n_texts,
            lengths,
            tokens,
            self._tokens.values.astype(np.uint64, copy=False),
            self._joined(chunks, numbers, last_words) if terms else [],
        )

    def _learn(self, words: Sequence[str], is_simple: Sequence[bool]) -> None:
        """Cache the tokens and terms of new words."""
        tokens = [
            [word] if simple else tokenize_word(word)
            for word, simple in zip(words, is_simple, strict=True)
        ]
        self._tokens.extend(
            list(map(len, tokens)), self._hasher.hash_tokens(chain.from_iterable(tokens))
        )
        dependent = [
            not simple and (any(map(is_unspaced, parts)) or has_syllabic_letter(word))
            for word, parts, simple in zip(words, tokens, is_simple, strict=True)
        ]
        # A simple token has exactly one term, so one call returns them all.
        simple_term = iter(simple_terms(list(compress(words, is_simple)), self._language))
        # Each term ends with a space, so words can be concatenated. Texts with words whose
        # terms depend on context are read as a whole.
        terms = [
            f"{next(simple_term)} ".encode() if simple else b"" if whole else self._encoded(parts)
            for parts, simple, whole in zip(tokens, is_simple, dependent, strict=True)
        ]
        self._terms.extend(list(map(len, terms)), np.frombuffer(b"".join(terms), np.uint8))
        self._context_dependent.extend(dependent)

    def _encoded(self, tokens: list[str]) -> bytes:
        return "".join([f"{term} " for term in lexical_terms(tokens, self._language)]).encode()

    def _joined(
        self, chunks: Sequence[Sequence[str]], numbers: IntArray, last_words: IntArray
    ) -> list[str]:
        counts, at = self._terms.positions(numbers)
        data = self._terms.values[at].tobytes()
        ends = prefix_sums(counts)[last_words].tolist()
        terms = [
            data[start:stop].rstrip().decode()
            for start, stop in zip([0, *ends], ends, strict=False)
        ]
        dependent = np.flatnonzero(self._context_dependent.view[numbers])
        # In unspaced scripts bigrams span the whitespace between words, and whether a text is
        # Vietnamese shows only in the whole text, so redo those chunks.
        for chunk in np.unique(np.searchsorted(last_words, dependent, "right")).tolist():
            terms[chunk] = " ".join(text_terms(chunks[chunk], self._language))
        return terms
