"""Whether the index answers. Anybody may ask, so the answer names no path."""

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
    """Reads the state of the index, as each recall does first.

    Concurrent requests share one check, in a thread of its own: a server whose threads are all
    busy is healthy.

    Parameters
    ----------
    indexes : Indexes
    """

    def __init__(self, indexes: Indexes) -> None:
        self._indexes = indexes
        self._check: asyncio.Task[None] | None = None
        self._failure: str | None = None

    async def answer(self) -> Response:
        """Return 200 if the index answers, 503 if not."""
        if self._check is None or self._check.done():
            self._check = asyncio.create_task(asyncio.to_thread(self._indexes.check))
            self._check.add_done_callback(lambda task: task.cancelled() or task.exception())
        try:
            await asyncio.wait_for(asyncio.shield(self._check), _MAX_SECONDS)
        except TimeoutError:
            return self._fails("TimeoutError", f"no answer within {_MAX_SECONDS:g} s")
        except (HebbgraphError, OSError) as error:
            return self._fails(type(error).__name__, str(error))
        self._log(None)
        health = Health(version=__version__)
        return Response(health.model_dump_json(), media_type="application/json")

    def _fails(self, error: str, detail: str) -> Response:
        self._log(f"{error}: {detail}")
        return response(
            problem(503, error, f"the index does not answer ({error}); the server's log says more")
        )

    def _log(self, failure: str | None) -> None:
        """Log a change of state."""
        if failure is not None and failure != self._failure:
            logger.error("health: %s", failure)
        elif failure is None and self._failure is not None:
            logger.warning("health: the index answers again")
        self._failure = failure
