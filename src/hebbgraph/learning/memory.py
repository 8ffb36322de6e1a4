"""What past lessons say of a question, and how that changes the scores of search."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hebbgraph.arrays import Allowed, FloatArray, IntArray, places_in, top_n
from hebbgraph.formulas.activation import Activation
from hebbgraph.formulas.association import (
    LEAST_TAUGHT,
    cue_rarity,
    keep_order,
    lead,
    likeness,
    scale_by_confidence,
    squeeze,
)
from hebbgraph.formulas.fitting import Trust
from hebbgraph.learning.folding import CITED, EDGE, PATH, REJECTED
from hebbgraph.learning.lessons import UNIT, Cues
from hebbgraph.store.database import Cache, Session

#: How many chunks that search did not find lessons bring, at most.
_MOST_BROUGHT = 64
#: Of the texts to which cues lead, read so many; cues that lead to more texts say nothing.
_MOST_TEXTS, _MOST_LED = 32, 8192
#: Where the products with each kind of sum begin.
_COLUMNS = np.zeros(3, np.int64)
_COLUMNS[[CITED, PATH, REJECTED]] = 0, 4, 6
_NO_SUMS = np.zeros(3, np.int64)
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


class _Sums(NamedTuple):
    """The sums of one text, without their cues."""

    texts: NDArray[np.int64]  #: the number of each kind of sum, 0 if there is none; shape (3,)
    values: NDArray[np.float64]  #: a row of :attr:`Products.values`, as if all products were 0
    vectors: dict[int, NDArray[np.float64]]  #: by kind


def remember(
    session: Session,
    key: str,
    cues: Cues,
    path: Cues,
    vector: NDArray[np.float32] | None,
    near: IntArray,
    allowed: Allowed | None,
    cache: Cache,
) -> Memory | None:
    """Return what lessons say of a question; None if they say nothing.

    ``near`` are rows that search found, ``allowed`` returns which of some rows take part.
    """
    found = products(session, cues, path, vector, near=near.tolist(), cache=cache)
    sql = "SELECT digest, belief FROM $answered WHERE question_key = ?"
    answered: dict[str, float] = {digest: float(n) for digest, n in session.rows(sql, key)}
    taught = [*found.digests, *(answered.keys() - set(found.digests))]
    copies = cache.known("copies", taught, partial(_copies, session), 150)
    row_of = {digest: row for digest, rows in copies.items() for row in _first(rows, allowed)}
    at = [place for place, digest in enumerate(taught) if digest in row_of]
    if not at:
        return None
    rows = np.array([row_of[taught[place]] for place in at], np.int64)
    values = np.concatenate((found.values, np.zeros((len(taught) - len(found.values), 10))))[at]
    answer = np.array([answered.get(taught[place], 0.0) for place in at])
    order = rows.argsort()
    values = values[order]
    return Memory(rows[order], evidence_of(values), answer[order], share_taught(values))


def products(
    session: Session,
    cues: Cues,
    path: Cues,
    vector: NDArray[np.float32] | None,
    *,
    near: Iterable[int] = (),
    digests: Iterable[str] = (),
    cache: Cache,
) -> Products:
    """Return the products of a question with the texts that its cues lead to.

    Texts of the chunks in ``near``, and those in ``digests``, are compared in any case.
    """
    dots = _dots(session, cues, path, cache)
    led_to = map(np.flatnonzero, dots)
    best = np.concatenate(
        [at[top_n(d[at], _MOST_TEXTS)] for at, d in zip(led_to, dots, strict=True)]
    )
    sql = "SELECT text, digest FROM $taught WHERE text = ANY(?)"
    texts = cache.known("taught", best.tolist(), partial(_digests, session, sql), 150)
    sql = "SELECT row, digest FROM $chunk WHERE row = ANY(?)"
    rows = cache.known("digests", near, partial(_digests, session, sql), 150)
    wanted = dict.fromkeys([*digests, *texts.values(), *rows.values()])
    size = 600 + (0 if vector is None else 8 * len(vector))
    of_text = cache.known("sums", wanted, partial(_sums, session), size)
    taught = [digest for digest, held in of_text.items() if held is not None]
    sums = [held for held in of_text.values() if held is not None]
    values = np.concatenate([np.empty(0), *(held.values for held in sums)]).reshape(-1, 10)
    numbers = np.concatenate([_NO_SUMS[:0], *(held.texts for held in sums)])
    # No edge leads to the number 0, nor to one beyond the end.
    by_cues, by_path = (np.append(dot, 0.0).take(numbers, mode="clip") for dot in dots)
    values[:, _COLUMNS] = (by_cues + by_path).reshape(-1, 3)
    if vector is not None:
        for at, held in enumerate(sums):
            for kind, total in held.vectors.items():
                if len(total) == len(vector):
                    values[at, _COLUMNS[kind] + 2] = total @ vector
    return Products(taught, values)


def _digests(session: Session, sql: str, numbers: list[int]) -> dict[int, str]:
    return dict(session.rows(sql, numbers))


def _sums(session: Session, digests: list[str]) -> dict[str, _Sums | None]:
    sums: dict[str, _Sums | None] = dict.fromkeys(digests)
    sql = (
        "SELECT digest, kind, text, square, vector_square, vector FROM $taught "
        "WHERE digest = ANY(?)"
    )
    for digest, kind, text, square, vector_square, data in session.rows(sql, digests):
        held = sums[digest] or _Sums(_NO_SUMS.copy(), np.zeros(10), {})
        held.texts[kind] = text
        held.values[_COLUMNS[kind] + 1] = square
        if data:
            held.values[_COLUMNS[kind] + 3] = vector_square
            held.vectors[kind] = np.frombuffer(data, "<i8") * UNIT
        sums[digest] = held
    return sums


def _copies(session: Session, digests: list[str]) -> dict[str, list[int]]:
    """Return the chunks of each text, in the order of their ids."""
    copies: dict[str, list[int]] = {digest: [] for digest in digests}
    sql = "SELECT digest, row FROM $chunk WHERE digest = ANY(?) ORDER BY id"
    for digest, row in session.rows(sql, digests):
        copies[digest].append(row)
    return copies


def _first(rows: list[int], allowed: Allowed | None) -> list[int]:
    """Return the first chunk of a text that takes part, if there is one."""
    if allowed is None or not rows:
        return rows[:1]
    taking_part = allowed(np.array(rows, np.int64)).tolist()
    return [row for row, takes_part in zip(rows, taking_part, strict=True) if takes_part][:1]


def _dots(session: Session, cues: Cues, path: Cues, cache: Cache) -> list[FloatArray]:
    """Return the products of the cues, and of the path, with texts, by the texts' numbers."""
    # A cue counts by its rarity among texts, squared, as if the other cues of a text were as rare
    # as those of the question: a text that was cited for it has a cosine of 1.
    n_texts = int(session.meta.get("taught", "0"))
    keys = np.concatenate((cues.keys, path.keys)).tolist()
    edges = cache.known("edges", keys, partial(_edges, session, n_texts, cache), 500)
    dots: list[FloatArray] = []
    for part in (cues, path):
        rarity = cue_rarity(np.array([edges[cue].led for cue in part.keys.tolist()]), n_texts)
        weights = part.weights * UNIT
        shares = weights * rarity / (float(weights**2 @ rarity) or 1.0)
        texts, products = [np.empty(0, np.int32)], [np.empty(0)]
        for cue, share in zip(part.keys.tolist(), shares.tolist(), strict=True):
            texts.append(edges[cue].texts)
            products.append(edges[cue].weights * (UNIT * share))
        sums = np.bincount(np.concatenate(texts), np.concatenate(products))
        dots.append(sums.astype(np.float64))
    return dots


class _Edges(NamedTuple):
    """The learned edges of one cue, and how many there are; of too many none is read."""

    led: int
    texts: NDArray[np.int32] = np.empty(0, np.int32)
    weights: NDArray[np.int64] = np.empty(0, np.int64)


def _edges(session: Session, n_texts: int, cache: Cache, cues: list[int]) -> dict[int, _Edges]:
    edges = dict.fromkeys(cues, _Edges(0))
    if n_texts > _MOST_LED:
        sql = "SELECT cue, sum(length(data)) FROM $learned WHERE cue = ANY(?) GROUP BY cue"
        edges |= {cue: _Edges(int(n) // EDGE.itemsize) for cue, n in session.rows(sql, cues)}
        cues = [cue for cue, found in edges.items() if found.led <= _MOST_LED]
    sql = "SELECT cue, data FROM $learned WHERE cue = ANY(?) ORDER BY cue, first"
    blocks: dict[int, list[bytes]] = {}
    for cue, data in session.rows(sql, cues):
        blocks.setdefault(cue, []).append(data)
    for cue, parts in blocks.items():
        found = np.frombuffer(b"".join(parts), EDGE)
        edges[cue] = _Edges(len(found), found["row"].copy(), found["weight"].copy())
        cache.size += found.nbytes
    return edges


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
    gain = memory.evidence @ trust.gains
    near, found = places_in(plain.chunks, memory.rows)
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
