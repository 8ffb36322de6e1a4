"""Lessons: taught, listed, forgotten, exported; and recalls that are judged later."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from operator import itemgetter
from typing import Any

import numpy as np

from hebbgraph.errors import LessonError, ParameterError
from hebbgraph.formulas.association import MANY_SHOWN, shared_credit
from hebbgraph.learning.folding import add_lessons, remove_lessons
from hebbgraph.learning.lessons import (
    Cues,
    LessonRow,
    believed,
    chosen_lessons,
    lessons_on,
    living,
    path_cues,
    question_cues,
    question_key,
)
from hebbgraph.records import Lesson, Recall
from hebbgraph.settings import Settings
from hebbgraph.store.chunks import chunks_by_id
from hebbgraph.store.database import Database, Session

_LISTED = "recall", "question", "cited", "rejected", "shown", "weight", "trusted", "reason"
#: A lesson is in force if a chunk that it names is believed this far.
_BELIEVED = 0.25
#: So many recalls are kept, the newest ones.
_MOST_KEPT = 10_000
#: Lessons that are imported in one transaction.
_BATCH = 5000


def rated(
    cited: Iterable[str], rejected: Iterable[str], rating: float | None
) -> tuple[list[str], list[str], float]:
    """Return what is cited and what rejected, each once, and the weight of a rating."""
    good, bad, weight = list(dict.fromkeys(cited)), list(dict.fromkeys(rejected)), 1.0
    if rating is not None:
        if not isinstance(rating, int | float) or not -1.0 <= rating <= 1.0:
            raise ParameterError(f"rating is a number from -1 to 1, got {rating!r}")
        weight = abs(float(rating))
        if rating < 0:  # what was cited counts as rejected
            good, bad = [], [*good, *bad]
    if both := set(good) & set(bad):
        raise LessonError(f"{sorted(both)[0]!r} is both cited and rejected; choose one")
    return good, bad, weight


def why_nothing(
    recall: Recall, good: list[str], bad: list[str], visible: list[str], weight: float
) -> str:
    """Return why nothing is learned of a recall; "" if something is."""
    if not good and not bad:
        return "nothing is cited or rejected"
    if not weight:
        return "a rating of 0 says nothing"
    if not bad and len(visible) >= MANY_SHOWN and set(visible) <= set(good):
        return f"all {len(visible)} shown chunks are cited, which tells none from another"
    return "" if recall.terms else "the question has no words"


def digests_of(session: Session, recall: Recall, ids: list[str]) -> dict[str, str]:
    """Return the digests of hits, and of other chunks of the index."""
    digests = {hit.id: hit.digest for hit in recall.hits}
    missing = [id_ for id_ in ids if id_ not in digests]
    stored = chunks_by_id(session, missing) if missing else {}
    for id_ in missing:
        if id_ not in stored:
            sql = "SELECT id FROM $chunk WHERE document_id = ? ORDER BY id LIMIT 3"
            of_document = [row[0] for row in session.rows(sql, id_)]
            hint = f", but a document, with the chunks {of_document}" if of_document else ""
            text = f"{id_!r} is no hit of recall {recall.id}, and no chunk of the index{hint}"
            raise LessonError(text)
        digests[id_] = stored[id_].digest
    return digests


def reinforce(session: Session, recall: Recall, lesson: Lesson, settings: Settings) -> None:
    """Store a lesson and change the edges by what it teaches."""
    vector = None if recall.vector is None else np.array(recall.vector, np.float32)
    body = {
        **lesson.model_dump(include=set(_LISTED)),
        "question": lesson.question if settings.keep_questions else "",
        "credit": shared_credit(len(lesson.cited), lesson.shown),
        "scores": {hit.digest: round(hit.untaught, 6) for hit in recall.hits},
        "found": {
            hit.digest: [round(part or 0.0, 4) for part in (hit.words, hit.vectors, hit.graph)]
            for hit in recall.hits
        },
        "shares": recall.shares,
    }
    row = LessonRow(
        0,
        lesson.id,
        question_key(recall.terms),
        lesson.actor,
        lesson.created,
        body,
        question_cues(recall.terms, {cue.tag: cue.weight for cue in recall.cues}),
        path_cues(recall.active),
        vector,
    )
    add_lessons(session, [row], quorum=settings.quorum)


# -- listed, forgotten -------------------------------------------------------------------


def listed_lessons(session: Session, chosen: Mapping[str, Any], settings: Settings) -> list[Lesson]:
    """Return the lessons that fit what is chosen, from the first to the last."""
    rows = chosen_lessons(session, chosen)
    on_question = lessons_on(session, {row.question_key for row in rows})
    live = living(session, map(LessonRow.texts, rows))
    return [
        _as_lesson(row, _why_not(row, on_question[row.question_key], live, settings.quorum))
        for row in rows
    ]


def _as_lesson(row: LessonRow, note: str = "") -> Lesson:
    said = {name: row.body[name] for name in _LISTED}
    return Lesson(id=row.id, actor=row.actor, created=row.created, note=note, **said)


def _why_not(row: LessonRow, beside: Sequence[LessonRow], live: set[str], quorum: int) -> str:
    """Return why a lesson moves nothing; "" if it moves something."""
    if row.texts().isdisjoint(live):
        return "its chunks were deleted or edited; it rests until the same text is back"
    later = beside[[each.seq for each in beside].index(row.seq) + 1 :]
    claims = [each.statement().claim for each in later if each.actor == row.actor]
    claim = row.statement().claim
    if row.actor is not None and any(said != claim for said in claims):
        return "the actor has since said something else about this question"
    beliefs, (cited, rejected) = believed(beside, quorum), claim
    if any(
        (digest in cited and belief.cited >= _BELIEVED)
        or (digest in rejected and belief.rejected >= _BELIEVED)
        for digest, belief in beliefs.items()
    ):
        return ""
    if len({each.actor for each in beside}) < quorum:
        return f"fewer than {quorum} actors say so"
    return "others contradict it"


def forget(session: Session, chosen: Mapping[str, Any], *, quorum: int, dry_run: bool) -> int:
    """Forget the lessons that fit what is chosen; return how many."""
    seqs = [row.seq for row in chosen_lessons(session, chosen)]
    if seqs and not dry_run:
        remove_lessons(session, seqs, quorum=quorum)
        session.run("DELETE FROM $meta WHERE key = ?", "trust")  # until it is fitted anew
    return len(seqs)


# -- files --------------------------------------------------------------------------------


def export_lessons(session: Session) -> Iterator[str]:
    """Yield each lesson as a line of JSON."""
    for row in chosen_lessons(session, {}):
        value = {
            **row._asdict(),
            "cues": [part.tolist() for part in row.cues],
            "path": [part.tolist() for part in row.path],
            "vector": None if row.vector is None else row.vector.tolist(),
        }
        del value["seq"]
        yield json.dumps(value, ensure_ascii=False)


def import_lessons(database: Database, lines: Iterable[str], *, quorum: int) -> int:
    """Teach exported lessons that the index does not hold; return how many."""
    rows, n = map(_imported, enumerate(lines, start=1)), 0
    while batch := list(islice(rows, _BATCH)):
        with database.write() as session:
            sql = "SELECT id FROM $lesson WHERE id = ANY(?)"
            held = {id_ for (id_,) in session.rows(sql, [row.id for row in batch])}
            new = list({row.id: row for row in batch if row.id not in held}.values())
            add_lessons(session, new, quorum=quorum)
        n += len(new)
    return n


def _imported(numbered: tuple[int, str]) -> LessonRow:
    number, line = numbered
    try:
        value = json.loads(line)
        itemgetter(*LessonRow._fields[1:])(value)  # all are there
        for name in ("cues", "path"):
            keys, weights = value[name]
            value[name] = Cues(np.array(keys, np.int64), np.array(weights, np.int64))
        vector = value["vector"]
        value["vector"] = None if vector is None else np.array(vector, np.float32)
        row = LessonRow(seq=0, **value)
        scores, (vectors, graph) = row.body["scores"].values(), row.body["shares"] or (1, 1)
        numbers = [row.created, row.body["weight"], row.body["credit"], vectors, graph, *scores]
        found = np.reshape(list(row.body["found"].values()), (len(scores), 3))
        numbers += (*(vector or ()), *found.ravel().tolist())
        if not isinstance(row.question_key, str) or not np.isfinite(numbers).all():
            raise ValueError("a number is not finite, or the question has no key")
        _as_lesson(row)  # pydantic checks the rest
        return row
    except (ValueError, TypeError, ArithmeticError, LookupError, AttributeError) as error:
        reason = f"it lacks {error}" if isinstance(error, KeyError) else str(error)
        raise LessonError(f"line {number} is not an exported lesson: {reason:.200}") from error


# -- recalls ------------------------------------------------------------------------------


def keep(session: Session, recall: Recall, answer: str | None) -> None:
    """Keep what lessons need of a recall, and the answer that it was for."""
    bare = {"title": "", "text": "", "metadata": {}, "path": ()}
    hits = tuple(hit.model_copy(update=bare) for hit in recall)
    slim = recall.model_copy(update={"hits": hits, "where": None})
    if any(held.question != recall.question for held in kept(session, recall.id)):
        raise LessonError(
            f"recall id {recall.id!r} is taken by another question; let the index name recalls"
        )
    session.run("DELETE FROM $kept WHERE id = ? AND answer = ?", recall.id, answer or "")
    sql = "INSERT INTO $kept(id, answer, body) VALUES (?, ?, ?)"
    session.run(sql, recall.id, answer or "", slim.model_dump_json())
    session.run("DELETE FROM $kept WHERE seq <= (SELECT max(seq) - ? FROM $kept)", _MOST_KEPT)


def kept(session: Session, id_: str) -> list[Recall]:
    """Return the recalls that were kept under their own id, or that of an answer."""
    sql = "SELECT id, body FROM $kept WHERE ? IN (id, answer) AND ? <> '' ORDER BY seq"
    found = dict(session.rows(sql, id_, id_))
    return [Recall.model_validate_json(body) for body in found.values()]
