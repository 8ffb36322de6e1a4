"""What one recall reads: terms, postings and forward lists of one state of the database.

It is the graph as :mod:`hebbgraph.formulas` see it. What was read stays in a bounded cache as long
as the state is the same.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from functools import partial
from typing import Any

import numpy as np

from hebbgraph.arrays import BoolArray, FloatArray, IntArray
from hebbgraph.errors import DamagedIndexError
from hebbgraph.filters import Rows, rows_passing
from hebbgraph.records import plain
from hebbgraph.store.chunks import ids_of
from hebbgraph.store.database import Cache, Caches, Session
from hebbgraph.store.meta import Counts, read_counts
from hebbgraph.store.postings import Postings, read_postings, unpack_tags
from hebbgraph.store.terms import Term, find_terms, longest_phrases, terms_by_id
from hebbgraph.terms import Role, TermKind
from hebbgraph.text.tokens import phrase_key

#: A phrase in more than one of this many chunks is too common to tell them apart, in a corpus of
#: more than _COMMON_SHARE * _COMMON_MIN chunks.
_COMMON_SHARE, _COMMON_MIN = 4, 20


class Snapshot:
    """One state of a namespace, as recalls and the formulas of spreading read it.

    Chunks are rows and tags are term ids. Tags that are mentioned much more often than they are
    proposed are *incidental*: "need" and "compared" are proposed by a few chunks, where they happen
    to open a sentence, and are words of very many. This is the keyphraseness of [1]_: the share of
    chunks that propose a phrase among those that mention it. Incidental tags, tags of more than a
    quarter of a large corpus and stop tags count only for the chunks whose titles they are. A word
    leads to these only as far as its keyphraseness says.

    References
    ----------
    .. [1] Mihalcea and Csomai (2007), Wikify! Linking documents to encyclopedic knowledge.
    """

    def __init__(self, session: Session, caches: Caches, stop_tags: Collection[str] = ()) -> None:
        self.session = session
        self.counts: Counts = read_counts(session)
        self.cache: Cache = caches.at(self.counts.changes)
        self._common = max(self.counts.chunks // _COMMON_SHARE, _COMMON_MIN)
        stops = self.find(TermKind.TAG, list(filter(None, map(phrase_key, stop_tags))))
        self._stop_ids = frozenset(term.id for term in stops.values())

    @property
    def n_chunks(self) -> int:
        return self.counts.chunks

    def passing(self, where: Mapping[str, Any] | None) -> tuple[Rows | None, list[str]]:
        """Return the chunks that pass a filter, and the fields in it."""
        if where is None:
            return None, []

        def read(keys: list[str]) -> dict[str, tuple[Rows, list[str]]]:
            return dict.fromkeys(keys, rows_passing(self.session, where))

        try:
            key = json.dumps(plain(where), sort_keys=True)
        except ValueError:
            key = ""  # an invalid filter: reading it raises, so nothing is cached
        known = self.cache.known("filters", [key], read, lambda f: f[0].rows.nbytes + 9 * len(key))
        return known[key]

    # -- terms ------------------------------------------------------------------------

    def find(self, kind: TermKind, keys: Collection[str]) -> dict[str, Term]:
        """Return the terms of these keys that exist."""

        def read(missing: list[str]) -> dict[str, Term | None]:
            found = find_terms(self.session, kind, missing)
            self.cache.tables["terms"].update((term.id, term) for term in found.values())
            return dict.fromkeys(missing) | found

        terms = self.cache.known(kind.name, keys, read, 200)
        return {key: term for key, term in terms.items() if term is not None}

    def longest(self, words: Collection[str]) -> dict[str, int]:
        """Return the length of the longest known phrase that begins with each word, or 0."""
        return self.cache.known("longest", words, partial(longest_phrases, self.session), 100)

    def keys(self, tags: Iterable[int]) -> dict[int, str]:
        info = self.cache.known("info", tags, self._load_info, 250)
        return {tag: term.key for tag, (term, _) in info.items()}

    def is_incidental(self, term: Term) -> bool:
        """Return whether a tag counts only for the chunks whose title it is."""
        if term.id in self._stop_ids:
            return True
        is_common = term.support < term.df or term.df > self._common
        return term.kind == TermKind.TAG and term.given == 0 and is_common

    def n_holders(self, term: Term) -> int:
        """Return the number of chunks that a tag counts for."""
        return term.titles if self.is_incidental(term) else term.df

    def _info(self, tags: IntArray) -> list[tuple[Term, bool]]:
        """Return tags, and whether each is incidental."""
        listed = tags.tolist()
        try:
            info = self.cache.known("info", listed, self._load_info, 250)
        except KeyError as error:
            raise DamagedIndexError("a chunk holds an unknown tag; call rebuild()") from error
        return [info[tag] for tag in listed]

    def _load_info(self, tags: list[int]) -> dict[int, tuple[Term, bool]]:
        terms = self.cache.known("terms", tags, partial(terms_by_id, self.session), 0)
        return {id_: (term, self.is_incidental(term)) for id_, term in terms.items()}

    # -- the graph, as hebbgraph.terms.IncidenceView describes it ------------------------

    def tags_of(self, chunks: IntArray) -> tuple[IntArray, IntArray, BoolArray]:
        owner, tags, is_title, _, is_tag = self.mentions_of(chunks)
        at = np.flatnonzero(is_tag)
        return owner[at], tags[at], is_title[at]

    def mentions_of(
        self, chunks: IntArray
    ) -> tuple[IntArray, IntArray, BoolArray, IntArray, BoolArray]:
        listed = chunks.tolist()
        known = self.cache.known("rows", listed, self._load_rows, 1200)
        rows = [known[row] for row in listed] or [np.empty((4, 0), np.int64)]
        owner = np.repeat(np.arange(len(rows)), [row.shape[1] for row in rows])
        tags, is_title, df, is_tag = np.concatenate(rows, axis=1)
        return owner, tags, is_title.astype(np.bool_), df, is_tag.astype(np.bool_)

    def _load_rows(self, chunks: list[int]) -> dict[int, IntArray]:
        """Read what each chunk mentions: :meth:`mentions_of` without owners, shape (4, n)."""
        lists = dict.fromkeys(chunks, unpack_tags(b""))
        sql = "SELECT row, tags FROM $held WHERE row = ANY(?)"
        lists.update((row, unpack_tags(data)) for row, data in self.session.rows(sql, chunks))
        tags, roles = (np.concatenate(column) for column in zip(*lists.values(), strict=True))
        info = self._info(tags)
        df = np.array([term.df if term.kind == TermKind.TAG else 0 for term, _ in info], np.int64)
        is_incidental = np.array([is_incidental for _, is_incidental in info], np.bool_)
        is_title = roles == int(Role.TITLE)
        table = np.stack((tags.astype(np.int64), is_title, df, is_title | ~is_incidental))
        ends = np.cumsum([len(held) for held, _ in lists.values()])
        return dict(zip(lists, np.split(table, ends[:-1], axis=1), strict=True))

    def chunks_of(self, tags: IntArray) -> tuple[IntArray, IntArray, BoolArray]:
        listed = tags.tolist()
        known = self.cache.known(
            "holders", listed, self._load_holders, lambda held: 400 + 9 * len(held[0])
        )
        lists = [known[tag] for tag in listed] or [(np.empty(0, np.int64), np.empty(0, np.bool_))]
        owner = np.repeat(np.arange(len(lists)), [len(rows) for rows, _ in lists])
        chunks, is_title = (np.concatenate(column) for column in zip(*lists, strict=True))
        return owner, chunks, is_title

    def _load_holders(self, tags: list[int]) -> dict[int, tuple[IntArray, BoolArray]]:
        """Read which chunks hold tags, and whether as titles; of incidental tags only these."""
        postings = self.postings(tags)
        found: dict[int, tuple[IntArray, BoolArray]] = {}
        for tag, (_, is_incidental) in zip(tags, self._info(np.array(tags)), strict=True):
            rows, is_title = postings[tag].rows.astype(np.int64), postings[tag].roles == Role.TITLE
            keep = is_title if is_incidental else slice(None)
            found[tag] = rows[keep], is_title[keep]
        return found

    def df(self, tags: IntArray) -> IntArray:
        return np.array([self.n_holders(term) for term, _ in self._info(tags)], np.int64)

    def keyphraseness(self, tags: IntArray) -> FloatArray:
        return np.array([term.keyphraseness for term, _ in self._info(tags)])

    def link_kinds(self, tags: IntArray) -> IntArray:
        return np.array([term.kind for term, _ in self._info(tags)], np.int64)

    def postings(self, terms: Iterable[int]) -> dict[int, Postings]:
        read = partial(read_postings, self.session)
        return self.cache.known("postings", terms, read, lambda held: 400 + 6 * len(held.rows))

    def ids(self, rows: IntArray) -> dict[int, str]:
        return ids_of(self.session, rows.tolist())
