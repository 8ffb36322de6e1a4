"""NAKG's recall over an index: propagated vectors, words and their order.

The layer of edges and vectors follows from the weights of the model and the vectors of the index.
It is made by the first question after a change, and kept while the index is the same.
"""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hebbgraph.arrays import IntArray
from hebbgraph.errors import MissingExtraError
from hebbgraph.recall.snapshot import Snapshot
from hebbgraph.recall.strategies import Ranking, Request
from hebbgraph.text.query import function_words
from hebbgraph.text.tokens import lexical_terms, tokenize
from hebbgraph_papers.nakg.links import EXTRA
from hebbgraph_papers.nakg.relevance import relevance, term_presence, word_order

if TYPE_CHECKING:
    from hebbgraph_papers.nakg.model import Model

__all__ = ["Nakg", "read_vectors"]

#: By propagated vectors, besides all that direct search finds.
_CANDIDATES = 100
_NO_VECTORS = "no vectors: only words and their order were compared"


class Nakg:
    """The strategy ``"nakg"``.

    Parameters
    ----------
    model : Model, optional
        Trained weights, of :func:`hebbgraph_papers.nakg.training.train`. The weights that training
        starts from by default: edges by cosine, and a little of the neighbors in each vector.
    report : dict, optional
        What training did.

    Examples
    --------
    >>> from hebbgraph import HebbianIndex
    >>> with HebbianIndex.open(":memory:") as index:
    ...     _ = index.add([{"id": "a", "text": "A red ship sails."},
    ...                    {"id": "b", "text": "It sails past a ship that is red."}])
    ...     recall = index.recall("red ship", strategy=Nakg())
    >>> [hit.id for hit in recall], recall.notes
    (['a', 'b'], ('no vectors: only words and their order were compared',))
    """

    def __init__(
        self, model: Model | None = None, report: dict[str, float | None] | None = None
    ) -> None:
        self.name = "nakg" if model is None else "nakg, trained"
        self.model = model
        self.report = report or {}
        self._key = self.name if model is None else secrets.token_hex()

    def rank(self, request: Request) -> Ranking:
        """Return the candidates by relevance."""
        vector, cosine_of = request.question.vector, dict[int, float]()
        found = request.evidence.chunks  # which also checks the length of the vector
        if vector is not None and request.snapshot.counts.vectors:
            rows, vectors = self._layer(request.snapshot)
            if request.allowed is not None:
                passing = request.allowed(rows)
                rows, vectors = rows[passing], vectors[passing]
            cosine_of = dict(zip(rows.tolist(), (vectors @ vector).tolist(), strict=True))
        nearest = sorted(cosine_of, key=lambda row: (-cosine_of[row], row))[:_CANDIDATES]
        candidates = np.union1d(found, np.array(nearest, np.int64)).astype(np.int64)
        terms, order = _words(request, candidates)
        semantic = np.array([cosine_of.get(row, 0.0) for row in candidates.tolist()])
        notes = () if cosine_of else (_NO_VECTORS,)
        return Ranking(candidates, relevance(terms, order, semantic), notes=notes, pads=False)

    def _layer(self, snapshot: Snapshot) -> tuple[IntArray, NDArray[np.float32]]:
        """Return rows and propagated vectors."""

        def read(keys: list[str]) -> dict[str, Any]:
            try:
                from hebbgraph_papers.nakg.model import derive, untrained
            except ImportError as error:
                raise MissingExtraError(EXTRA) from error
            rows, vectors = read_vectors(snapshot)
            model = self.model or untrained(vectors.shape[1])
            return dict.fromkeys(keys, (rows, derive(model, vectors).vectors))

        # Of size 0: else a layer larger than the cache would be made again by each question.
        layers = snapshot.cache.known("nakg", [self._key], read, 0)
        rows, vectors = layers[self._key]
        return rows, vectors


def read_vectors(snapshot: Snapshot) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Return rows and unit vectors in the order of ids, which no history of the index changes."""
    found = snapshot.session.rows(
        "SELECT e.row, e.data FROM $embedding AS e JOIN $chunk AS c ON c.row = e.row ORDER BY c.id"
    )
    rows = np.array([row for row, _ in found], np.int64)
    size = len(found[0][1]) // 4 if found else 1
    vectors = np.frombuffer(b"".join(data for _, data in found), "<f4").reshape(len(found), size)
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    return rows, (vectors / np.maximum(norms, 1e-12)).astype(np.float32)


def _words(request: Request, rows: IntArray) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return term presence and word order of chunks."""
    language = request.settings.language
    ignored = function_words(language)

    def terms_of(text: str) -> list[str]:
        return lexical_terms([token for token in tokenize(text) if token not in ignored], language)

    asked = terms_of(request.question.text) or list(request.question.words)
    sql = "SELECT row, title, text FROM $chunk WHERE row = ANY(?)"
    held = {
        row: terms_of(f"{title}\n{text}")
        for row, title, text in request.snapshot.session.rows(sql, rows.tolist())
    }
    presence = [term_presence(list(dict.fromkeys(asked)), held[row]) for row in rows.tolist()]
    order = [word_order(asked, held[row]) for row in rows.tolist()]
    return np.array(presence), np.array(order)
