"""What past lessons say of a question, and how that changes the scores of search."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hebbgraph.arrays import BoolArray, FloatArray, IntArray, sum_by, top_n, unique_inverse
from hebbgraph.formulas.activation import Activation
from hebbgraph.formulas.association import (
    keep_order,
    lead,
    likeness,
    scale_by_confidence,
    share_beside_answer,
    squeeze,
)
from hebbgraph.learning.folding import decode_edges
from hebbgraph.learning.lessons import UNIT, Cues
from hebbgraph.store.database import Session

__all__ = ["GAINS", "Memory", "add_memory", "remember"]

#: What likeness adds to a score: by words and repetition of words, by vectors and repetition.
GAINS = (0.625, 0.375, 0.5, 0.375)
#: How many chunks that search did not find lessons bring, at most.
_MOST_BROUGHT = 64
#: A rejection counts by likeness to this power: what is wrong for one question may be right for
#: a similar one.
_REJECTION_POWER = 4.0
#: Cosines of the vectors of unrelated questions hardly exceed this.
_VECTORS_BY_CHANCE = 0.3


class Memory(NamedTuple):
    """What lessons say of one question.

    Attributes
    ----------
    rows : ndarray of int64, shape (n,), ascending
        Chunks.
    evidence : ndarray of float64, shape (n, 4)
        Likeness to what they were cited for, by words and vectors, each alone and times
        repetition; below 0 where they were rejected.
    answer : ndarray of float64, shape (n,), in [-1, 1]
        How far they are believed to answer the very question, or not to.
    """

    rows: NDArray[np.int64]
    evidence: NDArray[np.float64]
    answer: NDArray[np.float64]


class _Text(NamedTuple):
    text: int
    digest: str
    rejected: int
    square: float
    vector_square: float
    vector: bytes


def remember(
    session: Session,
    key: str,
    cues: Cues,
    vector: NDArray[np.float32] | None,
    near: IntArray,
) -> Memory | None:
    """Return what lessons say of a question; None if there are no lessons.

    Parameters
    ----------
    session : Session
    key : str
        The question's key.
    cues : Cues
    vector : ndarray of float32, optional
    near : ndarray of int
        Rows that search found: their vectors are compared even if no cue leads there.
    """
    if session.meta.get("lessons", "0") == "0":
        return None
    texts, dots = _by_cues(session, cues)
    taught = _taught(session, texts, near if vector is not None else near[:0])
    answered = {
        digest: min(cited, 1.0) - min(rejected, 1.0)
        for digest, cited, rejected in session.rows(
            "SELECT digest, cited, rejected FROM $answered WHERE question_key = ?", key
        )
    }
    rows_of = _live(session, {text.digest for text in taught} | answered.keys())
    if not rows_of:
        return None
    rows = np.array(sorted(set(rows_of.values())), np.int64)
    evidence = np.zeros((2, len(rows), 4))
    dot_of = dict(zip(texts.tolist(), dots.tolist(), strict=True))
    for text in taught:
        if text.digest in rows_of:
            at = int(rows.searchsorted(rows_of[text.digest]))
            evidence[text.rejected, at] = _likeness(text, dot_of.get(text.text, 0.0), vector)
    against = np.maximum(evidence[1], 0.0) ** _REJECTION_POWER
    against[:, 1::2] = 0.0  # a thousand rejections count as one that is believed
    answer = np.zeros(len(rows))
    for digest, belief in answered.items():
        if digest in rows_of:
            answer[rows.searchsorted(rows_of[digest])] = belief
    return Memory(rows, evidence[0] - against, answer)


def _by_cues(session: Session, cues: Cues) -> tuple[IntArray, FloatArray]:
    """Return the texts to which edges lead from cues, and the product of the question with each."""
    weight_of = dict(zip(cues.keys.tolist(), (cues.weights * UNIT).tolist(), strict=True))
    texts, products = [np.empty(0, np.int32)], [np.empty(0)]
    sql = "SELECT cue, n, data FROM $learned WHERE cue = ANY(?) ORDER BY cue, first"
    for cue, n, data in session.rows(sql, cues.keys.tolist()):
        led_to, weights = decode_edges(n, data)
        texts.append(led_to)
        products.append(weights * (UNIT * weight_of[cue]))
    distinct, position = unique_inverse(np.concatenate(texts))
    return distinct, sum_by(position, np.concatenate(products), len(distinct))


def _taught(session: Session, texts: IntArray, near: IntArray) -> list[_Text]:
    """Return the sums to which edges lead, and those of chunks that search found."""
    columns = "t.text, t.digest, t.rejected, t.square, t.vector_square, t.vector"
    found = session.rows(f"SELECT {columns} FROM $taught AS t WHERE text = ANY(?)", texts.tolist())
    if len(near):
        sql = f"""
            SELECT {columns} FROM $chunk AS c JOIN $taught AS t ON t.digest = c.digest
            WHERE c.row = ANY(?)
        """
        known = {row[0] for row in found}
        found += (row for row in session.rows(sql, near.tolist()) if row[0] not in known)
    return [_Text(*row) for row in found]


def _live(session: Session, digests: Iterable[str]) -> dict[str, int]:
    """Return the chunk of each text that lives; of two copies the one with the smaller id."""
    sql = "SELECT digest, id, row FROM $chunk WHERE digest = ANY(?)"
    found: dict[str, tuple[str, int]] = {}
    for digest, id_, row in session.rows(sql, list(digests)):
        found[digest] = min(found.get(digest, (id_, row)), (id_, row))
    return {digest: row for digest, (_, row) in found.items()}


def _likeness(text: _Text, dot: float, vector: NDArray[np.float32] | None) -> list[float]:
    """Return the four kinds of likeness of a question with the sum of one text."""
    words = likeness(np.array([dot]), np.array([text.square]))
    by_vector = np.zeros((2, 1))
    if vector is not None and len(text.vector) == 8 * len(vector):
        held = np.frombuffer(text.vector, "<i8") * UNIT
        product = np.array([float(held @ vector)])
        squares = np.array([text.vector_square])
        by_vector = np.array(likeness(product, squares, by_chance=_VECTORS_BY_CHANCE))
    return [float(words[0][0]), float(words[1][0]), float(by_vector[0][0]), float(by_vector[1][0])]


def add_memory(
    plain: Activation,
    memory: Memory,
    confidence: float,
    allowed: Callable[[IntArray], BoolArray] | None,
) -> tuple[Activation, float]:
    """Return the activation with what lessons add, and the confidence with it."""
    gain = _beside_answer(memory) @ np.array(GAINS)
    near = np.minimum(plain.chunks.searchsorted(memory.rows), max(len(plain.chunks) - 1, 0))
    found = plain.chunks[near] == memory.rows if len(plain.chunks) else np.zeros(len(gain), bool)
    brought = np.flatnonzero(~found & ((gain > 0) | (memory.answer > 0)))
    if allowed is not None and len(brought):
        brought = brought[allowed(memory.rows[brought])]
    brought = brought[top_n(gain[brought] + memory.answer[brought], _MOST_BROUGHT)]
    ranked = np.concatenate((np.flatnonzero(found), brought))
    n = len(plain.chunks)
    position = np.concatenate((near[found], np.arange(n, n + len(brought))))
    zeros = np.zeros(len(brought))
    static = confidence * np.concatenate((plain.scores, zeros))
    change, exact = np.zeros(len(static)), np.zeros(len(static))
    exact[position] = memory.answer[ranked]
    scaled, _ = scale_by_confidence(confidence, 0.0, gain[ranked], np.zeros(len(ranked)))
    change[position] = scaled
    # This is the order. Within it, what lessons alone are sure of scores in full.
    order = (-static - change).argsort(kind="stable")
    change[position] += gain[ranked] - scaled
    change = keep_order(static + change, order) - static
    remembered = min(max(change.max(initial=0.0), exact.max(initial=0.0)), 1.0)
    most = 1.0 - (1.0 - confidence) * (1.0 - remembered)
    if not most:
        return plain, confidence
    absolute = squeeze(lead(static + change, exact, static), most)
    chunks = np.concatenate((plain.chunks, memory.rows[brought]))
    order = chunks.argsort(kind="stable")
    taught = replace(
        plain,
        chunks=chunks[order],
        scores=absolute[order] / most,
        direct=np.concatenate((plain.direct, zeros))[order],
        arrived=np.concatenate((plain.arrived, zeros))[order],
    )
    return taught, most


def _beside_answer(memory: Memory) -> FloatArray:
    """Return the evidence beside an answer to the very question, if there is one."""
    answered = float(memory.answer.max(initial=0.0))
    if answered <= 0.0:
        return memory.evidence
    share = share_beside_answer(memory.evidence[:, [0, 0, 2, 2]].clip(0.0, 1.0), answered)
    beside: FloatArray = np.where(memory.evidence > 0, memory.evidence * share, memory.evidence)
    return beside
