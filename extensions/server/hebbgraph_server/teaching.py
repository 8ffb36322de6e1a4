"""Routes that teach: lessons are given, listed, taken back."""

import asyncio
from collections.abc import Iterable, Sequence
from typing import Annotated

from fastapi import APIRouter, Query

from hebbgraph import HebbianIndex, Lesson
from hebbgraph.citations.exchange import Reason
from hebbgraph.records import Evaluation
from hebbgraph.records.base import MAX_ID, MAX_QUESTION
from hebbgraph_server import models
from hebbgraph_server.errors import RESPONSES, ApiError
from hebbgraph_server.tokens import Role, Token
from hebbgraph_server.visits import Reader, Visit
from hebbgraph_server.why import named

router = APIRouter(prefix="/v1", responses=RESPONSES)
_Name = Annotated[str | None, Query(max_length=MAX_ID)]


def may_undo(token: Token, lesson: Lesson) -> bool:
    """Return whether a token may take a lesson back."""
    if not token.may_teach or token.role == Role.ADMIN:
        return token.may_teach
    if token.actor is not None:
        return lesson.actor == token.actor
    return token.role == Role.WRITE or not lesson.trusted


@router.post("/lessons", tags=["teach"])
async def teach(body: models.LessonBody, visit: Reader) -> models.LessonOut:
    """Say which passages answer a question, and which are wrong."""
    visit.check_teaches()
    if (body.recall is None) is (body.answer is None):
        raise ApiError(422, "invalid", "give either recall or answer", "recall")
    if body.answer is not None:
        return await _judged(visit, body, body.answer)

    def work(index: HebbianIndex) -> models.LessonOut:
        recalls = [recall for recall in index.kept(str(body.recall)) if recall.id == body.recall]
        if not recalls:
            text = f"no recall {body.recall!r:.80} is kept (any more); ask again, then teach"
            raise ApiError(404, "not_found", text, "recall")
        _check_passages(visit, index, [*body.cited, *body.rejected])
        given = index.reinforce(
            recalls[0],
            **body.model_dump(include={"cited", "rejected", "rating", "shown", "reason"}),
            actor=visit.actor(body.actor),
            trusted=visit.trusts(body.trusted),
        )
        if given.note:  # it is not stored
            raise ApiError(422, "invalid", f"nothing is learned: {given.note}", "cited")
        return _shown(visit, index, [given])[0]

    return await visit.run(work, "write")


async def _judged(visit: Visit, body: models.LessonBody, answer: str) -> models.LessonOut:
    """Judge an answer, whichever worker asked for it; wait a moment if it is still being stored."""
    if not body.rating or body.rejected:
        text = "an answer is judged by rating, from -1 to 1 but not 0, and by cited if you like"
        raise ApiError(422, "invalid", text, "rating")
    unknown = ApiError(404, "not_found", f"no answer {answer!r:.80} is kept (any more)", "answer")

    def check(index: HebbianIndex) -> None:
        _check_passages(visit, index, body.cited)
        former = index.lessons(recall=[recall.id for recall in index.kept(answer)])
        if seen_of(visit, index, former) != former:  # the verdict would be about them
            raise unknown

    await visit.run(check)
    waiting = visit.service.learner.verdict(
        answer,
        body.rating,
        cited=body.cited or None,
        actor=visit.actor(body.actor),
        trusted=visit.trusts(body.trusted),
        namespace=visit.namespace,
        reason=body.reason,
    )
    outcome = await asyncio.wrap_future(waiting)
    if outcome.reason == Reason.UNKNOWN_ANSWER:
        raise unknown
    if not outcome.lessons:
        text = f"nothing is learned: {outcome.detail or outcome.reason}"
        raise ApiError(422, "invalid", text, "answer")
    return (await visit.run(lambda index: _shown(visit, index, outcome.lessons)))[0]


def _check_passages(visit: Visit, index: HebbianIndex, ids: list[str]) -> None:
    """Refuse passages that do not exist for the token."""
    if missing := set(ids) - {chunk.id for chunk in visit.visible(index, ids)}:
        raise ApiError(404, "not_found", f"there is no passage {min(missing)!r:.80}", "cited")


def _named_in(lessons: Iterable[Lesson]) -> set[str]:
    return {id_ for lesson in lessons for id_ in (*lesson.cited, *lesson.rejected)}


def _shown(visit: Visit, index: HebbianIndex, lessons: Sequence[Lesson]) -> list[models.LessonOut]:
    """Return lessons with the titles of their passages."""
    chunks = visit.visible(index, sorted(_named_in(lessons)))
    titles = {chunk.id: models.Named(**named(chunk)) for chunk in chunks}
    return [
        models.LessonOut(
            **lesson.model_dump(exclude={"cited", "rejected", "shown"}),
            cited=[titles.get(id_, models.Named(id=id_)) for id_ in lesson.cited],
            rejected=[titles.get(id_, models.Named(id=id_)) for id_ in lesson.rejected],
            may_undo=may_undo(visit.token, lesson),
        )
        for lesson in lessons
    ]


def seen_of(visit: Visit, index: HebbianIndex, lessons: list[Lesson]) -> list[Lesson]:
    """Return the lessons that a token sees: with a filter, those whose passages all pass it."""
    seen = {chunk.id for chunk in visit.visible(index, _named_in(lessons))}
    return [each for each in lessons if visit.token.filter is None or _named_in([each]) <= seen]


@router.get("/lessons", tags=["read"])
async def lessons(
    visit: Reader,
    actor: _Name = None,
    chunk: _Name = None,
    recall: _Name = None,
    question: Annotated[str | None, Query(max_length=MAX_QUESTION)] = None,
    since: float | None = None,
    until: float | None = None,
    limit: Annotated[int, Query(ge=1, le=1_000)] = 100,
    offset: Annotated[int, Query(ge=0)] = 0,
) -> models.Lessons:
    """List lessons, the newest first; ``note`` says why one moves nothing."""

    def work(index: HebbianIndex) -> models.Lessons:
        found = index.lessons(actor=actor, chunk=chunk, recall=recall, since=since, until=until)
        seen = reversed(seen_of(visit, index, found))
        listed = [lesson for lesson in seen if question in (None, lesson.question)]
        shown = _shown(visit, index, listed[offset : offset + limit])
        return models.Lessons(lessons=shown, total=len(listed))

    return await visit.run(work)


@router.get("/lessons/evaluation", tags=["read"])
async def evaluation(visit: Reader) -> Evaluation:
    """Ask past questions again, and compare with no lessons: did it help?"""
    visit.check_whole()
    return await visit.run(lambda index: index.evaluate(), "write")


@router.delete("/lessons/{id}", tags=["teach"])
async def take_back(id: str, visit: Reader) -> dict[str, int]:
    """Take one lesson back; the index is as if it had never been."""
    visit.check_teaches()

    def work(index: HebbianIndex) -> int:
        found = [lesson for lesson in seen_of(visit, index, index.lessons()) if lesson.id == id]
        if not found:
            raise ApiError(404, "not_found", f"there is no lesson {id!r:.80} (any more)")
        if not may_undo(visit.token, found[0]):
            whose = found[0].actor or "somebody else"
            text = f"this lesson belongs to {whose}; whoever runs the server can forget it"
            raise ApiError(403, "not_allowed", text)
        return index.forget(id)

    return {"forgotten": await visit.run(work, "write")}
