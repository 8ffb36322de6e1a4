"""Disks that are full or read-only, and databases that were put back."""

from __future__ import annotations

import os
import resource
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from children import python
from dump import assert_sound
from ships import ByNumber

import hebbgraph.store.vectors
from hebbgraph import HebbgraphError, HebbianIndex, Settings
from hebbgraph.errors import DiskFullError, NotFoundError, ReadOnlyIndexError, StorageError

Mount = Callable[..., Path]


def _chunks(start: int, stop: int) -> list[dict[str, str]]:
    return [
        {"id": f"c{n}", "title": f"Heron {n}", "text": f"Heron {n} lies at Tessel Bay, rope {n}. "
         + f"log{n} " * 40}
        for n in range(start, stop)
    ]  # fmt: skip


# -- full -----------------------------------------------------------------------------------


def test_full_disk_is_named_and_nothing_is_half_written(tmp_path: Path, mount: Mount) -> None:
    disk = mount(tmp_path / "disk", size="6m")
    filler = disk / "filler"
    filler.write_bytes(b"\0" * (2 << 20))
    embedder = ByNumber()
    with HebbianIndex.open(disk / "index", embedder=embedder) as index:
        acknowledged = _fill(index)
        assert index.ids() == sorted(acknowledged)
        for call in (index.rebuild, lambda: index.refresh(_with_document(5)), lambda: index.doctor):
            with suppress(DiskFullError):
                call()
            assert set(index.ids()) >= acknowledged
        assert index.recall("Heron 7", k=1)[0].id == "c7"
    with HebbianIndex.open(disk / "index", embedder=embedder) as index:
        assert set(index.ids()) >= acknowledged
        with pytest.raises(StorageError):
            index.backup(disk / "copy.sqlite3")
        filler.unlink()
        index.add(_chunks(2000, 2003))
        index.delete("c1")
        assert_sound(index)


def _fill(index: HebbianIndex) -> set[str]:
    acknowledged: set[str] = set()
    for start in range(0, 3000, 5):
        batch = _chunks(start, start + 5)
        try:
            index.add(batch)
        except DiskFullError:
            return acknowledged
        acknowledged |= {chunk["id"] for chunk in batch}
    raise AssertionError("the disk did not fill up")


def _with_document(n: int) -> list[dict[str, str]]:
    return [{**chunk, "document_id": "log"} for chunk in _chunks(5000, 5000 + n)]


def test_failed_backup_leaves_no_file(tmp_path: Path, mount: Mount) -> None:
    disk = mount(tmp_path / "disk", size="300k")
    with HebbianIndex.open(tmp_path / "index") as index:
        index.add(_chunks(0, 500))
        with pytest.raises(DiskFullError):
            index.backup(disk / "copy.sqlite3")
    assert list(disk.iterdir()) == []


@contextmanager
def _largest_file(size: int) -> Iterator[None]:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def _add_fifties(index: HebbianIndex) -> None:
    for start in range(5, 3000, 50):
        index.add(_chunks(start, start + 50))


def test_file_size_limit_is_a_storage_error(tmp_path: Path) -> None:
    with HebbianIndex.open(tmp_path) as index:
        index.add(_chunks(0, 5))
        with _largest_file(300_000), pytest.raises(StorageError):
            _add_fifties(index)
        before = index.ids()
        assert len(before) % 50 == 5
        index.add(_chunks(4000, 4001))
        assert index.ids() == sorted([*before, "c4000"])
        assert_sound(index)


def test_vectors_are_found_where_their_file_cannot_be_written(
    tmp_path: Path, mount: Mount, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hebbgraph.store.vectors, "_FEW", 20)
    disk = mount(tmp_path / "disk", size="200k")
    index = HebbianIndex.open(tmp_path / "index", embedder=ByNumber(512), cache_dir=disk)
    with index:
        index.add(_chunks(0, 200))
        assert index.recall("Heron 120", k=1)[0].id == "c120"
        assert [path for path in disk.iterdir() if path.stat().st_size] == []


# -- read-only ------------------------------------------------------------------------------


def _files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_read_only_index_answers_and_writes_nothing(tmp_path: Path) -> None:
    with HebbianIndex.open(tmp_path, embedder=ByNumber()) as index:
        index.add(_chunks(0, 30))
        wanted = [(hit.id, hit.score) for hit in index.recall("Heron 7", where={"$id": "c7"})]
    before = _files(tmp_path)
    with HebbianIndex.open(tmp_path, embedder=ByNumber(), read_only=True) as index:
        assert [(h.id, h.score) for h in index.recall("Heron 7", where={"$id": "c7"})] == wanted
        assert index.doctor() == []
        for write in (index.rebuild, lambda: index.add(_chunks(0, 1)), lambda: index.delete("c1")):
            with pytest.raises(ReadOnlyIndexError, match="was opened with read_only=True"):
                write()
    assert {n: d for n, d in _files(tmp_path).items() if not n.endswith(("-wal", "-shm"))} == before


def test_read_only_wants_an_index(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="there is no index at"):
        HebbianIndex.open(tmp_path / "none", read_only=True)
    assert not (tmp_path / "none").exists()


def test_index_on_a_read_only_disk(tmp_path: Path, mount: Mount) -> None:
    with HebbianIndex.open(tmp_path / "index", embedder=ByNumber()) as index:
        index.add(_chunks(0, 30))
    view = mount(tmp_path / "view", read_only_view_of=tmp_path / "index")
    with HebbianIndex.open(view, embedder=ByNumber(), read_only=True) as index:
        assert index.recall("Heron 7", k=1)[0].id == "c7"
        assert index.doctor() == []
    with pytest.raises(StorageError, match=r"read-only|read_only=True"):
        HebbianIndex.open(view, embedder=ByNumber())


def test_log_on_a_read_only_disk_is_read_or_refused(tmp_path: Path, mount: Mount) -> None:
    """What a killed writer left in the log must not be passed over."""
    script = (
        "import os, sys; from hebbgraph import HebbianIndex\n"
        "index = HebbianIndex.open(sys.argv[1]); index.add(['A heron.', 'An auk.']); os._exit(9)"
    )
    assert python(script, str(tmp_path / "index")).wait(60) == 9
    for shm in (True, False):
        if not shm:
            (tmp_path / "index" / "default.sqlite3-shm").unlink()
        view = mount(tmp_path / f"view{shm}", read_only_view_of=tmp_path / "index")
        if shm:
            with HebbianIndex.open(view, read_only=True) as index:
                assert len(index.ids()) == 2
        else:
            with pytest.raises(StorageError, match="-wal holds changes that cannot be read"):
                HebbianIndex.open(view, read_only=True)


def test_reader_of_a_read_only_mount_sees_what_a_writer_elsewhere_does(
    tmp_path: Path, mount: Mount
) -> None:
    with HebbianIndex.open(tmp_path / "index") as index:
        index.add(_chunks(0, 300))
    view = mount(tmp_path / "view", read_only_view_of=tmp_path / "index")
    with HebbianIndex.open(view, read_only=True) as reader:
        reader.recall("Heron 7")
        with HebbianIndex.open(tmp_path / "index") as writer:
            writer.delete("c7")
            writer.add([{"id": "new", "text": "Umbrella quince yodel."}])
            assert "c7" not in reader.ids()
            assert reader.recall("Umbrella quince yodel", k=1)[0].id == "new"
        assert reader.recall("Umbrella quince yodel", k=1)[0].id == "new"
        with HebbianIndex.open(tmp_path / "index") as writer:
            for start in range(1000, 2000, 200):
                writer.add(_chunks(start, start + 200))
        assert len(reader.ids()) == 1300
        assert reader.doctor() == []


# -- put back -------------------------------------------------------------------------------


@pytest.fixture
def small_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """Write the file of vectors from twenty embeddings on."""
    monkeypatch.setattr(hebbgraph.store.vectors, "_FEW", 20)


_BY_VECTOR = Settings(vectors=1.0, graph=0.0)


def _found_by_vector(folder: Path) -> dict[str, str]:
    """Return which chunk is nearest to each chunk's vector."""
    embedder = ByNumber()
    with HebbianIndex.open(folder, embedder=embedder, settings=_BY_VECTOR) as index:
        return {
            chunk.id: index.recall("?", vector=embedder.vector(chunk.text), k=1)[0].id
            for chunk in index.get(index.ids())
        }


def _put_back(copy: Path, folder: Path) -> None:
    for path in folder.glob("*.sqlite3*"):
        path.unlink()
    shutil.copy(copy, folder / "default.sqlite3")


def _numbered(start: int, stop: int) -> list[dict[str, str]]:
    return [{"id": f"c{n}", "text": f"alpha beta {n}"} for n in range(start, stop)]


_CHANGES: dict[str, Callable[[HebbianIndex], object]] = {
    "more": lambda index: index.add(_numbered(60, 100)),
    "deleted": lambda index: index.delete(["c3", "c59"]),
    "replaced": lambda index: index.add([{"id": "c3", "text": "gamma 4003"}]),
    "refreshed": lambda index: index.refresh(
        [{"id": "c5", "text": "gamma 4005", "document_id": "d"}]
    ),
    "all deleted": lambda index: index.delete(index.ids()),
}


@pytest.mark.usefixtures("small_files")
@pytest.mark.parametrize("goes_on", [None, *_CHANGES])
@pytest.mark.parametrize("newer", list(_CHANGES))
@pytest.mark.parametrize("file_first", [True, False])
def test_older_copy_beside_a_newer_file_of_vectors(
    tmp_path: Path, newer: str, goes_on: str | None, file_first: bool
) -> None:
    """Each chunk is found by its own vector and no other, whatever the file was made from."""
    folder, copy = tmp_path / "index", tmp_path / "copy.sqlite3"
    with HebbianIndex.open(folder, embedder=ByNumber(), settings=_BY_VECTOR) as index:
        index.add(_numbered(0, 30))
        index.add(_numbered(30, 60))
        if file_first:
            index.recall("alpha 7")
        index.backup(copy)
        _CHANGES[newer](index)
        index.recall("alpha 7")
    _put_back(copy, folder)
    if goes_on is not None:
        with HebbianIndex.open(folder, embedder=ByNumber(), settings=_BY_VECTOR) as index:
            _CHANGES[goes_on](index)
    found = _found_by_vector(folder)
    assert {id_: other for id_, other in found.items() if other != id_} == {}


@pytest.mark.usefixtures("small_files")
def test_damaged_file_of_vectors_is_made_again(tmp_path: Path) -> None:
    with HebbianIndex.open(tmp_path, embedder=ByNumber(), settings=_BY_VECTOR) as index:
        index.add(_numbered(0, 60))
        index.recall("alpha 7")
    (file,) = tmp_path.glob("*.vectors")
    whole = file.read_bytes()
    headers = [
        whole[:4096].replace(b'"head"', b'"hand"'),
        whole[:4096].replace(b'"n": 60', b'"n": []'),
        whole[:4096].replace(b'"n": 60', b'"n": 61'),
        b"[]".ljust(4096),
        b"\xff" * 4096,
        b"",
    ]
    for header in headers:
        file.write_bytes(header + (whole[4096:] if header else b""))
        found = _found_by_vector(tmp_path)
        assert {id_: other for id_, other in found.items() if other != id_} == {}


def test_numbers_of_rows_are_never_used_again(tmp_path: Path) -> None:
    """A vector or text that another process has in memory must not serve a new chunk."""
    embedder = ByNumber()
    writer = HebbianIndex.open(tmp_path, embedder=embedder, settings=_BY_VECTOR)
    reader = HebbianIndex.open(tmp_path, embedder=embedder, settings=_BY_VECTOR)
    with writer, reader:
        writer.add(_numbered(0, 5))
        for n in range(5, 40):
            writer.add(_numbered(n, n + 1))
            reader.recall(f"alpha {n}", k=40)
            writer.delete(f"c{n}")
            writer.add([{"id": "newest", "text": f"gamma {1000 + n}"}])
            nearest = reader.recall("?", vector=embedder.vector(str(1000 + n)), k=1)[0]
            assert (nearest.id, nearest.text) == ("newest", f"gamma {1000 + n}")
            old = reader.recall("?", vector=embedder.vector(str(n)), k=10)
            assert f"c{n}" not in [hit.id for hit in old]
            assert all((hit.vectors or 0.0) < 1.0 or hit.rank == 1 for hit in old)
            writer.delete("newest")


def test_unwritable_directory_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no directory")
    for path in (tmp_path / "file", tmp_path / "file" / "index"):
        with pytest.raises(HebbgraphError):
            HebbianIndex.open(path)
    assert os.listdir(tmp_path) == ["file"]
