"""Routes of the role ``teach``: teach, list lessons, take them back."""

from __future__ import annotations

from typing import Any

from hebbgraph.errors import AccessError
from hebbgraph.hebbian_index import HebbianIndex
from hebbgraph.records import Forgetting
from starlette.responses import Response

from hebbgraph_server import bodies
from hebbgraph_server.access import Role
from hebbgraph_server.served import served
from hebbgraph_server.visit import Visit


def _check_vouching(visit: Visit, trusted: bool) -> None:
    """Raise AccessError if an actor vouches for its own lesson."""
    if trusted and (actor := visit.caller.actor) is not None:
        raise AccessError(f"{actor!r} cannot vouch for itself; leave trusted out")


async def find_feedback(body: bodies.FindFeedbackRequest, visit: Visit) -> Response:
    """Return the feedback with these ids, in the order of the log.

    A token with an actor sees that actor's feedback alone.
    """
    actor = visit.caller.actor

    def work(index: HebbianIndex) -> bodies.Feedbacks:
        feedbacks = index.find_feedback(body.ids)
        return bodies.Feedbacks(feedback=[f for f in feedbacks if actor in (None, f.actor)])

    return await visit.answer(work)


def _permitted_actor(visit: Visit, actor: str | None, unnamed: bool) -> str | None:
    """Return the actor that a request selects; raise AccessError if the token may not."""
    if unnamed and visit.caller.actor is not None:
        raise AccessError(
            f"the token {visit.caller.name!r} acts as {visit.caller.actor!r}; leave unnamed out"
        )
    return visit.caller.actor_of(actor)


async def forget(body: bodies.ForgetRequest, visit: Visit) -> Response:
    """Preview what forgetting would change; with ``dry_run: false``, take feedback back.

    A token with an actor takes back that actor's feedback. Other tokens of the role ``teach`` take
    back feedback by its id alone; wider criteria need ``write``.
    """
    names = ("feedback", "unnamed", "chunk", "since", "until", "everything")
    criteria: dict[str, Any] = {name: getattr(body, name) for name in names}
    criteria["actor"] = _permitted_actor(visit, body.actor, body.unnamed)
    if visit.caller.actor is not None:
        criteria["everything"] = False  # of this actor
    wide = visit.caller.actor is None and body.feedback is None
    if not body.dry_run and (wide or body.erase):
        visit.caller.check(Role.WRITE, visit.namespace)

    def work(index: HebbianIndex) -> bodies.Forgotten:
        unknown = _unknown(index, body.feedback, visit.caller.actor)
        if body.dry_run:
            preview = index.forget(**criteria, dry_run=True)
            return bodies.Forgotten(preview=preview, unknown=unknown)
        forgotten = index.forget(**criteria, erase=body.erase)
        return bodies.Forgotten(forgotten=forgotten, unknown=unknown)

    return await visit.answer(work, pool="long")


def _unknown(index: HebbianIndex, feedback: object, actor: str | None) -> list[str]:
    """Return the ids that name no feedback the actor may see."""
    ids = [feedback] if isinstance(feedback, str) else feedback
    if not isinstance(ids, list) or not ids:
        return []
    known = {f.id for f in index.find_feedback(ids) if actor in (None, f.actor)}
    return [id for id in ids if id not in known]


def _may_undo(visit: Visit, forgetting: Forgetting) -> bool:
    """Return whether all that a forgetting took is the caller's to put back."""
    actor = visit.caller.actor
    return actor is None or set(forgetting.actors) == {actor}


async def forgotten(visit: Visit) -> Response:
    """List recent forgettings that can be undone."""
    if visit.caller.actor is None:
        visit.caller.check(Role.WRITE, visit.namespace)
    return await visit.answer(
        lambda index: bodies.Forgettings(
            forgotten=[each for each in index.log.forgotten() if _may_undo(visit, each)]
        )
    )


async def undo_forget(body: bodies.UndoForgetRequest, visit: Visit) -> Response:
    """Put back the feedback that one forgetting took."""
    if visit.caller.actor is None:
        visit.caller.check(Role.WRITE, visit.namespace)

    def work(index: HebbianIndex) -> bodies.Restored:
        for forgetting in index.log.forgotten():
            if forgetting.id == body.forgetting and not _may_undo(visit, forgetting):
                raise AccessError("others taught some of this; it takes a token without an actor")
        return bodies.Restored(undone=index.log.undo_forget(body.forgetting))

    return await visit.answer(work, pool="write")


find_answer = served("find_answer", "answer")
earlier_recalls = served("earlier_recalls", "recalls")
lesson_report = served("lesson_report", pool="long")


def _own_lessons(arguments: dict[str, Any], visit: Visit) -> None:
    """Restrict a token with an actor to its own lessons; other tokens need ``write``."""
    arguments["actor"] = _permitted_actor(visit, arguments["actor"], arguments["unnamed"])
    if visit.caller.actor is None:
        visit.caller.check(Role.WRITE, visit.namespace)


def _in_its_name(arguments: dict[str, Any], visit: Visit) -> None:
    """Set the actors of an answer's credits to those that the token may name."""
    credits = []
    for credit in arguments["record"].credits:
        _check_vouching(visit, credit.trusted)
        credits.append(credit.model_copy(update={"actor": visit.caller.actor_of(credit.actor)}))
    arguments["record"] = arguments["record"].model_copy(update={"credits": tuple(credits)})


def _as_actor(arguments: dict[str, Any], visit: Visit) -> None:
    """Set the actor of a lesson to the token's."""
    arguments["actor"] = visit.caller.actor_of(arguments["actor"])
    _check_vouching(visit, arguments["trusted"])


reinforce = served("reinforce", pool="write", check=_as_actor)
lessons = served("lessons", "lessons", pool="long", check=_own_lessons)
keep_answer = served("keep_answer", pool="write", check=_in_its_name)
