"""Ctrl-C at any instruction: no lock stays, and what was in memory is still there."""

from __future__ import annotations

import contextlib
import dis
import gc
import os
import signal
import sqlite3
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import hebbgraph
from hebbgraph import HebbianIndex, IndexLockedError, Settings
from hebbgraph.derived.folder import Folder
from hebbgraph.store.database import DATABASE_NAME

pytestmark = [
    pytest.mark.sqlite_only,
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

#: What acquires and releases: instructions of these files are interrupted.
_WATCHED = (
    str(Path(hebbgraph.__file__).parent / "store" / "database.py"),
    str(Path(hebbgraph.__file__).parent / "store" / "sqlite.py"),
    str(Path(hebbgraph.__file__).parent / "locks.py"),
    str(Path(hebbgraph.__file__).parent / "derived" / "folder.py"),
    contextlib.__file__,
)


def _interrupted(
    work: Callable[[], object], watched: tuple[str, ...] = _WATCHED
) -> Iterator[KeyboardInterrupt]:
    """Send SIGINT where Python first looks for signals, then where it does next, until all is done.

    It looks for them after calls and jumps, and where functions begin. The exception is kept, as
    in a notebook: with it the frames, and all that they refer to.
    """
    at = count = 0
    last: dict[int, str] = {}  # by frame

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal count
        if frame.f_code.co_filename not in watched:
            return None
        frame.f_trace_opcodes = True
        if event == "opcode":
            before = last.get(id(frame), "")
            last[id(frame)] = dis.opname[frame.f_code.co_code[frame.f_lasti]]
            if before.startswith(("CALL", "RESUME", "JUMP_BACKWARD")):
                count += 1
                if count == at:
                    signal.raise_signal(signal.SIGINT)
        return trace

    before = sys.gettrace()
    while at == 0 or count >= at:
        at, count = at + 1, 0
        last.clear()
        try:
            sys.settrace(trace)
            work()
        except KeyboardInterrupt as error:
            sys.settrace(before)
            yield error
        finally:
            sys.settrace(before)
    assert at > 20


def _in_another_thread(work: Callable[[], object]) -> None:
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(60)
    assert not thread.is_alive(), "this thread still holds a lock"


@pytest.fixture(autouse=True)
def _no_garbage_collection() -> Iterator[None]:
    gc.disable()
    yield
    gc.enable()


def test_an_interrupted_write_keeps_no_other_process_out(tmp_path: Path) -> None:
    with HebbianIndex.open(tmp_path / "index") as index:
        database = index.parts.database

        def write() -> None:
            with database.write() as connection:
                connection.execute("UPDATE meta SET value = value")

        for _ in _interrupted(write):
            _in_another_thread(write)
            path = tmp_path / "index" / DATABASE_NAME
            with contextlib.closing(sqlite3.connect(path, timeout=0)) as other:
                other.execute("BEGIN IMMEDIATE")


def test_an_interrupted_step_keeps_no_other_process_out(tmp_path: Path) -> None:
    def folder() -> Folder:
        return Folder(tmp_path / "derived", writable=True, wait_seconds=0.0, place="here")

    mine = folder()

    def step() -> None:
        with mine.locked(), mine.locked():
            os.getpid()

    def another_step() -> None:
        with folder().locked():
            pass

    for _ in _interrupted(step):
        another_step()
        _in_another_thread(another_step)


def test_an_index_in_memory_outlives_interruptions() -> None:
    with HebbianIndex.open(":memory:") as index:
        index.add([{"id": "petrel", "text": "The Petrel is a boat."}])
        database = index.parts.database

        def read() -> None:
            with database.read() as connection:
                connection.execute("SELECT 1").fetchall()

        for _ in _interrupted(read):
            assert [chunk.id for chunk in index.get(["petrel"])] == ["petrel"]
            _in_another_thread(read)


def test_a_folder_kept_by_others_is_waited_for_as_long_as_the_settings_say(tmp_path: Path) -> None:
    place, settings = tmp_path / "index", Settings(write_wait_seconds=0.2)
    with HebbianIndex.open(place) as index:
        index.add(["The Petrel is a boat."])
    with HebbianIndex.open(place) as index, HebbianIndex.open(place, settings=settings) as other:
        index.recall("Petrel")
        with (
            index.parts.derived.locked(),
            pytest.raises(IndexLockedError, match="write_wait_seconds"),
        ):
            other.recall("Petrel")
        assert other.recall("Petrel").hits
