"""What the lessons on one question teach, and the learned edges that change by it.

Each text has a sum of the questions that cited it: each a unit vector over cues, times how far it
is believed. Where it is rejected it has a second sum. What the lessons on one question add is a
function of these lessons alone, in whole numbers, so a new or forgotten lesson changes the edges
by the difference, and forgetting leaves no trace.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hebbgraph.formulas.votes import Belief
from hebbgraph.learning.lessons import (
    UNIT,
    Cues,
    LessonRow,
    believed,
    insert_lesson,
    lessons_on,
)
from hebbgraph.store.database import Session
from hebbgraph.store.meta import read_counts, write_counts, write_meta
from hebbgraph.store.postings import Blocks

EDGE = np.dtype([("sum", "<i4"), ("weight", "<i8")])  # from a cue to the sum of this number
_CUES = "SELECT DISTINCT cue AS id FROM $learned WHERE cue = ANY(?)"
_EDGES = Blocks("$learned", "cue", "sum", _CUES, EDGE)


class _Sum(NamedTuple):
    """What questions add to one text: weights by cue, and a vector."""

    cues: dict[int, int]
    vector: NDArray[np.int64]


#: The kinds of sums: of questions that cited a text, that rejected it, and of the paths of the
#: first. Each sum has a number of its own; no two kinds of a text share one.
CITED, REJECTED, PATH = range(3)
_Key = tuple[str, int]
"""Digest of a text, and the kind of the sum."""


def add_lessons(session: Session, lessons: Sequence[LessonRow], *, quorum: int) -> None:
    """Store lessons and change the learned edges by what they teach."""
    keys = {lesson.question_key for lesson in lessons}
    before = lessons_on(session, keys)
    for lesson in lessons:
        insert_lesson(session, lesson)
    _refold(session, keys, before, quorum)


def remove_lessons(session: Session, seqs: Sequence[int], *, quorum: int) -> None:
    """Delete lessons and take back what they taught."""
    sql = "SELECT DISTINCT question_key FROM $lesson WHERE seq = ANY(?)"
    keys = {key for (key,) in session.rows(sql, list(seqs))}
    before = lessons_on(session, keys)
    session.run("DELETE FROM $lesson WHERE seq = ANY(?)", list(seqs))
    _refold(session, keys, before, quorum)


def _refold(
    session: Session, keys: Iterable[str], before: Mapping[str, list[LessonRow]], quorum: int
) -> None:
    """Change edges and answers of some questions from what lessons said to what they say now."""
    now = lessons_on(session, keys)
    changes: dict[_Key, _Sum] = {}
    for key in sorted(keys):
        former, current = before.get(key, []), now.get(key, [])
        for at, part in _taught(former, believed(former, quorum)).items():
            _add(changes, at, part, -1)
        today = believed(current, quorum)
        for at, part in _taught(current, today).items():
            _add(changes, at, part, 1)
        session.run("DELETE FROM $answered WHERE question_key = ?", key)
        session.many(
            "INSERT INTO $answered(question_key, digest, belief) VALUES (?, ?, ?)",
            [(key, digest, belief.answers) for digest, belief in today.items() if any(belief)],
        )
    _write(session, changes)
    write_counts(session, read_counts(session))
    _count(session, "lessons", sum(map(len, now.values())) - sum(map(len, before.values())))


def _count(session: Session, name: str, change: int) -> None:
    if change:
        write_meta(session, {name: str(int(session.meta.get(name, "0")) + change)})


def _taught(lessons: Sequence[LessonRow], beliefs: Mapping[str, Belief]) -> dict[_Key, _Sum]:
    """Return what lessons add to each text: the mean of their questions, times the belief."""
    sums: dict[_Key, _Sum] = {}
    for lesson, digest, kind, share in _shares(lessons, beliefs):
        _add(sums, (digest, kind), _part(lesson.cues, lesson.vector, share), 1)
        if kind == CITED:
            _add(sums, (digest, PATH), _part(lesson.path, None, share), 1)
    return sums


def _shares(
    lessons: Sequence[LessonRow], beliefs: Mapping[str, Belief]
) -> Iterator[tuple[LessonRow, str, int, float]]:
    """Yield how much of each lesson's question is added to the sums of each text, by kind."""
    for digest, belief in beliefs.items():
        for kind, name in ((CITED, "cited"), (REJECTED, "rejected")):
            weight: float = getattr(belief, name)
            about = [each for each in lessons if weight and digest in each.body[name].values()]
            for lesson in about:
                credit = lesson.body["credit"] if kind == CITED else 1.0
                yield lesson, digest, kind, weight / len(about) * credit


def question_weights(session: Session, key: str, quorum: int) -> dict[tuple[str, int], float]:
    """Return the weights of a question in sums, whoever taught it, by text and kind."""
    lessons = lessons_on(session, [key])[key]
    sums: dict[tuple[str, int], float] = {}
    for _, text, kind, share in _shares(lessons, believed(lessons, quorum)):
        sums[text, kind] = sums.get((text, kind), 0.0) + share
    return sums | {(text, PATH): share for (text, kind), share in sums.items() if kind == CITED}


def _part(cues: Cues, vector: NDArray[np.float32] | None, share: float) -> _Sum:
    """Return a share of a question."""
    weights = np.rint(cues.weights * share).astype(np.int64)
    parts = np.zeros(0) if vector is None else vector.astype(np.float64) * (share / UNIT)
    by_cue = dict(zip(cues.keys.tolist(), weights.tolist(), strict=True))
    return _Sum(by_cue, np.rint(parts).astype(np.int64))


def _add(sums: dict[_Key, _Sum], at: _Key, part: _Sum, sign: int) -> None:
    held = sums.setdefault(at, _Sum({}, np.zeros(0, np.int64)))
    for cue, weight in part.cues.items():
        held.cues[cue] = held.cues.get(cue, 0) + sign * weight
    sums[at] = held._replace(vector=_plus(held.vector, sign * part.vector))


def _plus(first: NDArray[np.int64], second: NDArray[np.int64]) -> NDArray[np.int64]:
    if len(first) == len(second):
        return first + second
    return second.copy() if not len(first) else first


# -- rows -----------------------------------------------------------------------------------


def _write(session: Session, changes: Mapping[_Key, _Sum]) -> None:
    """Add changes to the sums of texts and to the edges that lead there."""
    edges: list[tuple[int, int, int]] = []  # cue, number of the sum, weight
    for (digest, kind), change in changes.items():
        if not any(change.cues.values()) and not change.vector.any():
            continue
        number, cues, vector = _sum_of(session, digest, kind)
        for cue, weight in change.cues.items():
            if weight:
                cues[cue] = cues.get(cue, 0) + weight
                edges.append((cue, number, cues[cue]))
        cues = {cue: cues[cue] for cue in sorted(cues) if cues[cue]}
        vector = _plus(vector, change.vector)
        if not cues and not vector.any():
            session.run("DELETE FROM $taught WHERE sum = ?", number)
            _count(session, "taught", -1)
            continue
        packed = Cues(np.array(list(cues), np.int64), np.array(list(cues.values()), np.int64))
        session.run(
            "UPDATE $taught SET cues = ?, vector = ?, square = ?, vector_square = ? WHERE sum = ?",
            packed.pack(),
            vector.astype("<i8").tobytes(),
            float(((packed.weights * UNIT) ** 2).sum()),
            float(((vector * UNIT) ** 2).sum()),
            number,
        )
    if edges:
        keys, numbers, weights = np.array(edges, np.int64).T
        gone = weights == 0
        _EDGES.remove(session, keys[gone], numbers[gone])
        records = np.rec.fromarrays((numbers[~gone], weights[~gone]), dtype=EDGE)
        _EDGES.add(session, keys[~gone], np.asarray(records))


def _sum_of(
    session: Session, digest: str, kind: int
) -> tuple[int, dict[int, int], NDArray[np.int64]]:
    """Return number, weights by cue and vector of a text's sum, making its row if there is none."""
    sql = "SELECT sum, cues, vector FROM $taught WHERE digest = ? AND kind = ?"
    found = session.rows(sql, digest, kind)
    if not found:
        session.run(
            "INSERT INTO $taught(digest, kind, cues, vector, square, vector_square) "
            "VALUES (?, ?, ?, ?, 0, 0)",
            digest,
            kind,
            b"",
            b"",
        )
        _count(session, "taught", 1)
        found = session.rows(sql, digest, kind)
    number, data, vector = found[0]
    keys, weights = Cues.unpack(data)
    cues = dict(zip(keys.tolist(), weights.tolist(), strict=True))
    return number, cues, np.frombuffer(vector, "<i8")
