"""A server in its own process, and its metrics."""

from __future__ import annotations

import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.request import urlopen

from hebbgraph.errors import ConnectionLostError
from hebbgraph.pool import IndexPool
from hebbgraph_server.client import HebbianClient

__all__ = ["Serving", "serving"]

_START_SECONDS = 60.0
_SAMPLE = re.compile(r"^(\w+)(?:\{([^}]*)\})? (\S+)$", re.M)


class Serving:
    """A running server.

    Attributes
    ----------
    url : str
    """

    def __init__(self, url: str, process_id: int) -> None:
        self.url = url
        self._threads = Path(f"/proc/{process_id}/task")

    def client(self) -> HebbianClient:
        """Return a new client."""
        return HebbianClient(self.url, timeout_seconds=120.0)

    def cpu_seconds(self) -> float | None:
        """Return its processor time so far; None if the system does not report it exactly."""
        try:
            times = [text.read_text() for text in self._threads.glob("*/schedstat")]
        except OSError:
            return None
        return sum(int(text.split()[0]) for text in times) / 1e9 if times else None

    def samples(self, name: str) -> dict[str, float]:
        """Return the samples of a metric by their labels."""
        with urlopen(f"{self.url}/v1/metrics") as answer:
            text = answer.read().decode()
        return {
            labels: float(value)
            for metric, labels, value in _SAMPLE.findall(text)
            if metric == name
        }

    def request_seconds(self, route: str) -> float:
        """Return the total time of requests of a route."""
        return self.samples("hebbgraph_request_seconds_sum").get(f'route="/v1/{route}"', 0.0)


@contextmanager
def serving(db: Path) -> Iterator[Serving]:
    """Serve an index until the end of the block."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen([sys.executable, "-m", __name__, str(db), str(port)])
    try:
        server = Serving(f"http://127.0.0.1:{port}", process.pid)
        deadline = time.monotonic() + _START_SECONDS
        with server.client() as client:
            while not _answers(client):
                if process.poll() is not None or time.monotonic() > deadline:
                    raise SystemExit(f"the server of {db} did not start; it says why above")
                time.sleep(0.1)
        yield server
    finally:
        process.terminate()
        process.wait()


def _answers(client: HebbianClient) -> bool:
    try:
        client.namespaces()
    except ConnectionLostError:
        return False
    return True


def _serve(db: str, port: str) -> None:
    from hebbgraph_server import ServerSettings, create_app
    from hebbgraph_server.running import run

    settings = ServerSettings(port=int(port), requests_per_minute=None)
    with IndexPool(db) as pool:
        run(create_app(pool, settings), settings)


if __name__ == "__main__":
    _serve(*sys.argv[1:])
