"""The vectors that processes share in files: every one is there, whatever comes between."""

from __future__ import annotations

import errno
import os
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from hebbgraph import HebbianIndex, Settings
from hebbgraph.vectors import file as vector_file
from hebbgraph.vectors import table as vectors
from hebbgraph.vectors.file import VectorFile

pytestmark = pytest.mark.every_database

OpenIndex = Callable[..., HebbianIndex]


class ByNumber:
    """A vector for each number, and none of them near another."""

    name = "by-number"

    def embed_query(self, text: str) -> list[float]:
        found = re.search(r"\d+", text)
        number = 0 if found is None else int(found.group())
        vector = np.random.default_rng(number).standard_normal(32)
        return list(vector / np.linalg.norm(vector))

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self.embed_query(text) for text in texts]


def _chunks(*numbers: int) -> list[dict[str, Any]]:
    return [{"id": f"c{n}", "text": f"n{n} alpha beta"} for n in numbers]


def _wrong(index: HebbianIndex, numbers: range) -> list[int]:
    """Numbers whose vector does not find their chunk."""
    found = {n: index.recall(f"q{n}", k=1).hits[0].chunk.id for n in numbers}
    return [n for n, id_ in found.items() if id_ != f"c{n}"]


def _held(index: HebbianIndex) -> int:
    index.stats()
    table = index.parts.derived.vectors
    assert table is not None
    return len(table.rows)


@contextmanager
def _once_between_read_and_lock(index: HebbianIndex, what: Callable[[], object]) -> Iterator[None]:
    """Do something after an index has read what is new, and before it takes the lock."""
    truth, plain = index.parts.truth, index.parts.truth.changes_since
    pending = [what]

    def read(*args: Any) -> Any:
        changes = plain(*args)
        if pending:
            pending.pop()()
        return changes

    truth.changes_since = read  # type: ignore[method-assign]
    try:
        yield
    finally:
        truth.changes_since = plain  # type: ignore[method-assign]
    assert not pending


@pytest.fixture
def open_both(open_index: OpenIndex) -> tuple[HebbianIndex, HebbianIndex]:
    """Two that hold the same hundred vectors."""
    a, b = (open_index(embedder=ByNumber()) for _ in range(2))
    a.add(_chunks(*range(100)))
    assert _held(b) == 100
    return a, b


# -- several processes ---------------------------------------------------------------------


def test_another_process_commits_between_read_and_lock(
    open_both: tuple[HebbianIndex, HebbianIndex], open_index: OpenIndex
) -> None:
    a, b = open_both
    a.add(_chunks(100))
    with _once_between_read_and_lock(b, lambda: a.add(_chunks(101))):
        assert _wrong(b, range(100, 101)) == []
    for index in (b, a, open_index(embedder=ByNumber())):
        assert _wrong(index, range(102)) == []
        assert _held(index) == 102
        assert index.repairs == ()
        assert index.doctor().ok
    assert open_index().doctor().ok


def test_another_process_deletes_and_compacts_between_read_and_lock(
    open_both: tuple[HebbianIndex, HebbianIndex], open_index: OpenIndex
) -> None:
    a, b = open_both
    a.add(_chunks(100))

    def compact() -> None:
        a.delete([f"c{n}" for n in range(50)])
        a.add(_chunks(101))
        a.compact()

    with _once_between_read_and_lock(b, compact):
        b.stats()
    for index in (b, a, open_index(embedder=ByNumber())):
        assert _wrong(index, range(50, 102)) == []
        assert index.doctor().ok
    b.add(_chunks(102))
    for index in (a, b):
        assert _wrong(index, range(50, 103)) == []


def test_the_first_vectors_of_two_processes(open_index: OpenIndex) -> None:
    a, b = (open_index(embedder=ByNumber()) for _ in range(2))
    a.stats(), b.stats()
    b.put_document("d", None, [{"id": "c0", "text": "n0 alpha beta"}])
    with _once_between_read_and_lock(b, lambda: a.add(_chunks(*range(1, 20)))):
        b.stats()
    for index in (a, b):
        assert _wrong(index, range(20)) == []


def test_a_process_without_an_embedder_adds_meanwhile(
    open_both: tuple[HebbianIndex, HebbianIndex], open_index: OpenIndex
) -> None:
    a, b = open_both
    open_index().add(_chunks(100, 101))
    a.add(_chunks(102))
    assert _held(b) == 101
    assert a.reembed() == 2
    for index in (a, b, open_index(embedder=ByNumber())):
        assert _wrong(index, range(103)) == []
        assert index.repairs == ()


@pytest.mark.parametrize("search", ["quantized", "ivf"])
def test_codes_follow_files_that_another_process_has_rewritten(
    open_index: OpenIndex, monkeypatch: pytest.MonkeyPatch, search: str
) -> None:
    if search == "ivf":
        pytest.importorskip("faiss")
    monkeypatch.setattr(vectors, "_FEWEST_SEARCHED", 50)
    settings = Settings(vector_search=search)  # type: ignore[arg-type]
    a, b = (open_index(embedder=ByNumber(), settings=settings) for _ in range(2))
    a.add(_chunks(*range(200)))
    assert _wrong(b, range(0, 200, 10)) == []
    a.delete([f"c{n}" for n in range(90)])
    a.compact()
    a.add(_chunks(*range(200, 230)))
    b.add(_chunks(*range(230, 240)))
    a.close()
    for index in (b, open_index(embedder=ByNumber(), settings=settings)):
        assert _wrong(index, range(90, 240, 5)) == []
        assert _held(index) <= 240


def test_lists_are_kept_when_chunks_get_their_vectors_later(
    open_index: OpenIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    ivf = pytest.importorskip("hebbgraph_scale.ivf")
    monkeypatch.setattr(vectors, "_FEWEST_SEARCHED", 50)
    settings = Settings(vector_search="ivf")
    with open_index() as index:
        index.add(_chunks(*range(200)))
    with open_index(settings=settings) as index:
        assert index.reembed(ByNumber()) == 200

    def build(*_: object) -> None:
        raise AssertionError("the lists were made again")

    monkeypatch.setattr(ivf.InvertedListSearch, "__init__", build)
    with open_index(embedder=ByNumber(), settings=settings) as index:
        assert _wrong(index, range(0, 200, 10)) == []


# -- files that are gone, or too short -----------------------------------------------------


def _folder(index: HebbianIndex) -> Path:
    folder = index.parts.derived.directory
    assert folder is not None
    return folder


def test_a_stamp_that_is_deleted_while_open(
    open_both: tuple[HebbianIndex, HebbianIndex], open_index: OpenIndex
) -> None:
    a, b = open_both
    (_folder(a) / "vectors.manifest.json").unlink()
    b.add(_chunks(100))
    for index in (b, a, open_index(embedder=ByNumber())):
        assert _held(index) == 101
        assert _wrong(index, range(101)) == []


def _shortening(index: HebbianIndex, keep: int) -> Callable[[], None]:
    """Leave files that look whole, and hold only some of the vectors."""
    index.stats()
    table = index.parts.derived.vectors
    assert table is not None
    folder, commit = _folder(index), index.parts.derived._commit

    def shorten() -> None:
        VectorFile.discard(folder)
        file = VectorFile(folder, table.state, lambda commit: True)
        rows, matrix = table.rows[-keep:], table.matrix[-keep:]
        file.append(rows, matrix, last_row=table.last_row, commit=commit)

    return shorten


def test_vectors_are_counted_when_opened(
    open_both: tuple[HebbianIndex, HebbianIndex],
    open_index: OpenIndex,
    caplog: pytest.LogCaptureFixture,
) -> None:
    a, b = open_both
    _shortening(a, keep=2)()
    b.close()
    with open_index(embedder=ByNumber()) as index:
        assert _wrong(index, range(100)) == []
        assert index.repairs == ("2 vectors were held, and 100 expected",)
        assert "100 expected" in caplog.text
    with open_index(embedder=ByNumber()) as index:
        assert _wrong(index, range(100)) == []
        assert index.repairs == ()


def test_vectors_are_counted_once_no_other_commit_comes_between(
    open_both: tuple[HebbianIndex, HebbianIndex], open_index: OpenIndex
) -> None:
    a, _ = open_both
    _shortening(a, keep=2)()
    index = open_index(embedder=ByNumber())
    with _once_between_read_and_lock(index, lambda: open_index().add(_chunks(100))):
        index.stats()
    index.stats()
    assert _wrong(index, range(100)) == []
    assert len(index.repairs) == 1


def test_doctor_counts_vectors_without_an_embedder(
    open_both: tuple[HebbianIndex, HebbianIndex], open_index: OpenIndex
) -> None:
    a, b = open_both
    open_index().add(_chunks(100))  # without a vector
    assert open_index().doctor().ok
    shorten = _shortening(a, keep=2)
    a.close(), b.close()
    shorten()
    index = open_index()
    (finding,) = index.doctor().findings
    assert (finding.part, finding.problem) == (
        "vectors",
        "98 vectors of the database are missing",
    )
    assert index.doctor(repair=True).ok
    assert index.doctor().findings == ()
    again = open_index(embedder=ByNumber())
    assert _wrong(again, range(100)) == []
    assert again.doctor().findings == ()


# -- writes that fail ----------------------------------------------------------------------


@contextmanager
def _fails(monkeypatch: pytest.MonkeyPatch, at: int, number: int) -> Iterator[list[str]]:
    """Let the n-th step of writing vectors fail, and all that follow."""
    steps: list[str] = []

    def failing(plain: Callable[..., Any]) -> Callable[..., Any]:
        def step(*args: Any) -> Any:
            steps.append(plain.__name__)
            if len(steps) > at:
                raise OSError(number, os.strerror(number))
            return plain(*args)

        return step

    with monkeypatch.context() as patch:
        patch.setattr(vector_file, "os", SimpleNamespace(fsync=failing(os.fsync)))
        patch.setattr(VectorFile, "_record", failing(VectorFile._record))
        yield steps


_ERRORS = (errno.ENOSPC, errno.EIO)


def _rightly(index: HebbianIndex, open_index: OpenIndex, numbers: range) -> None:
    for one in (index, open_index(embedder=ByNumber())):
        assert _wrong(one, numbers) == []
        assert _held(one) >= len(numbers)
    assert open_index().doctor().ok


@pytest.mark.parametrize("at", range(7))
def test_appending_that_fails_is_made_good(
    open_both: tuple[HebbianIndex, HebbianIndex],
    open_index: OpenIndex,
    monkeypatch: pytest.MonkeyPatch,
    at: int,
) -> None:
    a, b = open_both
    monkeypatch.setattr(vectors, "_APPENDED_AT_ONCE", 4)
    with _fails(monkeypatch, at, _ERRORS[at % 2]) as steps:
        assert a.add(_chunks(*range(100, 110))).added == 10
        assert len(steps) > at
    _rightly(a, open_index, range(110))
    assert _wrong(b, range(110)) == []


@pytest.mark.parametrize("at", range(6))
def test_the_first_writes_that_fail_are_made_good(
    open_index: OpenIndex, monkeypatch: pytest.MonkeyPatch, at: int
) -> None:
    monkeypatch.setattr(vectors, "_APPENDED_AT_ONCE", 4)
    index = open_index(embedder=ByNumber())
    with _fails(monkeypatch, at, _ERRORS[at % 2]):
        index.add(_chunks(*range(10)))
    _rightly(index, open_index, range(10))


@pytest.mark.parametrize("at", range(5))
def test_compacting_that_fails_loses_nothing(
    open_both: tuple[HebbianIndex, HebbianIndex],
    open_index: OpenIndex,
    monkeypatch: pytest.MonkeyPatch,
    at: int,
) -> None:
    a, b = open_both
    monkeypatch.setattr(vector_file, "_BLOCK", 40)
    a.delete([f"c{n}" for n in range(10)])
    with (
        _fails(monkeypatch, at, _ERRORS[at % 2]),
        pytest.raises(OSError, match=r"(?i)no space|error"),
    ):
        a.compact()
    for one in (a, b):
        one.add(_chunks(100 if one is a else 101))
        assert _wrong(one, range(10, 101)) == []
    _rightly(b, open_index, range(10, 102))


def test_files_of_before_are_put_back_while_open(
    open_both: tuple[HebbianIndex, HebbianIndex], open_index: OpenIndex, tmp_path: Path
) -> None:
    """An older stamp beside newer files: what others have mapped stays as it is."""
    a, b = open_both
    stamp = _folder(a) / "vectors.manifest.json"
    shutil.copy(stamp, tmp_path / "before")
    a.add(_chunks(*range(100, 120)))
    assert _held(b) == 120
    a.delete(["c105"])
    shutil.copy(tmp_path / "before", stamp)
    a.add(_chunks(120))
    for index in (a, b, open_index(embedder=ByNumber())):
        assert _wrong(index, range(106, 121)) == []
        assert _wrong(index, range(105)) == []
