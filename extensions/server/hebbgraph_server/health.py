"""Whether the index behind the server answers; told to anybody, so without a name or a path."""

from __future__ import annotations

import asyncio
import logging

from hebbgraph._version import __version__
from hebbgraph.errors import HebbgraphError
from starlette.responses import Response

from hebbgraph_server.bodies import Health
from hebbgraph_server.indexes import Indexes
from hebbgraph_server.problems import problem, response

__all__ = ["Examiner"]

logger = logging.getLogger(__name__)

_MAX_SECONDS = 3.0


class Examiner:
    """Asks the index for its state, which a recall begins with, too.

    However many ask, the index is asked once at a time, in a thread of its own: a server whose
    threads are all busy is well.

    Parameters
    ----------
    indexes : Indexes
    """

    def __init__(self, indexes: Indexes) -> None:
        self._indexes = indexes
        self._looking: asyncio.Task[None] | None = None
        self._told: str | None = None

    async def answer(self) -> Response:
        """Return 200 if the index answers, 503 if not."""
        if self._looking is None or self._looking.done():
            self._looking = asyncio.create_task(asyncio.to_thread(self._indexes.check))
            self._looking.add_done_callback(lambda task: task.cancelled() or task.exception())
        try:
            await asyncio.wait_for(asyncio.shield(self._looking), _MAX_SECONDS)
        except TimeoutError:
            return self._fails("TimeoutError", f"no answer within {_MAX_SECONDS:g} s")
        except (HebbgraphError, OSError) as error:
            return self._fails(type(error).__name__, str(error))
        self._tell(None)
        health = Health(version=__version__)
        return Response(health.model_dump_json(), media_type="application/json")

    def _fails(self, error: str, detail: str) -> Response:
        self._tell(f"{error}: {detail}")
        return response(
            problem(503, error, f"the index does not answer ({error}); the server's log says more")
        )

    def _tell(self, what: str | None) -> None:
        """Log what changed."""
        if what is not None and what != self._told:
            logger.error("health: %s", what)
        elif what is None and self._told is not None:
            logger.warning("health: well again")
        self._told = what
