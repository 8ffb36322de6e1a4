"""The known phrases of one state of the database, and where they lie in texts."""

from __future__ import annotations

from collections.abc import Iterable

from hebbgraph.store.database import Session
from hebbgraph.store.terms import find_terms
from hebbgraph.terms import TermKind
from hebbgraph.text.matching import leftmost_longest, possible_phrases, prefix
from hebbgraph.text.tokens import lexical_terms

__all__ = ["Vocabulary", "common_words", "is_matched", "words_of"]


def words_of(key: str, language: str) -> list[str]:
    """Return the words of a phrase: each chunk that contains it holds all of them."""
    return lexical_terms(key.split(" "), language)


def common_words(session: Session) -> frozenset[str]:
    """Return the words that more chunks hold than a matched phrase may have for its rarest."""
    return frozenset(word for (word,) in session.rows("SELECT word FROM $common"))


def is_matched(key: str, common: frozenset[str], language: str) -> bool:
    """Return whether a known phrase is matched in texts: one of its words is not common."""
    return not common or not all(word in common for word in words_of(key, language))


class Vocabulary:
    """The known phrases of one state: those that some texts may hold, or the whole of them."""

    def __init__(self, session: Session, language: str, *, whole: bool) -> None:
        self.is_whole = whole
        self.changes = session.meta.get("changes", "0")
        self._language = language
        self._common = common_words(session)
        self._known: dict[str, int] = {}
        self._prefixes: set[str] = set()
        self._matched: dict[str, bool] = {}
        if whole:
            sql = "SELECT key, id FROM $term WHERE kind = ? AND (titles > 0 OR proposals > 1)"
            self._learn(session.rows(sql, int(TermKind.TAG)))

    def _learn(self, phrases: Iterable[tuple[str, int]]) -> None:
        self._known = dict(phrases)
        self._prefixes = set(map(prefix, self._known))

    def tags_of(self, session: Session, texts: list[list[list[str]]]) -> list[list[int]]:
        """Return the terms of the phrases that each chunk mentions, from the tokens of its parts.

        They are the matched phrases, leftmost longest, without overlap.
        """
        words = {word for parts in texts for tokens in parts for word in tokens}
        sql = "SELECT word, longest FROM $opening WHERE word = ANY(?)"
        longest: dict[str, int] = dict(session.rows(sql, list(words)))
        if not self.is_whole:
            possible = {
                phrase
                for parts in texts
                for tokens in parts
                for phrase in possible_phrases(tokens, longest)
            }
            terms = find_terms(session, TermKind.TAG, possible).values()
            self._learn((term.key, term.id) for term in terms if term.is_known)
        known, accept = self._known, self._is_matched if self._common else None
        return [
            [
                known[key]
                for tokens in parts
                for *_, key in leftmost_longest(tokens, longest, self._prefixes, known, accept)
            ]
            for parts in texts
        ]

    def _is_matched(self, key: str) -> bool:
        if key not in self._matched:
            self._matched[key] = is_matched(key, self._common, self._language)
        return self._matched[key]
