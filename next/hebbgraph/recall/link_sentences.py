"""The sentences in which chunks link, which tell the links of one chunk apart."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

import numpy as np

from hebbgraph.arrays import FloatArray, IntArray
from hebbgraph.recall.evidence import RareWords
from hebbgraph.recall.snapshot import Snapshot
from hebbgraph.terms import TermKind
from hebbgraph.text.query import query_terms
from hebbgraph.text.references import place_name
from hebbgraph.text.tokens import lexical_terms, tokenize

__all__ = ["LinkSentences"]

#: A line may be wrapped anywhere, so a line break ends a sentence only before an item of a list.
_END = re.compile(r"(?<=[.!?:;])\s+|(?<=[。！？।؟])|\n\s*\n|\n\s*[-*+]\s")

#: Characters of a text that are read, since a text may be a whole book.
_READ = 1 << 15


class LinkSentences:
    """How much of a question the sentence holds in which a chunk links to an address.

    A reference has no position in its text. Its sentence is the one that holds the most words of
    the name of the place; the first one, if several do.

    Parameters
    ----------
    snapshot : Snapshot
    words : RareWords
        Of the question.
    language : str
        Language of the stemmer.
    """

    def __init__(self, snapshot: Snapshot, words: RareWords, language: str) -> None:
        self._snapshot = snapshot
        self._words = words
        self._language = language

    def __call__(self, chunks: IntArray, tags: IntArray) -> FloatArray:
        """Return the share of the question's words in the sentence of each chunk and address."""
        links = list(zip(chunks.tolist(), tags.tolist(), strict=True))
        names = {tag: self._name(tag) for _, tag in links}
        rows = sorted({row for row, tag in links if names[tag]})
        sql = "SELECT row, text FROM $chunk WHERE row = ANY(?)"
        texts = self._snapshot.session.rows(sql, rows) if rows else []
        sentences = {row: self._split(text) for row, text in texts}
        held: dict[tuple[int, int], float] = {}
        for row, tag in dict.fromkeys(links):
            terms = _sentence_with(names[tag], sentences.get(row, ()))
            held[row, tag] = sum(s for term, s in self._words.shares.items() if term in terms)
        return np.array([held[link] for link in links])

    def _name(self, tag: int) -> frozenset[str]:
        term = self._snapshot.term(tag)
        if term.kind == TermKind.EDGE:
            return frozenset()
        return _terms_of_name(term.key, self._language)

    def _split(self, text: str) -> list[frozenset[str]]:
        """Return the terms of each sentence."""
        sentences = map(tokenize, _END.split(text[:_READ]))
        return [frozenset(lexical_terms(tokens, self._language)) for tokens in sentences]


@lru_cache(maxsize=1 << 14)
def _terms_of_name(key: str, language: str) -> frozenset[str]:
    name = place_name(key)
    return frozenset(query_terms(name, language) if name else ())


def _sentence_with(name: frozenset[str], sentences: Iterable[frozenset[str]]) -> frozenset[str]:
    """Return the first of the sentences that hold the most of these terms; none if all lack them.

    >>> terms = [frozenset({"ice"}), frozenset({"salt", "road"})]
    >>> sorted(_sentence_with(frozenset({"salt"}), terms))
    ['road', 'salt']
    """
    best: frozenset[str] = frozenset()
    most = 0
    for terms in sentences:
        if (n := len(name & terms)) > most:
            best, most = terms, n
    return best
