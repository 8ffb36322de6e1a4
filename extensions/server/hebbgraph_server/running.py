"""Runs a server in this process."""

from __future__ import annotations

import contextlib
import gc
import socket
import sys
from collections.abc import Callable

import uvicorn
from fastapi import FastAPI
from hebbgraph.errors import StorageError

from hebbgraph_server.settings import ServerSettings

__all__ = ["run"]

#: How long a thread keeps the interpreter while the event loop waits for it. Python's own 5 ms
#: would let every busy thread hold up all other requests by as much.
_SWITCH_SECONDS = 0.0005


class _Server(uvicorn.Server):
    """Tells when it listens, and where: port 0 is whichever is free."""

    def __init__(self, config: uvicorn.Config, tell: Callable[[str], None]) -> None:
        super().__init__(config)
        self._tell = tell

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            host, port = self.servers[0].sockets[0].getsockname()[:2]
            self._tell(f"http://{f'[{host}]' if ':' in host else host}:{port}/")


def run(
    app: FastAPI,
    settings: ServerSettings,
    *,
    log_level: str = "warning",
    tell: Callable[[str], None] = lambda url: None,
) -> None:
    """Serve until interrupted; ``tell`` is called with the URL once it listens."""
    sys.setswitchinterval(_SWITCH_SECONDS)
    # A full garbage collection stops all threads. What has been loaded by now stays, so it need
    # not be looked through again.
    gc.collect()
    gc.freeze()
    config = uvicorn.Config(
        app,
        host=settings.host,
        port=settings.port,
        log_level=log_level,
        access_log=False,  # paths carry ids; what is asked is nobody's business
        server_header=False,
        timeout_graceful_shutdown=10,
        limit_concurrency=1_000,
    )
    server = _Server(config, tell)
    with contextlib.suppress(KeyboardInterrupt, SystemExit):  # which uvicorn raises, having logged
        server.run()
    if not server.started:
        raise StorageError(
            f"cannot listen on {settings.host}, port {settings.port}; is it taken? --port 0 is any"
        )
