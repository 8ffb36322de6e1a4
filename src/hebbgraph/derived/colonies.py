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
import os
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hebbgraph.arrays import FloatArray, IntArray
from hebbgraph.artifacts import remove, replace_file
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
from hebbgraph.store.history import NOTHING, Commit
from hebbgraph.text import display
from hebbgraph.vectors.table import VectorTable

__all__ = ["NONE", "Colonies", "ColonyState"]

logger = logging.getLogger(__name__)

NONE = -1
"""The colony of a chunk without edges."""

_FILE = "colonies.npz"
_FORMAT = 3
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
    knows : callable, optional
        Whether a commit led to the present truth; colonies of any other are ignored.
    """

    def __init__(
        self,
        directory: Path | None,
        parameters: ColonyParameters,
        *,
        writable: bool = True,
        knows: Callable[[Commit], bool] = lambda commit: True,
    ) -> None:
        self._knows = knows
        self._known: tuple[Commit, dict[Commit, bool]] = (NOTHING, {})
        self.parameters = parameters
        self._path = None if directory is None else directory / _FILE
        self._writable = writable
        self._found_by = json.dumps(
            {"alpha": ALPHA, "beta": BETA}
            | {name: getattr(parameters, name) for name in ("resolution", "nearest", "max_df")}
        )
        self._state: ColonyState | None = None
        self._filed: ColonyState | None = None  # what the file holds ...
        self._seen: tuple[int, int, int] | None = None  # ... that looked like this
        self._lock = threading.RLock()

    @property
    def exist(self) -> bool:
        """Whether colonies were ever found."""
        with self._lock:
            return (self._state or self._in_file()) is not None

    def problems(self) -> Iterator[str]:
        """Yield what is wrong with the file, if there is one."""
        with self._lock:
            if self._path is not None and self._path.exists():
                try:
                    _read(self._path)
                except Exception as error:  # as in _in_file
                    yield f"{self._path.name} cannot be read: {error}"

    def start_over(self) -> None:
        """Drop the colonies, on disk too; the next request finds them again."""
        with self._lock:
            self._state = self._filed = self._seen = None
            if self._path is not None:
                remove(self._path)

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

    def describe(self, graph: TagGraph, state: ColonyState) -> list[Colony]:
        """Name colonies by their tags, the largest first."""
        live = np.flatnonzero(graph.alive)
        colony = state.colony[np.searchsorted(state.rows, graph.rows[live])]
        owner, tags, _ = graph.tags_of(live)
        of = colony[owner]
        phrases = graph.phrases
        keep = (of != NONE) & ~(phrases.is_address | phrases.is_edge)[tags]  # links are no names
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

    def _found(
        self, graph: TagGraph, vectors: VectorTable | None, before: ColonyState | None
    ) -> ColonyState:
        live = np.flatnonzero(graph.alive)
        rows = graph.rows[live].astype(np.int64)
        found = chunk_edges(
            graph, live, graph.alive, self.parameters, similarity=_similarity(graph, vectors)
        )
        state = ColonyState(
            *_commit(graph),
            rows,
            np.full(len(rows), NONE),
            graph.rows[found.source].astype(np.int64),
            graph.rows[found.target].astype(np.int64),
            found.similarity,
            found.overlap,
            self._found_by,
        )
        joined = state.graph()
        labels = find_colonies(
            len(rows),
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
        live = np.flatnonzero(graph.alive)
        rows = graph.rows[live].astype(np.int64)
        new = live[~np.isin(rows, before.rows, assume_unique=True)]
        added = chunk_edges(
            graph, new, graph.alive, self.parameters, similarity=_similarity(graph, vectors)
        )
        stays = np.isin(before.source, rows) & np.isin(before.target, rows)
        gone = ~stays
        state = ColonyState(
            *_commit(graph),
            rows,
            np.full(len(rows), NONE),
            np.concatenate((before.source[stays], graph.rows[added.source].astype(np.int64))),
            np.concatenate((before.target[stays], graph.rows[added.target].astype(np.int64))),
            np.concatenate((before.similarity[stays], added.similarity)),
            np.concatenate((before.overlap[stays], added.overlap)),
            self._found_by,
        )
        joined = state.graph()
        held = np.isin(rows, before.rows, assume_unique=True)
        first = int(before.colony.max(initial=NONE)) + 1
        labels = first + np.arange(len(rows), dtype=np.int64)  # each on its own ...
        known = before.colony[np.searchsorted(before.rows, rows[held])]
        labels[held] = np.where(known == NONE, labels[held], known)  # ... or where it was
        widowed = np.concatenate((before.source[gone], before.target[gone]))
        touched = np.concatenate((graph.rows[new], widowed, *_ends(state, graph.rows[new])))
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
            both, at, was = np.intersect1d(
                state.rows, before.rows, assume_unique=True, return_indices=True
            )
            del both
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
        own, filed = self._state, self._in_file()
        if own is not None and not self._leads_to(graph, own):
            own = None
        if filed is None or not self._leads_to(graph, filed):
            return own
        return filed if own is None or filed.generation >= own.generation else own

    def _leads_to(self, graph: TagGraph, state: ColonyState) -> bool:
        """Return whether a state is of the commit of the graph, or of an earlier one."""
        now, commit = _commit(graph), _commit(state)
        if commit.generation >= now.generation:
            return commit == now
        if self._known[0] != now:
            self._known = now, {}
        known = self._known[1]
        if commit not in known:
            known[commit] = self._knows(commit)
        return known[commit]

    def _in_file(self) -> ColonyState | None:
        """Return the state in the file, read again only after it was written."""
        looks = self._looks()
        if looks != self._seen:
            self._filed, self._seen = None, looks
            if looks is not None:
                assert self._path is not None
                try:
                    self._filed = _read(self._path)
                except Exception as error:  # zipfile and NumPy raise many kinds
                    logger.warning(
                        "%s cannot be read (%s): finding colonies again", self._path, error
                    )
        return self._filed

    def _looks(self) -> tuple[int, int, int] | None:
        if self._path is None:
            return None
        try:
            found = os.stat(self._path)
        except OSError:
            return None
        return found.st_mtime_ns, found.st_size, found.st_ino

    def _save(self, state: ColonyState) -> None:
        if self._path is None or not self._writable:
            return

        def write(path: Path) -> None:
            with path.open("wb") as file:  # np.savez would add a suffix to a path
                np.savez(file, format=_FORMAT, **vars(state))

        try:
            written = replace_file(self._path, write, unlocked=True)
        except OSError as error:
            logger.warning("colonies were not saved: %s", error)
        else:
            self._filed = state
            self._seen = written.st_mtime_ns, written.st_size, written.st_ino


def _commit(of: TagGraph | ColonyState) -> Commit:
    return Commit(of.generation, of.mark)


def _read(path: Path) -> ColonyState | None:
    """Read a file; None if it is of another version."""
    # Opened here, as NumPy leaves an unreadable file open.
    with path.open("rb") as file, np.load(file, allow_pickle=False) as held:
        if int(held["format"]) != _FORMAT:
            return None
        fields = {name: held[name] for name in held.files if name != "format"}
    commit = int(fields.pop("generation")), int(fields.pop("mark"))
    found_by = str(fields.pop("found_by"))
    return ColonyState(*commit, **fields, found_by=found_by)


def _ends(state: ColonyState, rows: IntArray) -> tuple[IntArray, IntArray]:
    """Return the other ends of the edges of some rows."""
    return state.target[np.isin(state.source, rows)], state.source[np.isin(state.target, rows)]


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
