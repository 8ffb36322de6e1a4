"""A server on a socket of this process, in a thread."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from hebbgraph import HebbianIndex

__all__ = ["Served", "served_open"]


class Served:
    """A server on a socket of this process, in a thread."""

    def __init__(self, app: Any, port: int = 0) -> None:
        import uvicorn

        self._server = uvicorn.Server(
            uvicorn.Config(app, host="127.0.0.1", port=port, log_level="warning")
        )
        self._thread = threading.Thread(target=self._server.run)
        self._thread.start()
        while not self._server.started:
            assert self._thread.is_alive()
            time.sleep(0.005)
        self.port: int = self._server.servers[0].sockets[0].getsockname()[1]

    def stop(self) -> None:
        self._server.should_exit = True
        self._thread.join()


def served_open(
    stack: ExitStack, plain_open: Callable[..., HebbianIndex]
) -> Callable[..., HebbianIndex]:
    """Return what opens an index, serves it, and returns a client of it.

    Closing the client closes the index too, as whoever opened it expects.
    """
    from hebbgraph_server import HebbianClient, ServerSettings, create_app

    settings = ServerSettings(requests_per_minute=None, max_k=10_000, max_body_bytes=100_000_000)

    def open_served(location: str | Path, **options: Any) -> HebbianIndex:
        index = plain_open(location, **options)
        served = Served(create_app(index, settings))
        client = HebbianClient(f"http://127.0.0.1:{served.port}", namespace=index.namespace)
        closing = client.close

        def close() -> None:
            closing()
            served.stop()
            index.close()

        client.close = close  # type: ignore[method-assign]
        stack.callback(close)
        return client

    return open_served
