"""Answers of tagging models, kept so that none is paid for twice."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from hebbgraph.errors import SettingsMismatchError
from hebbgraph.held_json import read_json
from hebbgraph.records import Chunk
from hebbgraph.store.chunk_rows import as_json
from hebbgraph.store.chunks import ChunkReader, pages
from hebbgraph.store.database import Connection, marks, retried
from hebbgraph.store.texts import content_key, content_key_of

__all__ = ["TagAnswers"]


class TagAnswers(ChunkReader):
    """Answers by the name of the tagger and the content of the chunk.

    An answer is deleted with its chunk, unless the replacement has the same content.
    """

    def settle(self, tagger: str, *, replace: bool = False) -> None:
        """Save the tagger of the namespace, or compare it with the saved one.

        Parameters
        ----------
        tagger : str
        replace : bool
            Save it whichever was saved.

        Raises
        ------
        SettingsMismatchError
            If another one is saved.
        """
        saved = self.saved_settings() or {}
        if not (self._compared(saved, tagger, replace) or self.database.read_only):
            self._save(tagger, replace)

    def _compared(self, held: Mapping[str, Any], tagger: str, replace: bool) -> bool:
        """Return whether this tagger is saved; SettingsMismatchError if another one is."""
        if held.get("tagger", tagger) != tagger and not replace:
            raise SettingsMismatchError(
                f"{self.database.place} (namespace {self.namespace!r}) is tagged by "
                f"{held['tagger']!r}, got {tagger!r}; open it with that one or without a "
                "tagger, and call retag(tagger) to change it"
            )
        return held.get("tagger") == tagger

    @retried
    def _save(self, tagger: str, replace: bool) -> None:
        query = "SELECT build_settings FROM namespaces WHERE namespace = ?"
        with self.database.write() as connection:
            # Read again under the lock, as two may come first at once.
            row = connection.execute(
                query + self.database.driver.for_update, (self.namespace,)
            ).fetchone()
            held = dict(read_json(row[0] if row else "{}", dict, "build settings"))
            if not self._compared(held, tagger, replace):
                changed = json.dumps(held | {"tagger": tagger}, sort_keys=True)
                connection.execute(
                    "UPDATE namespaces SET build_settings = ? WHERE namespace = ?",
                    (changed, self.namespace),
                )

    @retried
    def get(self, tagger: str, wanted: Sequence[Chunk]) -> dict[int, tuple[str, ...]]:
        """Return the stored answers by position."""
        keys = [content_key(chunk.title, chunk.text) for chunk in wanted]
        held: dict[bytes, str] = {}
        with self.database.read() as connection:
            for page in pages(dict.fromkeys(keys)):
                rows = connection.execute(
                    "SELECT content, tags FROM tag_answers "
                    f"WHERE namespace = ? AND tagger = ? AND content IN ({marks(page)})",
                    (self.namespace, tagger, *page),
                )
                held.update(rows.fetchall())
        return {
            at: tuple(read_json(held[key], list, "a stored answer"))
            for at, key in enumerate(keys)
            if key in held
        }

    @retried
    def put(self, tagger: str, answers: Mapping[int, tuple[Chunk, Sequence[str]]]) -> None:
        """Store answers in one transaction."""
        rows = {
            content_key(chunk.title, chunk.text): as_json(tags) for chunk, tags in answers.values()
        }
        with self.database.write() as connection:
            # The row of the namespace is every writer's lock.
            there = connection.execute(
                "SELECT 1 FROM namespaces WHERE namespace = ?" + self.database.driver.for_update,
                (self.namespace,),
            ).fetchall()
            if not there:
                return  # it was deleted meanwhile
            connection.executemany(
                "INSERT INTO tag_answers VALUES (?, ?, ?, ?) "
                "ON CONFLICT (namespace, tagger, content) DO UPDATE SET tags = excluded.tags",
                [(self.namespace, tagger, key, tags) for key, tags in rows.items()],
            )

    def n_kept(self) -> int:
        """Return the number of stored answers."""
        ((count,),) = self._ask("SELECT count(*) FROM tag_answers WHERE namespace = ?")
        return int(count)

    def forget(
        self, connection: Connection, rows: Iterable[int], replaced_by: Iterable[Chunk]
    ) -> None:
        """Delete, within a transaction, the answers about rows that will be deleted."""
        some = "SELECT 1 FROM tag_answers WHERE namespace = ? LIMIT 1"
        if connection.execute(some, (self.namespace,)).fetchone() is None:
            return
        stay = {content_key(chunk.title, chunk.text) for chunk in replaced_by}
        for page in pages(sorted(rows)):
            contents = connection.execute(
                f"SELECT title, text, imprint FROM chunks WHERE row IN ({marks(page)})", page
            )
            gone = [*({content_key_of(*content) for content in contents} - stay)]
            if gone:
                connection.execute(
                    f"DELETE FROM tag_answers WHERE namespace = ? AND content IN ({marks(gone)})",
                    (self.namespace, *gone),
                )
