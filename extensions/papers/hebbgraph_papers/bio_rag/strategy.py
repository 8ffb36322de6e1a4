"""Bio-RAG's search over the tags and chunks of an index.

The edge between two tags weighs 0.1 for each chunk that holds both, up to 1; a chunk's edge to its
own title weighs 1, to its other tags 0.5. The paper gives neither number. The strategy reads no
lessons: the paper's learning changes a graph of its own (:mod:`hebbgraph_papers.bio_rag.learning`).
"""

from __future__ import annotations

import numpy as np

from hebbgraph.arrays import BoolArray, FloatArray, IntArray
from hebbgraph.formulas.paths import Path, PathNode
from hebbgraph.recall.strategies import Ranking, Request
from hebbgraph.terms import TermKind
from hebbgraph.text.query import function_words
from hebbgraph.text.tokens import tokenize
from hebbgraph_papers.bio_rag.search import SEEDS_PER_WORD, Parameters, search

__all__ = ["BioRag"]

_NO_SEED = "no tag of the index contains a word of the question: nothing was searched"
_UNIT, _MENTION = 0.1, 0.5
#: Tags of more chunks are ignored: unlike an index, the paper's graph is small.
_MAX_DF = 200
#: Shorter words, and words after so many, select no seeds.
_SHORTEST_WORD, _WORDS = 3, 16


class BioRag:
    """The strategy ``"bio_rag"``: see the module.

    Parameters
    ----------
    parameters : Parameters, optional
    """

    name = "bio_rag"

    def __init__(self, parameters: Parameters | None = None) -> None:
        self.parameters = parameters or Parameters()

    def rank(self, request: Request) -> Ranking:
        """Return the chunks that the search reaches, by the paper's final score."""
        words = list(request.question.words)

        def overlap(nodes: IntArray) -> FloatArray:
            held = [*request.question.search.holds(words, nodes // 2).values()]
            return np.mean(held, axis=0, dtype=np.float64) if held else np.zeros(len(nodes))

        seeds = _seeds(request)
        found = search(
            _Graph(request).neighbors,
            seeds,
            lambda nodes: nodes % 2 == 1,
            overlap,
            lambda nodes: request.evidence.values_of(nodes // 2),
            self.parameters,
        )

        def path(row: int) -> Path:
            return tuple(
                PathNode("chunk" if node % 2 else "tag", node // 2, weight)
                for node, weight in found.path(2 * row + 1)
            )

        notes = () if seeds else (_NO_SEED,)
        return Ranking(found.documents // 2, found.scores, path, notes=notes, pads=False)


def _seeds(request: Request) -> list[int]:
    """Return the nodes of tags that contain a word of the question, in the order of the words."""
    ignored = function_words(request.settings.language)
    words = [token for token in tokenize(request.question.text) if token not in ignored]
    sql = "SELECT id FROM $term WHERE kind = ? AND df > 0 AND key LIKE ? ORDER BY length(key), key"
    seeds: dict[int, None] = {}
    for word in list(dict.fromkeys(words))[:_WORDS]:
        if len(word) >= _SHORTEST_WORD:
            limited, tag = f"{sql} LIMIT {SEEDS_PER_WORD}", int(TermKind.TAG)
            rows = request.snapshot.session.rows(limited, tag, f"%{word}%")
            seeds |= dict.fromkeys(2 * id_ for (id_,) in rows)
    return list(seeds)


class _Graph:
    """Tags and chunks as nodes: twice the id of a tag, twice the row of a chunk plus one."""

    def __init__(self, request: Request) -> None:
        self._snapshot = request.snapshot
        self._allowed = request.allowed

    def neighbors(self, nodes: IntArray) -> tuple[IntArray, IntArray, FloatArray]:
        """Return (position in ``nodes``, neighbor, weight)."""
        at_tags, at_chunks = np.flatnonzero(nodes % 2 == 0), np.flatnonzero(nodes % 2)
        parts = [self._of_chunks(at_chunks, nodes[at_chunks] // 2)]
        parts += self._of_tags(at_tags, nodes[at_tags] // 2)
        owner, targets, weights = (np.concatenate(column) for column in zip(*parts, strict=True))
        return owner, targets, weights

    def _takes_part(self, tags: IntArray) -> BoolArray:
        df, kinds = self._snapshot.df(tags), self._snapshot.link_kinds(tags)
        mask: BoolArray = (df > 0) & (df <= _MAX_DF) & (kinds == TermKind.TAG)
        return mask

    def _of_chunks(self, at: IntArray, rows: IntArray) -> tuple[IntArray, IntArray, FloatArray]:
        owner, tags, is_title = self._snapshot.tags_of(rows)
        keep = self._takes_part(tags)
        return at[owner[keep]], 2 * tags[keep], np.where(is_title[keep], 1.0, _MENTION)

    def _of_tags(self, at: IntArray, tags: IntArray) -> list[tuple[IntArray, IntArray, FloatArray]]:
        keep = self._takes_part(tags)
        at, tags = at[keep], tags[keep]
        owner, rows, is_title = self._snapshot.chunks_of(tags)
        if self._allowed is not None:
            passing = self._allowed(rows)
            owner, rows, is_title = owner[passing], rows[passing], is_title[passing]
        to_chunks = at[owner], 2 * rows + 1, np.where(is_title, 1.0, _MENTION)
        place, others, _ = self._snapshot.tags_of(rows)
        wired = self._takes_part(others) & (others != tags[owner[place]])
        source, target = at[owner[place[wired]]], 2 * others[wired]
        span = int(target.max(initial=0)) + 1
        pairs, counts = np.unique(source * span + target, return_counts=True)
        return [to_chunks, (pairs // span, pairs % span, np.minimum(_UNIT * counts, 1.0))]
