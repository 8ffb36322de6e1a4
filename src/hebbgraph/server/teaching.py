"""Routes of the role ``teach``: what answers cited."""

from __future__ import annotations

from starlette.responses import Response

from hebbgraph.server import bodies
from hebbgraph.server.visit import Visiting

__all__ = ["reinforce"]


async def reinforce(body: bodies.ReinforceRequest, visit: Visiting) -> Response:
    """Learn from an answer: which of the chunks shown to the model it cites."""
    actor = visit.caller.actor_of(body.actor)
    return await visit.answer(
        lambda index: index.reinforce(
            body.recall, body.cited, rejected=body.rejected, shown=body.shown, actor=actor
        ),
        pool="write",
    )
