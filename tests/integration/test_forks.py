"""What is written before, during and after a fork, by the parent and by the child."""

from __future__ import annotations

import concurrent.futures
import faulthandler
import multiprocessing
import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

import hebbgraph
from hebbgraph import HebbianIndex, StorageError
from hebbgraph.store.database import Database

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork"),
    pytest.mark.sqlite_only,
]


def _run(script: str, *arguments: object) -> str:
    """Run a script in a process of its own: this one has threads that a fork would not copy.

    Returns what it logs.
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script), *map(str, arguments)],
        env=os.environ | {"PYTHONPATH": str(Path(hebbgraph.__file__).parents[1])},
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr
    return done.stderr


def _end_if_hanging() -> None:
    """Make a child that hangs say where, and end; pytest's own watchdog stays in the parent."""
    faulthandler.register(signal.SIGALRM, chain=True)
    signal.alarm(120)


def _texts(place: Path) -> set[str]:
    with HebbianIndex.open(place) as index:
        assert index.doctor().ok
        recall = index.recall("What did the parent and the child write first?", k=1000)
        assert len(recall.hits) == index.stats().chunks
        return {hit.chunk.text for hit in recall.hits}


@pytest.fixture
def index(tmp_path: Path) -> Iterator[HebbianIndex]:
    with HebbianIndex.open(tmp_path / "index") as index:
        index.add(["The parent came first."])
        index.recall("parent")
        yield index


PARENT_CLOSES = """
    import os, sys
    from hebbgraph import HebbianIndex

    index = HebbianIndex.open(sys.argv[1])
    index.add(["The parent came first."])
    written, closed = os.pipe(), os.pipe()
    child = os.fork()
    if not child:
        own = HebbianIndex.open(sys.argv[1])
        own.add(["The child wrote early."])
        os.write(written[1], b"1")
        os.read(closed[0], 1)
        own.add(["The child wrote late."])
        os._exit(0)
    os.read(written[0], 1)
    index.close()
    os.write(closed[1], b"1")
    assert os.waitpid(child, 0)[1] == 0
"""


def test_a_child_loses_nothing_when_its_parent_closes(tmp_path: Path) -> None:
    _run(PARENT_CLOSES, tmp_path / "index")
    assert _texts(tmp_path / "index") == {
        "The parent came first.",
        "The child wrote early.",
        "The child wrote late.",
    }


A_THREAD_WRITES = """
    import os, sys, threading
    from hebbgraph import HebbianIndex

    index = HebbianIndex.open(sys.argv[1])
    index.add(["The parent came first."])
    stop, written = threading.Event(), []

    def write():
        while not stop.is_set():
            index.add([f"The parent wrote {len(written)}."])
            written.append(len(written))

    thread = threading.Thread(target=write)
    thread.start()
    children = []
    for n in range(8):
        children.append(os.fork())
        if not children[-1]:
            with HebbianIndex.open(sys.argv[1]) as own:
                own.add([f"Child {n} wrote."])
                assert own.recall(f"child {n}").hits
            os._exit(0)
    statuses = [os.waitpid(child, 0)[1] for child in children]
    stop.set()
    thread.join()
    assert statuses == [0] * len(children)
    index.close()
    with HebbianIndex.open(sys.argv[1]) as index:
        assert index.stats().chunks == 1 + len(written) + len(children)
"""


def test_forks_while_a_thread_writes(tmp_path: Path) -> None:
    logged = _run(A_THREAD_WRITES, tmp_path / "index")
    assert "damaged" not in logged  # a child keeps no lock of the parent's
    assert "lag behind" not in logged
    assert len(_texts(tmp_path / "index")) > 8


def _add(place: Path, text: str) -> int:
    with HebbianIndex.open(place) as index:
        return index.add([text]).added


def test_forked_workers_open_their_own(index: HebbianIndex, tmp_path: Path) -> None:
    fork = multiprocessing.get_context("fork")
    with concurrent.futures.ProcessPoolExecutor(
        2, mp_context=fork, initializer=_end_if_hanging
    ) as workers:
        texts = [f"Worker {n} wrote." for n in range(4)]
        assert list(workers.map(_add, [tmp_path / "index"] * 4, texts)) == [1] * 4
        index.add(["The parent wrote meanwhile."])
    index.close()
    assert _texts(tmp_path / "index") == {
        "The parent came first.",
        "The parent wrote meanwhile.",
        *texts,
    }


def test_a_database_in_use_during_the_fork_is_refused_to_the_child(
    index: HebbianIndex, tmp_path: Path
) -> None:
    other = Database.in_directory(tmp_path / "other", wait_seconds=1.0)
    with other.read():
        child = os.fork()
        if not child:
            status = 1
            _end_if_hanging()
            try:
                with pytest.raises(StorageError, match="forked while the process before it"):
                    HebbianIndex.open(tmp_path / "other")
                assert _add(tmp_path / "index", "The child wrote.") == 1
                status = 0
            finally:
                os._exit(status)
        assert os.waitpid(child, 0)[1] == 0
    other.dispose()
    assert len(_texts(tmp_path / "index")) == 2
