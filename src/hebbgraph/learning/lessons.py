"""Lessons: what somebody said of a recall, as rows.

A lesson records all that learning reads, so nothing depends on when it is folded: the cues of its
question with their weights, the embedding, and the digests of the texts that it is about. A lesson
is about a text: as long as a chunk with that text lives, what was taught leads there.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Mapping, Set
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from hebbgraph.arrays import Float32Array, IntArray
from hebbgraph.formulas.votes import Belief, Statement, beliefs
from hebbgraph.store.database import Session

#: One unit of a learned weight. Whole numbers add up to the same in any order.
UNIT = 2.0**-30
#: Weight of a tag among the cues: its words are cues, too.
_TAG = 0.3


class Cues(NamedTuple):
    """A question as a vector of unit length over its cues; both arrays have shape (n,)."""

    keys: IntArray
    weights: IntArray

    def pack(self) -> bytes:
        return self.keys.astype("<i8").tobytes() + self.weights.astype("<i8").tobytes()

    @classmethod
    def unpack(cls, data: bytes) -> Cues:
        n = len(data) // 16
        return cls(np.frombuffer(data, "<i8", n), np.frombuffer(data, "<i8", n, 8 * n))


class LessonRow(NamedTuple):
    """One lesson as it is stored."""

    seq: int
    id: str
    question_key: str
    actor: str | None
    created: float
    #: ``cited`` and ``rejected`` (digests in hex by chunk id), ``weight``, ``credit``, ``trusted``,
    #: ``scores`` (untaught, of the hits by digest), and what people read: question, reason, ….
    body: dict[str, Any]
    cues: Cues  #: of its question
    path: Cues  #: the tags over which activation spread
    vector: Float32Array | None

    def texts(self) -> set[str]:
        """Return the digests of the texts that the lesson names."""
        return {*self.body["cited"].values(), *self.body["rejected"].values()}

    def statement(self) -> Statement:
        return Statement(
            self.actor,
            frozenset(self.body["cited"].values()),
            frozenset(self.body["rejected"].values()),
            self.body["weight"],
            self.body["trusted"],
        )


def question_key(words: Iterable[str]) -> str:
    """Return a key that questions share if they have the same words, in any order.

    >>> question_key(["moss", "live"]) == question_key(["live", "moss"])
    True
    """
    joined = "\0".join(sorted(words))
    return hashlib.blake2b(joined.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def cue_number(kind: bytes, text: str) -> int:
    """Return the number of a cue: ``b"w"`` for a word, ``b"t"`` for a tag, ``b"p"`` on a path.

    Learned edges outlive terms, so terms have no say.
    """
    data = text.encode("utf-8", "surrogatepass")
    digest = hashlib.blake2b(data, digest_size=8, person=kind).digest()
    return int.from_bytes(digest, "little", signed=True)


def question_cues(words: Mapping[str, float], tags: Mapping[str, float]) -> Cues:
    """Return a question as a vector of unit length over words and tags, by squared weights."""
    squares = {cue_number(b"w", word): weight for word, weight in words.items()}
    squares |= {cue_number(b"t", tag): _TAG**2 * weight for tag, weight in tags.items()}
    return _unit(squares)


def path_cues(active: Mapping[str, float]) -> Cues:
    """Return the tags over which activation spread as a vector of unit length."""
    return _unit({cue_number(b"p", tag): mass**2 for tag, mass in active.items()})


def _unit(squares: Mapping[int, float]) -> Cues:
    keys = np.array(sorted(squares), np.int64)
    weights = np.sqrt([squares[key] for key in keys.tolist()])
    length = float(np.sqrt((weights**2).sum())) or 1.0
    return Cues(keys, np.rint(weights / length / UNIT).astype(np.int64))


def insert_lesson(session: Session, lesson: LessonRow) -> None:
    """Store a lesson; its number is given by the database."""
    session.run(
        "INSERT INTO $lesson(id, question_key, actor, created, recall, body, cues, path, "
        "vector) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        lesson.id,
        lesson.question_key,
        lesson.actor,
        lesson.created,
        lesson.body["recall"],
        json.dumps(lesson.body, ensure_ascii=False),
        lesson.cues.pack(),
        lesson.path.pack(),
        None if lesson.vector is None else lesson.vector.astype("<f4").tobytes(),
    )


def lessons_on(session: Session, keys: Iterable[str]) -> dict[str, list[LessonRow]]:
    """Return the lessons on each question key, from the first to the last, imported or not."""
    found: dict[str, list[LessonRow]] = {}
    for lesson in _lessons_where(session, "question_key = ANY(?)", list(keys)):
        found.setdefault(lesson.question_key, []).append(lesson)
    return found


def believed(lessons: Iterable[LessonRow], quorum: int) -> dict[str, Belief]:
    """Return how far the texts that the lessons on one question name are believed."""
    return beliefs([lesson.statement() for lesson in lessons], quorum=quorum)


def count_resting(session: Session, digests: Collection[str]) -> int:
    """Return how many lessons rest because no chunk has one of these texts any more."""
    sql = "SELECT DISTINCT question_key FROM $answered WHERE digest = ANY(?)"
    keys = [key for (key,) in session.rows(sql, sorted(digests))] if digests else []
    lessons = chain.from_iterable(lessons_on(session, keys).values())
    named = [lesson.texts() for lesson in lessons]
    live = living(session, named)
    return sum(not texts.isdisjoint(digests) and texts.isdisjoint(live) for texts in named)


def living(session: Session, named: Iterable[Set[str]]) -> set[str]:
    """Return those of the texts that lessons name which a chunk has."""
    sql = "SELECT DISTINCT digest FROM $chunk WHERE digest = ANY(?)"
    return {digest for (digest,) in session.rows(sql, sorted(set().union(*named)))}


def _lessons_where(session: Session, condition: str, *values: Any) -> list[LessonRow]:
    """Return the lessons for which a condition holds, from the first to the last."""
    sql = f"SELECT {', '.join(LessonRow._fields)} FROM $lesson WHERE {condition} "
    sql += "ORDER BY created, seq"
    lessons = []
    for seq, id_, key, actor, created, body, *cues, data in session.rows(sql, *values):
        question, path = map(Cues.unpack, cues)
        vector = None if data is None else np.frombuffer(data, "<f4")
        about = json.loads(body)
        lessons.append(LessonRow(seq, id_, key, actor, created, about, question, path, vector))
    return lessons


def lessons_of(session: Session, ids: list[str]) -> list[LessonRow]:
    """Return lessons by id, in the order of the ids."""
    found = {lesson.id: lesson for lesson in _lessons_where(session, "id = ANY(?)", ids)}
    return [found[id_] for id_ in ids]


def chosen_lessons(session: Session, chosen: Mapping[str, Any]) -> list[LessonRow]:
    """Return the lessons that fit all that is chosen, from first to last."""
    conditions = {
        "lesson": "id = ?",
        "actor": "actor = ?",
        "chunk": "replace(body, ?, '') <> body",
        "recall": "recall = ANY(?)",
        "since": "created >= ?",
        "until": "created < ?",
    }
    wanted = [name for name in conditions if chosen.get(name) is not None]
    condition = " AND ".join(["1 = 1", *(conditions[name] for name in wanted)])
    chunk = chosen.get("chunk")
    values = {**chosen, "chunk": f"{json.dumps(chunk, ensure_ascii=False)}: "}
    lessons = _lessons_where(session, condition, *(values[name] for name in wanted))
    if chunk is None:
        return lessons
    return [row for row in lessons if chunk in row.body["cited"] or chunk in row.body["rejected"]]
