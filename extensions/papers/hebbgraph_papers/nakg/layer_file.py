"""The neural layer on disk: one safetensors file with a checksum.

Reading it takes numpy and safetensors, not torch. A file that is damaged or belongs to another
database is logged and ignored.
"""

from __future__ import annotations

import json
import logging
import zlib
from dataclasses import asdict
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from hebbgraph.artifacts import WatchedFile, replace_file
from hebbgraph.derived.folder import TRAINED_LAYER
from hebbgraph.derived.parts import Derived
from hebbgraph.errors import ReadOnlyIndexError
from hebbgraph.extras import require
from hebbgraph.graph.tag_graph import TagGraph
from hebbgraph.namespace import Namespace
from hebbgraph.store.database import translate_os
from hebbgraph.store.history import Commit
from hebbgraph.vectors.table import VectorTable

from hebbgraph_papers.nakg.layer import LayerInGraph, LayerStamp, NeuralLayer

__all__ = ["LayerFile"]

logger = logging.getLogger(__name__)

_FORMAT = "1"
_ARRAYS = ("rows", "id_prefixes", "vectors", "clusters", "sources", "targets", "weights")

#: All strategies of an index share one object.
_LAYERS: WeakKeyDictionary[Derived, LayerFile] = WeakKeyDictionary()


class LayerFile:
    """The layer of one namespace, in memory and (if there is a folder) on disk.

    Parameters
    ----------
    namespace : Namespace
    """

    def __init__(self, namespace: Namespace) -> None:
        self._leads_to = namespace.truth.history.leads_to
        directory = namespace.derived.directory
        path = None if directory is None else directory / TRAINED_LAYER
        self._file = WatchedFile(path, _load)
        self._writable = not namespace.database.read_only
        self._warned: object = None
        self._in_graph: LayerInGraph | None = None
        self._table: tuple[LayerInGraph, VectorTable, int, VectorTable] | None = None

    @classmethod
    def of(cls, namespace: Namespace) -> LayerFile:
        """Return the layer of a namespace, the same object each time."""
        return _LAYERS.setdefault(namespace.derived, cls(namespace))

    @property
    def path(self) -> Path | None:
        """The file, which may not exist."""
        return self._file.path

    def save(self, layer: NeuralLayer) -> None:
        """Replace the layer atomically.

        Raises
        ------
        ReadOnlyIndexError, DiskFullError, StorageError
            If it cannot be written; the previous layer stays.
        """
        self._check_writable()

        def write(path: Path) -> None:
            format = require("safetensors.numpy", extra="neural", purpose="a trained layer on disk")
            path.write_bytes(format.save(_arrays(layer), metadata=_metadata(layer)))

        try:
            self._file.replace(layer, lambda path: replace_file(path, write, unlocked=True))
        except OSError as error:
            raise translate_os(error, str(self.path)) from error

    def remove(self) -> bool:
        """Remove the layer; return whether there was one."""
        self._check_writable()
        return self._file.remove()

    def _check_writable(self) -> None:
        if self.path is not None and not self._writable:
            raise ReadOnlyIndexError(
                f"{self.path}: opened read-only, so a layer can be neither saved nor removed"
            )

    def in_graph(self, derived: Derived, graph: TagGraph) -> LayerInGraph | None:
        """Return the layer mapped to the slots of a graph; None if there is none, or it is invalid.

        A layer is invalid if it was trained on another model's vectors, on feedback that was
        forgotten since, or on another history of the database. The caller holds the lock on the
        graph, which is that of ``derived`` or derived from it.
        """
        layer = self._file.content
        if layer is None:
            return None
        if (reason := self._invalid(layer, derived, graph)) is not None:
            if self._warned is not layer:
                self._warned = layer
                logger.warning("%s; train it again", reason)
            return None
        mapped = self._in_graph
        if mapped is None or not mapped.fits(layer, graph):
            mapped = self._in_graph = layer.in_graph(graph)
        return mapped

    def _invalid(self, layer: NeuralLayer, derived: Derived, graph: TagGraph) -> str | None:
        """Return why a layer is invalid, if it is."""
        stamp, now = layer.stamp, Commit(graph.generation, graph.mark)
        embedding, feedback = derived.embedding, derived.feedback
        if embedding is None or (stamp.embedder, stamp.epoch) != (embedding.name, embedding.epoch):
            return "the neural layer was trained on vectors of another model"
        if stamp.feedback_used and feedback.removed != stamp.feedback_removed:
            return "feedback was forgotten since the neural layer was trained on it"
        if stamp.mark is None:
            earlier = stamp.generation <= now.generation
        else:
            earlier = self._leads_to(Commit(stamp.generation, stamp.mark), now)
        return None if earlier else "the neural layer is of another history of the database"

    def table(self, layer: LayerInGraph, vectors: VectorTable) -> VectorTable:
        """Return the vectors of a namespace; chunks of the layer have propagated ones."""
        cached = self._table
        if (
            cached is None
            or cached[0] is not layer
            or cached[1] is not vectors
            or cached[2] != len(vectors.rows)
        ):
            slots, propagated = layer.matrix
            replaced = vectors.replaced(layer.graph.rows[slots], propagated)
            cached = self._table = (layer, vectors, len(vectors.rows), replaced)
        return cached[3]


def _arrays(layer: NeuralLayer) -> dict[str, Any]:
    return {name: np.ascontiguousarray(getattr(layer, name)) for name in _ARRAYS}


def _checksum(arrays: dict[str, Any]) -> str:
    checksum = 0
    for name in _ARRAYS:
        checksum = zlib.crc32(np.ascontiguousarray(arrays[name]).view(np.uint8).data, checksum)
    return str(checksum)


def _metadata(layer: NeuralLayer) -> dict[str, str]:
    return {
        "format": _FORMAT,
        "stamp": json.dumps(asdict(layer.stamp)),
        "report": json.dumps(layer.report),
        "checksum": _checksum(_arrays(layer)),
    }


def _load(path: Path) -> NeuralLayer | None:
    try:
        from safetensors import SafetensorError, safe_open
    except ImportError:
        logger.warning('%s is ignored: pip install "hebbgraph[neural]" to read it', path)
        return None
    try:
        with safe_open(str(path), framework="np") as file:
            metadata = file.metadata() or {}
            if metadata.get("format") != _FORMAT:
                logger.warning(
                    "%s was written by another version of hebbgraph: train it again", path
                )
                return None
            arrays = {name: file.get_tensor(name) for name in _ARRAYS}
        if _checksum(arrays) != metadata["checksum"]:
            raise ValueError("the checksum differs")
        stamp = LayerStamp(**json.loads(metadata["stamp"]))
        return NeuralLayer(stamp=stamp, report=json.loads(metadata["report"]), **arrays)
    except (OSError, ValueError, KeyError, TypeError, SafetensorError) as error:
        logger.warning("%s is damaged (%s) and ignored; train it again", path, error)
        return None
