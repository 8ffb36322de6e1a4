"""Which chunks hold which tags, kept exact while the vocabulary changes.

A phrase is *known* while it is a title, or at least two chunks propose it. It is *matched* in texts
while, besides, its rarest word stands in at most :data:`~hebbgraph.ingest.writing.MOST_HOLDERS`
chunks. A chunk holds the matched phrases that its title and text contain, leftmost longest, and,
whatever its text says, its own titles, the tags given to it, and its links.

So the tags of a chunk follow from its text and from which phrases are matched. When a phrase
enters or leaves, every chunk that contains it or holds it is matched again as a whole, since
nested and overlapping phrases change with it. Chunks that contain a phrase are among those that
hold all of its words: what a phrase consists of in tokens, its words consist of in terms, in
scripts without spaces too. Phrases of stop words alone are found like any other, since stop words
have postings; in a large corpus they are too common to be matched.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable
from functools import reduce
from itertools import repeat
from typing import NamedTuple

import numpy as np

from hebbgraph.arrays import IntArray
from hebbgraph.ingest.prepare import GIVEN, TITLE, unpack_proposed
from hebbgraph.ingest.writing import MOST_HOLDERS
from hebbgraph.records import Chunk
from hebbgraph.settings import Settings
from hebbgraph.store.chunks import Given
from hebbgraph.store.database import Session
from hebbgraph.store.meta import read_counts, write_counts, write_meta
from hebbgraph.store.postings import (
    Entries,
    Postings,
    change_postings,
    pack_tags,
    portions,
    read_postings,
    unpack_tags,
)
from hebbgraph.store.terms import (
    Term,
    count_held,
    drop_unused,
    find_terms,
    number_terms,
    terms_by_id,
)
from hebbgraph.terms import Role, TermKind
from hebbgraph.text.matching import leftmost_longest, possible_phrases, prefix, spans_in
from hebbgraph.text.reading import searched_text, split_tokens, tokenize_texts
from hebbgraph.text.references import Link, links_of
from hebbgraph.text.tokens import lexical_terms

__all__ = ["complete", "held_tags", "is_complete"]

#: A phrase is looked for in the chunks that hold these of its words, the rarest.
_RAREST_WORDS = 3
#: From this many chunks on, phrases are looked up in memory first.
_MANY = 1000


def is_complete(session: Session) -> bool:
    """Return whether every chunk's tags follow from today's vocabulary."""
    return session.meta.get("open_tags", "0") == "0"


def complete(session: Session, settings: Settings, limit: int) -> int:
    """Match up to ``limit`` chunks whose tags are open; return how many are left."""
    candidates = _note_changes(session, settings)
    rows = [row for (row,) in session.rows("SELECT row FROM $pending ORDER BY row LIMIT ?", limit)]
    if rows:
        _Matcher(session, settings, many=len(rows) >= _MANY).match(rows, candidates)
        session.run("DELETE FROM $pending WHERE row = ANY(?)", rows)
    left = int(session.rows("SELECT count(*) FROM $pending")[0][0])
    write_counts(session, read_counts(session))
    write_meta(session, {"open_tags": str(left)})
    return left


def held_tags(session: Session, settings: Settings, rows: list[int]) -> dict[int, dict[int, int]]:
    """Return the terms and roles that chunks should hold by today's vocabulary."""
    matcher = _Matcher(session, settings, many=len(rows) >= _MANY)
    texts = list(matcher.texts(rows))
    return dict(zip((text.row for text in texts), matcher.tags(texts), strict=True))


# -- from changed terms to chunks -------------------------------------------------------------


def _note_changes(session: Session, settings: Settings) -> dict[int, set[str]]:
    """Turn changed terms into pending chunks.

    Returns
    -------
    dict of int to set of str
        For chunks that may contain a phrase which has become known, the keys of these; others that
        are pending are matched in any case.
    """
    changed = [term for (term,) in session.rows("SELECT term FROM $changed")]
    if not changed:
        return {}
    pending = {row for (row,) in session.rows("SELECT row FROM $pending")}
    if len(pending) == int(session.meta.get("chunks", 0)):
        session.run("DELETE FROM $changed")
        return {}
    terms = terms_by_id(session, changed)
    tags = {id_: term for id_, term in terms.items() if term.kind == TermKind.TAG}
    certain = _holders(session, tags)
    certain |= _chunks_of_words(
        session, [term for term in terms.values() if term.kind == TermKind.WORD], settings
    )
    known, language = [term for term in tags.values() if term.is_known], settings.language
    every = _common_words(session) if known else frozenset()
    matched = [term for term in known if _is_matched(term.key, every, language)]
    candidates: dict[int, set[str]] = {}
    for key, rows in _containing(session, matched, settings.language):
        for row in rows.tolist():
            candidates.setdefault(row, set()).add(key)
    for row in certain | pending:
        candidates.pop(row, None)
    session.many(
        "INSERT INTO $pending(row) VALUES (?) ON CONFLICT DO NOTHING",
        ((row,) for row in certain | candidates.keys()),
    )
    session.run("DELETE FROM $changed")
    return candidates


def _holders(session: Session, terms: Collection[int]) -> set[int]:
    found: set[int] = set()
    for part in portions(list(terms), 5000):
        for held in read_postings(session, part).values():
            found.update(held.rows.tolist())
    return found


def _chunks_of_words(session: Session, words: Iterable[Term], settings: Settings) -> set[int]:
    """Return the chunks whose tags depend on words that became common, or ceased to be."""
    rare = [word.id for word in words if word.df <= MOST_HOLDERS]
    common = [word.id for word in words if word.df > MOST_HOLDERS]
    found = _holders(session, rare)
    if not common:
        return found
    tags: set[int] = set()
    for part in portions(sorted(_holders(session, common)), 5000):
        for (data,) in session.rows("SELECT tags FROM $held WHERE row = ANY(?)", part):
            tags.update(unpack_tags(data)[0].tolist())
    held = [term for term in terms_by_id(session, tags).values() if term.kind == TermKind.TAG]
    every, language = _common_words(session), settings.language
    left = [term.id for term in held if not _is_matched(term.key, every, language)]
    return found | _holders(session, left)


def _containing(
    session: Session, phrases: Iterable[Term], language: str
) -> Iterable[tuple[str, IntArray]]:
    """Yield each phrase with the chunks that hold its rarest words."""
    words_of = {phrase.key: _words(phrase.key, language) for phrase in phrases}
    distinct = {word for words in words_of.values() for word in words}
    terms = find_terms(session, TermKind.WORD, distinct)
    for part in portions(list(words_of), 1000):
        wanted = {
            key: sorted(
                (terms[word] for word in words_of[key] if word in terms),
                key=lambda t: (t.df, t.key),
            )[:_RAREST_WORDS]
            for key in part
        }
        postings = read_postings(session, {term.id for few in wanted.values() for term in few})
        for key, few in wanted.items():
            if few:
                yield key, reduce(np.intersect1d, (postings[term.id].rows for term in few))


def _words(key: str, language: str) -> list[str]:
    return lexical_terms(key.split(" "), language)


def _common_words(session: Session) -> frozenset[str]:
    return frozenset(word for (word,) in session.rows("SELECT word FROM $common"))


def _is_matched(key: str, common: frozenset[str], language: str) -> bool:
    """Return whether a known phrase is matched in texts: one of its words is not common."""
    return not common or not all(word in common for word in _words(key, language))


# -- matching ---------------------------------------------------------------------------------


class _Text(NamedTuple):
    """What the tags of a chunk follow from."""

    row: int
    tokens: list[list[str]]
    proposed: list[tuple[int, int]]
    links: list[Link]


class _Matcher:
    """Matches chunks against the vocabulary of one state of the database.

    Parameters
    ----------
    session : Session
    settings : Settings
    many : bool
        Whether to read all known phrases first, instead of looking up those that a text may hold.
    """

    def __init__(self, session: Session, settings: Settings, *, many: bool) -> None:
        self._session = session
        self._settings = settings
        self._common = _common_words(session)
        self._known: dict[str, int] = {}
        self._prefixes: set[str] = set()
        self._many = many
        if many:
            found = session.rows(
                "SELECT key, id FROM $term WHERE kind = ? AND (titles > 0 OR proposals > 1)",
                int(TermKind.TAG),
            )
            self._learn(found)

    def _learn(self, phrases: Iterable[tuple[str, int]]) -> None:
        language = self._settings.language
        self._known = {
            key: term for key, term in phrases if _is_matched(key, self._common, language)
        }
        self._prefixes = set(map(prefix, self._known))

    def match(self, rows: list[int], candidates: dict[int, set[str]]) -> None:
        """Match chunks again, of ``candidates`` those that contain one of their phrases."""
        for part in portions(rows, 2000):
            texts = [
                text
                for text in self.texts(part)
                if text.row not in candidates or _contains(text.tokens, candidates[text.row])
            ]
            self._write([text.row for text in texts], self.tags(texts))

    def texts(self, rows: list[int]) -> Iterable[_Text]:
        settings = self._settings
        known = dict(
            self._session.rows("SELECT row, tokens FROM $pending WHERE row = ANY(?)", rows)
        )
        for row, title, text, metadata, given, proposed in self._session.rows(
            "SELECT row, title, text, metadata, given, proposed FROM $chunk WHERE row = ANY(?)",
            rows,
        ):
            fields = json.loads(metadata) if metadata != "{}" else {}
            if joined := known.get(row):
                tokens = split_tokens(joined)
            else:
                searched = searched_text(text, fields, settings.search_metadata)
                tokens = tokenize_texts(title, searched)
            links: list[Link] = []
            if settings.edges or "addresses" in given or "references" in given:
                named = Given(**{name: tuple(value) for name, value in json.loads(given).items()})
                links = links_of(
                    Chunk(
                        text=text,
                        metadata=fields,
                        addresses=named.addresses,
                        references=named.references,
                    ),
                    settings.edges,
                )
            yield _Text(row, tokens, unpack_proposed(proposed), links)

    def tags(self, texts: list[_Text]) -> list[dict[int, int]]:
        """Return the tags and roles of each chunk."""
        words = {word for text in texts for tokens in text.tokens for word in tokens}
        longest: dict[str, int] = dict(
            self._session.rows(
                "SELECT word, longest FROM $opening WHERE word = ANY(?)", list(words)
            )
        )
        if not self._many:
            possible = {
                phrase
                for text in texts
                for tokens in text.tokens
                for phrase in possible_phrases(tokens, longest)
            }
            terms = find_terms(self._session, TermKind.TAG, possible)
            self._learn((term.key, term.id) for term in terms.values() if term.is_known)
        known, prefixes = self._known, self._prefixes
        places = self._places(texts)
        tags = []
        for text in texts:
            held = {
                known[key]: int(Role.MENTION)
                for tokens in text.tokens
                for *_, key in leftmost_longest(spans_in(tokens, longest, prefixes, known))
            }
            for term, code in text.proposed:
                if code == TITLE:
                    held[term] = int(Role.TITLE)
                elif code == GIVEN and term not in held:
                    held[term] = int(Role.GIVEN)
            held.update((places[link.kind, link.key], int(link.role)) for link in text.links)
            tags.append(held)
        return tags

    def _places(self, texts: list[_Text]) -> dict[tuple[int, str], int]:
        """Return the term of each link."""
        links = {(link.kind, link.key) for text in texts for link in text.links}
        places = {}
        for kind in (TermKind.ADDRESS, TermKind.PAGE, TermKind.EDGE):
            keys = [key for of_kind, key in links if of_kind == kind]
            for key, term in number_terms(self._session, kind, keys).items() if keys else ():
                places[int(kind), key] = term
        return places

    def _write(self, rows: list[int], tags: list[dict[int, int]]) -> None:
        """Write forward lists, and the postings that differ from the former ones."""
        before = dict(self._session.rows("SELECT row, tags FROM $held WHERE row = ANY(?)", rows))
        added: list[tuple[int, int, int]] = []
        removed: list[tuple[int, int, int]] = []
        again: list[int] = []
        lists: list[tuple[bytes, int]] = []
        for row, held in zip(rows, tags, strict=True):
            terms = sorted(held)
            roles = [held[term] for term in terms]
            packed = pack_tags(terms, roles)
            if packed == before[row]:
                continue
            lists.append((packed, row))
            if not before[row]:
                added += zip(terms, repeat(row), roles)
                continue
            former_terms, former_roles = unpack_tags(before[row])
            former = dict(zip(former_terms.tolist(), former_roles.tolist(), strict=True))
            removed += ((term, row, 0) for term in former.keys() - held.keys())
            changed = [term for term in terms if former.get(term) != held[term]]
            added += ((term, row, held[term]) for term in changed)
            again += (term for term in changed if term in former)
        if not lists:
            return
        self._session.many("UPDATE $held SET tags = ? WHERE row = ?", lists)
        new, gone = _columns(added), _columns(removed)
        change_postings(self._session, new, gone)
        count_held(
            self._session, new.terms, np.concatenate((gone.terms, np.array(again, np.int64)))
        )
        if len(gone.terms):
            drop_unused(self._session, np.unique(gone.terms))


def _columns(entries: list[tuple[int, int, int]]) -> Entries:
    """Return postings from (term, row, role)."""
    terms, rows, roles = np.array(entries, np.int64).reshape(-1, 3).T
    once = np.ones(len(rows), np.uint8)
    return Entries(terms, Postings(rows.astype("<i4"), once, roles.astype(np.uint8)))


def _contains(tokens: list[list[str]], phrases: Iterable[str]) -> bool:
    texts = [f" {' '.join(part)} " for part in tokens]
    return any(f" {phrase} " in text for phrase in phrases for text in texts)
