"""Questions a second of one replica and of two, and the processor time of each part.

``python -m hebbgraph_bench.scale.throughput FOLDER SET... [--chunks N] [--to FILE]``

Ray nodes of one processor each on this machine, with a replica each. PostgreSQL, Ray's proxies and
the clients share the processors, so the report has the processor time of each part for a question.
The first run builds the index in FOLDER; ``--prepare`` does only that. Linux only.
"""

from __future__ import annotations

import argparse
import json
import re
import socket
import sys
import threading
import time
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Any

from hebbgraph.hebbian_index import HebbianIndex
from hebbgraph_scale import publish
from hebbgraph_scale.serving import ServingConfig, run

from hebbgraph_bench.datasets import load
from hebbgraph_bench.scale.corpus import Recombined
from hebbgraph_bench.scale.replicas import (
    PORT,
    database_in,
    idle_seconds,
    processor_seconds,
    served,
)

__all__ = ["main"]

_TENANT = "default"
_WARM_UP = 3.0
_TIMEOUT = 30.0
_LENGTH = re.compile(rb"(?i)\r\ncontent-length: *(\d+)")
_REPLICA = re.compile(rb"(?i)\r\nx-replica: *(\S+)")


def _prepared(folder: Path, url: str, options: argparse.Namespace) -> list[str]:
    """Build the index and its snapshot unless they exist; return questions."""
    file = folder / f"questions-{options.chunks}.json"
    if not file.exists():
        corpus = Recombined([load(path) for path in options.sets], options.chunks)
        with HebbianIndex.open(url, cache_dir=folder / "building") as index:
            chunks = iter(corpus.chunks(0, options.chunks))
            while batch := list(islice(chunks, 20_000)):
                index.add(batch)
            publish(index, str(folder / "bucket"))
        file.write_text(json.dumps(corpus.questions(200)), "utf-8")
    questions: list[str] = json.loads(file.read_text("utf-8"))
    return questions


class _Connection:
    """A connection that sends prepared requests, and parses only length and replica of answers.

    An HTTP library would take as much processor time as the database.
    """

    def __init__(self) -> None:
        self._socket = socket.create_connection(("127.0.0.1", PORT), timeout=_TIMEOUT)
        self._buffer = memoryview(bytearray(1 << 20))

    def ask(self, request: bytes) -> tuple[bytes, bytes]:
        """Send a request; return the first line of the answer, and the replica that gave it."""
        self._socket.sendall(request)
        size, end, total = 0, -1, -1
        while size != total:
            received = self._socket.recv_into(self._buffer[size:])
            if not received:
                raise ConnectionError("the connection ended in the middle of an answer")
            size += received
            if end < 0 and (end := bytes(self._buffer[:size]).find(b"\r\n\r\n")) >= 0:
                head = bytes(self._buffer[:end])
                length = _LENGTH.search(head)
                if length is None:
                    raise ConnectionError("the answer does not say how long it is")
                total = end + 4 + int(length[1])
        replica = _REPLICA.search(head)
        return head.partition(b"\r\n")[0], replica[1] if replica else b""

    def close(self) -> None:
        self._socket.close()


def _request(question: str) -> bytes:
    body = json.dumps({"query": question}).encode()
    head = (
        f"POST /v1/recall?namespace={_TENANT} HTTP/1.1\r\nhost: 127.0.0.1:{PORT}\r\n"
        f"content-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


class _Load:
    """Clients that ask one question after another."""

    def __init__(self, questions: Sequence[str], clients: int) -> None:
        self.requests = [_request(question) for question in questions]
        self.waits: list[float] = []
        self.replicas: set[bytes] = set()
        self.failed: list[bytes] = []
        self.reconnected = 0
        self._until = 0.0
        self._n_clients = clients

    def _ask(self, first: int) -> None:
        connection, number = _Connection(), first
        while (began := time.monotonic()) < self._until:
            try:
                status, replica = connection.ask(self.requests[number % len(self.requests)])
            except ConnectionError:  # HAProxy was given another list of replicas
                self.reconnected += 1
                connection.close()
                connection = _Connection()
                continue
            if b" 200 " not in status:
                self.failed.append(status)
            self.waits.append(time.monotonic() - began)
            self.replicas.add(replica)
            number += 1
        connection.close()

    def run(self, seconds: float) -> None:
        """Ask for this time."""
        self.waits, self.replicas, self.failed, self.reconnected = [], set(), [], 0
        self._until = time.monotonic() + seconds
        each = len(self.requests) // self._n_clients
        clients = [
            threading.Thread(target=self._ask, args=(n * each,)) for n in range(self._n_clients)
        ]
        for client in clients:
            client.start()
        for client in clients:
            client.join()


def _measure_load(clients: _Load, seconds: float, postmaster: int) -> dict[str, Any]:
    clients.run(_WARM_UP)
    before, began, idle = processor_seconds(postmaster), time.monotonic(), idle_seconds()
    clients.run(seconds)
    took, after = time.monotonic() - began, processor_seconds(postmaster)
    idle = idle_seconds() - idle
    count, waits = len(clients.waits), sorted(clients.waits)
    spent = {part: after[part] - before.get(part, 0.0) for part in sorted(after)}
    return {
        "replicas": len(clients.replicas),
        "questions_a_second": round(count / took, 1),
        "median_ms": round(1000 * waits[count // 2], 1),
        "p95_ms": round(1000 * waits[count * 95 // 100], 1),
        "processors_busy": round(sum(spent.values()) / took, 2),
        "processors_idle": round(idle / took, 2),
        "processor_ms_a_question": {
            part: round(1000 * used / count, 2) for part, used in spent.items()
        },
        "failed": len(clients.failed),
        "reconnected": clients.reconnected,
    }


def _compare(options: argparse.Namespace, url: str, questions: list[str]) -> dict[str, Any]:
    """Measure one replica and two in turn."""
    postmaster = int((options.folder / "postgresql/postmaster.pid").read_text().split()[0])

    def config(replicas: int) -> ServingConfig:
        return ServingConfig(
            database=url,
            cache_dir=str(options.folder / "cache-$NODE"),
            snapshots=str(options.folder / "bucket"),
            port=PORT,
            min_replicas=replicas,
            max_replicas=replicas,
            cpus=options.cpus,
            ongoing=options.clients,
            server={"requests_per_minute": None},
        )

    rounds: list[dict[str, Any]] = []
    clients = _Load(questions, options.clients)
    with served(config(1), nodes=2):
        for number in range(2 * options.rounds):
            replicas = 1 + number % 2
            if number:
                run(config(replicas), blocking=False)
            rounds.append(_measure_load(clients, options.seconds, postmaster))
            sys.stderr.write(f"{json.dumps(rounds[-1])}\n")
            if rounds[-1]["replicas"] != replicas:
                raise SystemExit(f"{rounds[-1]['replicas']} replicas answered, not {replicas}")
    speeds = [
        [round_["questions_a_second"] for round_ in rounds if round_["replicas"] == n]
        for n in (1, 2)
    ]
    return {
        "chunks": options.chunks,
        "clients": options.clients,
        "rounds": rounds,
        "questions_a_second": {"one": median(speeds[0]), "two": median(speeds[1])},
        "two_over_one": round(median(speeds[1]) / median(speeds[0]), 2),
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, and write one object of JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("sets", nargs="+", type=Path)
    parser.add_argument("--chunks", type=int, default=200_000)
    parser.add_argument("--clients", type=int, default=4)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--cpus", type=float, default=1.0, help="that Ray reserves for a replica")
    parser.add_argument("--prepare", action="store_true")
    parser.add_argument("--to", type=Path)
    options = parser.parse_args(arguments)
    with database_in(options.folder) as url:
        questions = _prepared(options.folder, url, options)
        if options.prepare:
            return 0
        report = json.dumps(_compare(options, url, questions), indent=2)
    if options.to is not None:
        options.to.write_text(f"{report}\n", "utf-8")
    sys.stdout.write(f"{report}\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
