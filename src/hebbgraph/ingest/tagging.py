"""Which chunks hold which tags, kept exact while the vocabulary changes.

A phrase is *known* while it is a title, or at least two chunks propose it. It is *matched* in texts
while, besides, its rarest word stands in at most :data:`~hebbgraph.ingest.writing.MOST_HOLDERS`
chunks. A chunk holds the matched phrases that its title and text contain, leftmost longest, and,
whatever its text says, its own titles, the tags given to it, and its links.

When a phrase enters or leaves, every chunk that contains it or holds it is matched again as a
whole, since nested and overlapping phrases change with it. Chunks that contain a phrase are among
those that hold all of its words, in scripts without spaces too; their texts tell which they are.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from functools import reduce
from typing import NamedTuple

import numpy as np

from hebbgraph.arrays import IntArray
from hebbgraph.ingest.prepare import ProposedAs
from hebbgraph.ingest.writing import MOST_HOLDERS
from hebbgraph.records import Chunk
from hebbgraph.settings import Settings
from hebbgraph.store.chunks import loaded, to_given
from hebbgraph.store.database import Session
from hebbgraph.store.meta import read_counts, write_counts, write_meta
from hebbgraph.store.postings import (
    Postings,
    add_postings,
    pack_pairs,
    portions,
    read_postings,
    remove_postings,
    unpack_pairs,
    unpack_tags,
)
from hebbgraph.store.terms import (
    IS_KNOWN,
    Term,
    count_held,
    drop_unused,
    find_terms,
    longest_phrases,
    number_terms,
    terms_by_id,
)
from hebbgraph.terms import Role, TermKind
from hebbgraph.text.context import join_tokens, searched_text, tokenize_texts
from hebbgraph.text.matching import Phrases, possible_phrases
from hebbgraph.text.references import Link, links_of
from hebbgraph.text.tokens import lexical_terms

#: A phrase is looked for in the chunks that hold these of its words, the rarest.
_RAREST_WORDS = 3
#: If more than one in so many chunks is matched, all phrases are read first.
_MANY = 100
#: Chunks whose texts are in memory at once.
_PAGE = 2000
_KNOWN = f"SELECT key, id FROM $term WHERE kind = ? AND {IS_KNOWN}"
#: Texts that were read already, as tokens, are not read from the disk again.
_TEXTS = """
    SELECT c.row, coalesce(tokens, ''), CASE WHEN tokens <> '' THEN '' ELSE title END,
    CASE WHEN tokens <> '' THEN '' ELSE text END, metadata, given, proposed
    FROM $chunk AS c LEFT JOIN $pending AS p ON p.row = c.row WHERE c.row = ANY(?)
"""


def is_complete(session: Session) -> bool:
    """Return whether every chunk's tags follow from today's vocabulary."""
    return session.meta.get("open_tags", "0") == "0"


def complete(
    session: Session, settings: Settings, limit: int, vocabulary: Vocabulary | None = None
) -> tuple[int, Vocabulary | None]:
    """Match up to ``limit`` chunks whose tags are open; return how many are left.

    The second value is for the next call.
    """
    _note_changes(session, settings)
    rows = [row for (row,) in session.rows("SELECT row FROM $pending ORDER BY row LIMIT ?", limit)]
    if rows:
        if vocabulary is None or vocabulary.changes != session.meta.get("changes"):
            whole = len(rows) == limit or _MANY * len(rows) > int(session.meta.get("chunks", 0))
            vocabulary = Vocabulary(session, settings.language, whole=whole)
        _match(session, settings, vocabulary, rows)
        session.run("DELETE FROM $pending WHERE row = ANY(?)", rows)
    left = int(session.rows("SELECT count(*) FROM $pending")[0][0])
    write_counts(session, read_counts(session))
    write_meta(session, {"open_tags": str(left)})
    if vocabulary is not None:
        vocabulary.changes = session.meta["changes"]
    return left, vocabulary


# -- from changed terms to chunks -------------------------------------------------------------


def _note_changes(session: Session, settings: Settings) -> None:
    """Turn changed terms into pending chunks."""
    changed = [term for (term,) in session.rows("SELECT term FROM $changed")]
    if not changed:
        return
    session.run("DELETE FROM $changed")
    ((pending,),) = session.rows("SELECT count(*) FROM $pending")
    if pending == int(session.meta.get("chunks", 0)):
        return
    terms = terms_by_id(session, changed)
    tags = {id_: term for id_, term in terms.items() if term.kind == TermKind.TAG}
    touched = _holders(session, tags)
    touched |= _chunks_of_words(
        session, [term for term in terms.values() if term.kind == TermKind.WORD], settings
    )
    every, language = _common_words(session), settings.language
    known = (term for term in tags.values() if term.is_known)
    matched = [term for term in known if _is_matched(term.key, every, language)]
    sql = "INSERT INTO $pending(row, tokens) VALUES (?, ?) ON CONFLICT DO NOTHING"
    session.many(sql, ((row, "") for row in touched))
    for texts in _mentioning(session, matched, settings):
        session.many(sql, ((text.row, text.tokens) for text in texts))


def _holders(session: Session, terms: Collection[int]) -> set[int]:
    found: set[int] = set()
    for part in portions(list(terms), 5000):
        for held in read_postings(session, part).values():
            found.update(held.rows.tolist())
    return found


def _chunks_of_words(session: Session, words: Iterable[Term], settings: Settings) -> set[int]:
    """Return the chunks whose tags depend on words that became common, or ceased to be."""
    rare = [word.id for word in words if word.df <= MOST_HOLDERS]
    common = {word.key: word.id for word in words if word.df > MOST_HOLDERS}
    found = _holders(session, rare)
    if not common:
        return found
    tags: set[int] = set()
    for part in portions(sorted(_holders(session, common.values())), 5000):
        for (data,) in session.rows("SELECT tags FROM $held WHERE row = ANY(?)", part):
            tags.update(unpack_tags(data)[0].tolist())
    held = [term for term in terms_by_id(session, tags).values() if term.kind == TermKind.TAG]
    every, language = _common_words(session), settings.language
    left = [
        term.id
        for term in held
        if not common.keys().isdisjoint(_words_of(term.key, language))
        and not _is_matched(term.key, every, language)
    ]
    return found | _holders(session, left)


def _mentioning(
    session: Session, phrases: Sequence[Term], settings: Settings
) -> Iterable[list[_Text]]:
    """Yield, in portions, the chunks that contain one of some phrases."""
    held = _candidates(session, phrases, settings.language)
    rows = sorted(set().union(*(some.tolist() for some in held)))
    entering = Phrases({phrase.key: phrase.id for phrase in phrases})
    for part in portions(rows, _PAGE):
        texts = _texts(session, settings, part)
        yield [text for text in texts if entering.values_in(text.tokens)]


def _candidates(session: Session, phrases: Iterable[Term], language: str) -> Iterable[IntArray]:
    """Yield for each phrase the chunks that hold its rarest words."""
    words = {phrase.key: _words_of(phrase.key, language) for phrase in phrases}
    distinct = {word for some in words.values() for word in some}
    terms = find_terms(session, TermKind.WORD, distinct)
    for part in portions(list(words), 1000):
        wanted = {
            key: sorted(
                (terms[word] for word in words[key] if word in terms),
                key=lambda t: (t.df, t.key),
            )[:_RAREST_WORDS]
            for key in part
        }
        postings = read_postings(session, {term.id for few in wanted.values() for term in few})
        for few in wanted.values():
            if few:
                yield reduce(np.intersect1d, (postings[term.id].rows for term in few))


# -- matching ---------------------------------------------------------------------------------


class _Text(NamedTuple):
    """What the tags of a chunk follow from."""

    row: int
    tokens: str
    proposed: list[tuple[int, int]]
    links: list[Link]


def _match(session: Session, settings: Settings, vocabulary: Vocabulary, rows: list[int]) -> None:
    """Match chunks again."""
    lost: list[tuple[int, int]] = []
    changed: list[tuple[int, int, int]] = []
    gained: list[int] = []
    for part in portions(rows, _PAGE):
        texts = _texts(session, settings, part)
        tags = _tags(session, vocabulary, texts)
        wanted = [text.row for text in texts]
        before = dict(session.rows("SELECT row, tags FROM $held WHERE row = ANY(?)", wanted))
        lists: list[tuple[bytes, int]] = []
        for row, held in zip(wanted, tags, strict=True):
            packed = pack_pairs(sorted(held.items()))
            if packed != before[row]:
                lists.append((packed, row))
                former = dict(unpack_pairs(before[row]))
                lost += ((term, row) for term in former if term not in held)
                changed += (
                    (term, row, role) for term, role in held.items() if role != former.get(term)
                )
                gained += (term for term in held if term not in former)
        session.many("UPDATE $held SET tags = ? WHERE row = ?", lists)
    gone, gone_rows = np.array(lost, np.int64).reshape(-1, 2).T
    remove_postings(session, gone, gone_rows)
    new, new_rows, new_roles = np.array(changed, np.int64).reshape(-1, 3).T
    once = np.ones(len(new), np.uint8)
    postings = Postings(new_rows.astype(np.int32), once, new_roles.astype(np.uint8))
    add_postings(session, new, postings)
    count_held(session, np.array(gained, np.int64), gone)
    if len(gone):
        drop_unused(session, np.unique(gone))


def _texts(session: Session, settings: Settings, rows: list[int]) -> list[_Text]:
    texts = []
    for row, tokens, title, text, metadata, given, proposed in session.rows(_TEXTS, rows):
        fields = loaded(metadata) if metadata != "{}" else {}
        if not tokens:
            searched = searched_text(text, fields, settings.search_metadata)
            tokens = join_tokens(tokenize_texts(title, searched))
        links: list[Link] = []
        if settings.edges or "addresses" in given or "references" in given:
            named = to_given(given)
            chunk = Chunk.model_construct(
                text="", metadata=fields, addresses=named.addresses, references=named.references
            )
            links = links_of(chunk, settings.edges)
        texts.append(_Text(row, tokens, unpack_pairs(proposed), links))
    return texts


def _tags(session: Session, vocabulary: Vocabulary, texts: list[_Text]) -> list[dict[int, int]]:
    """Return the terms and roles of each chunk."""
    places = _places(session, texts)
    mentioned = vocabulary.tags_of(session, [text.tokens for text in texts])
    tags = []
    for text, terms in zip(texts, mentioned, strict=True):
        held = dict.fromkeys(terms, int(Role.MENTION))
        for term, code in text.proposed:
            if code == ProposedAs.TITLE:
                held[term] = int(Role.TITLE)
            elif code == ProposedAs.GIVEN and term not in held:
                held[term] = int(Role.GIVEN)
        held.update((places[link.kind, link.key], int(link.role)) for link in text.links)
        tags.append(held)
    return tags


def _places(session: Session, texts: list[_Text]) -> dict[tuple[int, str], int]:
    """Return the term of each link."""
    links = {(link.kind, link.key) for text in texts for link in text.links}
    places = {}
    for kind in (TermKind.ADDRESS, TermKind.PAGE, TermKind.EDGE):
        keys = [key for of_kind, key in links if of_kind == kind]
        for key, term in number_terms(session, kind, keys).items():
            places[int(kind), key] = term
    return places


# -- the vocabulary -------------------------------------------------------------------------


def _words_of(key: str, language: str) -> list[str]:
    """Return the words of a phrase: each chunk that contains it holds all of them."""
    return lexical_terms(key.split(" "), language)


def _common_words(session: Session) -> frozenset[str]:
    """Return the words that more chunks hold than a matched phrase may have for its rarest."""
    return frozenset(word for (word,) in session.rows("SELECT word FROM $common"))


def _is_matched(key: str, common: frozenset[str], language: str) -> bool:
    """Return whether a known phrase is matched in texts: one of its words is not common."""
    return not common or not common.issuperset(_words_of(key, language))


class Vocabulary:
    """The matched phrases of one state: those that some texts may hold, or the whole of them."""

    def __init__(self, session: Session, language: str, *, whole: bool) -> None:
        self._is_whole = whole
        self.changes = session.meta.get("changes", "0")
        self._language = language
        self._common = _common_words(session)
        if whole:
            self._phrases = self._matched(session.rows(_KNOWN, int(TermKind.TAG)))

    def _matched(self, known: Iterable[tuple[str, int]]) -> Phrases[int]:
        common, language = self._common, self._language
        return Phrases({key: id_ for key, id_ in known if _is_matched(key, common, language)})

    def tags_of(self, session: Session, texts: Sequence[str]) -> list[list[int]]:
        """Return the terms of the phrases that each text mentions; texts are lines of tokens."""
        if not self._is_whole:
            lines = [line.split(" ") for text in texts for line in text.split("\n")]
            words = {word for line in lines for word in line}
            longest = longest_phrases(session, words)
            possible = {phrase for line in lines for phrase in possible_phrases(line, longest)}
            sql = f"{_KNOWN} AND key = ANY(?)"
            self._phrases = self._matched(session.rows(sql, int(TermKind.TAG), list(possible)))
        return list(map(self._phrases.values_in, texts))
