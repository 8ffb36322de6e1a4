"""What past lessons say about a question, and how that changes the scores of search."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np

from hebbgraph.arrays import Allowed, Float32Array, FloatArray, IntArray, places_in, sum_by, top_n
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
from hebbgraph.formulas.fitting import KINDS, Trust
from hebbgraph.learning.folding import CITED, EDGE, PATH, REJECTED
from hebbgraph.learning.lessons import UNIT, Cues
from hebbgraph.store.database import Cache, Session

#: Lessons add at most this many chunks that search did not find.
_MOST_ADDED = 64
#: Read at most this many texts to which cues lead; cues that lead to more sums say nothing.
_MOST_TEXTS, _MOST_SUMS = 32, 8192
#: Of a question and a sum, cues are multiplied, and vectors. A product is a pair: the dot product,
#: and the squared length of the sum. No vector is added to sums of paths.
CUES, VECTOR = range(2)
DOT, SQUARE = range(2)
_PRODUCTS = 3, 2, 2  # by kind of sum, CUES or VECTOR, DOT or SQUARE
#: Columns of evidence, by :data:`KINDS`.
WORDS, VECTORS = KINDS.index("words"), KINDS.index("vectors")
#: A rejection counts by likeness to this power: what is wrong for one question may be right for
#: a similar one.
_REJECTION_POWER = 4.0
#: Cosines of the vectors of unrelated questions hardly exceed this. Those of other questions of the
#: same kind do, so likeness counts by this power of what is above.
_VECTORS_BY_CHANCE, _VECTORS_POWER = 0.3, 2.0


class LessonEvidence(NamedTuple):
    """What lessons say about one question; arrays have shape (n,), ``evidence`` (n, 6)."""

    #: Chunks that were taught, and that search found or the question touches, ascending.
    rows: IntArray
    #: Likeness to what they were cited for, of each of ``KINDS``; below 0 where rejected.
    evidence: FloatArray
    #: How far they are believed to answer the very question, or not to, in [-1, 1].
    answer: FloatArray
    #: How far they were cited for any question, in [0, 1].
    taught: FloatArray


class Products(NamedTuple):
    """Products of a question with the sums of texts."""

    digests: list[str]
    values: FloatArray  #: shape (n, 3, 2, 2): by kind, CUES or VECTOR, DOT or SQUARE


class _Sums(NamedTuple):
    """The sums of one text, without their cues."""

    numbers: IntArray  #: of each kind of sum, 0 if there is none; shape (3,)
    values: FloatArray  #: as in :attr:`Products.values`, with dot products of 0
    vectors: dict[int, FloatArray]  #: by kind


def read_evidence(
    session: Session,
    key: str,
    cues: Cues,
    path: Cues,
    vector: Float32Array | None,
    near: IntArray,
    allowed: Allowed | None,
    cache: Cache,
) -> LessonEvidence | None:
    """Return what lessons say about a question; None if they say nothing.

    ``near`` are rows that search found, ``allowed`` returns which of some rows take part.
    """
    found = products(session, cues, path, vector, near=near.tolist(), cache=cache)
    sql = "SELECT digest, belief FROM $answered WHERE question_key = ?"
    answered: dict[str, float] = {digest: float(n) for digest, n in session.rows(sql, key)}
    taught = [*found.digests, *(answered.keys() - set(found.digests))]
    copies = cache.known("copies", taught, partial(_copies, session), 150)
    row_of: dict[str, int] = {}
    for digest, rows in copies.items():
        taking_part = rows if allowed is None else rows[allowed(rows)]
        if len(taking_part):
            row_of[digest] = int(taking_part[0])
    places = sorted((row_of[text], place) for place, text in enumerate(taught) if text in row_of)
    if not places:
        return None
    rows, at = np.array(places, np.int64).T
    others = np.zeros((len(taught) - len(found.digests), *_PRODUCTS))
    values = np.concatenate((found.values, others))[at]
    answer = np.array([answered.get(taught[place], 0.0) for _, place in places])
    # What was cited for the very question, too, is rejected no further than that is believed.
    low = np.array([[min(answered.get(taught[place], -1.0), 0.0)] for _, place in places])
    return LessonEvidence(rows, np.maximum(evidence_of(values), low), answer, share_taught(values))


def products(
    session: Session,
    cues: Cues,
    path: Cues,
    vector: Float32Array | None,
    *,
    near: Iterable[int] = (),
    digests: Iterable[str] = (),
    cache: Cache,
) -> Products:
    """Return the products of a question with the texts that its cues lead to.

    Texts of the chunks in ``near``, and those in ``digests``, are compared in any case.
    """
    by_cues, by_path = _dots(session, cues, path, cache)
    reached = [(dots, np.flatnonzero(dots)) for dots in (by_cues, by_path)]
    best = np.concatenate([sums[top_n(dots[sums], _MOST_TEXTS)] for dots, sums in reached])
    sql = "SELECT sum, digest FROM $taught WHERE sum = ANY(?)"
    texts = cache.known("taught", best.tolist(), partial(_digests, session, sql), 150)
    sql = "SELECT row, digest FROM $chunk WHERE row = ANY(?)"
    rows = cache.known("digests", near, partial(_digests, session, sql), 150)
    wanted = dict.fromkeys([*digests, *texts.values(), *rows.values()])
    size = 600 + (0 if vector is None else 8 * len(vector))
    of_text = cache.known("sums", wanted, partial(_sums, session), size)
    taught = [digest for digest, text in of_text.items() if text is not None]
    sums = [text for text in of_text.values() if text is not None]
    values = np.array([text.values for text in sums]).reshape(-1, *_PRODUCTS)
    numbers = np.array([text.numbers for text in sums], np.int64).reshape(-1, 3)
    for kind, dots in ((CITED, by_cues), (REJECTED, by_cues), (PATH, by_path)):
        # No edge leads to the number 0, nor to the last one.
        values[:, kind, CUES, DOT] = dots.take(numbers[:, kind], mode="clip")
    if vector is not None:
        for at, text in enumerate(sums):
            for kind, total in text.vectors.items():
                if len(total) == len(vector):
                    values[at, kind, VECTOR, DOT] = total @ vector
    return Products(taught, values)


def _digests(session: Session, sql: str, numbers: list[int]) -> dict[int, str]:
    return dict(session.rows(sql, numbers))


def _sums(session: Session, digests: list[str]) -> dict[str, _Sums | None]:
    sums: dict[str, _Sums | None] = dict.fromkeys(digests)
    sql = (
        "SELECT digest, kind, sum, square, vector_square, vector FROM $taught WHERE digest = ANY(?)"
    )
    for digest, kind, number, square, vector_square, data in session.rows(sql, digests):
        of_text = sums[digest] or _Sums(np.zeros(3, np.int64), np.zeros(_PRODUCTS), {})
        of_text.numbers[kind] = number
        of_text.values[kind, :, SQUARE] = square, vector_square
        if data:
            of_text.vectors[kind] = np.frombuffer(data, "<i8") * UNIT
        sums[digest] = of_text
    return sums


def _copies(session: Session, digests: list[str]) -> dict[str, IntArray]:
    """Return the chunks of each text, in the order of their ids."""
    copies: dict[str, list[int]] = {digest: [] for digest in digests}
    sql = "SELECT digest, row FROM $chunk WHERE digest = ANY(?) ORDER BY id"
    for digest, row in session.rows(sql, digests):
        copies[digest].append(row)
    return {digest: np.array(rows, np.int64) for digest, rows in copies.items()}


def _dots(session: Session, cues: Cues, path: Cues, cache: Cache) -> list[FloatArray]:
    """Return the products of the cues, and of the path, with sums, by number; the last is 0."""
    # A cue counts by its rarity among sums, squared, as if the other cues of a sum were as rare
    # as those of the question: a text that was cited for it has a cosine of 1.
    n_sums = int(session.meta.get("taught", "0"))
    keys = np.concatenate((cues.keys, path.keys)).tolist()
    edges = cache.known("edges", keys, partial(_edges, session, n_sums), _Edges.size)
    dots: list[FloatArray] = []
    for part in (cues, path):
        found = [_Edges(0), *(edges[cue] for cue in part.keys.tolist())]
        rarity = cue_rarity(np.array([cue.n_sums for cue in found[1:]]), n_sums)
        weights = part.weights * UNIT
        shares = weights * rarity / (float(weights**2 @ rarity) or 1.0)
        each = np.repeat(UNIT * np.append(0.0, shares), [len(cue.sums) for cue in found])
        products = each * np.concatenate([cue.weights for cue in found])
        sums = np.concatenate([cue.sums for cue in found])
        dots.append(np.append(np.bincount(sums, products), 0.0))
    return dots


class _Edges(NamedTuple):
    """The learned edges of one cue, and their number; if there are too many, none is read."""

    n_sums: int
    sums: IntArray = np.empty(0, np.int32)
    weights: IntArray = np.empty(0, np.int64)

    def size(self) -> int:
        return 500 + self.sums.nbytes + self.weights.nbytes


def _edges(session: Session, n_sums: int, cues: list[int]) -> dict[int, _Edges]:
    edges = dict.fromkeys(cues, _Edges(0))
    if n_sums > _MOST_SUMS:
        sql = "SELECT cue, sum(length(data)) FROM $learned WHERE cue = ANY(?) GROUP BY cue"
        edges |= {cue: _Edges(int(n) // EDGE.itemsize) for cue, n in session.rows(sql, cues)}
        cues = [cue for cue, found in edges.items() if found.n_sums <= _MOST_SUMS]
    sql = "SELECT cue, data FROM $learned WHERE cue = ANY(?) ORDER BY cue, first"
    blocks: dict[int, list[bytes]] = {}
    for cue, data in session.rows(sql, cues):
        blocks.setdefault(cue, []).append(data)
    for cue, parts in blocks.items():
        found = np.frombuffer(b"".join(parts), EDGE)
        edges[cue] = _Edges(len(found), found["sum"].copy(), found["weight"].copy())
    return edges


def evidence_of(values: FloatArray) -> FloatArray:
    """Return the kinds of likeness of a question with what texts were cited for, shape (n, 6)."""
    (dot, square), (vector_dot, vector_square) = values.transpose(2, 3, 1, 0)
    words, often = likeness(dot, square)
    vectors, often_vectors = likeness(
        vector_dot, vector_square, by_chance=_VECTORS_BY_CHANCE, power=_VECTORS_POWER
    )
    # A thousand rejections count as one that is believed, so repetition has no part in them.
    words[CITED] -= words[REJECTED] ** _REJECTION_POWER
    vectors[CITED] -= vectors[REJECTED] ** (_REJECTION_POWER / _VECTORS_POWER)
    of_citations = (part[CITED] for part in (words, often, vectors, often_vectors))
    return np.stack((*of_citations, words[PATH], often[PATH]), 1)


def greatest_likeness(evidence: FloatArray) -> float:
    """Return how similar a question is to the closest taught one, in [0, 1]."""
    return float(evidence[:, [WORDS, VECTORS]].max(initial=0.0))


def share_taught(values: FloatArray) -> FloatArray:
    """Return how far texts count as taught, in [0, 1]."""
    return np.minimum(np.sqrt(values[:, CITED, CUES, SQUARE]) / LEAST_TAUGHT, 1.0)


def apply_lessons(
    plain: Activation, lessons: LessonEvidence, confidence: float, trust: Trust
) -> tuple[Activation, float]:
    """Return the activation with what lessons add, and the confidence with it."""
    gain: FloatArray = lessons.evidence @ trust.gains
    place, found = places_in(plain.chunks, lessons.rows)
    added = np.flatnonzero(~found & ((gain > 0) | (lessons.answer > 0)))
    added = added[top_n(gain[added] + lessons.answer[added], _MOST_ADDED)]
    # From here on, arrays are over the candidates: what search found, then what lessons add.
    chunks = np.append(plain.chunks, lessons.rows[added])
    at = np.append(place[found], np.arange(len(plain.chunks), len(chunks)))
    learned = np.append(np.flatnonzero(found), added)
    gain, taught, answer = (
        sum_by(at, part[learned], len(chunks)) for part in (gain, lessons.taught, lessons.answer)
    )
    blank = np.zeros(len(added))
    static = confidence * np.append(plain.scores, blank)
    closest = greatest_likeness(lessons.evidence)
    scaled, paid = scale_by_confidence(confidence, closest, gain, trust.handicap * taught)
    change = scaled - paid
    # This is the order. Within it, chunks that only lessons are sure of get their full score.
    order = (-static - change).argsort(kind="stable")
    scores = keep_order(static + (change + np.maximum(gain - scaled, 0.0)), order)
    sure = min(max((scores - static).max(initial=0.0), answer.max(initial=0.0)), 1.0)
    most = 1.0 - (1.0 - confidence) * (1.0 - sure)
    if not most:
        return plain, confidence
    scores = squeeze(lead(scores, answer, static), most) / most
    ascending = chunks.argsort(kind="stable")
    with_lessons = replace(
        plain,
        chunks=chunks[ascending],
        scores=scores[ascending],
        direct=np.append(plain.direct, blank)[ascending],
        arrived=np.append(plain.arrived, blank)[ascending],
    )
    return with_lessons, float(most)
