"""The verbs that look up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from itertools import compress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import networkx as nx
import numpy as np

from hebbgraph.errors import ParameterError, StorageError, check_whole
from hebbgraph.filters import rows_passing
from hebbgraph.index.session import OpenNamespace, listed
from hebbgraph.learning.graph import cooccurrence, find_tags, neighbors, referring
from hebbgraph.records import Chunk, Neighbor, Tag
from hebbgraph.store.chunks import chunks_by_id
from hebbgraph.store.sqlite import SQLiteDatabase
from hebbgraph.upkeep import problems, statistics


class AskingVerbs(OpenNamespace):
    """What the index holds."""

    def get(self, ids: str | Sequence[str]) -> list[Chunk]:
        """Return chunks by id, in the order of the ids; unknown ids are left out."""
        wanted = listed(ids, "ids")
        with self._database.read() as session:
            stored = chunks_by_id(session, wanted)
        return [stored[id_].chunk() for id_ in wanted if id_ in stored]

    def ids(self, where: Mapping[str, Any] | None = None) -> list[str]:
        """Return the ids of the chunks that pass a filter, sorted."""
        with self._database.read() as session:
            found = session.rows("SELECT row, id FROM $chunk ORDER BY id")
            if where is None:
                return [id_ for _, id_ in found]
            passing, _ = rows_passing(session, where)
        passes = passing(np.array([row for row, _ in found], np.int64))
        return [id_ for _, id_ in compress(found, passes)]

    def documents(self) -> dict[str, int]:
        """Return the documents of the index, sorted, and how many chunks each has."""
        sql = "SELECT document_id, count(*) FROM $chunk WHERE document_id IS NOT NULL "
        sql += "GROUP BY document_id ORDER BY document_id"
        with self._database.read() as session:
            return dict(session.rows(sql))

    def tags(self, prefix: str = "", *, limit: int = 100) -> list[Tag]:
        """Return the tags that begin with a prefix, those of most chunks first."""
        if not isinstance(prefix, str):
            raise ParameterError(f"a prefix of tags is a str, got {type(prefix).__name__}")
        with self._database.read() as session:
            return find_tags(session, prefix, check_whole(limit, "limit"))

    def neighbors(self, tag: str, k: int = 20) -> list[Neighbor]:
        """Return the tags that most often occur together with a tag; ties by the tag.

        Raises
        ------
        NotFoundError
            If no chunk holds the tag.
        """
        if not isinstance(tag, str):
            raise ParameterError(f"a tag is a str, got {type(tag).__name__}")
        with self._database.read() as session:
            return neighbors(session, tag, check_whole(k, "k"))

    def referring(self, ids: str | Sequence[str]) -> list[str]:
        """Return the ids of the chunks that refer to these chunks, sorted."""
        with self._database.read() as session:
            return referring(session, listed(ids, "ids"))

    def to_networkx(self) -> nx.Graph[str]:
        """Return the graph of tags, with ``weight`` (chunks that hold both) and ``learned``."""
        with self._database.read() as session:
            return cooccurrence(session)

    def stats(self) -> dict[str, Any]:
        """Return what the index holds, in numbers."""
        with self._database.read() as session:
            return {"namespace": self.namespace, **statistics(session)}

    def doctor(self) -> list[str]:
        """Check that everything stored follows from the texts; return what is wrong.

        It indexes every chunk again, into a temporary file. :meth:`rebuild` repairs what it finds,
        but for texts.
        """
        found = self._database.check()
        try:
            with (
                TemporaryDirectory() as folder,
                self._database.read() as session,
                closing(SQLiteDatabase(Path(folder) / "fresh", wait=0.0)) as other,
                other.write() as fresh,
            ):
                return found + problems(session, self.settings, fresh)
        except StorageError as error:
            return [*found, str(error)]
        except (LookupError, TypeError, ValueError) as error:
            return [*found, f"what is stored contradicts itself: {type(error).__name__}: {error}"]

    def backup(self, path: str | Path) -> None:
        """Write a copy of one state of this namespace to a new file.

        To put it back, close the index and copy it over ``DIRECTORY/default.sqlite3``, or the file
        that the namespace has instead of ``default``.
        """
        self._database.backup(Path(path))
