"""A question as it arrived, with what models and the caller add before anything is locked."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hebbgraph.embedders import unit_vector
from hebbgraph.errors import ParameterError
from hebbgraph.limits import MAX_SEEDS
from hebbgraph.namespace import Namespace
from hebbgraph.recall.conversation import in_full
from hebbgraph.recall.elsewhere import VectorsElsewhere
from hebbgraph.records import Turn
from hebbgraph.store.truth import Truth

if TYPE_CHECKING:
    from hebbgraph.derived.translations import QuestionNames
    from hebbgraph.protocols import VectorSource

__all__ = ["Query", "ask_models", "in_short"]


@dataclass(frozen=True)
class Query:
    """A question as it arrived.

    Attributes
    ----------
    text : str
    vector : ndarray of float32, optional
        Its embedding, of unit length, mixed with those of ``turns``.
    seeds : dict of row to score, optional
        Results of the caller's search.
    elsewhere : VectorsElsewhere, optional
        Reads vectors from the caller's store.
    phrases : sequence of str
        Concepts that the cue model named.
    turns : tuple of Turn
        Earlier turns that count.
    names : QuestionNames, optional
        What it may name in another language.
    notes : tuple of str
        For :attr:`Recall.notes`.
    """

    text: str
    vector: NDArray[np.float32] | None = None
    seeds: dict[int, float] | None = None
    elsewhere: VectorsElsewhere | None = None
    phrases: Sequence[str] = ()
    turns: tuple[Turn, ...] = ()
    names: QuestionNames | None = None
    notes: tuple[str, ...] = ()


def ask_models(
    namespace: Namespace,
    text: str,
    turns: tuple[Turn, ...],
    *,
    seeds: Iterable[tuple[str, float]] | None,
    vector: Sequence[float] | None,
    vectors: VectorSource | None,
) -> Query:
    """Ask the caller's search, cue model and embedder; the keywords are those of ``recall``."""
    full_text = in_full(text, turns) if turns else text
    if seeds is None and namespace.search is not None:
        seeds = namespace.search(full_text)
    phrases, notes = _phrases(namespace, full_text)
    question_vector = None
    if vector is not None:
        question_vector = unit_vector(vector)  # with seeds too: it finds past questions
        if seeds is None and namespace.embedder is None:
            notes += ("vector= finds no chunks: the index was opened without an embedder",)
    elif seeds is None and namespace.embedder is not None:
        question_vector = namespace.questions.vector_of(namespace.embedder, text)
    if seeds is None:
        namespace.warn_without_model()
    if question_vector is not None and turns and namespace.embedder is not None:
        mixed = question_vector
        for turn in turns:
            mixed = mixed + turn.weight * namespace.questions.vector_of(
                namespace.embedder, turn.text
            )
        question_vector = unit_vector(mixed)
    elsewhere = None
    if vectors is not None:
        if seeds is None or question_vector is None or not callable(vectors):
            raise ParameterError(
                "vectors= is a callable from ids to vectors, and goes with seeds= and with "
                "vector=, the question's own"
            )
        elsewhere = VectorsElsewhere(question_vector, vectors)
    translations = namespace.translations
    return Query(
        text,
        question_vector,
        None if seeds is None else _scores_by_row(seeds, namespace.truth),
        elsewhere,
        phrases,
        turns,
        None if translations is None else translations.names_in(text),
        notes,
    )


def _phrases(namespace: Namespace, text: str) -> tuple[list[str], tuple[str, ...]]:
    """Ask the cue model, if there is one; return its phrases, and a note if it failed."""
    if namespace.cue_model is None:
        return [], ()
    try:
        return [str(phrase) for phrase in namespace.cue_model(text)], ()
    except Exception as error:
        return [], (f"no cues by the model: {in_short(error)}",)


def _scores_by_row(seeds: Iterable[tuple[str, float]], truth: Truth) -> dict[int, float]:
    """Check seeds; return their scores by row, shifted to be positive."""
    try:
        scores = {str(id_): float(score) for id_, score in seeds}
    except (TypeError, ValueError) as error:
        raise ParameterError(f"seeds are pairs of chunk id and score: {error}") from error
    if len(scores) > MAX_SEEDS:
        raise ParameterError(f"at most {MAX_SEEDS} seeds, got {len(scores)}")
    if not all(map(np.isfinite, scores.values())):
        raise ParameterError("the score of a seed is NaN or infinite")
    low, high = min(scores.values(), default=0.0), max(scores.values(), default=0.0)
    # Scores may be negated distances; the lowest one must stay above 0.
    shift = 0.1 * ((high - low) or 1.0) - low if low < 0 else 0.0
    rows = truth.rows_of(scores)
    return {row: scores[id_] + shift for id_, row in rows.items()}


def in_short(error: Exception) -> str:
    """Return an error on one short line, for a note."""
    return " ".join(f"{type(error).__name__}: {error}".split())[:200]
