"""The fifth step: the texts of a partition to vectors; each worker loads the model once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from hebbgraph.embedders import embed_in_batches, embedder_name
from hebbgraph.records import Chunk
from numpy.typing import NDArray

from hebbgraph_scale.build.shelf import Summary, load_arrays, made_once, read_table, save_arrays

__all__ = ["embed", "vectors_of"]

_BATCH = 512
_EMBEDDERS: list[tuple[str, Any]] = []  # this worker's embedder


def embed(shelf: Path, proposed: str, factory: Callable[[], Any], dtype: str) -> Summary:
    """Embed the chunks of a partition.

    Parameters
    ----------
    shelf : Path
    proposed : str
    factory : callable
        Makes the embedder; its ``repr`` names it.
    dtype : str

    Returns
    -------
    dict
        ``name`` of the result, ``model`` and ``dimension``.
    """

    def make(to: Path) -> Summary:
        embedder = _embedder(factory)
        columns = read_table(shelf / proposed / "rows.arrow", "title", "text", "context")
        chunks = [
            Chunk.model_construct(id="", title=title, text=text, context=context)
            for title, text, context in zip(*columns, strict=True)
        ]
        parts = [
            part.astype(dtype)
            for start in range(0, len(chunks), _BATCH)
            for part in embed_in_batches(embedder, chunks[start : start + _BATCH])
        ]
        vectors = np.concatenate(parts) if parts else np.empty((0, 0), dtype)
        save_arrays(to, {"vectors": vectors})
        return {"model": embedder_name(embedder), "dimension": vectors.shape[1]}

    return made_once(shelf, "vectors", proposed, repr(factory), dtype, make=make)


def _embedder(factory: Callable[[], Any]) -> Any:
    if not _EMBEDDERS or _EMBEDDERS[0][0] != repr(factory):
        _EMBEDDERS[:] = [(repr(factory), factory())]
    return _EMBEDDERS[0][1]


def vectors_of(folder: Path) -> NDArray[Any]:
    """Map the vectors of a partition into memory."""
    return load_arrays(folder, "vectors")[0]
