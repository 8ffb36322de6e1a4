"""Eight processes on SQLite, then on PostgreSQL, with a look at what is left of each.

``python benchmarks/tests/soak/loading.py 600`` gives each database ten minutes; ``make soak`` does.
Exit code 1 tells of an error, or of something lost or counted twice.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[3] / "tests" / "support"))

from pg_server import PostgresServer

from hebbgraph_bench.stress import run_load


@contextmanager
def _sqlite(scratch: Path) -> Iterator[str]:
    yield str(scratch / "index")


@contextmanager
def _postgresql(scratch: Path) -> Iterator[str]:
    server = PostgresServer()
    try:
        yield server.url()
    finally:
        server.remove()


def main() -> int:
    """Put the load on each database; return how many did not bear it."""
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 600.0
    wanted = sys.argv[2:] or ["sqlite", "postgresql"]
    broken = 0
    for name, database in (("sqlite", _sqlite), ("postgresql", _postgresql)):
        if name not in wanted:
            continue
        with tempfile.TemporaryDirectory() as scratch, database(Path(scratch)) as location:
            report = run_load(location, seconds=seconds, cache_dir=Path(scratch) / "caches")
        sys.stdout.write(f"{name}: {report.model_dump_json(indent=2)}\n")
        sys.stdout.flush()
        broken += not report.ok
    return broken


if __name__ == "__main__":
    sys.exit(main())
