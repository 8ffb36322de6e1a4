"""The neural layer on disk: one safetensors file, checked when read.

Reading it takes numpy and safetensors, not torch. A file that is damaged or does not belong
to the present truth is logged and ignored: recalls go on without it.
"""

from __future__ import annotations

import json
import logging
import zlib
from collections.abc import Callable, Iterator
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from hebbgraph.artifacts import WatchedFile
from hebbgraph.errors import ReadOnlyIndexError
from hebbgraph.extras import require
from hebbgraph.graph.neural_layer import LayerInGraph, LayerStamp, NeuralLayer
from hebbgraph.graph.tag_graph import TagGraph
from hebbgraph.store.database import translate_os
from hebbgraph.store.embeddings import EmbeddingState
from hebbgraph.store.history import Commit
from hebbgraph.store.truth import FeedbackState
from hebbgraph.vectors.table import VectorTable

__all__ = ["NEURAL_FILE", "NeuralStore"]

logger = logging.getLogger(__name__)

_FORMAT = "1"
NEURAL_FILE = "neural.safetensors"
_ARRAYS = ("rows", "id_prefixes", "vectors", "clusters", "sources", "targets", "weights")


class NeuralStore:
    """The layer of one namespace, in memory and (if there is a folder) on disk.

    Parameters
    ----------
    directory : Path, optional
        The folder of derived parts; None keeps the layer in memory.
    writable : bool
    leads_to : callable
        Whether one commit led to another; a layer of a state that did not is ignored.
    """

    def __init__(
        self,
        directory: Path | None,
        *,
        writable: bool,
        leads_to: Callable[[Commit, Commit], bool],
    ) -> None:
        self._file = WatchedFile(None if directory is None else directory / NEURAL_FILE, _load)
        self._leads_to = leads_to
        self._writable = writable
        self._warned: object = None
        self._in_graph: LayerInGraph | None = None
        self._table: tuple[LayerInGraph, VectorTable, int, VectorTable] | None = None

    @property
    def path(self) -> Path | None:
        """The file, whether it exists or not."""
        return self._file.path

    def save(self, layer: NeuralLayer) -> None:
        """Replace the layer in one step.

        Raises
        ------
        ReadOnlyIndexError, DiskFullError, StorageError
            If it cannot be written; the former layer stays.
        """
        self._check_writable()

        def write(path: Path) -> None:
            format = require("safetensors.numpy", extra="neural", purpose="a trained layer on disk")
            path.write_bytes(format.save(_arrays(layer), metadata=_metadata(layer)))

        try:
            self._file.replace(layer, write)
        except OSError as error:
            raise translate_os(error, str(self.path)) from error

    def remove(self) -> bool:
        """Remove the layer; return whether there was one."""
        self._check_writable()
        return self._file.remove()

    def _check_writable(self) -> None:
        if self.path is not None and not self._writable:
            raise ReadOnlyIndexError(f"{self.path}: opened for reading only, nothing is written")

    def current(
        self, embedding: EmbeddingState | None, feedback: FeedbackState
    ) -> NeuralLayer | None:
        """Return the layer, if there is one that still applies.

        Parameters
        ----------
        embedding : EmbeddingState, optional
            Of the truth: a layer over another model's vectors rests.
        feedback : FeedbackState
            A layer trained on feedback that was forgotten since does not apply.
        """
        layer = self._file.content
        if layer is None:
            return None
        stamp = layer.stamp
        if embedding is None or (stamp.embedder, stamp.epoch) != (embedding.name, embedding.epoch):
            self._say_once(layer, "the neural layer is over vectors of another model: it rests")
            return None
        if stamp.feedback_used and feedback.removed != stamp.feedback_removed:
            self._say_once(layer, "feedback was forgotten since the neural layer was trained on it")
            return None
        return layer

    def in_graph(
        self, graph: TagGraph, embedding: EmbeddingState | None, feedback: FeedbackState
    ) -> LayerInGraph | None:
        """Return the layer that applies, in the slots of a graph; see :meth:`current`.

        The caller holds the lock on the graph.
        """
        layer = self.current(embedding, feedback)
        if layer is None or not self._is_of(layer, graph):
            return None
        held = self._in_graph
        if held is None or not held.fits(layer, graph):
            held = self._in_graph = layer.in_graph(graph)
        return held

    def _is_of(self, layer: NeuralLayer, graph: TagGraph) -> bool:
        """Return whether a layer was trained on an earlier commit of the graph's history."""
        stamp, now = layer.stamp, Commit(graph.generation, graph.mark)
        if stamp.mark is None:
            fits = stamp.generation <= now.generation
        else:
            fits = self._leads_to(Commit(stamp.generation, stamp.mark), now)
        if not fits:
            self._say_once(layer, "the neural layer is of another history of the database")
        return fits

    def table(self, layer: LayerInGraph, own: VectorTable) -> VectorTable:
        """Return the vectors of a namespace, propagated where the layer knows the chunk."""
        held = self._table
        if held is None or held[0] is not layer or held[1] is not own or held[2] != len(own.rows):
            slots, vectors = layer.matrix
            replaced = own.replaced(layer.graph.rows[slots], vectors)
            held = self._table = (layer, own, len(own.rows), replaced)
        return held[3]

    def problems(self) -> Iterator[str]:
        """Yield what is wrong with the file, if there is one."""
        if self.path is None or not self.path.exists() or find_spec("safetensors") is None:
            return
        if _load(self.path) is None:
            yield f"{self.path.name} is damaged, or of another version: train it again"

    def _say_once(self, layer: NeuralLayer, why: str) -> None:
        if self._warned is not layer:
            self._warned = layer
            logger.warning("%s; train it again", why)


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
        logger.warning('%s is passed over: pip install "hebbgraph[neural]" to read it', path)
        return None
    try:
        with safe_open(str(path), framework="np") as file:
            metadata = file.metadata() or {}
            if metadata.get("format") != _FORMAT:
                logger.warning("%s is of another version of hebbgraph: train it again", path)
                return None
            arrays = {name: file.get_tensor(name) for name in _ARRAYS}
        if _checksum(arrays) != metadata["checksum"]:
            raise ValueError("the checksum differs")
        stamp = LayerStamp(**json.loads(metadata["stamp"]))
        return NeuralLayer(stamp=stamp, report=json.loads(metadata["report"]), **arrays)
    except (OSError, ValueError, KeyError, TypeError, SafetensorError) as error:
        logger.warning("%s is damaged (%s): recalls go on without; train it again", path, error)
        return None
