"""Run a server: one process or several, until SIGTERM or Ctrl-C; running requests end first."""

import contextlib
import logging
import os
import socket
import sys
import tempfile
import threading
import webbrowser
from collections.abc import Callable

import uvicorn
from fastapi import FastAPI
from uvicorn.supervisors import Multiprocess

from hebbgraph.errors import StorageError
from hebbgraph_server.app import create_app, open_index
from hebbgraph_server.observing import SHARED
from hebbgraph_server.settings import ServerSettings

#: The settings of a worker, as JSON; of tokens they hold digests.
_VARIABLE = "HEBBGRAPH_SERVER_SETTINGS"


def app_of_worker() -> FastAPI:
    """Return the app of one process, by the settings in its environment."""
    settings = ServerSettings.model_validate_json(os.environ[_VARIABLE])
    sys.setswitchinterval(0.0005)  # by default a busy thread delays others by 5 ms
    logging.basicConfig(format="%(asctime)s %(levelname)s %(name)s: %(message)s", force=True)
    for name in ("hebbgraph", "hebbgraph_server", "uvicorn"):
        logging.getLogger(name).setLevel(settings.log_level.upper())
    return create_app(open_index(settings), settings)


def run(
    settings: ServerSettings,
    *,
    on_start: Callable[[str], None] = lambda url: None,
    opens: str | None = None,
) -> None:
    """Serve until interrupted; ``on_start`` gets the URL once the server listens.

    ``opens`` opens the page in a browser, with this behind its URL.
    """
    settings.check()
    open_index(settings).close()  # its errors appear here, not in the log of a worker
    os.environ[_VARIABLE] = settings.model_dump_json()
    with contextlib.ExitStack() as stack:
        if settings.workers > 1:
            shared = stack.enter_context(tempfile.TemporaryDirectory(prefix="hebbgraph-metrics-"))
            os.environ[SHARED] = shared
        listening = stack.enter_context(contextlib.closing(_listen(settings)))
        config = uvicorn.Config(
            "hebbgraph_server.running:app_of_worker",
            factory=True,
            workers=settings.workers,
            log_config=None,
            access_log=False,  # observing.py logs requests, without ids
            server_header=False,
            timeout_graceful_shutdown=settings.drain_seconds,
            limit_concurrency=1_000,
        )
        host, port = listening.getsockname()[:2]
        url = f"http://{f'[{host}]' if ':' in host else host}:{port}/"
        on_start(url)
        if opens is not None:
            threading.Timer(0.5, webbrowser.open, [url + opens]).start()
        with contextlib.suppress(KeyboardInterrupt):  # uvicorn has ended in order
            if settings.workers > 1:
                Multiprocess(config, sockets=[listening]).run()
            else:
                uvicorn.Server(config).run(sockets=[listening])


def _listen(settings: ServerSettings) -> socket.socket:
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    try:
        return socket.create_server((settings.host, settings.port), family=family, backlog=2048)
    except OSError as error:
        reason = os.strerror(error.errno).lower() if error.errno else str(error)
        raise StorageError(
            f"cannot listen on {settings.host}, port {settings.port}: {reason}; --port 0 takes "
            "any free one"
        ) from error
