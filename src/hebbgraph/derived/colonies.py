"""The colonies of one namespace, saved beside its graph.

Edges and labels refer to rows of the truth, which all processes share. When chunks are added or
deleted, only new chunks are joined, and only their neighbourhood moves
(:func:`hebbgraph.formulas.communities.local_moving`). Louvain runs again on request, when most
chunks are new, or when the parameters have changed. Processes continue from the file, so a number
means the same colony to all of them.
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
from hebbgraph.arrays import BoolArray, FloatArray, IntArray
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
#: If a larger share of chunks is new, Louvain costs less than moving each.
_MOSTLY_NEW = 0.5
#: Tags of a described colony, and how many of them make its name.
_TAGS, _IN_NAME = 10, 3
_BLOCK = 65_536  # pairs of vectors that are compared at a time


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
        Returns whether one commit led to another; other colonies are ignored.
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
        """Drop the colonies, on disk too."""
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
            former = self._latest(graph)
            rebuild = rebuild or (former is not None and former.found_by != self._found_by)
            if former is not None and _commit(former) == _commit(graph) and not rebuild:
                self._state = former
                return former
            live = graph.rows[graph.alive]
            n_new = len(live) if former is None else len(np.setdiff1d(live, former.rows))
            if former is None or rebuild or n_new > _MOSTLY_NEW * len(live):
                state = self._find(graph, vectors, former)
            else:
                state = self._move(graph, vectors, former)
            self._state = state
            self._save(state)
            return state

    def by_slot(self, graph: TagGraph, vectors: VectorTable | None = None) -> NDArray[np.int64]:
        """Return the colony of each slot, or :data:`NONE`."""
        return _by_slot(graph, self.at(graph, vectors))

    def last_by_slot(self, graph: TagGraph) -> NDArray[np.int64] | None:
        """Return the colony of each slot as last found; None if colonies were never found.

        Chunks added since belong to none.
        """
        with self._lock:
            state = self._latest(graph)
        return None if state is None else _by_slot(graph, state)

    def describe(self, graph: TagGraph, state: ColonyState) -> list[Colony]:
        """Name colonies by their tags, the largest first."""
        live = np.flatnonzero(graph.alive)
        colony = state.colony[np.searchsorted(state.rows, graph.rows[live])]
        owner, tags, _ = graph.tags_of(live)
        owner_colony = colony[owner]
        keep = (owner_colony != NONE) & (graph.link_kinds(tags) == LinkKind.PHRASE)
        n_tags = max(len(graph.phrases), 1)
        pairs, counts = np.unique(owner_colony[keep] * n_tags + tags[keep], return_counts=True)
        numbers, tags = pairs // n_tags, pairs % n_tags
        tf_idf = counts * np.log1p(graph.n_chunks / np.maximum(graph.df(tags), 1))
        order = np.lexsort((graph.phrases.order[tags], -tf_idf, numbers))
        sizes = np.bincount(colony[colony != NONE]).tolist()
        first = np.searchsorted(numbers[order], np.arange(len(sizes) + 1))
        described = []
        for number, size in enumerate(sizes):
            if size:
                best = tags[order[first[number] : first[number + 1]][:_TAGS]].tolist()
                names = tuple(display(graph.phrases.keys[tag]) for tag in best)
                name = ", ".join(names[:_IN_NAME])
                described.append(Colony(id=number, name=name, tags=names, chunks=size))
        return sorted(described, key=lambda colony: (-colony.chunks, colony.id))

    def edges(self, state: ColonyState) -> tuple[IntArray, IntArray, FloatArray]:
        """Return the edges between positions in ``rows``; those between colonies are weaker."""
        joined = state.graph()
        source = np.searchsorted(state.rows, state.source)
        target = np.searchsorted(state.rows, state.target)
        weights = colony_weights(
            state.similarity, state.overlap, state.colony[source] == state.colony[target]
        )
        return joined.sources, joined.targets, weights

    # -- finding --------------------------------------------------------------------

    def _join(
        self, graph: TagGraph, vectors: VectorTable | None, former: ColonyState | None = None
    ) -> ColonyState:
        """Join the live chunks that ``former`` lacks; its edges between the others stay."""
        live = np.flatnonzero(graph.alive)
        rows = graph.rows[live].astype(np.int64)
        if former is not None:
            live = live[~np.isin(rows, former.rows, assume_unique=True)]
        sources, targets, similarity, overlap = chunk_edges(
            graph, live, graph.alive, self.parameters, similarity=_similarity(graph, vectors)
        )
        source, target = graph.rows[sources].astype(np.int64), graph.rows[targets].astype(np.int64)
        if former is not None:
            remains = np.isin(former.source, rows) & np.isin(former.target, rows)
            source = np.concatenate((former.source[remains], source))
            target = np.concatenate((former.target[remains], target))
            similarity = np.concatenate((former.similarity[remains], similarity))
            overlap = np.concatenate((former.overlap[remains], overlap))
        colony = np.full(len(rows), NONE)
        return ColonyState(
            *_commit(graph), rows, colony, source, target, similarity, overlap, self._found_by
        )

    def _find(
        self, graph: TagGraph, vectors: VectorTable | None, former: ColonyState | None
    ) -> ColonyState:
        """Run Louvain."""
        state = self._join(graph, vectors)
        joined = state.graph()
        labels = find_colonies(
            len(state.rows),
            joined.sources,
            joined.targets,
            joined.weights,
            resolution=self.parameters.resolution,
        )
        return self._number(state, joined, labels, former)

    def _move(
        self, graph: TagGraph, vectors: VectorTable | None, former: ColonyState
    ) -> ColonyState:
        """Join new chunks, drop deleted ones, and move their neighbourhood."""
        state = self._join(graph, vectors, former)
        rows, joined = state.rows, state.graph()
        is_known = np.isin(rows, former.rows, assume_unique=True)
        first = int(former.colony.max(initial=NONE)) + 1
        labels = first + np.arange(len(rows), dtype=np.int64)  # each on its own ...
        known = former.colony[np.searchsorted(former.rows, rows[is_known])]
        labels[is_known] = np.where(known == NONE, labels[is_known], known)  # ... or where it was
        is_gone = ~(np.isin(former.source, rows) & np.isin(former.target, rows))
        new = rows[~is_known]
        near = (state.target[np.isin(state.source, new)], state.source[np.isin(state.target, new)])
        touched = np.concatenate((new, *near, former.source[is_gone], former.target[is_gone]))
        queue = np.flatnonzero(np.isin(rows, touched))
        labels = local_moving(joined, labels, queue.tolist(), resolution=self.parameters.resolution)
        return self._number(state, joined, labels, former)

    def _number(
        self,
        state: ColonyState,
        joined: WeightedGraph,
        labels: NDArray[np.int64],
        former: ColonyState | None,
    ) -> ColonyState:
        """Give each colony the number of the former one that it shares most chunks with."""
        n_edges = np.bincount(
            np.concatenate((joined.sources, joined.targets)), minlength=len(labels)
        )
        labels = np.where(n_edges > 0, labels, NONE)
        numbers = {NONE: NONE}
        unused = 0
        if former is not None:
            _, at, former_at = np.intersect1d(
                state.rows, former.rows, assume_unique=True, return_indices=True
            )
            pairs, counts = np.unique(
                np.stack((labels[at], former.colony[former_at])), axis=1, return_counts=True
            )
            taken = {NONE}
            for position in np.lexsort((pairs[1], pairs[0], -counts)).tolist():
                label, number = int(pairs[0][position]), int(pairs[1][position])
                if label not in numbers and number not in taken:
                    numbers[label] = number
                    taken.add(number)
            unused = int(former.colony.max(initial=NONE)) + 1
        # New colonies by size, then by their first chunk.
        distinct, first, sizes = np.unique(labels, return_index=True, return_counts=True)
        for position in np.lexsort((first, -sizes)).tolist():
            label = int(distinct[position])
            if label not in numbers:
                numbers[label] = unused
                unused += 1
        colony = np.array([numbers[label] for label in labels.tolist()], dtype=np.int64)
        return replace(state, colony=colony)

    # -- saving ---------------------------------------------------------------------

    def _latest(self, graph: TagGraph) -> ColonyState | None:
        """Return the latest state that led to the graph, from the file or from memory."""
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


def _commit(part: TagGraph | ColonyState) -> Commit:
    return Commit(part.generation, part.mark)


def _by_slot(graph: TagGraph, state: ColonyState) -> NDArray[np.int64]:
    result = np.full(graph.n_slots, NONE, dtype=np.int64)
    if len(state.rows):
        at = np.minimum(np.searchsorted(state.rows, graph.rows), len(state.rows) - 1)
        known = state.rows[at] == graph.rows
        result[known] = state.colony[at[known]]
    return result


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
    """Return a function for the cosines of pairs of slots; 0 if one has no vector."""
    if vectors is None or not len(vectors.rows):
        return None
    rows, matrix = vectors.rows, vectors.matrix

    def positions(slots: IntArray) -> tuple[IntArray, BoolArray]:
        wanted = graph.rows[slots]
        at = np.minimum(np.searchsorted(rows, wanted), len(rows) - 1)
        return at, rows[at] == wanted

    def cosines(first: IntArray, second: IntArray) -> FloatArray:
        (left, has_left), (right, has_right) = positions(first), positions(second)
        result = np.zeros(len(first))
        for start in range(0, len(first), _BLOCK):
            block = slice(start, start + _BLOCK)
            result[block] = np.einsum("ij,ij->i", matrix[left[block]], matrix[right[block]])
        return np.where(has_left & has_right, result, 0.0)

    return cosines
