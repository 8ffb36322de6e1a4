"""Store vectors on disk, so a repeated run embeds nothing again."""

from __future__ import annotations

import hashlib
import re
import sqlite3
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Literal, Self

import numpy as np
from hebbgraph.errors import ParameterError
from numpy.typing import NDArray

__all__ = ["VectorCache"]

_AT_ONCE = 500
Kind = Literal["passage", "query"]


class VectorCache:
    """Vectors by the hash of their text, in one SQLite file per model.

    Passages and queries are separate, since models may treat them differently. Models are
    identified only by name: after training one in place, remove the file.

    Parameters
    ----------
    directory : str or Path
        Created if missing. Several processes may share it.
    model_name : str

    Raises
    ------
    ParameterError
        If the file cannot be written.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as directory, VectorCache(directory, "mini") as cache:
    ...     cache.put("query", {"who?": np.array([0.5, 1.0])})
    ...     sorted(cache.get("query", ["who?", "when?"]).items())
    [('who?', array([0.5, 1. ], dtype=float32))]
    """

    def __init__(self, directory: str | Path, model_name: str) -> None:
        self.directory = Path(directory)
        self.model_name = model_name
        slug = re.sub(r"[^A-Za-z0-9.-]+", "-", model_name)[-60:].strip("-")
        digest = hashlib.sha256(model_name.encode()).hexdigest()[:8]
        self.path = self.directory / f"{slug}-{digest}.sqlite3"
        try:
            self.directory.mkdir(parents=True, exist_ok=True)
            self._connection = sqlite3.connect(self.path, timeout=60)
        except (OSError, sqlite3.Error) as error:
            raise ParameterError(f"{directory}: vectors cannot be kept here: {error}") from error
        try:
            with self._connection:
                self._connection.execute("PRAGMA journal_mode=WAL")
                self._connection.execute(
                    "CREATE TABLE IF NOT EXISTS vectors "
                    "(key BLOB PRIMARY KEY, vector BLOB NOT NULL) WITHOUT ROWID"
                )
        except sqlite3.Error as error:
            self._connection.close()
            raise ParameterError(f"{self.path}: is not a cache of vectors: {error}") from error

    def get(self, kind: Kind, texts: Iterable[str]) -> dict[str, NDArray[np.float32]]:
        """Return the stored vectors of these texts."""
        by_key = {_key(kind, text): text for text in texts}
        keys = list(by_key)
        vectors: dict[str, NDArray[np.float32]] = {}
        for start in range(0, len(keys), _AT_ONCE):
            some = keys[start : start + _AT_ONCE]
            marks = ",".join("?" * len(some))
            rows = self._connection.execute(
                f"SELECT key, vector FROM vectors WHERE key IN ({marks})", some
            )
            vectors.update(
                (by_key[key], np.frombuffer(vector, dtype=np.float32)) for key, vector in rows
            )
        return vectors

    def put(self, kind: Kind, vectors: Mapping[str, NDArray[np.floating]]) -> None:
        """Store vectors, replacing existing ones."""
        rows = [
            (_key(kind, text), np.asarray(vector, dtype=np.float32).tobytes())
            for text, vector in vectors.items()
        ]
        with self._connection:
            self._connection.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?)", rows)

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def _key(kind: Kind, text: str) -> bytes:
    return hashlib.sha256(f"{kind}\x00{text}".encode()).digest()
