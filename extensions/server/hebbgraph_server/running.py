"""Run a server in this process."""

from __future__ import annotations

import contextlib
import gc
import json
import logging
import os
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

#: How long a thread keeps the interpreter while others wait. With Python's default of 5 ms, each
#: busy thread would delay all other requests by as much.
_SWITCH_SECONDS = 0.0005


class JsonLines(logging.Formatter):
    """Formats each event as one line of JSON."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line of a record, with its extra ``fields`` besides the message."""
        at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        event = {"time": at, "level": record.levelname.lower(), "logger": record.name}
        event |= {"event": record.getMessage(), **getattr(record, "fields", {})}
        if record.exc_info:
            event["exception"] = self.formatException(record.exc_info)
        return json.dumps(event)


class _Text(logging.Formatter):
    """Formats an event as text, with its extra ``fields``."""

    def format(self, record: logging.LogRecord) -> str:
        fields = getattr(record, "fields", {})
        return " ".join([super().format(record), *(f"{name}={fields[name]}" for name in fields)])


def _log_config(level: str, form: Literal["text", "json"]) -> dict[str, Any]:
    """Return the logging configuration: everything goes to standard error, uvicorn's log too."""
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
    """Reports its URL once it listens; port 0 picks a free one."""

    def __init__(self, config: uvicorn.Config, on_start: Callable[[str], None]) -> None:
        super().__init__(config)
        self._on_start = on_start

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            host, port = self.servers[0].sockets[0].getsockname()[:2]
            self._on_start(f"http://{f'[{host}]' if ':' in host else host}:{port}/")


def run(
    app: FastAPI,
    settings: ServerSettings,
    *,
    log_level: str = "warning",
    log_format: Literal["text", "json"] = "text",
    on_start: Callable[[str], None] = lambda url: None,
) -> None:
    """Serve until interrupted; call ``on_start`` with the URL once the server listens."""
    sys.setswitchinterval(_SWITCH_SECONDS)
    # A full garbage collection stops all threads: exempt what is loaded by now.
    gc.collect()
    gc.freeze()
    config = uvicorn.Config(
        app,
        host=settings.host,
        port=settings.port,
        log_config=_log_config(log_level, log_format),
        access_log=False,  # observing.py logs requests, without ids
        server_header=False,
        timeout_graceful_shutdown=10,
        limit_concurrency=1_000,
    )
    refused: list[OSError] = []

    def is_told(record: logging.LogRecord) -> bool:
        """Keep out of the log why the server cannot listen, which is raised below."""
        refused.extend([record.msg] if isinstance(record.msg, OSError) else [])
        return not refused

    logging.getLogger("uvicorn.error").addFilter(is_told)
    server = _Server(config, on_start)
    with contextlib.suppress(KeyboardInterrupt, SystemExit):  # uvicorn has logged them
        server.run()
    if refused:
        raise StorageError(
            f"cannot listen on {settings.host}, port {settings.port}: "
            f"{os.strerror(refused[0].errno or 0).lower()}; --port 0 takes any that is free"
        )
    if not server.started:
        raise StorageError("the server has not started; its log says why")
