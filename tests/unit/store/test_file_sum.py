"""A database that is not, byte for byte, what was written does not answer."""

from __future__ import annotations

import logging
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

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
            assert index.parts.database.dialect.is_damaged()
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
            assert not index.parts.database.dialect.is_damaged()


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
        assert not one.is_damaged()
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
