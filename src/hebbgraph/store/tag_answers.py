"""Answers of tagging models, cached: a model is expensive."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from hebbgraph.records import Chunk
from hebbgraph.store.chunk_rows import as_json
from hebbgraph.store.chunks import pages
from hebbgraph.store.database import Connection, Database, marks, retried
from hebbgraph.store.state import lock_namespace
from hebbgraph.store.texts import content_key, content_key_of
from hebbgraph.stored_json import read_json

__all__ = ["TagAnswers"]


class TagAnswers:
    """Answers by tagger and content of the chunk.

    An answer is deleted with its chunk, unless the chunk's replacement has the same content.
    """

    def __init__(self, database: Database, namespace: str) -> None:
        self.database = database
        self._namespace = namespace

    @retried
    def get(self, tagger: str, chunks: Sequence[Chunk]) -> dict[int, tuple[str, ...]]:
        """Return the stored answers by position in ``chunks``."""
        keys = [content_key(chunk.title, chunk.text) for chunk in chunks]
        tags: dict[bytes, str] = {}
        with self.database.read() as connection:
            for page in pages(dict.fromkeys(keys)):
                rows = connection.execute(
                    "SELECT content, tags FROM tag_answers "
                    f"WHERE namespace = ? AND tagger = ? AND content IN ({marks(page)})",
                    (self._namespace, tagger, *page),
                )
                tags.update(rows.fetchall())
        return {
            position: tuple(read_json(tags[key], list, "a stored answer"))
            for position, key in enumerate(keys)
            if key in tags
        }

    @retried
    def put(self, tagger: str, answers: Mapping[int, tuple[Chunk, Sequence[str]]]) -> None:
        """Store answers in one transaction."""
        rows = {
            content_key(chunk.title, chunk.text): as_json(tags) for chunk, tags in answers.values()
        }
        with self.database.write() as connection:
            if not lock_namespace(connection, self.database, self._namespace):
                return
            connection.executemany(
                "INSERT INTO tag_answers VALUES (?, ?, ?, ?) "
                "ON CONFLICT (namespace, tagger, content) DO UPDATE SET tags = excluded.tags",
                [(self._namespace, tagger, key, tags) for key, tags in rows.items()],
            )

    def forget(
        self, connection: Connection, rows: Iterable[int], replaced_by: Iterable[Chunk]
    ) -> None:
        """Delete, within a transaction, the answers about rows that will be deleted."""
        any_answer = "SELECT 1 FROM tag_answers WHERE namespace = ? LIMIT 1"
        if connection.execute(any_answer, (self._namespace,)).fetchone() is None:
            return
        remaining = {content_key(chunk.title, chunk.text) for chunk in replaced_by}
        for page in pages(sorted(rows)):
            contents = connection.execute(
                f"SELECT title, text, imprint FROM chunks WHERE row IN ({marks(page)})", page
            )
            gone = [*({content_key_of(*content) for content in contents} - remaining)]
            if gone:
                connection.execute(
                    f"DELETE FROM tag_answers WHERE namespace = ? AND content IN ({marks(gone)})",
                    (self._namespace, *gone),
                )
