"""Backups of an index that is in use, and putting them back."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from hebbgraph import (
    DamagedIndexError,
    HebbianIndex,
    IndexLockedError,
    NewerVersionError,
    NotAnIndexError,
    ParameterError,
    StorageError,
)
from hebbgraph.cli import app
from hebbgraph.store import backup, schema


def _ids(index: HebbianIndex) -> set[str]:
    return {hit.chunk.id for hit in index.recall("Ida Moss", k=200).hits}


def test_a_backup_while_others_write_is_one_state(
    make_index: Callable[..., HebbianIndex],
    open_index: Callable[..., HebbianIndex],
    tmp_path: Path,
    assert_like_rebuilt: Callable[[HebbianIndex], None],
) -> None:
    index, other = make_index(), open_index()
    recall = index.recall("Who built the Petrel?", k=3)
    done = threading.Event()

    def write() -> None:
        n = 0
        while not done.is_set():  # always two at once
            other.add([{"id": f"{half}{n}", "text": f"Ida Moss {n}"} for half in "ab"])
            n += 1

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for n in range(3):
            index.reinforce(recall, [recall.hits[n % 3].chunk.id], actor=f"reader-{n}")
            index.backup(tmp_path / f"backup{n}")
    finally:
        done.set()
        writer.join(60)
    for n in range(3):
        with HebbianIndex.open(tmp_path / f"backup{n}") as copy:
            added = _ids(copy) - {
                "petrel",
                "heron",
                "moss",
                "vale",
                "bay",
                "point",
                "knots",
                "bare",
            }
            assert {id_ for id_ in added if id_[0] == "a"} == {
                f"a{id_[1:]}" for id_ in added if id_[0] == "b"
            }
            assert copy.parts.log.count() == n + 1
            assert copy.doctor().ok
            if n == 2:
                assert_like_rebuilt(copy)


def test_restoring_under_processes_that_have_it_open(
    make_index: Callable[..., HebbianIndex],
    open_index: Callable[..., HebbianIndex],
    tmp_path: Path,
    assert_like_rebuilt: Callable[[HebbianIndex], None],
) -> None:
    index, other = make_index(), open_index()
    recall = index.recall("Who built the Petrel?", k=3)
    index.reinforce(recall, [recall.hits[1].chunk.id])
    before = _ids(index)
    index.backup(tmp_path / "backup")
    index.delete(["moss"])
    index.add([{"id": "late", "title": "Late", "text": "Ida Moss came late."}])
    index.reinforce(recall, [recall.hits[2].chunk.id])
    generation = other.recall("Ida Moss").generation
    HebbianIndex.restore(tmp_path / "backup", tmp_path / "index", force=True)
    # The same rows and generations mean something else now.
    index.add([{"id": "other", "title": "Other", "text": "Ida Moss was another."}])
    for one in (index, other):
        assert one.recall("Ida Moss").generation > generation
        assert _ids(one) == before | {"other"}
        assert one.parts.log.count() == 1
        assert len(one.parts.memory.events) == 1
        assert_like_rebuilt(one)
        assert one.doctor().ok


def test_a_write_while_restoring_is_not_taken_for_the_restored_state(
    make_index: Callable[..., HebbianIndex], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = make_index()
    index.backup(tmp_path / "backup")
    raise_numbers = backup._raise_numbers

    def late(copy: sqlite3.Connection, live: sqlite3.Connection) -> None:
        raise_numbers(copy, live)
        index.delete(["petrel"])  # after the look at the numbers
        assert "petrel" not in _ids(index)

    monkeypatch.setattr(backup, "_raise_numbers", late)
    HebbianIndex.restore(tmp_path / "backup", tmp_path / "index", force=True)
    assert "petrel" in _ids(index)
    assert index.doctor().ok


def test_a_backup_is_one_file_that_needs_nothing_beside_it(
    make_index: Callable[..., HebbianIndex], tmp_path: Path
) -> None:
    make_index().backup(tmp_path / "backup")
    assert [path.name for path in (tmp_path / "backup").iterdir()] == ["truth.sqlite3"]
    place = tmp_path / "backup" / "truth.sqlite3"
    with closing(sqlite3.connect(place)) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("delete",)


def test_a_place_where_no_backup_can_be(
    make_index: Callable[..., HebbianIndex], tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StorageError, match="Not a directory"):
        make_index().backup(tmp_path / "file" / "backup")


def test_no_backup_inside_the_index(tmp_path: Path) -> None:
    with HebbianIndex.open(tmp_path / "index") as index:
        index.add(["Ida Moss built the Petrel."])
        with pytest.raises(ParameterError, match="is inside the index"):
            index.maintenance.backup(tmp_path / "index" / "derived" / "backup")
        assert not (tmp_path / "index" / "derived" / "backup").exists()
        index.maintenance.backup(tmp_path / "beside")


def test_restoring_to_a_new_place(
    make_index: Callable[..., HebbianIndex], open_index: Callable[..., HebbianIndex], tmp_path: Path
) -> None:
    index = make_index()
    index.backup(tmp_path / "backup")
    HebbianIndex.restore(tmp_path / "backup", tmp_path / "new")
    assert _ids(open_index("new")) == _ids(index)
    with HebbianIndex.open(":memory:") as transient:
        transient.add(["Ida Moss"])
        transient.backup(tmp_path / "kept")
    assert len(_ids(open_index("kept"))) == 1


def test_a_backup_of_another_version(
    make_index: Callable[..., HebbianIndex],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    index = make_index()
    index.backup(tmp_path / "backup")
    index.delete(["moss"])

    def step(connection: Any, types: schema.Types) -> None:
        connection.execute("CREATE TABLE made_by_step (n INTEGER)")

    now = schema.SCHEMA_VERSION
    monkeypatch.setattr(schema, "SCHEMA_VERSION", now + 1)
    monkeypatch.setattr(schema, "MIGRATIONS", {now: step})
    HebbianIndex.restore(tmp_path / "backup", tmp_path / "index", force=True)
    with HebbianIndex.open(tmp_path / "index") as again:
        assert "moss" in _ids(again)
        with again.parts.database.read() as connection:
            assert connection.execute("SELECT * FROM made_by_step").fetchall() == []
        again.backup(tmp_path / "newer")
    monkeypatch.setattr(schema, "SCHEMA_VERSION", now)
    with pytest.raises(NewerVersionError):
        HebbianIndex.restore(tmp_path / "newer", tmp_path / "other")


def test_what_is_no_backup_changes_nothing(
    make_index: Callable[..., HebbianIndex], tmp_path: Path
) -> None:
    index = make_index()
    index.backup(tmp_path / "backup")
    with pytest.raises(ParameterError, match="is there already"):
        index.backup(tmp_path / "backup")
    with pytest.raises(NotAnIndexError):
        HebbianIndex.restore(tmp_path / "nothing", tmp_path / "index")
    with pytest.raises(ParameterError, match="index itself"):
        HebbianIndex.restore(tmp_path / "index", tmp_path / "index")
    file = tmp_path / "backup" / "truth.sqlite3"
    content = bytearray(file.read_bytes())
    content[4096:9000] = bytes(9000 - 4096)
    file.write_bytes(content)
    with pytest.raises(DamagedIndexError):
        HebbianIndex.restore(tmp_path / "backup", tmp_path / "index", force=True)
    assert len(_ids(index)) == 8


def test_another_writer_stops_restoring(
    make_index: Callable[..., HebbianIndex], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_index().backup(tmp_path / "backup")
    monkeypatch.setattr(backup, "_WAIT_SECONDS", 0.1)
    with closing(sqlite3.connect(tmp_path / "index" / "truth.sqlite3")) as writer:
        writer.execute("BEGIN IMMEDIATE")
        with pytest.raises(IndexLockedError, match="try again, or stop that writer"):
            HebbianIndex.restore(tmp_path / "backup", tmp_path / "index", force=True)


@pytest.mark.every_database
def test_postgresql_has_its_own_tools(
    backend: str, make_index: Callable[..., HebbianIndex], tmp_path: Path
) -> None:
    index = make_index()
    if backend == "sqlite":
        assert index.backup(tmp_path / "backup") == tmp_path / "backup"
    else:
        with pytest.raises(ParameterError, match="pg_dump"):
            index.backup(tmp_path / "backup")


def test_the_commands(make_index: Callable[..., HebbianIndex], tmp_path: Path) -> None:
    make_index().close()
    run, place, copy = CliRunner().invoke, str(tmp_path / "index"), str(tmp_path / "copy")
    assert run(app, ["backup", copy, "--db", place]).exit_code == 0
    with HebbianIndex.open(place) as index:
        index.delete(["moss"])
    done = run(app, ["restore", copy, "--db", place, "--force"])
    assert done.exit_code == 0, done.output
    with HebbianIndex.open(place) as index:
        assert "moss" in _ids(index)


def test_an_index_that_exists_is_replaced_only_by_force(
    make_index: Callable[..., HebbianIndex], tmp_path: Path
) -> None:
    index = make_index()
    index.backup(tmp_path / "backup")
    index.add([{"id": "late", "text": "Ida Moss came late."}])
    with pytest.raises(ParameterError, match=r"holds an index already.*force=True.*--force"):
        HebbianIndex.restore(tmp_path / "backup", tmp_path / "index")
    command = ["restore", str(tmp_path / "backup"), "--db", str(tmp_path / "index")]
    refused = CliRunner().invoke(app, command)
    assert isinstance(refused.exception, ParameterError)
    assert "late" in _ids(index)
    assert CliRunner().invoke(app, [*command, "--force"]).exit_code == 0
    assert "late" not in _ids(index)
    (tmp_path / "empty").mkdir()
    HebbianIndex.restore(tmp_path / "backup", tmp_path / "empty")
