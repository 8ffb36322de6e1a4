"""Answers of tagging models, kept so that none is paid for twice."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import sqlalchemy as sa
from pydantic_core import from_json

from hebbgraph.errors import SettingsMismatchError
from hebbgraph.records import Chunk
from hebbgraph.store.chunks import ChunkReader, as_json, pages
from hebbgraph.store.database import retried
from hebbgraph.store.schema import chunks, namespaces, tag_answers
from hebbgraph.store.texts import content_key, content_key_of

__all__ = ["TagAnswers"]


class TagAnswers(ChunkReader):
    """By the name of the tagger and the content of the chunk.

    An answer goes with the chunk that it is about, unless what replaces it has the same
    content.
    """

    def settle(self, tagger: str, *, instead: bool = False) -> None:
        """Save which tagger the namespace is tagged by, or compare it with the one saved.

        Parameters
        ----------
        tagger : str
        instead : bool
            Let it take the place of the one saved.

        Raises
        ------
        SettingsMismatchError
            If it is another one.
        """
        if self._compared(self._saved(), tagger, instead) or self.database.read_only:
            return
        self._save(tagger, instead)

    def _compared(self, held: Mapping[str, Any], tagger: str, instead: bool) -> bool:
        """Tell whether the tagger is the one saved; SettingsMismatchError if it is another."""
        if held.get("tagger", tagger) != tagger and not instead:
            raise SettingsMismatchError(
                f"{self.database.place} (namespace {self.namespace!r}) is tagged by "
                f"{held['tagger']!r}, got {tagger!r}; open it with that one or without a "
                "tagger, and call retag(tagger) to change it"
            )
        return held.get("tagger") == tagger

    @retried
    def _save(self, tagger: str, instead: bool) -> None:
        mine = namespaces.c.namespace == self.namespace
        query = sa.select(namespaces.c.build_settings).where(mine).with_for_update()
        with self.database.write() as connection:
            # Read again under the lock: of two that come first at once, one is told.
            held = dict(json.loads(connection.execute(query).scalar() or "{}"))
            if not self._compared(held, tagger, instead):
                changed = json.dumps(held | {"tagger": tagger}, sort_keys=True)
                connection.execute(sa.update(namespaces).where(mine).values(build_settings=changed))

    @retried
    def _saved(self) -> dict[str, Any]:
        with self.database.read() as connection:
            query = sa.select(namespaces.c.build_settings).where(
                namespaces.c.namespace == self.namespace
            )
            return dict(json.loads(connection.execute(query).scalar() or "{}"))

    @retried
    def get(self, tagger: str, wanted: Sequence[Chunk]) -> dict[int, tuple[str, ...]]:
        """Return the answers that are kept, by position."""
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
        return {at: tuple(from_json(held[key])) for at, key in enumerate(keys) if key in held}

    @retried
    def put(self, tagger: str, answers: Mapping[int, tuple[Chunk, Sequence[str]]]) -> None:
        """Keep answers, in one transaction."""
        rows = {
            content_key(chunk.title, chunk.text): as_json(tags) for chunk, tags in answers.values()
        }
        with self.database.write() as connection:
            # The row of the namespace is every writer's lock, so no other one comes between.
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
        """Return how many answers are kept."""
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
        """Erase, within a transaction, the answers about rows that are about to go."""
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
