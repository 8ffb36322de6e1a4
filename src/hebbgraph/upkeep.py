"""Check that everything stored follows from the texts, or recreate it; statistics."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping

import numpy as np
from pydantic import JsonValue

from hebbgraph.arrays import IntArray
from hebbgraph.ingest.prepare import prepare
from hebbgraph.ingest.tagging import complete, is_complete
from hebbgraph.ingest.writing import write_derived
from hebbgraph.records import text_digest
from hebbgraph.settings import Settings
from hebbgraph.store.chunks import COLUMNS, StoredChunk, insert_chunks, to_given
from hebbgraph.store.database import TEXT_VERSION, Session, pages
from hebbgraph.store.meta import (
    Counts,
    read_counts,
    read_json,
    vector_units,
    write_counts,
    write_meta,
)
from hebbgraph.store.postings import unpack_pairs, unpack_words
from hebbgraph.terms import TermKind
from hebbgraph.text.context import label

_PAGE = 4000
_CHUNKS = f"SELECT {', '.join(COLUMNS)} FROM $chunk WHERE row > ? ORDER BY row"
_HELD = """
    SELECT c.row, c.length, c.proposed, h.words, h.tags
    FROM $chunk AS c LEFT JOIN $held AS h ON h.row = c.row WHERE c.row > ? ORDER BY c.row
"""
_TERMS = """
    SELECT id, kind, key, df, proposals, titles, given, support FROM $term
    WHERE id > ? ORDER BY id
"""
_EXAMPLES = 3
_OF_TERMS = "terms whose counts are wrong", "terms whose postings differ from the texts"
_OF_CHUNKS = "length", "proposals", "words", "tags", "facts"


def problems(session: Session, settings: Settings, fresh: Session) -> list[str]:
    """Return what is wrong with a namespace, one line each; empty if all is well.

    Everything that follows from the chunks is made again in ``fresh``, an empty database, and
    compared: words, tags, proposals and facts of each chunk, counts and postings of each term.
    """
    if session.meta.get("text_version") != str(TEXT_VERSION):
        return ["other text rules built it; `hebbgraph doctor --rebuild` makes all terms anew"]
    if not is_complete(session):
        return ["tags are open; the next add or delete finishes them, then ask again"]
    wrong = defaultdict[str, list[object]](list)
    for page in pages(session, _CHUNKS, _PAGE):
        insert_chunks(fresh, COLUMNS, page)
        for *columns, _, _ in page:
            stored = StoredChunk(*columns)
            if stored.digest != text_digest(stored.title, stored.text):
                wrong["chunks whose digests differ from their text"].append(stored.row)
    rebuild(fresh, settings)
    for what, example in _differences(session, fresh):
        wrong[what].append(example)
    lines = (
        f"{len(some):,} {what}: {', '.join(map(str, some[:_EXAMPLES]))}"
        for what, some in wrong.items()
    )
    return [*_miscounted(session), *lines]


def _differences(session: Session, fresh: Session) -> Iterator[tuple[str, object]]:
    """Yield what differs, and where."""
    made, terms = dict(_terms_of(fresh)), dict(_terms_of(session))
    here = _chunks_of(session, {id_: term for term, (id_, *_) in terms.items()})
    there = _chunks_of(fresh, {id_: term for term, (id_, *_) in made.items()})
    for term in {**terms, **made}:
        (_, *held), (_, *new) = (found.get(term, (0, None, None)) for found in (terms, made))
        for what, part, other in zip(_OF_TERMS, held, new, strict=True):
            if part != other:
                yield what, term[1]
    for (row, *held), (_, *new) in zip(here, there, strict=True):
        for what, part, other in zip(_OF_CHUNKS, held, new, strict=True):
            if part != other:
                yield f"chunks whose {what} differ from their text", row
    for table, column in (("opening", "longest"), ("common", "1")):
        sql = f"SELECT word, {column} FROM ${table}"
        known = dict(session.rows(sql))
        for word, n in fresh.rows(sql):
            if known.get(word, 0) < n:
                yield f"words that are missing in {table}", word


def _terms_of(session: Session) -> Iterator[tuple[tuple[int, str], tuple[int, object, object]]]:
    """Yield id, counts and a hash of postings by kind and key; misplaced blocks are lost."""
    for page in pages(session, _TERMS, _PAGE):
        postings: dict[int, bytes] = {}
        sql = "SELECT term, first, data FROM $posting WHERE term = ANY(?) ORDER BY term, first"
        for term, first, data in session.rows(sql, [id_ for id_, *_ in page]):
            kept = data if int.from_bytes(data[:4], "little") >= first else b""
            postings[term] = postings.get(term, b"") + kept
        for id_, kind, key, *counts in page:
            yield (kind, key), (id_, counts, hash(postings.get(id_)))


def _chunks_of(
    session: Session, terms: Mapping[int, tuple[int, str]]
) -> Iterator[tuple[object, ...]]:
    """Yield row, length, proposals, words, tags and facts of each chunk."""
    for page in pages(session, _HELD, _PAGE):
        facts: dict[int, Counter[tuple[object, ...]]] = {}
        sql = "SELECT row, key, number, string FROM $fact WHERE row = ANY(?)"
        for row, *fact in session.rows(sql, [row for row, *_ in page]):
            facts.setdefault(row, Counter())[tuple(fact)] += 1
        for row, length, proposed, words, packed in page:
            yield (
                row,
                length,
                sorted((terms.get(id_, ()), n) for id_, n in unpack_pairs(proposed)),
                sorted(terms.get(id_, ()) for id_ in unpack_words(words or b"")),
                sorted((terms.get(id_, ()), n) for id_, n in unpack_pairs(packed or b"")),
                facts.get(row),
            )


def _miscounted(session: Session) -> Iterator[str]:
    """Yield which counts of the namespace are wrong."""
    counts, there = read_counts(session), _counted(session)
    for noun, n, right in zip(("chunks", "words", "vectors"), counts[1:4], there[1:4], strict=True):
        if n != right:
            yield f"{n:,} {noun} are counted, and {right:,} are there"
    if there.vectors and not np.array_equal(there.vector_sum, counts.vector_sum):
        yield "vectors differ from their sum; add their chunks again"


_DERIVED = ("term", "common", "opening", "posting", "held", "fact", "pending", "changed")


def rebuild(session: Session, settings: Settings) -> int:
    """Recreate terms, postings and facts from the chunks; return the number of chunks."""
    for table in _DERIVED:
        session.run(f"DELETE FROM ${table}")
    session.run("DELETE FROM $embedding WHERE row NOT IN (SELECT row FROM $chunk)")
    write_meta(session, {"text_version": str(TEXT_VERSION)})
    counts = _counted(session)
    write_counts(session, counts._replace(length=0))
    for page in pages(session, _CHUNKS, _PAGE):
        stored = [StoredChunk(*columns) for *columns, _, _ in page]
        prepared = [prepare(each.chunk(), to_given(each.given).tagged, settings) for each in stored]
        write_derived(session, prepared, [each.row for each in stored])
    vocabulary, left = None, 1
    while left:
        left, vocabulary = complete(session, settings, _PAGE, vocabulary)
    return counts.chunks


def _counted(session: Session) -> Counts:
    """Return counts of what is stored."""
    chunks, length = session.rows("SELECT count(*), coalesce(sum(length), 0) FROM $chunk")[0]
    vectors = 0
    total: IntArray = np.zeros(0, np.int64)
    sql = "SELECT row, data FROM $embedding WHERE row > ? ORDER BY row"
    for page in pages(session, sql, _PAGE):
        vectors += len(page)
        for _, data in page:
            units = vector_units(np.frombuffer(data, "<f4"))
            total = total + units if len(total) else units
    return Counts(read_counts(session).changes, chunks, int(length), vectors, total)


def statistics(session: Session) -> dict[str, JsonValue]:
    """Return what a namespace holds, in numbers."""
    counts = read_counts(session)
    sql = "SELECT kind, count(*), sum(df) FROM $term WHERE df > 0 GROUP BY kind"
    terms = {kind: (n, int(held)) for kind, n, held in session.rows(sql)}
    tags, holders = terms.get(TermKind.TAG, (0, 0))
    documents = session.rows("SELECT count(DISTINCT document_id) FROM $chunk")[0][0]
    sql = "SELECT key, df FROM $term WHERE kind = ? AND key BETWEEN ? AND ? ORDER BY df DESC"
    labels = session.rows(sql, int(TermKind.WORD), label(""), label("~"))  # all but English
    return {
        "chunks": counts.chunks,
        "documents": documents,
        "words": terms.get(TermKind.WORD, (0, 0))[0],
        "tags": tags,
        "references": sum(n for kind, (n, _) in terms.items() if kind > TermKind.TAG),
        "tags_per_chunk": round(holders / max(counts.chunks, 1), 2),
        "words_per_chunk": round(counts.mean_length, 2),
        "vectors": counts.vectors,
        "languages": {key.removeprefix(label("")): df for key, df in labels if df},
        "embedder": read_json(session, "embedder"),
        "lessons": int(session.meta.get("lessons", 0)),
        "trust": read_json(session, "trust"),
        "changes": counts.changes,
        "open_tags": int(session.meta.get("open_tags", 0)),
    }
