"""BambooKG: recall by the strongest co-occurrences of what a question names.

Each tag that the question names selects its ``first`` strongest neighbors, by the number of chunks
that hold both, and through these the ``second`` strongest tags one step further. The context is
every chunk that contributed to one of these edges [1]_, section 3.2. The paper does not rank its
context; here chunks rank by the number of edges that they contributed to.

The paper's tagger gives each chunk a list of fixed length (section 3.1.2). Here the list is the
first ``list_length`` tags that a tagger or the caller gave to the chunk; without any, its titles
and its rarest tags. The paper cuts no hubs; without the cut, frequent tags fill every context.

References
----------
.. [1] Arikutharam and Ukolov (2025), BambooKG: A Neurobiologically-inspired Frequency-Weight
   Knowledge Graph, arXiv:2510.25724.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import islice

import numpy as np

from hebbgraph.formulas.paths import Path, PathNode
from hebbgraph.formulas.spreading_step import SpreadingParameters
from hebbgraph.recall.strategies import Ranking, Request
from hebbgraph.store.chunks import to_given
from hebbgraph.terms import TermKind
from hebbgraph.text.tokens import phrase_key

__all__ = ["BambooKG", "retrieved_edges"]

_NOT_LEARNED = "not learned: the index knows none of the concepts of the question"


def retrieved_edges(
    neighbors: Callable[[int], Sequence[tuple[int, int]]],
    cues: Iterable[int],
    *,
    first: int = 5,
    second: int = 3,
) -> list[tuple[int, int]]:
    """Return the edges of a question's subgraph, in the order of retrieval.

    Parameters
    ----------
    neighbors : callable
        Maps a tag to its neighbors and their weights, the strongest first.
    cues : iterable of int
        The tags that the question names.
    first, second : int
        Neighbors of the first and of the second degree for each cue ("5-3" in the paper).

    Examples
    --------
    >>> graph = {0: [(1, 4), (2, 3), (3, 1)], 1: [(4, 2), (0, 4)], 2: [(5, 9)], 3: [(6, 9)]}
    >>> retrieved_edges(graph.__getitem__, [0], first=2, second=1)
    [(0, 1), (0, 2), (2, 5)]
    """
    edges: dict[tuple[int, int], None] = {}
    for cue in cues:
        near = [tag for tag, _ in neighbors(cue)[:first]]
        edges |= dict.fromkeys((cue, tag) for tag in near)
        known = {cue, *near}
        further = [
            (-weight, via, tag)
            for via in near
            for tag, weight in neighbors(via)
            if tag not in known
        ]
        strongest: dict[int, int] = {}
        for _, via, tag in sorted(further, key=lambda edge: edge[0]):
            strongest.setdefault(tag, via)
        edges |= dict.fromkeys((via, tag) for tag, via in islice(strongest.items(), second))
    return list(edges)


class BambooKG:
    """The strategy ``"bambookg"``: see the module.

    Parameters
    ----------
    first, second : int, at least 0
        As for :func:`retrieved_edges`.
    list_length : int, at least 1
        How many tags of each chunk count.

    Examples
    --------
    >>> from hebbgraph import HebbianIndex
    >>> with HebbianIndex.open(":memory:") as index:
    ...     _ = index.add([{"id": "a", "text": "It swims.", "tags": ["pet", "fish"]},
    ...                    {"id": "b", "text": "It purrs.", "tags": ["cat", "fish"]}])
    ...     recall = index.recall("Which pet eats hay?", strategy=BambooKG())
    >>> [(hit.id, [step.value for step in hit.path[1:]]) for hit in recall]
    [('a', ['pet', 'fish', 'a']), ('b', ['pet', 'fish', 'cat', 'b'])]
    """

    name = "bambookg"

    def __init__(self, *, first: int = 5, second: int = 3, list_length: int = 10) -> None:
        self.first = first
        self.second = second
        self.list_length = list_length

    def rank(self, request: Request) -> Ranking:
        """Return the chunks that support the retrieved edges, by how many."""
        graph = _TagGraph(request, self.list_length)
        cues = [cue.id for cue in request.question.cues]
        edges = retrieved_edges(graph.neighbors, cues, first=self.first, second=self.second)
        supported: dict[int, list[tuple[int, int]]] = {}
        for source, target in edges:
            for row in sorted(graph.chunks(source) & graph.chunks(target)):
                supported.setdefault(row, []).append((source, target))
        before = {target: source for source, target in reversed(edges) if source in cues}

        def path(row: int) -> Path:
            source, target = supported[row][0]
            tags = [source, target] if source in cues else [before[source], source, target]
            return (*(PathNode("tag", tag, 0.0) for tag in tags), PathNode("chunk", row, 1.0))

        rows = np.array(list(supported), np.int64)
        scores = np.array([len(pairs) / len(edges) for pairs in supported.values()])
        notes = () if cues else (_NOT_LEARNED,)
        return Ranking(rows, scores, path, notes=notes, pads=False)


class _TagGraph:
    """Tags wired by co-occurrence in the lists of the chunks that take part."""

    def __init__(self, request: Request, list_length: int) -> None:
        self._snapshot = request.snapshot
        self._allowed = request.allowed
        self._length = list_length
        self._hub_cut = SpreadingParameters().hub_cut(request.snapshot.n_chunks)
        self._lists: dict[int, list[int]] = {}
        self._chunks: dict[int, set[int]] = {}
        self._neighbors: dict[int, list[tuple[int, int]]] = {}

    def chunks(self, tag: int) -> set[int]:
        """Return the chunks with a tag in their list; none of a hub's."""
        if tag not in self._chunks:
            _, rows, _ = self._snapshot.chunks_of(np.array([tag]))
            if self._allowed is not None:
                rows = rows[self._allowed(rows)]
            few = rows.tolist() if len(rows) <= self._hub_cut else []
            self._read(few)
            self._chunks[tag] = {row for row in few if tag in self._lists[row]}
        return self._chunks[tag]

    def neighbors(self, tag: int) -> list[tuple[int, int]]:
        """Return (tag, number of chunks with both), the strongest first; ties by the tag."""
        if tag not in self._neighbors:
            counts = Counter(other for row in self.chunks(tag) for other in self._lists[row])
            del counts[tag]
            keys = self._snapshot.keys(counts)
            ranked = sorted(counts.items(), key=lambda pair: (-pair[1], keys[pair[0]]))
            self._neighbors[tag] = ranked
        return self._neighbors[tag]

    def _read(self, rows: list[int]) -> None:
        """Read the lists of chunks."""
        missing = [row for row in rows if row not in self._lists]
        sql = "SELECT row, given FROM $chunk WHERE row = ANY(?)"
        columns = self._snapshot.session.rows(sql, missing) if missing else []
        given = {row: to_given(column) for row, column in columns}
        keys = {
            row: list(map(phrase_key, (*g.tags, *(g.tagged or ())))) for row, g in given.items()
        }
        terms = self._snapshot.find(
            TermKind.TAG, {key for listed in keys.values() for key in listed}
        )
        self._lists |= {
            row: list(dict.fromkeys(terms[key].id for key in listed if key in terms))[
                : self._length
            ]
            for row, listed in keys.items()
        }
        if bare := [row for row in missing if not self._lists[row]]:
            self._lists |= self._rarest(bare)

    def _rarest(self, rows: list[int]) -> dict[int, list[int]]:
        """Return the titles and the rarest tags of chunks."""
        owner, tags, is_title = self._snapshot.tags_of(np.array(rows))
        df, kinds = self._snapshot.df(tags), self._snapshot.link_kinds(tags)
        keys = self._snapshot.keys(tags.tolist())
        ranked: dict[int, list[tuple[bool, int, str, int]]] = {row: [] for row in rows}
        columns = (column.tolist() for column in (owner, tags, ~is_title, df, kinds))
        for at, tag, no_title, n, kind in zip(*columns, strict=True):
            if kind == TermKind.TAG and n <= self._hub_cut:
                ranked[rows[at]].append((no_title, n, keys[tag], tag))
        return {row: [tag for *_, tag in sorted(t)[: self._length]] for row, t in ranked.items()}
