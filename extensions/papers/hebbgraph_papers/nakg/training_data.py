"""Training data of an index, as arrays: vectors, tags, and the feedback log."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from hebbgraph.errors import ParameterError
from hebbgraph.graph.incidence import Postings
from hebbgraph.learning.actors import weights_of
from hebbgraph.learning.lessons import shared_credit
from hebbgraph.records import Feedback
from hebbgraph.settings import LearningSettings
from hebbgraph.store.embeddings import EmbeddingState
from hebbgraph.store.feedback_log import FeedbackLog
from hebbgraph.store.truth import Truth
from hebbgraph.vectors.table import VectorTable
from numpy.typing import NDArray

from hebbgraph_papers.nakg.examples import LearnedQuestion
from hebbgraph_papers.nakg.layer import LayerStamp

if TYPE_CHECKING:
    from hebbgraph.hebbian_index import HebbianIndex

__all__ = ["TrainingData", "read_training_data"]


@dataclass(frozen=True)
class TrainingData:
    """The chunks of a namespace that have a vector, ordered by id.

    Attributes
    ----------
    stamp : LayerStamp
    rows : ndarray of int64, shape (n,)
        Rows in the database.
    id_prefixes : ndarray of uint64, shape (n,)
    vectors : ndarray of float32, shape (n, dimension), unit length
    postings : Postings
    questions : list of LearnedQuestion
    """

    stamp: LayerStamp
    rows: NDArray[np.int64]
    id_prefixes: NDArray[np.uint64]
    vectors: NDArray[np.float32]
    postings: Postings
    questions: list[LearnedQuestion]


def read_training_data(index: HebbianIndex) -> TrainingData:
    """Read the training data of an index.

    Raises
    ------
    ParameterError
        If the index holds no vectors.
    """
    truth, derived = index.parts.truth, index.parts.derived
    derived.refresh()
    state, feedback_state = derived.embedding, derived.feedback
    if state is None:
        raise ParameterError(
            "the index holds no vectors, and NAKG learns from them; open it with an embedder, and "
            "call reembed() if chunks were added without one"
        )
    with derived.lock.held():
        commit = derived.commit
        live = derived.graph.rows[derived.graph.alive]
    table = VectorTable.load(truth, state, live)
    ids = truth.ids(table.rows.tolist())
    # Order by id, so the result does not depend on the history of the index.
    positions = (at for at, row in enumerate(table.rows.tolist()) if row in ids)
    order = np.array(sorted(positions, key=lambda at: ids[int(table.rows[at])]), dtype=np.int64)
    rows, vectors = table.rows[order], table.matrix[order]
    with derived.lock.held():
        graph = derived.graph
        at = np.minimum(np.searchsorted(graph.rows, rows), max(graph.n_slots - 1, 0))
        exists = np.zeros(0, np.bool_)
        if graph.n_slots:
            exists = (graph.rows[at] == rows) & graph.alive[at]
        rows, vectors, slots = rows[exists], vectors[exists], at[exists]
        postings = graph.postings(slots)
        id_prefixes = graph.id_prefixes[slots]
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    log = [feedback for _, feedback in FeedbackLog(truth.database, truth.namespace).after(0)]
    questions = _questions(log, rows, truth, index.settings.learning, state)
    return TrainingData(
        LayerStamp(
            generation=commit.generation,
            mark=commit.mark,
            embedder=state.name,
            epoch=state.epoch,
            feedback_used=len(questions),
            feedback_removed=feedback_state.removed,
        ),
        rows,
        np.asarray(id_prefixes, dtype=np.uint64),
        vectors / np.maximum(norms, 1e-12),
        postings,
        questions,
    )


def _questions(
    log: list[Feedback],
    rows: NDArray[np.int64],
    truth: Truth,
    settings: LearningSettings,
    embedding: EmbeddingState,
) -> list[LearnedQuestion]:
    """Turn feedback into examples, for cited chunks whose text has not changed."""
    number = {row: at for at, row in enumerate(rows.tolist())}
    cited_ids = {id_ for feedback in log for id_ in feedback.cited}
    row_of = {id_: row for id_, row in truth.rows_of(cited_ids).items() if row in number}
    hashes = truth.text_hashes(sorted(row_of.values()))
    weights = weights_of(log, settings)
    questions = []
    for feedback, weight in zip(log, weights, strict=True):
        shown = {chunk.chunk_id: chunk.text_hash for chunk in feedback.shown}
        credit = shared_credit(len(feedback.cited), len(shown))
        cited = tuple(
            number[row_of[id_]]
            for id_ in feedback.cited
            if id_ in row_of and hashes.get(row_of[id_]) == shown.get(id_)
        )
        credit *= weight
        if cited and credit > 0:
            # An imported vector may come from another model of the same name.
            usable = (
                feedback.vector is not None
                and feedback.embedder == embedding.name
                and len(feedback.vector) == embedding.dimension
            )
            vector = np.array(feedback.vector, dtype=np.float32) if usable else None
            questions.append(LearnedQuestion(vector, cited, credit))
    return questions
