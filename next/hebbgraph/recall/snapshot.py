"""What one recall reads: terms, postings and forward lists of one state of the database.

It is the graph as :mod:`hebbgraph.formulas` see it. What was read stays in a bounded cache as long
as the state is the same.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hebbgraph.arrays import BoolArray, IntArray
from hebbgraph.store.chunks import ids_of
from hebbgraph.store.database import Session
from hebbgraph.store.meta import Counts, read_counts
from hebbgraph.store.postings import EMPTY, Postings, read_postings, unpack_tags
from hebbgraph.store.terms import Term, find_terms, terms_by_id
from hebbgraph.terms import Role, TermKind

__all__ = ["Caches", "Snapshot"]

#: A phrase of more than one in this many chunks tells nothing apart, in a corpus of more than
#: _COMMON_SHARE * _COMMON_MIN chunks.
_COMMON_SHARE, _COMMON_MIN = 4, 20
_CACHED_BYTES = 32 << 20
_NO_ROWS = np.empty(0, np.int64)
_NO_ROLES = np.empty(0, np.uint8)


class _Cache:
    """What was read of one state."""

    def __init__(self, changes: int) -> None:
        self.changes = changes
        self.size = 0
        self.terms: dict[int, Term] = {}
        self.by_key: dict[tuple[int, str], Term | None] = {}
        self.postings: dict[int, Postings] = {}
        self.tags: dict[int, tuple[NDArray[np.int64], NDArray[np.uint8]]] = {}
        self.longest: dict[str, int] = {}
        self.has_links: bool | None = None
        self.filters: dict[str, object] = {}

    def grow(self, size: int) -> None:
        """Count bytes, and empty the cache once it holds too many."""
        self.size += size
        if self.size > _CACHED_BYTES:
            self.__init__(self.changes)  # type: ignore[misc]


class Caches:
    """The cache of the newest state that any recall has seen."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._newest = _Cache(-1)

    def at(self, changes: int) -> _Cache:
        """Return the cache of a state; one that nobody else sees for an older state."""
        with self._lock:
            if changes > self._newest.changes:
                self._newest = _Cache(changes)
            return self._newest if changes == self._newest.changes else _Cache(changes)

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._newest = _Cache(-1)


class _Info(NamedTuple):
    """What spreading asks of tags; all arrays have shape (n,)."""

    df: NDArray[np.int64]
    titles: NDArray[np.int64]
    kinds: NDArray[np.int64]
    incidental: BoolArray


class Snapshot:
    """One state of a namespace, as recalls and :func:`hebbgraph.formulas.activation.spread` read it.

    Chunks are rows and tags are term ids. Tags that are mentioned much more often than they are
    proposed are *incidental*: "need" and "compared" are proposed by a few chunks, where they happen
    to open a sentence, and are words of very many. This is the keyphraseness of [1]_: the share of
    chunks that propose a phrase among those that mention it. Incidental tags, tags of more than a
    quarter of a large corpus and stop tags count only for the chunks whose titles they are.

    Parameters
    ----------
    session : Session
    caches : Caches
    stop_tags : collection of str
        Keys of tags that connect nothing.

    References
    ----------
    .. [1] Mihalcea and Csomai (2007), Wikify! Linking documents to encyclopedic knowledge.
    """

    def __init__(self, session: Session, caches: Caches, stop_tags: Collection[str] = ()) -> None:
        self.session = session
        self.counts: Counts = read_counts(session)
        self._cache = caches.at(self.counts.changes)
        self._stop_tags = frozenset(stop_tags)
        self._common = max(self.counts.chunks // _COMMON_SHARE, _COMMON_MIN)

    @property
    def n_chunks(self) -> int:
        """Number of chunks."""
        return self.counts.chunks

    @property
    def cached_filters(self) -> dict[str, object]:
        """Filters that were evaluated on this state."""
        return self._cache.filters

    # -- terms ------------------------------------------------------------------------

    def find(self, kind: TermKind, keys: Collection[str]) -> dict[str, Term]:
        """Return the terms of these keys that exist."""
        cache = self._cache.by_key
        missing = [key for key in keys if (kind, key) not in cache]
        if missing:
            found = find_terms(self.session, kind, missing)
            for key in missing:
                cache[kind, key] = found.get(key)
            self._cache.terms.update((term.id, term) for term in found.values())
            self._cache.grow(200 * len(missing))
        terms = ((key, cache.get((kind, key))) for key in keys)
        return {key: term for key, term in terms if term is not None}

    def longest(self, words: Collection[str]) -> dict[str, int]:
        """Return the length of the longest known phrase that begins with each word."""
        cache = self._cache.longest
        missing = [word for word in words if word not in cache]
        if missing:
            sql = "SELECT word, longest FROM $opening WHERE word = ANY(?)"
            cache.update(dict.fromkeys(missing, 0) | dict(self.session.rows(sql, missing)))
            self._cache.grow(100 * len(missing))
        return {word: cache[word] for word in words if cache.get(word)}

    def term(self, tag: int) -> Term:
        """Return one term."""
        self._load_terms([tag])
        return self._cache.terms[tag]

    def _load_terms(self, tags: Iterable[int]) -> None:
        cache = self._cache.terms
        missing = [tag for tag in tags if tag not in cache]
        if missing:
            cache.update(terms_by_id(self.session, missing))
            self._cache.grow(200 * len(missing))

    def is_incidental(self, term: Term) -> bool:
        """Return whether a tag counts only for the chunks whose title it is."""
        if term.key in self._stop_tags:
            return True
        is_common = term.support < term.df or term.df > self._common
        return term.kind == TermKind.TAG and term.given == 0 and is_common

    def _info(self, tags: IntArray) -> _Info:
        listed = tags.tolist()
        self._load_terms(listed)
        cache = self._cache.terms
        terms = [cache[tag] for tag in listed]
        flags = [self.is_incidental(term) for term in terms]
        columns = np.array([(term.df, term.titles, term.kind) for term in terms], np.int64)
        df, titles, kinds = columns.reshape(-1, 3).T
        return _Info(df, titles, kinds, np.array(flags, np.bool_))

    # -- the graph, for formulas --------------------------------------------------------

    def tags_of(self, chunks: IntArray) -> tuple[IntArray, IntArray, BoolArray]:
        """Return (position in ``chunks``, tag, whether it is the chunk's own title)."""
        owner, tags, is_title, _, is_tag = self.mentions_of(chunks)
        at = np.flatnonzero(is_tag)
        return owner[at], tags[at], is_title[at]

    def mentions_of(
        self, chunks: IntArray
    ) -> tuple[IntArray, IntArray, BoolArray, IntArray, BoolArray]:
        """Return everything that chunks mention, incidental phrases included.

        As :meth:`tags_of`, plus the number of chunks that mention each phrase, and whether the
        phrase is a tag.
        """
        lists = self._lists(chunks)
        if not lists:
            nothing = np.zeros(0, np.bool_)
            return _NO_ROWS, _NO_ROWS, nothing, _NO_ROWS, nothing
        owner = np.repeat(np.arange(len(lists)), [len(tags) for tags, _ in lists])
        tags = np.concatenate([tags for tags, _ in lists])
        is_title = np.concatenate([roles for _, roles in lists]) == Role.TITLE
        info = self._info(tags)
        return owner, tags, is_title, info.df, is_title | ~info.incidental

    def _lists(self, chunks: IntArray) -> list[tuple[NDArray[np.int64], NDArray[np.uint8]]]:
        cache, listed = self._cache.tags, chunks.tolist()
        missing = [row for row in listed if row not in cache]
        if missing:
            sql = "SELECT row, tags FROM $held WHERE row = ANY(?)"
            found = {}
            for row, data in self.session.rows(sql, missing):
                tags, roles = unpack_tags(data)
                found[row] = tags.astype(np.int64), roles
            found.update((row, (_NO_ROWS, _NO_ROLES)) for row in missing if row not in found)
            self._cache.grow(sum(9 * len(tags) + 300 for tags, _ in found.values()))
            self._cache.tags.update(found)
            cache = self._cache.tags
            return [cache.get(row) or found[row] for row in listed]
        return [cache[row] for row in listed]

    def chunks_of(self, tags: IntArray) -> tuple[IntArray, IntArray, BoolArray]:
        """Return (position in ``tags``, chunk, whether the tag is that chunk's title)."""
        postings = self.postings(tags.tolist())
        lists = [postings.get(tag, EMPTY) for tag in tags.tolist()]
        if not lists:
            return _NO_ROWS, _NO_ROWS, np.zeros(0, np.bool_)
        owner = np.repeat(np.arange(len(lists)), [len(held.rows) for held in lists])
        chunks = np.concatenate([held.rows for held in lists]).astype(np.int64)
        is_title = np.concatenate([held.roles for held in lists]) == Role.TITLE
        incidental = self._info(tags).incidental
        if incidental.any():
            keep = is_title | ~incidental[owner]
            owner, chunks, is_title = owner[keep], chunks[keep], is_title[keep]
        return owner, chunks, is_title

    def df(self, tags: IntArray) -> IntArray:
        """Return the document frequency of each tag."""
        info = self._info(tags)
        return np.where(info.incidental, info.titles, info.df)

    def title_counts(self, tags: IntArray) -> IntArray:
        """Return how many chunks have each tag as their title."""
        return self._info(tags).titles

    def link_kinds(self, tags: IntArray) -> IntArray:
        """Return the :class:`~hebbgraph.terms.TermKind` of each tag."""
        return self._info(tags).kinds

    @property
    def has_links(self) -> bool:
        """Whether any term is an address or an edge by metadata."""
        if self._cache.has_links is None:
            sql = "SELECT 1 FROM $term WHERE kind > ? LIMIT 1"
            self._cache.has_links = bool(self.session.rows(sql, int(TermKind.TAG)))
        return self._cache.has_links

    def key(self, tag: int) -> str:
        """Return the key of a tag."""
        return self.term(tag).key

    # -- postings and ids ---------------------------------------------------------------

    def postings(self, terms: Iterable[int]) -> dict[int, Postings]:
        """Return the postings of terms."""
        cache, wanted = self._cache.postings, list(terms)
        missing = [term for term in wanted if term not in cache]
        found: dict[int, Postings] = {}
        if missing:
            found = read_postings(self.session, missing)
            self._cache.grow(sum(6 * len(held.rows) + 400 for held in found.values()))
            self._cache.postings.update(found)
        return {term: held for term in wanted if (held := cache.get(term) or found.get(term))}

    def is_cached(self, term: int) -> bool:
        """Return whether the postings of a term are in memory."""
        return term in self._cache.postings

    def ids(self, rows: IntArray) -> dict[int, str]:
        """Return the ids of chunks."""
        return ids_of(self.session, rows.tolist())
