"""Statistics, and making everything that follows from the texts anew."""

from __future__ import annotations

from pydantic import JsonValue

from hebbgraph.ingest.prepare import prepare
from hebbgraph.ingest.tagging import complete
from hebbgraph.ingest.writing import write_derived
from hebbgraph.settings import Settings
from hebbgraph.store.chunks import StoredChunk, chunks_by_row
from hebbgraph.store.database import Session
from hebbgraph.store.meta import read_counts, read_json, write_meta
from hebbgraph.store.schema import TEXT_VERSION
from hebbgraph.terms import TermKind

__all__ = ["rebuild", "statistics"]

_PAGE = 4000
_DERIVED = ("term", "common", "opening", "posting", "held", "fact", "pending", "changed")


def rebuild(session: Session, settings: Settings) -> int:
    """Make terms, postings and facts anew from the chunks; return how many chunks there are."""
    for table in _DERIVED:
        session.run(f"DELETE FROM ${table}")
    write_meta(session, {"text_version": str(TEXT_VERSION), "length": "0"})
    last, n = -1, 0
    while rows := session.rows(
        "SELECT row FROM $chunk WHERE row > ? ORDER BY row LIMIT ?", last, _PAGE
    ):
        last = rows[-1][0]
        stored = chunks_by_row(session, [row for (row,) in rows])
        ordered = [stored[row] for (row,) in rows]
        write_derived(
            session,
            [prepare(chunk.chunk(), settings, _tagged(chunk)) for chunk in ordered],
            [chunk.row for chunk in ordered],
        )
        n += len(rows)
    left, vocabulary = complete(session, settings, _PAGE)
    while left:
        left, vocabulary = complete(session, settings, _PAGE, vocabulary)
    return n


def _tagged(chunk: StoredChunk) -> tuple[str, ...] | None:
    return chunk.given_by().tagged


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
        "changes": counts.changes,
        "open_tags": int(session.meta.get("open_tags", 0)),
    }
