"""Runs a server in this process."""

from __future__ import annotations

import contextlib
import gc
import json
import logging
import socket
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Literal

import uvicorn
from fastapi import FastAPI
from hebbgraph.errors import StorageError

from hebbgraph_server.settings import ServerSettings

__all__ = ["JsonLines", "run"]

#: How long a thread keeps the interpreter while the event loop waits for it. Python's own 5 ms
#: would let every busy thread hold up all other requests by as much.
_SWITCH_SECONDS = 0.0005


class JsonLines(logging.Formatter):
    """Writes each event as one line of JSON, whatever its message holds."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line of a record; ``fields`` of its own stand beside its message."""
        at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        told = {"time": at, "level": record.levelname.lower(), "logger": record.name}
        told |= {"event": record.getMessage(), **getattr(record, "fields", {})}
        if record.exc_info:
            told["exception"] = self.formatException(record.exc_info)
        return json.dumps(told)


class _Text(logging.Formatter):
    """Writes an event as text, with the fields of its own."""

    def format(self, record: logging.LogRecord) -> str:
        fields = getattr(record, "fields", {})
        return " ".join([super().format(record), *(f"{name}={fields[name]}" for name in fields)])


def _log_config(level: str, form: Literal["text", "json"]) -> dict[str, Any]:
    """Return how this process logs: to standard error, our loggers and uvicorn's alike."""
    line = "%(asctime)s %(levelname)s %(name)s: %(message)s"
    formatter = {"()": JsonLines} if form == "json" else {"()": _Text, "format": line}
    handler = {"class": "logging.StreamHandler", "formatter": "line"}
    ours = {"handlers": ["stderr"], "level": level.upper(), "propagate": False}
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"line": formatter},
        "handlers": {"stderr": handler},
        "root": {"handlers": ["stderr"], "level": "WARNING"},
        "loggers": dict.fromkeys(("hebbgraph", "hebbgraph_server", "uvicorn"), ours),
    }


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
    log_format: Literal["text", "json"] = "text",
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
        log_config=_log_config(log_level, log_format),
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
