"""Answers of tagging models, kept so that none is paid for twice."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from hebbgraph.errors import SettingsMismatchError
from hebbgraph.held_json import read_json
from hebbgraph.records import Chunk
from hebbgraph.store.chunks import ChunkReader, as_json, pages
from hebbgraph.store.database import retried
from hebbgraph.store.schema import chunks, namespaces, tag_answers
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
        mine = namespaces.c.namespace == self.namespace
        query = sa.select(namespaces.c.build_settings).where(mine).with_for_update()
        with self.database.write() as connection:
            # Read again under the lock, as two may come first at once.
            held = dict(
                read_json(connection.execute(query).scalar() or "{}", dict, "build settings")
            )
            if not self._compared(held, tagger, replace):
                changed = json.dumps(held | {"tagger": tagger}, sort_keys=True)
                connection.execute(sa.update(namespaces).where(mine).values(build_settings=changed))

    @retried
    def get(self, tagger: str, wanted: Sequence[Chunk]) -> dict[int, tuple[str, ...]]:
        """Return the stored answers by position."""
        keys = [content_key(chunk.title, chunk.text) for chunk in wanted]
        held: dict[bytes, str] = {}
        with self.database.read() as connection:
            for page in pages(dict.fromkeys(keys)):
                query = sa.select(tag_answers.c.content, tag_answers.c.tags).where(
                    tag_answers.c.namespace == self.namespace,
                    tag_answers.c.tagger == tagger,
                    tag_answers.c.content.in_(page),
                )
                held.update((bytes(key), tags) for key, tags in connection.execute(query))
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
            connection.execute(
                sa.select(namespaces.c.namespace)
                .where(namespaces.c.namespace == self.namespace)
                .with_for_update()
            )
            for page in pages(rows):
                connection.execute(
                    sa.delete(tag_answers).where(
                        tag_answers.c.namespace == self.namespace,
                        tag_answers.c.tagger == tagger,
                        tag_answers.c.content.in_(page),
                    )
                )
                connection.execute(
                    sa.insert(tag_answers),
                    [
                        {
                            "namespace": self.namespace,
                            "tagger": tagger,
                            "content": key,
                            "tags": rows[key],
                        }
                        for key in page
                    ],
                )

    @retried
    def n_kept(self) -> int:
        """Return the number of stored answers."""
        with self.database.read() as connection:
            query = (
                sa.select(sa.func.count())
                .select_from(tag_answers)
                .where(tag_answers.c.namespace == self.namespace)
            )
            return connection.execute(query).scalar_one()

    def forget(
        self, connection: sa.Connection, rows: Iterable[int], replaced_by: Iterable[Chunk]
    ) -> None:
        """Delete, within a transaction, the answers about rows that will be deleted."""
        some = sa.select(tag_answers.c.content).where(tag_answers.c.namespace == self.namespace)
        if connection.execute(some.limit(1)).first() is None:
            return
        stay = {content_key(chunk.title, chunk.text) for chunk in replaced_by}
        for page in pages(sorted(rows)):
            query = sa.select(chunks.c.title, chunks.c.text, chunks.c.imprint)
            held = connection.execute(query.where(chunks.c.row.in_(page)))
            gone = {content_key_of(*one) for one in held} - stay
            for some_gone in pages(gone):
                connection.execute(
                    sa.delete(tag_answers).where(
                        tag_answers.c.namespace == self.namespace,
                        tag_answers.c.content.in_(some_gone),
                    )
                )
