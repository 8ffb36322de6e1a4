"""Failing disks and damaged files: told apart, in our words, and nothing whole is thrown away."""

from __future__ import annotations

import errno
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from hebbgraph import (
    Chunk,
    DamagedIndexError,
    HebbgraphError,
    HebbianIndex,
    ReadOnlyIndexError,
    StorageError,
    errors,
    locks,
    manifest,
)
from hebbgraph.artifacts import DamagedPartError
from hebbgraph.derived import folder, snapshot
from hebbgraph.derived import lexical as lexical_module
from hebbgraph.derived.lexical import LexicalIndex
from hebbgraph.derived.tantivy_errors import translated

QUESTION = "Where was the builder of the Petrel born?"


class PanicException(BaseException):
    """PyO3 exports none to raise; it is known by its name."""


def _hits(index: HebbianIndex) -> list[str]:
    return [hit.chunk.id for hit in index.recall(QUESTION, k=8).hits]


@pytest.fixture
def place(make_index: Callable[..., HebbianIndex], tmp_path: Path) -> Path:
    make_index().close()
    return tmp_path / "index"


def _lexical(place: Path) -> Path:
    (found,) = (place / "derived").glob("*/lexical")
    return found


def _inodes(folder: Path) -> set[int]:
    return {path.stat().st_ino for path in folder.glob("*.idx")}


def _flip(path: Path, at: int | None = None) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 3 if at is None else at] ^= 0x24
    (path.parent / "new").write_bytes(content)  # not in place: others may have it mapped
    (path.parent / "new").replace(path)


# -- what Tantivy raises -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("raised", "expected", "number"),
    [
        (ValueError("An IO error occurred: 'No space left (os error 28)'"), OSError, 28),
        (ValueError("Os { code: 5, kind: Uncategorized, message: ..."), OSError, 5),
        (ValueError("Failed to open file: Too many open files (os error 24)"), OSError, 24),
        (ValueError("An index writer was killed.. A worker thread"), OSError, 5),
        (ValueError("no such file (os error 2)"), DamagedPartError, None),
        (ValueError("Fst data is corrupted"), DamagedPartError, None),
        (PanicException("assertion failed: end <= range.end"), DamagedPartError, None),
        (errors.ParameterError("of whoever reads texts"), errors.ParameterError, None),
        (KeyboardInterrupt(), KeyboardInterrupt, None),
    ],
)
def test_errors_of_tantivy_are_told_apart(
    raised: BaseException, expected: type[BaseException], number: int | None, tmp_path: Path
) -> None:
    with pytest.raises(expected) as caught, translated(tmp_path, writing=True):
        raise raised
    if number is not None:
        assert isinstance(caught.value, OSError)
        assert caught.value.errno == number


@contextmanager
def _failing(
    monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, error: BaseException, times: int
) -> Iterator[list[None]]:
    """Let a function fail so often, and then work."""
    done: list[None] = []
    work = getattr(owner, name)

    def fail(*arguments: Any, **named: Any) -> Any:
        if len(done) < times:
            done.append(None)
            raise error
        return work(*arguments, **named)

    with monkeypatch.context() as patch:
        patch.setattr(owner, name, fail)
        yield done


@pytest.mark.parametrize("name", ["search", "document_frequency"])
def test_a_panic_in_a_search_is_mended(
    make_index: Callable[..., HebbianIndex], monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    index = make_index()
    before = _hits(index)
    chunk_id = before[0]
    error = DamagedPartError("it panicked")
    with _failing(monkeypatch, LexicalIndex, name, error, 1):
        assert _hits(index) == before
    assert any("panicked" in repair for repair in index.repairs)
    recall = index.recall(QUESTION)
    with _failing(monkeypatch, LexicalIndex, name, error, 1):
        assert index.explain(recall, chunk_id).chunk_id == chunk_id
    with _failing(monkeypatch, LexicalIndex, name, error, 99), pytest.raises(StorageError):
        index.recall(QUESTION)
    index.add(["A change gives it another chance."])
    assert _hits(index)


@pytest.mark.parametrize("name", ["rows", "search", "rows_with_phrase", "document_frequency"])
def test_the_doctor_mends_what_panics(
    make_index: Callable[..., HebbianIndex], monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    index = make_index()
    index.recall(QUESTION)
    error = DamagedPartError("it panicked")
    with _failing(monkeypatch, LexicalIndex, name, error, 1):
        report = index.doctor(repair=True)
    assert report.ok
    assert index.doctor().findings == ()


@pytest.mark.parametrize("number", [errno.EIO, errno.EMFILE, errno.EACCES])
@pytest.mark.parametrize(
    ("module", "name"),
    [
        (lexical_module, "_manifest_in"),
        (manifest, "file_checksum"),
        (snapshot, "read_arrays"),
    ],
)
def test_a_failing_disk_is_no_damage(
    place: Path, monkeypatch: pytest.MonkeyPatch, module: Any, name: str, number: int
) -> None:
    """It is told, the lexical index and the snapshot stay, and the next call may succeed."""
    kept = _inodes(_lexical(place))
    with HebbianIndex.open(place) as index:
        before = _hits(index)
    error = OSError(number, os.strerror(number))
    with HebbianIndex.open(place) as index:
        with _failing(monkeypatch, module, name, error, 9):
            with pytest.raises(StorageError) as caught:
                index.recall(QUESTION)
            assert isinstance(caught.value, ReadOnlyIndexError) == (number == errno.EACCES)
        assert _hits(index) == before
    assert _inodes(_lexical(place)) == kept
    with HebbianIndex.open(place) as index:
        assert _hits(index) == before
        assert index.repairs == ()


def test_a_failing_disk_does_not_keep_the_doctor_from_repairing(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with HebbianIndex.open(place) as index:
        error = OSError(errno.EIO, "Input/output error")
        with _failing(monkeypatch, snapshot, "read_arrays", error, 1):
            report = index.doctor(repair=True)
        assert report.findings
        assert report.ok
        assert index.doctor().findings == ()


# -- the database --------------------------------------------------------------------------


@pytest.mark.parametrize("left", [0, 1, 260, 511])
def test_what_is_left_of_a_database_is_no_new_index(place: Path, left: int) -> None:
    """SQLite takes a file of less than a page for an empty database."""
    database = place / "truth.sqlite3"
    database.write_bytes(database.read_bytes()[:left])
    with pytest.raises(DamagedIndexError, match="restore a backup"):
        HebbianIndex.open(place)
    assert database.stat().st_size == left


@pytest.mark.parametrize("removed", ["file", "folder", "log", "replaced"])
def test_a_database_that_goes_while_open_acknowledges_nothing(
    make_index: Callable[..., HebbianIndex], tmp_path: Path, removed: str
) -> None:
    index = make_index()
    index.recall(QUESTION)
    index.parts.recalls.flush()  # or the thread that writes them could make another log
    place = tmp_path / "index"
    database = place / "truth.sqlite3"
    if removed == "file":
        database.unlink()
    elif removed == "folder":
        place.rename(tmp_path / "elsewhere")
    elif removed == "log":
        (place / "truth.sqlite3-wal").unlink()
    else:
        shutil.copyfile(database, tmp_path / "other")
        (tmp_path / "other").replace(database)
    with pytest.raises(StorageError, match=r"while it was open.*open the index again"):
        index.add(["Lost."])
    if removed != "log":
        for work in (lambda: index.recall(QUESTION), lambda: index.delete(["petrel"])):
            with pytest.raises(StorageError, match="while it was open"):
                work()


def test_a_database_that_goes_during_a_write_acknowledges_nothing(
    make_index: Callable[..., HebbianIndex], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = make_index()
    driver = index.parts.database.driver
    commit = driver.commit

    def without_file(connection: Any) -> None:
        (tmp_path / "index" / "truth.sqlite3").unlink()
        commit(connection)

    monkeypatch.setattr(driver, "commit", without_file)
    with pytest.raises(StorageError, match="removed while it was open"):
        index.add(["Lost."])


@pytest.mark.parametrize(
    "column", ["candidates", "metadata", "tags", "links", "build_settings", "embedding", "body"]
)
@pytest.mark.parametrize("value", ["{", "7", '"x"', "[[[", "", b"\xff\xfe{}"])
def test_damaged_json_is_told(
    make_index: Callable[..., HebbianIndex], tmp_path: Path, column: str, value: Any
) -> None:
    class Embedder:
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return [[1.0, float(len(text))] for text in texts]

        def embed_query(self, text: str) -> list[float]:
            return [1.0, 0.5]

    place = tmp_path / "index"
    index = make_index(
        [Chunk(text="The Petrel.", tags=("ship",), metadata={"a": 1}, addresses=("p.md",))],
        embedder=Embedder(),
    )
    recall = index.recall("Petrel")
    index.reinforce(recall, [recall.hits[0].chunk.id])
    index.close()
    shutil.rmtree(place / "derived")
    table = {"build_settings": "namespaces", "embedding": "namespaces", "body": "feedback"}
    with closing(sqlite3.connect(place / "truth.sqlite3")) as connection, connection:
        stored = value.decode("latin-1").encode() if isinstance(value, bytes) else value
        connection.execute(f"UPDATE {table.get(column, 'chunks')} SET {column} = ?", (stored,))

    def use() -> None:
        with HebbianIndex.open(place, embedder=Embedder(), settings="saved") as damaged:
            found = damaged.recall("Petrel", where={"a": 1})
            damaged.get([hit.chunk.id for hit in found.hits])
            damaged.explain(found, recall.hits[0].chunk.id)
            assert damaged.doctor().findings

    with pytest.raises(DamagedIndexError):
        use()


# -- folders -------------------------------------------------------------------------------


def test_no_temporary_folder(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hebbgraph.store.database._writable", lambda *_: False)
    monkeypatch.setattr(tempfile, "tempdir", str(place / "nowhere"))
    with (
        HebbianIndex.open(place) as index,
        pytest.raises(StorageError, match="TMPDIR"),
    ):
        index.recall(QUESTION)


def test_a_folder_of_derived_parts_that_cannot_be_locked(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    error = PermissionError(errno.EACCES, "Permission denied", str(place / "derived"))
    told = pytest.raises(ReadOnlyIndexError, match="derived")
    with _failing(monkeypatch, locks, "lock_descriptor", error, 99), told:
        HebbianIndex.open(place).recall(QUESTION)
    with _failing(monkeypatch, folder, "make_way", error, 99), told:
        HebbianIndex.open(place)


def test_too_many_open_files_do_not_make_it_read_only(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    error = OSError(errno.EMFILE, "Too many open files")
    with _failing(monkeypatch, Path, "touch", error, 99):
        with pytest.raises(StorageError, match="ulimit") as caught:
            HebbianIndex.open(place)
        assert not isinstance(caught.value, ReadOnlyIndexError)


def test_a_snapshot_is_on_the_disk_before_its_name(
    make_index: Callable[..., HebbianIndex], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its content, then the name; so a power cut costs no rebuild."""
    index = make_index()
    index.recall(QUESTION)
    told: list[str] = []
    fsync, replace = os.fsync, os.replace

    def noted_fsync(opened: int) -> None:
        told.append(Path(os.readlink(f"/proc/self/fd/{opened}")).name)
        fsync(opened)

    def noted_replace(source: Any, target: Any) -> None:
        told.append(f"-> {Path(target).name}")
        replace(source, target)

    if not os.path.exists("/proc/self/fd"):
        pytest.skip("needs /proc to see which file is synced")
    monkeypatch.setattr(os, "fsync", noted_fsync)
    monkeypatch.setattr(os, "replace", noted_replace)
    index.parts.derived.save()
    partial, named, *_ = told
    assert partial.startswith(".graph.arrays.")
    assert named == "-> graph.arrays"


def test_every_error_here_is_of_our_tree() -> None:
    assert issubclass(DamagedPartError, HebbgraphError)


def test_a_namespace_that_lost_its_row_is_no_new_one(
    make_index: Callable[..., HebbianIndex], tmp_path: Path
) -> None:
    make_index().close()
    with closing(sqlite3.connect(tmp_path / "index" / "truth.sqlite3")) as connection, connection:
        connection.execute("DELETE FROM namespaces")
    with pytest.raises(DamagedIndexError, match="its own row is gone"):
        HebbianIndex.open(tmp_path / "index")


def test_the_doctor_compares_tables_with_their_indexes(
    make_index: Callable[..., HebbianIndex], tmp_path: Path
) -> None:
    """A flipped number of a generation is in the table alone, and hides a chunk from rebuilds."""
    make_index().close()
    with closing(sqlite3.connect(tmp_path / "index" / "truth.sqlite3")) as connection, connection:
        connection.execute("UPDATE chunks SET generation = -5 WHERE id = 'petrel'")
    with HebbianIndex.open(tmp_path / "index") as index:
        report = index.doctor(repair=True)
    assert not report.ok
    assert any("generation" in finding.problem for finding in report.findings)


def test_a_connection_that_fell_back_to_reading_is_not_kept(
    make_index: Callable[..., HebbianIndex],
) -> None:
    """SQLite opens a file for reading if it cannot open it for writing."""
    index = make_index()
    index.parts.database.ask("PRAGMA query_only=ON")
    with pytest.raises(ReadOnlyIndexError):
        index.add(["Refused."])
    assert index.add(["Kept."]).added == 1
