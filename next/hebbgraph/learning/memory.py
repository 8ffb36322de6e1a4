"""What past lessons say of a question, and how that changes the scores of search."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hebbgraph.arrays import BoolArray, FloatArray, IntArray, sum_by, top_n, unique_inverse
from hebbgraph.formulas.activation import Activation
from hebbgraph.formulas.association import (
    LEAST_TAUGHT,
    cue_rarity,
    keep_order,
    lead,
    likeness,
    scale_by_confidence,
    share_beside_answer,
    squeeze,
)
from hebbgraph.formulas.fitting import Trust
from hebbgraph.learning.folding import CITED, PATH, REJECTED, decode_edges
from hebbgraph.learning.lessons import UNIT, Cues
from hebbgraph.store.database import Session

__all__ = [
    "Memory",
    "Products",
    "add_memory",
    "evidence_of",
    "products",
    "remember",
    "share_taught",
]

#: How many chunks that search did not find lessons bring, at most.
_MOST_BROUGHT = 64
#: Of the texts to which cues lead, read so many; cues that lead to more texts say nothing.
_MOST_TEXTS, _MOST_LED = 32, 8192
#: Where the products with each kind of sum begin.
_COLUMNS = np.zeros(3, np.int64)
_COLUMNS[[CITED, PATH, REJECTED]] = 0, 4, 6
#: A rejection counts by likeness to this power: what is wrong for one question may be right for
#: a similar one.
_REJECTION_POWER = 4.0
#: Cosines of the vectors of unrelated questions hardly exceed this.
_VECTORS_BY_CHANCE = 0.3


class Memory(NamedTuple):
    """What lessons say of one question; arrays have shape (n,), ``evidence`` (n, 6)."""

    #: Chunks that were taught, and that search found or the question touches, ascending.
    rows: NDArray[np.int64]
    #: Likeness to what they were cited for, of each of ``KINDS``; below 0 where rejected.
    evidence: NDArray[np.float64]
    #: How far they are believed to answer the very question, or not to, in [-1, 1].
    answer: NDArray[np.float64]
    #: How far they were cited for any question, in [0, 1].
    taught: NDArray[np.float64]


class Products(NamedTuple):
    """Products of a question with the sums of texts."""

    digests: list[str]
    #: Shape (n, 10): the product with the sum of what a text was cited for, and the squared length
    #: of that sum, by words, vectors and path; then with its rejections by words and vectors.
    values: NDArray[np.float64]


def remember(
    session: Session,
    key: str,
    cues: Cues,
    path: Cues,
    vector: NDArray[np.float32] | None,
    near: IntArray,
    allowed: Callable[[IntArray], BoolArray] | None,
) -> Memory | None:
    """Return what lessons say of a question; None if they say nothing.

    ``near`` are rows that search found, ``allowed`` returns which of some rows take part.
    """
    if session.meta.get("lessons", "0") == "0":
        return None
    found = products(session, cues, path, vector, near=near.tolist())
    sql = "SELECT digest, belief FROM $answered WHERE question_key = ?"
    answered: dict[str, float] = {digest: float(n) for digest, n in session.rows(sql, key)}
    known = [*found.digests, *(answered.keys() - set(found.digests))]
    row_of = _live(session, known, allowed)
    at = [place for place, digest in enumerate(known) if digest in row_of]
    if not at:
        return None
    rows = np.array([row_of[known[place]] for place in at], np.int64)
    values = np.concatenate((found.values, np.zeros((len(known) - len(found.values), 10))))[at]
    answer = np.array([answered.get(known[place], 0.0) for place in at])
    order = rows.argsort()
    values = values[order]
    return Memory(rows[order], evidence_of(values), answer[order], share_taught(values))


def products(
    session: Session,
    cues: Cues,
    path: Cues,
    vector: NDArray[np.float32] | None,
    *,
    near: Collection[int] = (),
    digests: Collection[str] = (),
) -> Products:
    """Return the products of a question with the texts that its cues lead to.

    Texts of the chunks in ``near``, and those in ``digests``, are compared in any case.
    """
    dots = _dots(session, cues, path)
    best = np.concatenate([led_to[top_n(dot, _MOST_TEXTS)] for led_to, dot in dots])
    rows = session.rows(
        "SELECT text, digest, kind, square, vector_square, vector FROM $taught WHERE "
        "digest = ANY(?) OR digest IN (SELECT digest FROM $taught WHERE text = ANY(?)) OR "
        "digest IN (SELECT digest FROM $chunk WHERE row = ANY(?))",
        list(digests),
        best.tolist(),
        list(near),
    )
    place = {digest: at for at, digest in enumerate(dict.fromkeys(row[1] for row in rows))}
    values = np.zeros((len(place), 10))
    if not rows:
        return Products([], values)
    at = np.array([place[row[1]] for row in rows])
    texts, kinds = (np.array([row[column] for row in rows]) for column in (0, 2))
    start = _COLUMNS[kinds]
    values[at, start] = sum(_looked_up(texts, *part) for part in dots)
    values[at, start + 1] = [row[3] for row in rows]
    if vector is not None:
        for place_, first, (*_, kind, _, square, data) in zip(at, start, rows, strict=True):
            if kind != PATH and len(data) == 8 * len(vector):
                values[place_, first + 2] = (np.frombuffer(data, "<i8") * UNIT) @ vector
                values[place_, first + 3] = square
    return Products(list(place), values)


def _looked_up(texts: IntArray, known: IntArray, dots: FloatArray) -> FloatArray:
    """Return the products of texts, 0 for those to which no edge leads."""
    if not len(known):
        return np.zeros(len(texts))
    at = np.minimum(known.searchsorted(texts), len(known) - 1)
    found: FloatArray = np.where(known[at] == texts, dots[at], 0.0)
    return found


def _dots(session: Session, cues: Cues, path: Cues) -> list[tuple[IntArray, FloatArray]]:
    """Return the texts to which edges lead from the cues, and from the path; and the products.

    A cue counts by its rarity among texts, squared, as if the other cues of a text were as rare on
    average as those of the question: so a text that was cited for the very question has a cosine
    of 1. Cues that lead nearly everywhere say nothing.
    """
    n_texts = int(session.meta.get("taught", "0"))
    keys = np.concatenate((cues.keys, path.keys)).tolist()
    led: dict[int, int] = {}
    if n_texts > _MOST_LED:
        sql = "SELECT cue, sum(n) FROM $learned WHERE cue = ANY(?) GROUP BY cue"
        led = {cue: int(n) for cue, n in session.rows(sql, keys)}
        keys = [cue for cue, n in led.items() if n <= _MOST_LED]
    sql = "SELECT cue, n, data FROM $learned WHERE cue = ANY(?) ORDER BY cue, first"
    edges: dict[int, list[tuple[NDArray[np.int32], NDArray[np.int64]]]] = {}
    for cue, n, data in session.rows(sql, keys):
        edges.setdefault(cue, []).append(decode_edges(n, data))
    led |= {cue: sum(len(led_to) for led_to, _ in blocks) for cue, blocks in edges.items()}
    dots = []
    for part in (cues, path):
        rarity = cue_rarity(np.array([led.get(cue, 0) for cue in part.keys.tolist()]), n_texts)
        weights = part.weights * UNIT
        shares = weights * rarity / (float(weights**2 @ rarity) or 1.0)
        texts, products = [np.empty(0, np.int32)], [np.empty(0)]
        for cue, share in zip(part.keys.tolist(), shares.tolist(), strict=True):
            for led_to, weight in edges.get(cue, ()):
                texts.append(led_to)
                products.append(weight * (UNIT * share))
        distinct, position = unique_inverse(np.concatenate(texts))
        dots.append((distinct, sum_by(position, np.concatenate(products), len(distinct))))
    return dots


def _live(
    session: Session, digests: Iterable[str], allowed: Callable[[IntArray], BoolArray] | None
) -> dict[str, int]:
    """Return the chunk of each text that takes part; of two copies the one with the smaller id."""
    sql = "SELECT digest, row FROM $chunk WHERE digest = ANY(?) ORDER BY id DESC"
    copies = session.rows(sql, list(digests))
    if allowed is not None:
        keep = allowed(np.array([row for _, row in copies], np.int64)).tolist()
        copies = [copy for copy, is_kept in zip(copies, keep, strict=True) if is_kept]
    return dict(copies)


def evidence_of(values: FloatArray) -> NDArray[np.float64]:
    """Return the kinds of likeness of a question with what texts were cited for, shape (n, 6)."""
    words, often = likeness(values[:, 0], values[:, 1])
    vectors, often_vectors = likeness(values[:, 2], values[:, 3], by_chance=_VECTORS_BY_CHANCE)
    # A thousand rejections count as one that is believed, so repetition has no part in them.
    against, _ = likeness(values[:, 6], values[:, 7])
    against_vectors, _ = likeness(values[:, 8], values[:, 9], by_chance=_VECTORS_BY_CHANCE)
    words = words - against**_REJECTION_POWER
    vectors = vectors - against_vectors**_REJECTION_POWER
    path = likeness(values[:, 4], values[:, 5])
    evidence: NDArray[np.float64] = np.stack((words, often, vectors, often_vectors, *path), 1)
    return evidence


def share_taught(values: FloatArray) -> NDArray[np.float64]:
    """Return how far texts count as taught, in [0, 1]."""
    share: NDArray[np.float64] = np.minimum(np.sqrt(values[:, 1]) / LEAST_TAUGHT, 1.0)
    return share


def add_memory(
    plain: Activation, memory: Memory, confidence: float, trust: Trust
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
    greatest = float(memory.evidence[:, :3:2].max(initial=0.0))
    handicap = trust.handicap * memory.taught[ranked]
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
    return taught, float(most)


def _beside_answer(memory: Memory) -> FloatArray:
    """Return the evidence beside an answer to the very question, if there is one."""
    answered = float(memory.answer.max(initial=0.0))
    if answered <= 0.0:
        return memory.evidence
    share = share_beside_answer(memory.evidence[:, [0, 0, 2, 2, 4, 4]].clip(0.0, 1.0), answered)
    beside: FloatArray = np.where(memory.evidence > 0, memory.evidence * share, memory.evidence)
    return beside
