"""Runs a server in this process."""

from __future__ import annotations

import gc
import sys

import uvicorn
from fastapi import FastAPI

from hebbgraph_server.settings import ServerSettings

__all__ = ["run"]

#: How long a thread keeps the interpreter while the event loop waits for it. Python's own 5 ms
#: would let every busy thread hold up all other requests by as much.
_SWITCH_SECONDS = 0.0005


def run(app: FastAPI, settings: ServerSettings) -> None:
    """Serve until interrupted."""
    sys.setswitchinterval(_SWITCH_SECONDS)
    # A full garbage collection stops all threads. What has been loaded by now stays, so it need
    # not be looked through again.
    gc.collect()
    gc.freeze()
    uvicorn.run(
        app,
        host=settings.host,
        port=settings.port,
        log_level="warning",
        access_log=False,  # paths carry ids; what is asked is nobody's business
        server_header=False,
        timeout_graceful_shutdown=10,
        limit_concurrency=1_000,
    )
