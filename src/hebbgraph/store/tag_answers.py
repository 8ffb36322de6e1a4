"""Answers of tagging models, cached: a model is expensive."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from hebbgraph.errors import SettingsMismatchError
from hebbgraph.records import Chunk
from hebbgraph.store.chunk_rows import as_json
from hebbgraph.store.chunks import ChunkReader, pages
from hebbgraph.store.database import Connection, marks, retried
from hebbgraph.store.state import lock_namespace
from hebbgraph.store.texts import content_key, content_key_of
from hebbgraph.stored_json import read_json

__all__ = ["TagAnswers"]


class TagAnswers(ChunkReader):
    """Answers by tagger and content of the chunk.

    An answer is deleted with its chunk, unless the chunk's replacement has the same content.
    """

    def settle(self, tagger: str, *, replace: bool = False) -> None:
        """Save the tagger of the namespace; with ``replace``, in place of another one.

        Raises
        ------
        SettingsMismatchError
            If another tagger is saved, without ``replace``.
        """
        if not (
            self._is_saved(self.saved_settings() or {}, tagger, replace) or self.database.read_only
        ):
            self._save(tagger, replace)

    def _is_saved(self, saved: Mapping[str, Any], tagger: str, replace: bool) -> bool:
        """Return whether this tagger is saved; SettingsMismatchError if another one is."""
        if saved.get("tagger", tagger) != tagger and not replace:
            raise SettingsMismatchError(
                f"{self.database.place} (namespace {self.namespace!r}) is tagged by "
                f"{saved['tagger']!r}, got {tagger!r}; open it with that one or without a "
                "tagger, and call retag(tagger) to change it"
            )
        return saved.get("tagger") == tagger

    @retried
    def _save(self, tagger: str, replace: bool) -> None:
        query = "SELECT build_settings FROM namespaces WHERE namespace = ?"
        with self.database.write() as connection:
            # Read again under the lock: another process may have saved one meanwhile.
            row = connection.execute(
                query + self.database.driver.for_update, (self.namespace,)
            ).fetchone()
            saved = read_json(row[0] if row else "{}", dict, "build settings")
            if not self._is_saved(saved, tagger, replace):
                changed = json.dumps(saved | {"tagger": tagger}, sort_keys=True)
                connection.execute(
                    "UPDATE namespaces SET build_settings = ? WHERE namespace = ?",
                    (changed, self.namespace),
                )

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
                    (self.namespace, tagger, *page),
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
            if not lock_namespace(connection, self.database, self.namespace):
                return
            connection.executemany(
                "INSERT INTO tag_answers VALUES (?, ?, ?, ?) "
                "ON CONFLICT (namespace, tagger, content) DO UPDATE SET tags = excluded.tags",
                [(self.namespace, tagger, key, tags) for key, tags in rows.items()],
            )

    def forget(
        self, connection: Connection, rows: Iterable[int], replaced_by: Iterable[Chunk]
    ) -> None:
        """Delete, within a transaction, the answers about rows that will be deleted."""
        any_answer = "SELECT 1 FROM tag_answers WHERE namespace = ? LIMIT 1"
        if connection.execute(any_answer, (self.namespace,)).fetchone() is None:
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
                    (self.namespace, *gone),
                )
