"""A database that is not, byte for byte, what was written does not answer."""

from __future__ import annotations

import logging
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import BinaryIO

import pytest

from hebbgraph import DamagedIndexError, HebbianIndex
from hebbgraph.store import file_sum
from hebbgraph.store.file_sum import FileSum


@pytest.fixture
def place(make_index: Callable[..., HebbianIndex], tmp_path: Path) -> Path:
    with make_index() as index:
        recall = index.recall("Who built the Petrel?", k=3, id="the recall")
        index.reinforce(recall, [recall.hits[0].chunk.id])
    return tmp_path / "index"


def _sum(place: Path) -> Path:
    return place / "truth.sqlite3.sum"


def _change(place: Path, old: bytes, new: bytes) -> None:
    path = place / "truth.sqlite3"
    content = path.read_bytes()
    assert old in content
    path.write_bytes(content.replace(old, new, 1))


@pytest.mark.parametrize("size", [64_000_000, 0], ids=["at once", "in the background"])
def test_a_flipped_letter_is_told_and_nothing_is_written(
    place: Path, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    """In the feedback log, whose rows have no checksum."""
    monkeypatch.setattr(file_sum, "_MAX_BYTES_AT_ONCE", size)
    _change(place, b"the recall", b"the rekall")
    for _ in range(2):  # closing does not make it right
        with HebbianIndex.open(place) as index:
            assert index.parts.database.dialect.damage() is not None
            for call in (
                lambda: index.recall("Petrel"),
                lambda: index.get(["petrel"]),
                lambda: index.add(["More."]),
                lambda: index.backup(place.parent / "backup"),
            ):
                with pytest.raises(DamagedIndexError, match=r"truth\.sqlite3\.sum"):
                    call()
            report = index.doctor(repair=True)
            assert {finding.part for finding in report.findings} == {"database"}
            assert "neither compared nor repaired" in report.notes[0]
    _sum(place).unlink()
    with HebbianIndex.open(place) as index:
        assert index.recall("Petrel").hits
    assert _sum(place).exists()


def test_a_chunk_that_is_not_what_was_written_is_not_shown(place: Path) -> None:
    """Where the whole file has no checksum, as after a kill, the row has one."""
    _sum(place).unlink()
    with HebbianIndex.open(place) as index:
        text = index.get(["petrel"])[0].text.encode()
    _sum(place).unlink()
    _change(place, text, text.swapcase())
    with HebbianIndex.open(place) as index:
        for _ in range(2):
            with pytest.raises(DamagedIndexError, match="'petrel' is not what was written"):
                index.recall("Petrel", k=8)
        with pytest.raises(DamagedIndexError, match="'petrel'"):
            index.get(["petrel"])
        index.delete(["petrel"])
        assert index.recall("Petrel", k=8).hits


def test_an_older_copy_put_back_is_no_damage(place: Path, tmp_path: Path) -> None:
    shutil.copyfile(place / "truth.sqlite3", tmp_path / "copy")
    with HebbianIndex.open(place) as index:
        index.add([{"id": "late", "text": "The ice trade ended."}])
        shutil.copytree(place, tmp_path / "in use")
    shutil.copyfile(tmp_path / "copy", place / "truth.sqlite3")
    for one in (place, tmp_path / "in use"):
        with HebbianIndex.open(one) as index:
            index.recall("ice trade")
            assert index.parts.database.dialect.damage() is None


def test_each_transaction_and_each_rewriting_has_a_number(place: Path) -> None:
    seen = [_sum(place).read_text()]
    for write in (
        lambda index: index.add([{"id": "late", "text": "Ice."}]),
        lambda index: index.parts.database.vacuum(),
        lambda index: index.forget(everything=True),
    ):
        with HebbianIndex.open(place) as index:
            write(index)
        seen.append(_sum(place).read_text())
    assert len({line.split()[0] for line in seen}) == 4
    with HebbianIndex.open(place) as index:
        index.recall("Ice")
    assert _sum(place).read_text() == seen[-1]  # nothing was written


@pytest.mark.parametrize("content", ["", "x", "0 0 0 0", "é", "1 2 3 4 5"])
def test_a_checksum_that_is_not_whole_says_nothing(place: Path, content: str) -> None:
    _sum(place).write_text(content, "utf-8")
    with HebbianIndex.open(place) as index:
        assert index.recall("Petrel").hits


def test_it_is_written_by_whoever_closes_last(place: Path) -> None:
    with HebbianIndex.open(place) as other:
        with HebbianIndex.open(place) as index:
            index.add([{"id": "late", "text": "Ice."}])
            before = _sum(place).read_text()
        assert _sum(place).read_text() == before
        assert other.recall("Ice").hits[0].chunk.id == "late"
    assert _sum(place).read_text() != before


def test_what_another_connection_has_open_is_not_touched(place: Path) -> None:
    """Closing a file would end the locks that SQLite holds on it."""
    database = place / "truth.sqlite3"
    with closing(sqlite3.connect(database)) as connection:
        connection.execute("SELECT * FROM meta").fetchall()
        _change(place, b"the recall", b"the rekall")
        one = FileSum(database, "here")
        assert one.damage() is None
        one.close(keep=True)


def test_a_disk_that_is_full_costs_only_the_checksum(
    place: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with HebbianIndex.open(place) as index, monkeypatch.context() as patch:
        index.add([{"id": "late", "text": "Ice."}])
        patch.setattr(file_sum.os, "replace", full)
        with caplog.at_level(logging.WARNING):
            index.parts.database.dispose()
    assert "no checksum of the database" in caplog.text
    with HebbianIndex.open(place) as index:
        assert index.recall("Ice").hits[0].chunk.id == "late"


# -- what is no damage ---------------------------------------------------------------------


def _is_well(place: Path) -> bool:
    with HebbianIndex.open(place) as index:
        return bool(index.recall("Petrel").hits) and index.doctor().findings == ()


def _with_another_tool(place: Path, statement: str) -> None:
    with closing(sqlite3.connect(place / "truth.sqlite3")) as connection, connection:
        connection.execute(statement)


@pytest.mark.parametrize(
    "statement", ["VACUUM", "ANALYZE", "PRAGMA wal_checkpoint", "PRAGMA journal_mode=DELETE"]
)
def test_what_another_tool_does_with_a_trace(place: Path, statement: str) -> None:
    with closing(sqlite3.connect(place / "truth.sqlite3")) as connection:
        connection.execute(statement)
    assert _is_well(place)


@pytest.mark.parametrize("statement", ["REINDEX", "DELETE FROM feedback"])
def test_what_another_tool_does_without_a_trace_is_told_as_that(
    place: Path, statement: str
) -> None:
    """As an older version of hebbgraph does: SQLite writes no header with it."""
    _with_another_tool(place, statement)
    with HebbianIndex.open(place) as index:
        with pytest.raises(DamagedIndexError, match=r"last changed 20.* another program"):
            index.recall("Petrel")
        assert "another program" in index.doctor().findings[0].problem
    _sum(place).unlink()
    with HebbianIndex.open(place) as index:
        assert index.recall("Petrel").hits


def test_copies_of_a_closed_index_and_of_an_open_one(place: Path, tmp_path: Path) -> None:
    shutil.copytree(place, tmp_path / "closed")
    with HebbianIndex.open(place) as index:
        index.recall("Petrel")
        shutil.copytree(place, tmp_path / "read")
        index.add([{"id": "late", "text": "The ice trade ended."}])
        shutil.copytree(place, tmp_path / "written")
        for name, files in (("without log", ("", ".sum")), ("alone", ("",))):
            (tmp_path / name).mkdir()
            for end in files:
                shutil.copy(place / f"truth.sqlite3{end}", tmp_path / name)
    for name in ("closed", "read", "written", "without log", "alone"):
        assert _is_well(tmp_path / name), name
        assert _is_well(tmp_path / name), name  # with the checksum of then


def test_backups_put_in_its_place(place: Path, tmp_path: Path) -> None:
    backup = tmp_path / "backup"
    with HebbianIndex.open(place) as index:
        index.backup(backup)
        index.add([{"id": "late", "text": "The ice trade ended."}])
    shutil.copytree(place, tmp_path / "copied")
    shutil.copyfile(backup / "truth.sqlite3", tmp_path / "copied" / "truth.sqlite3")
    shutil.copytree(place, tmp_path / "damaged")
    _change(tmp_path / "damaged", b"the recall", b"the rekall")
    for one in (place, tmp_path / "damaged"):
        HebbianIndex.restore(backup, one, force=True)
    for one in (place, tmp_path / "copied", tmp_path / "damaged"):
        assert _is_well(one)
        assert _is_well(one)


def test_a_process_that_dies_before_the_checksum_is_written(
    place: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    before = _sum(place).read_text()
    with monkeypatch.context() as patch:
        patch.setattr(FileSum, "_keep", lambda self: None)
        with HebbianIndex.open(place) as index:
            index.add([{"id": "late", "text": "The ice trade ended."}])
    assert _sum(place).read_text() == before
    assert _is_well(place)
    assert _sum(place).read_text() != before


def test_a_log_that_is_left_over_and_one_that_was_removed(place: Path, tmp_path: Path) -> None:
    with HebbianIndex.open(place) as index:
        index.add([{"id": "late", "text": "The ice trade ended."}])
        for name in ("killed", "cleaned"):
            shutil.copytree(place, tmp_path / name)
    for file in (tmp_path / "cleaned").glob("truth.sqlite3-*"):
        file.unlink()
    for name, ids in (("killed", ["late"]), ("cleaned", [])):
        assert _is_well(tmp_path / name)
        with HebbianIndex.open(tmp_path / name) as index:
            assert [chunk.id for chunk in index.get(["late"])] == ids


def test_a_folder_that_is_read_only(place: Path) -> None:
    """And whatever the clock says."""
    os.utime(place / "truth.sqlite3", (0, 0))
    os.utime(_sum(place), (4e9, 4e9))
    os.chmod(place, 0o555)
    try:
        assert _is_well(place)
    finally:
        os.chmod(place, 0o755)


def test_a_database_behind_a_link(place: Path, tmp_path: Path) -> None:
    """SQLite keeps its log beside the file, not beside the link."""
    shutil.move(place / "truth.sqlite3", tmp_path / "elsewhere.sqlite3")
    (place / "truth.sqlite3").symlink_to(tmp_path / "elsewhere.sqlite3")
    with HebbianIndex.open(place) as index:
        index.add([{"id": "late", "text": "The ice trade ended."}])
        before = _sum(place).read_text()
        with HebbianIndex.open(place) as other:
            assert other.get(["late"])
        assert _sum(place).read_text() == before  # it is in use
    assert _sum(place).read_text() != before
    assert _is_well(place)


def test_processes_that_close_at_once(place: Path) -> None:
    code = (
        "import sys; from hebbgraph import HebbianIndex\n"
        "for n in range(6):\n"
        "    with HebbianIndex.open(sys.argv[1]) as index:\n"
        "        index.add([{'id': sys.argv[2], 'text': f'The ice trade ended {n} times.'}])\n"
        "        assert index.recall('ice').hits\n"
    )
    running = [subprocess.Popen([sys.executable, "-c", code, place, f"p{n}"]) for n in range(3)]
    assert [process.wait(120) for process in running] == [0, 0, 0]
    assert _is_well(place)
    assert not list(place.glob(".*.partial"))


def test_what_is_written_to_meanwhile_gets_no_checksum(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Outside of WAL mode, a large transaction writes before its header; it may be undone."""
    taken = file_sum._Sum.of

    def of(file: BinaryIO) -> object:
        (place / "truth.sqlite3-journal").touch()
        return taken(file)

    before = _sum(place).read_text()
    with HebbianIndex.open(place) as index:
        index.add([{"id": "late", "text": "The ice trade ended."}])
        monkeypatch.setattr(file_sum._Sum, "of", of)
    assert _sum(place).read_text() == before


def test_whoever_made_a_database_closes_it_after_the_others_of_its_process(tmp_path: Path) -> None:
    """Reading it would end the locks of their connections."""
    path = tmp_path / "truth.sqlite3"
    maker = FileSum(path, "here")
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE t (x)")
    other = FileSum(path, "here")
    maker.close(keep=True)
    assert not _sum(tmp_path).exists()
    other.close(keep=True)
    assert _sum(tmp_path).exists()
