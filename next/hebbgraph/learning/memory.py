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
from hebbgraph.formulas.fitting import Trust
from hebbgraph.learning.folding import decode_edges
from hebbgraph.learning.lessons import UNIT, Cues
from hebbgraph.store.database import Session

__all__ = ["Memory", "Products", "add_memory", "evidence_of", "products", "remember"]

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
        Chunks that were taught, and that search found or the question touches.
    evidence : ndarray of float64, shape (n, 4)
        Likeness to what they were cited for, by words and vectors, each alone and times
        repetition; below 0 where they were rejected.
    answer : ndarray of float64, shape (n,), in [-1, 1]
        How far they are believed to answer the very question, or not to.
    taught : ndarray of bool, shape (n,)
        Which were cited for any question.
    """

    rows: NDArray[np.int64]
    evidence: NDArray[np.float64]
    answer: NDArray[np.float64]
    taught: BoolArray


class Products(NamedTuple):
    """Products of a question with the sum of one text, and squared lengths of the sum.

    ``against`` are those with the sum of its rejections.
    """

    dot: float = 0.0
    square: float = 0.0
    vector_dot: float = 0.0
    vector_square: float = 0.0
    against: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 0.0)


def remember(
    session: Session,
    key: str,
    cues: Cues,
    vector: NDArray[np.float32] | None,
    near: IntArray,
    allowed: Callable[[IntArray], BoolArray] | None,
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
    allowed : callable, optional
        Returns which of some rows take part.
    """
    if session.meta.get("lessons", "0") == "0":
        return None
    sql = "SELECT digest FROM $chunk WHERE row = ANY(?)"
    digests = [digest for (digest,) in session.rows(sql, near.tolist())]
    found = products(session, cues, vector, digests)
    answered = {
        digest: min(cited, 1.0) - min(rejected, 1.0)
        for digest, cited, rejected in session.rows(
            "SELECT digest, cited, rejected FROM $answered WHERE question_key = ?", key
        )
    }
    rows_of = _live(session, found.keys() | answered.keys(), allowed)
    if not rows_of:
        return None
    rows = np.array(sorted(set(rows_of.values())), np.int64)
    evidence, answer = np.zeros((len(rows), 4)), np.zeros(len(rows))
    taught = np.zeros(len(rows), np.bool_)
    for digest, row in rows_of.items():
        at = int(rows.searchsorted(row))
        evidence[at] = evidence_of(found.get(digest))
        answer[at] = answered.get(digest, 0.0)
        taught[at] = digest in found and found[digest].square > 0
    return Memory(rows, evidence, answer, taught)


def products(
    session: Session,
    cues: Cues,
    vector: NDArray[np.float32] | None,
    digests: list[str],
) -> dict[str, Products]:
    """Return the products of a question with the texts that its cues lead to, and with others.

    Parameters
    ----------
    session : Session
    cues : Cues
    vector : ndarray of float32, optional
    digests : list of str
        Texts besides.
    """
    dot_of = _by_cues(session, cues)
    columns = "text, digest, rejected, square, vector_square, vector"
    sql = f"SELECT {columns} FROM $taught WHERE text = ANY(?) OR digest = ANY(?)"
    found: dict[str, Products] = {}
    for text, digest, rejected, square, vector_square, data in session.rows(
        sql, list(dot_of), digests
    ):
        by_vector = 0.0
        if vector is not None and len(data) == 8 * len(vector):
            by_vector = float((np.frombuffer(data, "<i8") * UNIT) @ vector)
        values = dot_of.get(text, 0.0), float(square), by_vector, float(vector_square)
        held = found.get(digest, Products())
        if rejected:
            found[digest] = held._replace(against=values)
        else:
            found[digest] = Products(*values, against=held.against)
    return found


def _by_cues(session: Session, cues: Cues) -> dict[int, float]:
    """Return the product of the question with each text to which edges lead from its cues."""
    weight_of = dict(zip(cues.keys.tolist(), (cues.weights * UNIT).tolist(), strict=True))
    texts, parts = [np.empty(0, np.int32)], [np.empty(0)]
    sql = "SELECT cue, n, data FROM $learned WHERE cue = ANY(?) ORDER BY cue, first"
    for cue, n, data in session.rows(sql, cues.keys.tolist()):
        led_to, weights = decode_edges(n, data)
        texts.append(led_to)
        parts.append(weights * (UNIT * weight_of[cue]))
    distinct, position = unique_inverse(np.concatenate(texts))
    sums = sum_by(position, np.concatenate(parts), len(distinct))
    return dict(zip(distinct.tolist(), sums.tolist(), strict=True))


def _live(
    session: Session,
    digests: Iterable[str],
    allowed: Callable[[IntArray], BoolArray] | None,
) -> dict[str, int]:
    """Return the chunk of each text that takes part; of two copies the one with the smaller id."""
    sql = "SELECT digest, row FROM $chunk WHERE digest = ANY(?) ORDER BY id DESC"
    copies = session.rows(sql, list(digests))
    if allowed is not None:
        keep = allowed(np.array([row for _, row in copies], np.int64)).tolist()
        copies = [copy for copy, is_kept in zip(copies, keep, strict=True) if is_kept]
    return dict(copies)


def evidence_of(one: Products | None) -> list[float]:
    """Return the four kinds of likeness of a question with what a text was cited for."""
    if one is None:
        return [0.0] * 4
    cited = _likeness(*one[:4])
    against = _likeness(*one.against)
    # A thousand rejections count as one that is believed, so repetition has no part in them.
    minus = [against[0] ** _REJECTION_POWER, 0.0, against[2] ** _REJECTION_POWER, 0.0]
    return [good - bad for good, bad in zip(cited, minus, strict=True)]


def _likeness(dot: float, square: float, vector_dot: float, vector_square: float) -> list[float]:
    words = likeness(np.array([dot]), np.array([square]))
    vectors = likeness(
        np.array([vector_dot]), np.array([vector_square]), by_chance=_VECTORS_BY_CHANCE
    )
    return [float(part[0]) for part in (*words, *vectors)]


def add_memory(
    plain: Activation,
    memory: Memory,
    confidence: float,
    trust: Trust,
) -> tuple[Activation, float]:
    """Return the activation with what lessons add, and the confidence with it."""
    gain = _beside_answer(memory) @ np.array(trust.gains)
    near = np.minimum(plain.chunks.searchsorted(memory.rows), max(len(plain.chunks) - 1, 0))
    found = plain.chunks[near] == memory.rows if len(plain.chunks) else np.zeros(len(gain), bool)
    brought = np.flatnonzero(~found & ((gain > 0) | (memory.answer > 0)))
    brought = brought[top_n(gain[brought] + memory.answer[brought], _MOST_BROUGHT)]
    ranked = np.concatenate((np.flatnonzero(found), brought))
    n = len(plain.chunks)
    position = np.concatenate((near[found], np.arange(n, n + len(brought))))
    zeros = np.zeros(len(brought))
    static = confidence * np.concatenate((plain.scores, zeros))
    change, exact = np.zeros(len(static)), np.zeros(len(static))
    exact[position] = memory.answer[ranked]
    greatest = float(memory.evidence[:, ::2].max(initial=0.0))
    handicap = trust.handicap * memory.taught[ranked].astype(np.float64)
    scaled, paid = scale_by_confidence(confidence, greatest, gain[ranked], handicap)
    change[position] = scaled - paid
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
