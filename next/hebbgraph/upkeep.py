"""Check that everything stored follows from the texts, and make it anew; statistics."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray
from pydantic import JsonValue

from hebbgraph.formulas.bm25 import length_code
from hebbgraph.ingest.prepare import Prepared, prepare
from hebbgraph.ingest.tagging import complete, held_tags, is_complete
from hebbgraph.ingest.writing import count_proposed, write_derived
from hebbgraph.records import text_digest
from hebbgraph.settings import Settings
from hebbgraph.store.chunks import StoredChunk, chunks_by_row, facts_of
from hebbgraph.store.database import Session, pages
from hebbgraph.store.meta import read_counts, read_json, vector_units, write_counts, write_meta
from hebbgraph.store.postings import RECORD, Postings, unpack_tags, unpack_words
from hebbgraph.store.schema import TEXT_VERSION
from hebbgraph.store.terms import terms_by_id
from hebbgraph.terms import TermKind

__all__ = ["problems", "rebuild", "statistics"]

_PAGE = 4000
_CHUNKS = "SELECT row FROM $chunk WHERE row > ? ORDER BY row"
_EXAMPLES = 3


def problems(session: Session, settings: Settings) -> list[str]:
    """Return what is wrong with a namespace, one line each; empty if all is well.

    Every chunk is read again, and compared with what is stored of it: digest, words, proposals,
    tags, facts. Postings are compared with the forward lists by a sum of hashes for each term.
    """
    if not is_complete(session):
        return ["tags are open; the next add or delete finishes them, then ask again"]
    check = _Check(session, settings)
    for page in pages(session, _CHUNKS, _PAGE):
        check.chunks([row for (row,) in page])
    check.postings()
    check.counts()
    return check.found


class _Check:
    def __init__(self, session: Session, settings: Settings) -> None:
        self._session = session
        self._settings = settings
        self.found: list[str] = []
        self._n = self._length = 0
        size = int(session.rows("SELECT coalesce(max(id), 0) FROM $term")[0][0]) + 1
        self._sums = np.zeros(size, np.uint64)
        self._df = np.zeros(size, np.int64)
        self._proposed = np.zeros((size, 4), np.int64)
        terms = session.rows("SELECT kind, key, id FROM $term")
        self._term_of: dict[tuple[int, str], int] = {(kind, key): id_ for kind, key, id_ in terms}

    def chunks(self, rows: list[int]) -> None:
        """Compare some chunks with what is stored of them."""
        stored = chunks_by_row(self._session, rows)
        prepared = {
            row: prepare(chunk.chunk(), chunk.given_by().tagged, self._settings)
            for row, chunk in stored.items()
        }
        held = dict.fromkeys(rows, (unpack_words(b""), unpack_tags(b"")))
        sql = "SELECT row, words, tags FROM $held WHERE row = ANY(?)"
        for row, words, tags in self._session.rows(sql, rows):
            held[row] = unpack_words(words), unpack_tags(tags)
        matched = held_tags(self._session, self._settings, rows)
        facts: dict[int, list[tuple[object, ...]]] = {row: [] for row in rows}
        for key, number, string, row in self._session.rows(
            "SELECT key, number, string, row FROM $fact WHERE row = ANY(?)", rows
        ):
            facts[row].append((key, number, string))
        wrong: dict[str, list[int]] = {}
        for row in held:
            for what in self._differences(stored[row], prepared[row], held[row], matched[row]):
                wrong.setdefault(what, []).append(row)
            if Counter(facts[row]) != Counter(facts_of(prepared[row].chunk.metadata)):
                wrong.setdefault("facts", []).append(row)
        for what, of_rows in wrong.items():
            self._report(f"chunks whose {what} differ from their text", of_rows)

    def _differences(
        self,
        stored: StoredChunk,
        new: Prepared,
        held: tuple[NDArray[np.int32], tuple[NDArray[np.int32], NDArray[np.uint8]]],
        matched: dict[int, int],
    ) -> Iterator[str]:
        words, (tags, roles) = held
        self._n += 1
        self._length += new.words.total()
        if stored.digest != text_digest(stored.title, stored.text):
            yield "digests"
        numbers = {self._term_of.get((0, word), -1): n for word, n in new.words.items()}
        if set(words.tolist()) != numbers.keys():
            yield "words"
        if dict(zip(tags.tolist(), roles.tolist(), strict=True)) != matched:
            yield "tags"
        code = length_code(new.words.total())
        occurrences = np.array([min(numbers.get(term, 0), 255) for term in words.tolist()])
        self._sum(words, stored.row, occurrences, np.full(len(words), code))
        self._sum(tags, stored.row, np.ones(len(tags)), roles)
        tag = int(TermKind.TAG)
        pairs = [(self._term_of.get((tag, key), 0), why) for key, why in new.proposed]
        terms, counts = count_proposed([pairs])
        if 0 in terms:
            yield "proposals"
        self._proposed[terms] += counts

    def _sum(self, terms: NDArray[np.int32], row: int, numbers: object, roles: object) -> None:
        np.add.at(self._df, terms, 1)
        np.add.at(self._sums, terms, _hashes(np.full(len(terms), row), numbers, roles))

    def postings(self) -> None:
        """Compare the postings with the sums over forward lists."""
        sums, df = np.zeros_like(self._sums), np.zeros_like(self._df)
        sql = "SELECT block, term, first, data FROM $posting WHERE block > ? ORDER BY block"
        for page in pages(self._session, sql, _PAGE):
            for _, term, first, data in page:
                if len(data) % RECORD.itemsize or term >= len(df):
                    self.found.append(f"a block of postings of term {term} has a wrong size")
                    continue
                held = Postings.decode(data)
                if (np.diff(held.rows) <= 0).any() or (held.rows[:1] < first).any():
                    self.found.append(f"postings of term {term} are out of order")
                df[term] += len(held.rows)
                sums[term : term + 1] += _hashes(held.rows, held.numbers, held.roles).sum()
        wrong = np.flatnonzero((sums != self._sums) | (df != self._df))
        self._report("terms whose postings differ from the texts", self._names(wrong.tolist()))

    def counts(self) -> None:
        """Compare the counts of terms and of the namespace."""
        wrong = [
            id_
            for id_, *numbers in self._session.rows(
                "SELECT id, df, proposals, titles, given, support FROM $term"
            )
            if numbers != [self._df[id_], *self._proposed[id_].tolist()]
        ]
        self._report("terms whose counts are wrong", self._names(wrong))
        counts = read_counts(self._session)
        kept = self._session.rows("SELECT coalesce(sum(length), 0) FROM $chunk")[0][0]
        vectors, total = _sum_of_vectors(self._session)
        for noun, counted, there in (
            ("chunks", counts.chunks, self._n),
            ("words", counts.length, self._length),
            ("words of single chunks", kept, self._length),
            ("vectors", counts.vectors, vectors),
        ):
            if counted != there:
                self.found.append(f"{counted:,} {noun} are counted, and {there:,} are there")
        if vectors and not np.array_equal(total, counts.vector_sum):
            self.found.append("vectors differ from their sum; add their chunks again")

    def _names(self, terms: list[int]) -> list[str]:
        known = terms_by_id(self._session, terms[:_EXAMPLES])
        return [known[term].key if term in known else str(term) for term in terms]

    def _report(self, what: str, items: Iterable[object]) -> None:
        listed = list(items)
        if listed:
            examples = ", ".join(map(str, listed[:_EXAMPLES]))
            self.found.append(f"{len(listed):,} {what}: {examples}")


def _hashes(rows: object, numbers: object, roles: object) -> NDArray[np.uint64]:
    """Mix row, number and role of postings to 64 bits, so that sums tell them apart."""
    mixed = np.asarray(rows).astype(np.uint64) << np.uint64(16)
    mixed |= np.asarray(numbers).astype(np.uint64) << np.uint64(8)
    mixed |= np.asarray(roles).astype(np.uint64)
    mixed = (mixed ^ (mixed >> np.uint64(31))) * np.uint64(0x9E3779B97F4A7C15)
    return (mixed ^ (mixed >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)


_DERIVED = ("term", "common", "opening", "posting", "held", "fact", "pending", "changed")


def rebuild(session: Session, settings: Settings) -> int:
    """Make terms, postings and facts anew from the chunks; return how many chunks there are."""
    for table in _DERIVED:
        session.run(f"DELETE FROM ${table}")
    write_meta(session, {"text_version": str(TEXT_VERSION), "length": "0", "links": "0"})
    _recount(session)
    n = 0
    for page in pages(session, _CHUNKS, _PAGE):
        rows = [row for (row,) in page]
        stored = chunks_by_row(session, rows)
        prepared = [
            prepare(stored[row].chunk(), stored[row].given_by().tagged, settings) for row in rows
        ]
        write_derived(session, prepared, rows)
        n += len(rows)
    left, vocabulary = complete(session, settings, _PAGE)
    while left:
        left, vocabulary = complete(session, settings, _PAGE, vocabulary)
    return n


def _recount(session: Session) -> None:
    """Delete vectors of no chunk, and count chunks and vectors anew."""
    session.run("DELETE FROM $embedding WHERE row NOT IN (SELECT row FROM $chunk)")
    vectors, total = _sum_of_vectors(session)
    chunks = session.rows("SELECT count(*) FROM $chunk")[0][0]
    counts = read_counts(session)._replace(chunks=chunks, vectors=vectors, vector_sum=total)
    write_counts(session, counts)


def _sum_of_vectors(session: Session) -> tuple[int, NDArray[np.int64]]:
    """Return how many vectors there are, and their sum."""
    n, total = 0, np.zeros(0, np.int64)
    sql = "SELECT row, data FROM $embedding WHERE row > ? ORDER BY row"
    for page in pages(session, sql, _PAGE):
        n += len(page)
        for _, data in page:
            units = vector_units(np.frombuffer(data, "<f4"))
            total = total + units if len(total) else units
    return n, total


def statistics(session: Session) -> dict[str, JsonValue]:
    """Return what a namespace holds, in numbers."""
    counts = read_counts(session)
    kinds = dict(
        session.rows("SELECT kind, count(*) FROM $term WHERE df > 0 GROUP BY kind ORDER BY kind")
    )
    postings = dict(
        session.rows("SELECT kind, sum(df) FROM $term WHERE df > 0 GROUP BY kind ORDER BY kind")
    )
    documents = session.rows("SELECT count(DISTINCT document_id) FROM $chunk")[0][0]
    return {
        "chunks": counts.chunks,
        "documents": documents,
        "words": kinds.get(TermKind.WORD, 0),
        "tags": kinds.get(TermKind.TAG, 0),
        "references": sum(n for kind, n in kinds.items() if kind > TermKind.TAG),
        "tags_per_chunk": round(int(postings.get(TermKind.TAG, 0)) / max(counts.chunks, 1), 2),
        "words_per_chunk": round(counts.mean_length, 2),
        "vectors": counts.vectors,
        "embedder": read_json(session, "embedder"),
        "lessons": int(session.meta.get("lessons", 0)),
        "trust": read_json(session, "trust"),
        "changes": counts.changes,
        "open_tags": int(session.meta.get("open_tags", 0)),
    }
