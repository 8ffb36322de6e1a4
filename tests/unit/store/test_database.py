"""Opening places that hold an index or something else, and failures while writing."""

from __future__ import annotations

import errno
import io
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

import hebbgraph
from hebbgraph import (
    Chunk,
    DamagedIndexError,
    DiskFullError,
    HebbgraphError,
    HebbianIndex,
    IndexLockedError,
    NewerVersionError,
    NotAnIndexError,
    ParameterError,
    ReadOnlyIndexError,
    Settings,
    SettingsMismatchError,
    StorageError,
)
from hebbgraph.store import database, schema
from hebbgraph.store.database import DATABASE_NAME, Connection

NOBODY = 65534


def _files(directory: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(directory)): path.read_bytes()
        for path in sorted(directory.rglob("*"))
        if path.is_file()
    }


def _meta(directory: Path) -> dict[str, str]:
    with closing(sqlite3.connect(directory / DATABASE_NAME)) as connection:
        return dict(connection.execute("SELECT key, value FROM meta"))


# -- making and migrating ------------------------------------------------------------


def test_a_new_directory_gets_every_table(
    open_index: Callable[..., HebbianIndex], tmp_path: Path
) -> None:
    open_index("deep/er/index")
    place = tmp_path / "deep/er/index"
    with closing(sqlite3.connect(place / DATABASE_NAME)) as connection:
        tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
        (journal,) = connection.execute("PRAGMA journal_mode").fetchone()
    assert set(schema.TABLES) <= tables
    assert journal == "wal"
    meta = _meta(place)
    assert len(meta.pop("database_id")) == 32
    assert meta == {
        "application": "hebbgraph",
        "schema_version": str(schema.SCHEMA_VERSION),
    }


def test_an_index_that_another_process_makes_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, listed = tmp_path / "index", Path.iterdir

    def late(path: Path) -> Iterator[Path]:
        with HebbianIndex.open(tmp_path / "other"):
            shutil.copytree(tmp_path / "other", place, dirs_exist_ok=True)
        return listed(path)

    place.mkdir()
    with monkeypatch.context() as patched:
        patched.setattr(Path, "iterdir", late)
        HebbianIndex.open(place).close()


def test_an_empty_directory_becomes_an_index(
    open_index: Callable[..., HebbianIndex], tmp_path: Path
) -> None:
    (tmp_path / "index").mkdir()
    assert open_index().stats().chunks == 0


def test_migrations_run_one_after_the_other(
    make_index: Callable[..., HebbianIndex],
    open_index: Callable[..., HebbianIndex],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    make_index().close()
    now = schema.SCHEMA_VERSION
    steps: list[int] = []

    def first(connection: Connection, types: schema.Types) -> None:
        steps.append(1)
        connection.execute("ALTER TABLE documents ADD COLUMN note TEXT")

    def second(connection: Connection, types: schema.Types) -> None:
        steps.append(2)
        connection.execute("UPDATE documents SET note = 'read'")

    monkeypatch.setattr(schema, "SCHEMA_VERSION", now + 2)
    monkeypatch.setattr(schema, "MIGRATIONS", {now: first, now + 1: second})
    index = open_index()
    assert steps == [1, 2]
    assert _meta(tmp_path / "index")["schema_version"] == str(now + 2)
    assert index.recall("Who built the Petrel?", k=1).hits[0].chunk.id == "petrel"
    index.close()
    open_index()
    assert steps == [1, 2]


def test_a_database_of_version_1_is_read(
    open_index: Callable[..., HebbianIndex],
    assert_like_rebuilt: Callable[[HebbianIndex], None],
    tmp_path: Path,
) -> None:
    place = tmp_path / "index"
    place.mkdir()
    with closing(sqlite3.connect(place / DATABASE_NAME)) as connection:
        connection.executescript(Path(__file__).with_name("version_1.sql").read_text())
    index = open_index()
    assert _meta(place)["schema_version"] == str(schema.SCHEMA_VERSION)
    assert index.ids() == ["moss", "petrel"]
    recall = index.recall("Where was the builder of the Petrel born?", k=2)
    assert {hit.chunk.id for hit in recall.hits} == {"moss", "petrel"}
    index.export_feedback(log := io.StringIO())
    assert json.loads(log.getvalue())["cited"] == ["moss"]
    index.add([Chunk(id="new", text="Tessel Bay freezes in winter.")])
    assert index.retag().replaced == 2  # until then, tags are proposed as they were then
    assert_like_rebuilt(index)


def test_a_migration_that_fails_leaves_the_older_version(
    make_index: Callable[..., HebbianIndex],
    open_index: Callable[..., HebbianIndex],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    make_index().close()
    now = schema.SCHEMA_VERSION

    def halfway(connection: Connection, types: schema.Types) -> None:
        connection.execute("DELETE FROM chunks")
        raise sqlite3.OperationalError("boom")

    with monkeypatch.context() as patch:
        patch.setattr(schema, "SCHEMA_VERSION", now + 1)
        patch.setattr(schema, "MIGRATIONS", {now: halfway})
        with pytest.raises(StorageError, match="boom"):
            open_index()
    assert _meta(tmp_path / "index")["schema_version"] == str(now)
    assert open_index().stats().chunks == 8


def test_an_older_index_that_is_read_only_says_what_to_do(
    make_index: Callable[..., HebbianIndex],
    open_index: Callable[..., HebbianIndex],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    make_index().close()
    now = schema.SCHEMA_VERSION
    monkeypatch.setattr(schema, "SCHEMA_VERSION", now + 1)
    monkeypatch.setattr(database, "_writable", lambda directory, path: False)
    with pytest.raises(ReadOnlyIndexError, match=rf"schema {now}, .* {now + 1}\).*open it once"):
        open_index()


def test_an_index_of_a_newer_version_is_left_alone(
    make_index: Callable[..., HebbianIndex],
    open_index: Callable[..., HebbianIndex],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    make_index().close()
    newer = schema.SCHEMA_VERSION
    before = _files(tmp_path / "index")
    monkeypatch.setattr(schema, "SCHEMA_VERSION", newer - 1)
    with pytest.raises(NewerVersionError, match=rf"schema {newer}.*upgrade"):
        open_index()
    assert _files(tmp_path / "index") == before


def test_a_writer_older_than_the_index_is_refused(
    make_index: Callable[..., HebbianIndex], tmp_path: Path
) -> None:
    """A newer version may keep rows that this one would write wrongly, or drop."""
    index = make_index()
    with closing(sqlite3.connect(tmp_path / "index" / DATABASE_NAME)) as connection, connection:
        connection.execute("UPDATE meta SET value = '999' WHERE key = 'schema_version'")
    for work in (lambda: index.add(["Late."]), lambda: index.delete(["moss"])):
        with pytest.raises(NewerVersionError, match=r"schema 999.*upgrade"):
            work()
    assert index.recall("Who built the Petrel?", k=1).hits


def test_other_build_settings_raise(
    make_index: Callable[..., HebbianIndex], open_index: Callable[..., HebbianIndex]
) -> None:
    make_index().close()
    with pytest.raises(SettingsMismatchError, match="language='english', got language='german'"):
        open_index(settings=Settings(language="german"))
    # Namespaces have their own.
    open_index(settings=Settings(language="german"), namespace="berlin")


# -- something else lies there ---------------------------------------------------------


def _folder_of_other_files(place: Path) -> None:
    place.mkdir()
    (place / "letter.txt").write_text("dear reader")


def _a_file(place: Path) -> None:
    place.write_text("dear reader")


def _anothers_database(place: Path) -> None:
    place.mkdir()
    with closing(sqlite3.connect(place / DATABASE_NAME)) as connection:
        connection.execute("CREATE TABLE songs (title TEXT)")


def _anothers_meta(place: Path) -> None:
    place.mkdir()
    with closing(sqlite3.connect(place / DATABASE_NAME)) as connection:
        connection.execute("CREATE TABLE meta (key TEXT, value TEXT)")
        connection.execute("INSERT INTO meta VALUES ('application', 'jukebox')")
        connection.commit()


@pytest.mark.parametrize(
    "prepare", [_folder_of_other_files, _a_file, _anothers_database, _anothers_meta]
)
def test_other_files_are_named_and_left_alone(
    tmp_path: Path, prepare: Callable[[Path], None]
) -> None:
    place = tmp_path / "place"
    prepare(place)

    def files() -> dict[str, bytes]:
        found = {"": place.read_bytes()} if place.is_file() else _files(place)
        return {name: data for name, data in found.items() if not name.endswith(("-wal", "-shm"))}

    before = files()
    with pytest.raises(NotAnIndexError, match=str(place)):
        HebbianIndex.open(place)
    assert files().keys() == before.keys()


@pytest.mark.parametrize("offset", [0, 100])
def test_a_database_that_cannot_be_read(
    make_index: Callable[..., HebbianIndex], tmp_path: Path, offset: int
) -> None:
    make_index().close()
    path = tmp_path / "index" / DATABASE_NAME
    content = bytearray(path.read_bytes())
    content[offset : offset + 4000] = b"\xa5" * 4000
    path.write_bytes(content)
    with pytest.raises(DamagedIndexError, match="restore a backup"):
        HebbianIndex.open(tmp_path / "index")
    assert path.read_bytes() == content


def test_a_truncated_database(make_index: Callable[..., HebbianIndex], tmp_path: Path) -> None:
    make_index().close()
    path = tmp_path / "index" / DATABASE_NAME
    path.write_bytes(path.read_bytes()[:5000])
    shutil.rmtree(tmp_path / "index" / "derived")
    with pytest.raises(DamagedIndexError), HebbianIndex.open(tmp_path / "index") as index:
        index.recall("Petrel")


@pytest.mark.parametrize(
    "location",
    ["", 5, None, "nul\0byte", "x" * 5000, "lone\ud800", "nosuch://server/database"],
)
def test_impossible_places(tmp_path: Path, location: object) -> None:
    if isinstance(location, str) and location and "://" not in location:
        location = str(tmp_path / location)
    with pytest.raises(HebbgraphError):
        HebbianIndex.open(location)  # type: ignore[arg-type]


def test_a_place_below_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(StorageError):
        HebbianIndex.open(tmp_path / "file" / "index")


@pytest.mark.parametrize("namespace", ["", "a\nb", "\ud800", 5, "x" * 257])
def test_impossible_namespaces(namespace: object) -> None:
    with pytest.raises(ParameterError, match="namespace"):
        HebbianIndex.open(":memory:", namespace=namespace)  # type: ignore[arg-type]


# -- reading without writing -----------------------------------------------------------

# Everything is imported before the rights to read it are given up.
_DROP_PRIVILEGES = f"""
import mmap, os, sys
from hebbgraph import *
with HebbianIndex.open(":memory:") as index:
    index.add(["Synapses learn."])
    index.recall("Synapses")
if os.getuid() == 0:
    os.setgroups([])
    os.setgid({NOBODY})
    os.setuid({NOBODY})
"""
_READ_ONLY = (
    _DROP_PRIVILEGES
    + """
with HebbianIndex.open(sys.argv[1]) as index:
    index.keep_recalls()
    recall = index.recall("Where was the builder of the Petrel born?", k=3)
    print(*(hit.chunk.id for hit in recall.hits), *(cue.tag for cue in recall.cues), sep=",")
    print(index.find_recall(recall.id) == recall, index.stats().chunks)
    for write in (
        lambda: index.add(["new"]), lambda: index.delete(["petrel"]), lambda: index.compact(),
    ):
        try:
            write()
        except ReadOnlyIndexError as error:
            print("refused:", error)
    print(len(index.recall("Petrel", k=8).hits))
"""
)


def _run(script: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [sys.executable, "-c", script, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=60,
        cwd="/",
        env=os.environ | {"PYTHONPATH": str(Path(hebbgraph.__file__).parents[1])},
    )
    assert done.returncode == 0, done.stderr
    return done


@pytest.fixture
def read_only_place(tmp_path: Path) -> Iterator[Path]:
    """A directory that an unprivileged process may read below, but not write."""
    below = Path(tempfile.mkdtemp(prefix="hebbgraph-"))
    below.chmod(0o755)
    yield below / "in #dex?"  # such a name must not end a URI
    for path in [below, *below.rglob("*")]:
        path.chmod(0o755)
    shutil.rmtree(below)


def _freeze(place: Path) -> None:
    for path in [place, *place.rglob("*")]:
        path.chmod(0o555 if path.is_dir() else 0o444)


@pytest.mark.parametrize("derived", ["kept", "missing", "behind", "killed"])
def test_a_read_only_directory_reads_and_refuses_writes(
    make_index: Callable[..., HebbianIndex],
    corpus: list[Chunk],
    tmp_path: Path,
    read_only_place: Path,
    derived: str,
) -> None:
    index = make_index(corpus[:5] if derived == "behind" else corpus)
    if derived == "killed":  # the writer is not done: much stands in the -wal file alone
        shutil.copytree(tmp_path / "index", read_only_place)
    index.close()
    if derived == "behind":
        shutil.copytree(tmp_path / "index" / "derived", tmp_path / "older")
        make_index().close()
        shutil.rmtree(tmp_path / "index" / "derived")
        shutil.copytree(tmp_path / "older", tmp_path / "index" / "derived")
    if derived != "killed":
        shutil.copytree(tmp_path / "index", read_only_place)
    if derived == "missing":
        shutil.rmtree(read_only_place / "derived")
    with HebbianIndex.open(tmp_path / "index") as same:
        expected = same.recall("Where was the builder of the Petrel born?", k=3)
    _freeze(read_only_place)
    before = _files(read_only_place)
    done = _run(_READ_ONLY, read_only_place)
    first, second, *refusals, last = done.stdout.splitlines()
    ids = [hit.chunk.id for hit in expected.hits]
    assert first.split(",") == [*ids, *(cue.tag for cue in expected.cues)]
    assert second == "True 8"
    assert len(refusals) == 3
    assert all("is read-only; reading works" in line for line in refusals)
    assert last == "8"
    assert _files(read_only_place) == before


def test_a_directory_without_permission(
    make_index: Callable[..., HebbianIndex], tmp_path: Path, read_only_place: Path
) -> None:
    make_index().close()
    shutil.copytree(tmp_path / "index", read_only_place)
    read_only_place.chmod(0o000)
    script = """
for place in sys.argv[1:]:
    try:
        HebbianIndex.open(place)
    except StorageError as error:
        print(type(error).__name__)
"""
    done = _run(_DROP_PRIVILEGES + script, read_only_place, read_only_place / "below")
    assert len(done.stdout.splitlines()) == 2


# -- a second writer -------------------------------------------------------------------


def test_a_second_writer_waits_and_then_raises(
    make_index: Callable[..., HebbianIndex], open_index: Callable[..., HebbianIndex]
) -> None:
    first = make_index()
    second = open_index(settings=Settings(write_wait_seconds=0.2))
    before = (second.stats(), second.recall("Petrel").hits)
    with (
        first.parts.database.write(),
        pytest.raises(IndexLockedError, match=r"more than 0.2 s.*write_wait_seconds"),
    ):
        second.add(["new"])
    with first.parts.database.write(), pytest.raises(IndexLockedError):
        second.delete(["petrel"])
    assert (second.stats(), second.recall("Petrel").hits) == before
    assert second.add(["new"]).added == 1


def test_a_second_writer_continues_after_the_first(
    make_index: Callable[..., HebbianIndex], open_index: Callable[..., HebbianIndex]
) -> None:
    first, second = make_index(), open_index(settings=Settings(write_wait_seconds=30))
    begun = threading.Event()
    reports = []

    def write() -> None:
        begun.set()
        reports.append(second.add(["new"]))

    thread = threading.Thread(target=write)
    with first.parts.database.write():
        thread.start()
        begun.wait(10)
    thread.join(30)
    assert reports[0].added == 1
    assert first.stats().chunks == 9


def test_readers_do_not_wait_for_a_writer(
    make_index: Callable[..., HebbianIndex], open_index: Callable[..., HebbianIndex]
) -> None:
    first = make_index()
    second = open_index(settings=Settings(write_wait_seconds=0))
    with first.parts.database.write():
        assert len(second.recall("Petrel", k=8).hits) == 8


# -- a full disk -------------------------------------------------------------------------


def test_a_full_disk_keeps_nothing_of_the_batch(make_index: Callable[..., HebbianIndex]) -> None:
    index = make_index(settings=Settings(batch_size=4))
    before = (index.stats(), index.recall("Petrel").hits)
    database = index.parts.database
    index.parts.recalls.flush()  # before the connection is closed below
    ((pages,),) = database.ask("PRAGMA page_count")
    database.disconnect()  # so that there is one connection alone
    database.ask(f"PRAGMA max_page_count={pages + 1}")
    large = [{"id": "small", "text": "a"}, {"id": "large", "text": "many words " * 100_000}]
    with pytest.raises(DiskFullError, match="nothing of this batch was kept") as caught:
        index.add(large)
    assert caught.value.errno == errno.ENOSPC
    assert caught.value.__notes__ == ["0 chunks of earlier batches were committed"]
    assert (index.stats(), index.recall("Petrel").hits) == before
    assert index.delete(["bare"]) == 1  # deleting stays possible
    database.disconnect()
    index.add(large)
    assert index.stats().chunks == 9
