"""How far lessons are trusted here: a few numbers, fitted to exams.

They follow from the first 16, 32, 64, … lessons in force, at most 1,024 of them by the hash of
their ids, and from what these recorded. They are computed outside of the transaction that writes,
and stored if the lessons are still the same; never on the way of a question.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from itertools import chain, islice

import numpy as np

from hebbgraph.arrays import BoolArray, FloatArray
from hebbgraph.errors import StorageError
from hebbgraph.formulas.association import scale_by_confidence
from hebbgraph.formulas.evidence import BAG_SHARE, DENSE_SHARE
from hebbgraph.formulas.fitting import (
    KINDS,
    Exams,
    Trust,
    fit_shares,
    fit_trust,
    score_under,
    scores_of,
)
from hebbgraph.learning.applying import (
    DOT,
    SQUARE,
    WORDS,
    Products,
    evidence_of,
    greatest_likeness,
    products,
    share_taught,
)
from hebbgraph.learning.folding import question_weights
from hebbgraph.learning.lessons import LessonRow, lessons_of
from hebbgraph.records import Evaluation
from hebbgraph.store.database import Cache, Database, Session
from hebbgraph.store.meta import read_counts, read_json, write_counts, write_meta
from hebbgraph.store.postings import portions

_FEWEST, _MOST = 16, 1024
#: A chunk that was not shown has this share of the lowest shown score.
_BEYOND = 0.9
#: Readers who were shown fewer chunks than this had no choice.
_CHOICE = 5
#: How many texts that lessons bring are candidates of an exam.
_BROUGHT = 20
_TRACE = 1e-6  # that rounding leaves of a question when it is taken out


def read_trust(session: Session) -> Trust:
    """Return the fitted numbers, or the prior's."""
    fitted = read_json(session, "trust") or {"vectors": _prior(session)}
    return Trust(**{name: value for name, value in fitted.items() if name != "n"})


def _prior(session: Session) -> float:
    """Return the share of vectors that lessons start from."""
    model = read_json(session, "embedder") or {}
    return BAG_SHARE if model.get("bag_of_words") else DENSE_SHARE


def fit_if_due(database: Database, *, quorum: int, anew: bool = False) -> None:
    """Fit when the number of lessons has doubled, or ``anew`` after some were forgotten."""
    with suppress(StorageError):  # it remains due, and the lesson is stored already
        with database.read() as session:
            n_lessons = int(session.meta.get("lessons", "0"))
            n = 1 << (n_lessons.bit_length() - 1) if n_lessons >= _FEWEST else 0
            if n == (read_json(session, "trust") or {"n": 0})["n"] and not (anew and n):
                return
            ids = _first(session, n)
            trust = _fitted(session, _drawn(session, ids), quorum)
        with database.write() as session:
            if ids == _first(session, n):
                write_counts(session, read_counts(session))
                write_meta(session, {"trust": json.dumps({"n": n, **asdict(trust)})})


def evaluate(database: Database, *, quorum: int) -> Evaluation:
    """Ask past questions again, with and without what others taught."""
    with database.read() as session:
        trust = read_trust(session)
        shares = trust.vectors, trust.graph
        drawn = _drawn(session, _first(session, int(session.meta.get("lessons", "0"))))
        exams = _exams(session, drawn, quorum, shares)
    if not len(exams.cited):
        return Evaluation(questions=0, untaught=0.0, taught=0.0, error=0.0)
    plain, taught = scores_of(exams, trust)
    error = float((taught - plain).std() / math.sqrt(len(plain)))
    return Evaluation(
        questions=len(plain),
        untaught=round(float(plain.mean()), 6),
        taught=round(float(taught.mean()), 6),
        error=round(error, 6),
        better=int((taught > plain).sum()),
        worse=int((taught < plain).sum()),
    )


def _first(session: Session, n: int) -> list[str]:
    """Return the ids of the first n lessons in force."""
    return [id_ for (id_,) in session.rows("SELECT id FROM $lesson ORDER BY seq LIMIT ?", n)]


def _drawn(session: Session, ids: list[str]) -> list[LessonRow]:
    """Return the first lessons by the hash of their ids that can be exams."""
    ids = sorted(ids, key=lambda id_: hashlib.blake2b(id_.encode()).digest())
    lessons = chain.from_iterable(lessons_of(session, part) for part in portions(ids, _MOST))
    exams = (row for row in lessons if row.body["cited"] and row.body["scores"])
    return list(islice(exams, _MOST))


def _fitted(session: Session, lessons: Sequence[LessonRow], quorum: int) -> Trust:
    width = max((len(lesson.body["found"]) for lesson in lessons), default=0)
    found = np.zeros((len(lessons), width, 3))
    cited, present = np.zeros((2, len(lessons), width), np.bool_)
    for at, lesson in enumerate(lessons):
        parts, named = lesson.body["found"], set(lesson.body["cited"].values())
        found[at, : len(parts)] = list(parts.values())
        cited[at, : len(parts)] = [digest in named for digest in parts]
        present[at, : len(parts)] = True
    shares = fit_shares(found, cited, present, _prior(session))
    trust = fit_trust(_exams(session, lessons, quorum, shares))
    return replace(trust, vectors=shares[0], graph=shares[1])


def _exams(
    session: Session, lessons: Sequence[LessonRow], quorum: int, shares: tuple[float, float]
) -> Exams:
    """Ask the question of each lesson again, without what was taught for it, under some shares."""
    parts = list(_each(session, lessons, quorum, shares))
    width = max((len(part[-1]) for part in parts), default=0)
    features, untaught = np.zeros((2, len(parts), width, len(KINDS) + 2))
    cited, present = np.zeros((2, len(parts), width), np.bool_)
    for at, part in enumerate(parts):
        n = len(part[-1])
        features[at, :n], untaught[at, :n], cited[at, :n] = part
        present[at, :n] = True
    return Exams(features, untaught, cited, present)


def _each(
    session: Session, lessons: Sequence[LessonRow], quorum: int, shares: tuple[float, float]
) -> Iterator[tuple[FloatArray, FloatArray, BoolArray]]:
    """Yield the features of each exam, those without what was taught of the cited, and these.

    An exam of n texts has features of shape (n, 8): see :class:`Exams`.
    """
    cache = Cache()
    for lesson in lessons:
        shown = _shown(lesson, shares)
        cited = set(lesson.body["cited"].values())
        texts = sorted(cited | shown.keys())
        found = products(
            session, lesson.cues, lesson.path, lesson.vector, digests=texts, cache=cache
        )
        values = without(found, question_weights(session, lesson.question_key, quorum))
        texts = _choice_set(shown, cited, found.digests, values)
        taught, untaught = dict(zip(found.digests, values, strict=True)), np.zeros(values.shape[1:])
        values = np.array([taught.get(text, untaught) for text in texts])
        beyond = _BEYOND * min(shown.values(), default=0.0)
        static = np.array([shown.get(text, beyond) for text in texts])
        is_cited = np.array([text in cited for text in texts])
        blank = values.copy()
        blank[is_cited] = 0.0
        yield _features(static, values), _features(static, blank), is_cited


def _choice_set(
    shown: Collection[str], cited: set[str], taught: Sequence[str], values: FloatArray
) -> list[str]:
    """Return the texts from which readers chose: shown ones, cited ones and those that words bring.

    A choice among the chunks shown says nothing of others; a citation beyond them does.
    """
    texts = {*shown, *cited}
    if len(shown) < _CHOICE or not cited <= set(shown):
        best = evidence_of(values)[:, WORDS].argsort(kind="stable")[::-1].tolist()
        brought = [taught[at] for at in best if taught[at] not in shown]
        texts.update(brought[:_BROUGHT])
    return sorted(texts)


def _shown(lesson: LessonRow, shares: tuple[float, float]) -> dict[str, float]:
    """Return the scores of the chunks that were shown, as they would be under other shares."""
    digests, scores = list(lesson.body["scores"]), np.array(list(lesson.body["scores"].values()))
    found, then = np.array(list(lesson.body["found"].values())), lesson.body["shares"]
    if then is not None and tuple(then) != shares:
        before, now = score_under(found, *then), score_under(found, *shares)
        scores = np.where(before > 0, scores * now / np.maximum(before, 1e-9), scores)
    return dict(zip(digests, scores.tolist(), strict=True))


def _features(static: FloatArray, values: FloatArray) -> FloatArray:
    evidence, taught = evidence_of(values), share_taught(values)
    confidence, likest = float(static.max(initial=0.0)), greatest_likeness(evidence)
    gain, handicap = scale_by_confidence(confidence, likest, evidence, taught[:, None])
    return np.concatenate((static[:, None], gain, -handicap), axis=1)


def without(found: Products, own: Mapping[tuple[str, int], float]) -> FloatArray:
    """Take a question out of the sums to which it was added with some weights."""
    left, place = found.values.copy(), {digest: at for at, digest in enumerate(found.digests)}
    for (digest, kind), weight in own.items():
        if (at := place.get(digest)) is not None:
            dot, square = found.values[at, kind].T
            square = square - 2 * weight * dot + weight**2
            left[at, kind, :, DOT] = np.maximum(dot - weight - _TRACE, 0.0)
            left[at, kind, :, SQUARE] = np.maximum(square, 0.0)
    return left
