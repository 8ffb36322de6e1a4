"""The colonies of one namespace, saved beside its graph.

They are derived, and carry their commit. Edges and labels refer to rows of the truth, which
all processes share. When chunks are added or deleted, only new chunks are joined and only
their neighbourhood moves (:func:`hebbgraph.formulas.communities.local_moving`); Louvain runs
again on request, when most chunks are new, or when the parameters have changed. Processes
continue from the file, so that a number means the same colony to all of them.
"""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hebbgraph.array_file import read_arrays, write_arrays
from hebbgraph.arrays import FloatArray, IntArray
from hebbgraph.artifacts import WatchedFile
from hebbgraph.formulas.adjacency import LinkKind
from hebbgraph.formulas.communities import (
    ALPHA,
    BETA,
    ColonyParameters,
    colony_weights,
    find_colonies,
    local_moving,
)
from hebbgraph.formulas.weighted_graph import WeightedGraph
from hebbgraph.graph.chunk_edges import SimilarityOf, chunk_edges
from hebbgraph.graph.tag_graph import TagGraph
from hebbgraph.records import Colony
from hebbgraph.store.history import Commit
from hebbgraph.text import display
from hebbgraph.vectors.table import VectorTable

__all__ = ["NONE", "Colonies", "ColonyState"]

logger = logging.getLogger(__name__)

NONE = -1
"""The colony of a chunk without edges."""

_FILE = "colonies.arrays"
#: Raised when the arrays, or how colonies are found, change.
_VERSION = 4
#: With a larger share of new chunks, Louvain costs less than moving each.
_MOSTLY_NEW = 0.5
_TAGS, _IN_NAME = 10, 3


@dataclass(frozen=True)
class ColonyState:
    """A partition at one generation.

    Attributes
    ----------
    generation, mark : int
        The commit.
    rows : ndarray of int64, shape (n,), ascending
        Live chunks, as rows of the truth.
    colony : ndarray of int64, shape (n,)
        The colony of each, or :data:`NONE`.
    source, target : ndarray of int64, shape (n_edges,)
        Rows.
    similarity, overlap : ndarray of float64, shape (n_edges,)
    found_by : str
        The deciding parameters, as JSON.
    """

    generation: int
    mark: int
    rows: NDArray[np.int64]
    colony: NDArray[np.int64]
    source: NDArray[np.int64]
    target: NDArray[np.int64]
    similarity: NDArray[np.float64]
    overlap: NDArray[np.float64]
    found_by: str

    @property
    def n_colonies(self) -> int:
        """The number of colonies."""
        return len(np.unique(self.colony[self.colony >= 0]))

    def graph(self) -> WeightedGraph:
        """Return the edges between positions in ``rows``, by similarity and overlap."""
        return WeightedGraph(
            len(self.rows),
            np.searchsorted(self.rows, self.source),
            np.searchsorted(self.rows, self.target),
            ALPHA * self.similarity + BETA * self.overlap,
        )


class Colonies:
    """Finds colonies when they are first asked for, and keeps them up to date.

    Parameters
    ----------
    directory : Path or None
        None keeps them in memory.
    parameters : ColonyParameters
    writable : bool
    leads_to : callable, optional
        Whether one commit led to another; colonies of a state that did not are ignored.
    """

    def __init__(
        self,
        directory: Path | None,
        parameters: ColonyParameters,
        *,
        writable: bool = True,
        leads_to: Callable[[Commit, Commit], bool] = lambda commit, now: True,
    ) -> None:
        self._leads_to = leads_to
        self.parameters = parameters
        self._file = WatchedFile(None if directory is None else directory / _FILE, _read)
        self._writable = writable
        self._found_by = json.dumps(
            {"alpha": ALPHA, "beta": BETA}
            | {name: getattr(parameters, name) for name in ("resolution", "nearest", "max_df")}
        )
        self._state: ColonyState | None = None
        self._lock = threading.RLock()

    @property
    def exist(self) -> bool:
        """Whether colonies were ever found."""
        with self._lock:
            return (self._state or self._file.content) is not None

    def problems(self) -> Iterator[str]:
        """Yield what is wrong with the file, if there is one."""
        with self._lock:
            if (path := self._file.path) is not None and path.exists():
                try:
                    read_arrays(path, _VERSION)
                except OSError as error:
                    yield str(error)

    def start_over(self) -> None:
        """Drop the colonies, on disk too; the next request finds them again."""
        with self._lock:
            self._state = None
            self._file.remove()

    def at(
        self, graph: TagGraph, vectors: VectorTable | None = None, *, rebuild: bool = False
    ) -> ColonyState:
        """Return the colonies of a graph, brought forward to its commit.

        The caller holds the lock on the graph.

        Parameters
        ----------
        graph : TagGraph
        vectors : VectorTable, optional
        rebuild : bool
            Run Louvain again; the best-matching colonies keep their numbers.
        """
        with self._lock:
            before = self._latest(graph)
            rebuild = rebuild or (before is not None and before.found_by != self._found_by)
            if before is not None and _commit(before) == _commit(graph) and not rebuild:
                self._state = before
                return before
            live = graph.rows[graph.alive]
            fresh = len(live) if before is None else len(np.setdiff1d(live, before.rows))
            if before is None or rebuild or fresh > _MOSTLY_NEW * len(live):
                state = self._found(graph, vectors, before)
            else:
                state = self._moved_on(graph, vectors, before)
            self._state = state
            self._save(state)
            return state

    def by_slot(self, graph: TagGraph, vectors: VectorTable | None = None) -> NDArray[np.int64]:
        """Return the colony of each slot, or :data:`NONE`."""
        state = self.at(graph, vectors)
        result = np.full(graph.n_slots, NONE, dtype=np.int64)
        live = np.flatnonzero(graph.alive)
        result[live] = state.colony[np.searchsorted(state.rows, graph.rows[live])]
        return result

    def last_by_slot(self, graph: TagGraph) -> NDArray[np.int64] | None:
        """Return the colony of each slot as last found, which takes no time; None if never.

        Chunks that came since belong to none.
        """
        with self._lock:
            state = self._latest(graph)
        if state is None:
            return None
        result = np.full(graph.n_slots, NONE, dtype=np.int64)
        if len(state.rows):
            at = np.minimum(np.searchsorted(state.rows, graph.rows), len(state.rows) - 1)
            known = state.rows[at] == graph.rows
            result[known] = state.colony[at[known]]
        return result

    def describe(self, graph: TagGraph, state: ColonyState) -> list[Colony]:
        """Name colonies by their tags, the largest first."""
        live = np.flatnonzero(graph.alive)
        colony = state.colony[np.searchsorted(state.rows, graph.rows[live])]
        owner, tags, _ = graph.tags_of(live)
        of = colony[owner]
        keep = (of != NONE) & (graph.link_kinds(tags) == LinkKind.PHRASE)
        n_tags = max(len(graph.phrases), 1)
        pairs, counts = np.unique(of[keep] * n_tags + tags[keep], return_counts=True)
        numbers, tags = pairs // n_tags, pairs % n_tags
        # Frequent here and rare elsewhere, as in tf-idf.
        telling = counts * np.log1p(graph.n_chunks / np.maximum(graph.df(tags), 1))
        order = np.lexsort((graph.phrases.order[tags], -telling, numbers))
        sizes = np.bincount(colony[colony != NONE]).tolist()
        first = np.searchsorted(numbers[order], np.arange(len(sizes) + 1))
        described = []
        for number, size in enumerate(sizes):
            if size:
                best = tags[order[first[number] : first[number + 1]][:_TAGS]].tolist()
                names = tuple(display(graph.phrases.keys[tag]) for tag in best)
                name = ", ".join(names[:_IN_NAME])
                described.append(Colony(id=number, name=name, tags=names, chunks=size))
        return sorted(described, key=lambda one: (-one.chunks, one.id))

    def edges(self, state: ColonyState) -> tuple[IntArray, IntArray, FloatArray]:
        """Return the edges between positions in ``rows``; those between colonies are weaker."""
        joined = state.graph()
        one = np.searchsorted(state.rows, state.source)
        other = np.searchsorted(state.rows, state.target)
        weights = colony_weights(
            state.similarity,
            state.overlap,
            state.colony[one] == state.colony[other],
        )
        return joined.sources, joined.targets, weights

    # -- finding --------------------------------------------------------------------

    def _joined(
        self, graph: TagGraph, vectors: VectorTable | None, before: ColonyState | None = None
    ) -> ColonyState:
        """Join the live chunks that ``before`` lacks; its edges between the others stay."""
        live = np.flatnonzero(graph.alive)
        rows = graph.rows[live].astype(np.int64)
        if before is not None:
            live = live[~np.isin(rows, before.rows, assume_unique=True)]
        one, other, similarity, overlap = chunk_edges(
            graph, live, graph.alive, self.parameters, similarity=_similarity(graph, vectors)
        )
        source, target = graph.rows[one].astype(np.int64), graph.rows[other].astype(np.int64)
        if before is not None:
            stays = np.isin(before.source, rows) & np.isin(before.target, rows)
            source = np.concatenate((before.source[stays], source))
            target = np.concatenate((before.target[stays], target))
            similarity = np.concatenate((before.similarity[stays], similarity))
            overlap = np.concatenate((before.overlap[stays], overlap))
        colony = np.full(len(rows), NONE)
        return ColonyState(
            *_commit(graph), rows, colony, source, target, similarity, overlap, self._found_by
        )

    def _found(
        self, graph: TagGraph, vectors: VectorTable | None, before: ColonyState | None
    ) -> ColonyState:
        state = self._joined(graph, vectors)
        joined = state.graph()
        labels = find_colonies(
            len(state.rows),
            joined.sources,
            joined.targets,
            joined.weights,
            resolution=self.parameters.resolution,
        )
        return self._numbered(state, joined, labels, before)

    def _moved_on(
        self, graph: TagGraph, vectors: VectorTable | None, before: ColonyState
    ) -> ColonyState:
        """Join new chunks, drop deleted ones, and let their neighbourhood move."""
        state = self._joined(graph, vectors, before)
        rows, joined = state.rows, state.graph()
        held = np.isin(rows, before.rows, assume_unique=True)
        first = int(before.colony.max(initial=NONE)) + 1
        labels = first + np.arange(len(rows), dtype=np.int64)  # each on its own ...
        known = before.colony[np.searchsorted(before.rows, rows[held])]
        labels[held] = np.where(known == NONE, labels[held], known)  # ... or where it was
        gone = ~(np.isin(before.source, rows) & np.isin(before.target, rows))
        new = rows[~held]
        near = (state.target[np.isin(state.source, new)], state.source[np.isin(state.target, new)])
        touched = np.concatenate((new, *near, before.source[gone], before.target[gone]))
        queue = np.flatnonzero(np.isin(rows, touched))
        labels = local_moving(joined, labels, queue.tolist(), resolution=self.parameters.resolution)
        return self._numbered(state, joined, labels, before)

    def _numbered(
        self,
        state: ColonyState,
        joined: WeightedGraph,
        labels: NDArray[np.int64],
        before: ColonyState | None,
    ) -> ColonyState:
        """Number colonies like the former ones that they share most chunks with."""
        n_edges = np.bincount(
            np.concatenate((joined.sources, joined.targets)), minlength=len(labels)
        )
        labels = np.where(n_edges > 0, labels, NONE)
        names = {NONE: NONE}
        unused = 0
        if before is not None:
            _, at, was = np.intersect1d(
                state.rows, before.rows, assume_unique=True, return_indices=True
            )
            pairs, counts = np.unique(
                np.stack((labels[at], before.colony[was])), axis=1, return_counts=True
            )
            taken = {NONE}
            for place in np.lexsort((pairs[1], pairs[0], -counts)).tolist():
                label, number = int(pairs[0][place]), int(pairs[1][place])
                if label not in names and number not in taken:
                    names[label] = number
                    taken.add(number)
            unused = int(before.colony.max(initial=NONE)) + 1
        # New ones by size, then by their first chunk.
        found, first, sizes = np.unique(labels, return_index=True, return_counts=True)
        for place in np.lexsort((first, -sizes)).tolist():
            if int(found[place]) not in names:
                names[int(found[place])] = unused
                unused += 1
        colony = np.array([names[label] for label in labels.tolist()], dtype=np.int64)
        return replace(state, colony=colony)

    # -- keeping --------------------------------------------------------------------

    def _latest(self, graph: TagGraph) -> ColonyState | None:
        """Return the latest state that leads to the graph: the file's, or our own."""
        states = [
            state
            for state in (self._file.content, self._state)
            if state is not None and self._leads_to(_commit(state), _commit(graph))
        ]
        return max(states, key=lambda state: state.generation, default=None)

    def _save(self, state: ColonyState) -> None:
        fields = vars(state)
        facts = {name: fields[name] for name in ("generation", "mark", "found_by")}
        arrays = {name: array for name, array in fields.items() if name not in facts}
        if self._writable:
            try:
                self._file.replace(state, lambda to: write_arrays(to, _VERSION, facts, arrays))
            except OSError as error:
                logger.warning("colonies were not saved: %s", error)


def _commit(of: TagGraph | ColonyState) -> Commit:
    return Commit(of.generation, of.mark)


def _read(path: Path) -> ColonyState | None:
    try:
        file = read_arrays(path, _VERSION)
    except OSError as error:
        logger.warning("%s: finding colonies again", error)
        return None
    if file is None:
        return None
    fields: dict[str, Any] = {**file.facts, **file.arrays}
    return ColonyState(**fields)


def _similarity(graph: TagGraph, vectors: VectorTable | None) -> SimilarityOf | None:
    """Return the cosine of pairs of slots; 0 where one has no vector."""
    if vectors is None or not len(vectors.rows):
        return None
    rows, matrix = vectors.rows, vectors.matrix

    def cosine(one: IntArray, other: IntArray) -> FloatArray:
        places, known = [], np.ones(len(one), np.bool_)
        for slots in (one, other):
            wanted = graph.rows[slots]
            at = np.minimum(np.searchsorted(rows, wanted), len(rows) - 1)
            known &= rows[at] == wanted
            places.append(at)
        result = np.zeros(len(one))
        for start in range(0, len(one), 65_536):
            here = slice(start, start + 65_536)
            result[here] = np.einsum("ij,ij->i", matrix[places[0][here]], matrix[places[1][here]])
        return np.where(known, result, 0.0)

    return cosine
