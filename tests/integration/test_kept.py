"""Directories, backups and logs made by earlier versions; see ``tests/data/make_kept.py``."""

from __future__ import annotations

import json
import logging
import runpy
import zipfile
from pathlib import Path
from typing import Any

import pytest

from hebbgraph import HebbianIndex

ROOT = Path(__file__).parents[2]
DATA = ROOT / "tests" / "data"
KEPT = runpy.run_path(str(DATA / "make_kept.py"))


def unpacked(name: str, to: Path) -> dict[str, Any]:
    """Unpack what is kept under a name; return what it must answer."""
    with zipfile.ZipFile(DATA / f"{name}.zip") as archive:
        archive.extractall(to)
    expected: dict[str, Any] = json.loads((to / "expected.json").read_text())
    return expected


def files(directory: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(directory)): path.read_bytes()
        for path in directory.rglob("*")
        if path.is_file()
    }


def answers(index: HebbianIndex) -> dict[str, list[list[Any]]]:
    found: dict[str, list[list[Any]]] = KEPT["answers"](index)
    return found


def afresh(directory: Path, *, deleted: bool, **options: Any) -> dict[str, list[list[Any]]]:
    """What a new index of the same chunks and feedback answers.

    The lexical index counts a chunk that was deleted until its segment is merged, and one
    that is built after the delete does not: scores differ in the fourth decimal.
    """
    with HebbianIndex.open(":memory:", **options) as index:
        index.add([chunk for chunk in KEPT["CHUNKS"] if deleted or chunk["id"] != "gone"])
        index.delete(["gone"] if deleted else [])
        index.import_feedback(directory / "feedback.jsonl")
        return answers(index)


def assert_same(found: dict[str, list[list[Any]]], expected: dict[str, list[list[Any]]]) -> None:
    assert found.keys() == expected.keys()
    for question, hits in expected.items():
        assert [id_ for id_, _ in found[question]] == [id_ for id_, _ in hits]
        assert [score for _, score in found[question]] == pytest.approx(
            [score for _, score in hits], abs=2e-9
        )


@pytest.fixture
def kept(tmp_path: Path) -> tuple[Path, dict[str, Any]]:
    """What the code after the repairs of histories wrote."""
    return tmp_path, unpacked("repaired", tmp_path)


@pytest.mark.parametrize("embedded", [True, False], ids=["embedder", "no embedder"])
def test_a_kept_directory_answers_the_same(
    kept: tuple[Path, dict[str, Any]], embedded: bool, caplog: pytest.LogCaptureFixture
) -> None:
    directory, expected = kept
    embedder = KEPT["Letters"]() if embedded else None
    learned = afresh(directory, deleted=False, embedder=embedder)
    caplog.set_level(logging.INFO, logger="hebbgraph")
    for lines in (1, 0):  # its derived parts are of an older version
        caplog.clear()
        with HebbianIndex.open(directory / "index", embedder=embedder) as index:
            assert_same(answers(index), learned)
            assert index.repairs == ()
        # That chunks added without the model get no vector is said, too.
        told = [told for told in caplog.messages if "gets no vector" not in told]
        assert len(told) == lines, told
    with HebbianIndex.open(directory / "index", embedder=embedder) as index:
        report = index.doctor()
    assert report.ok
    assert report.feedbacks == expected["feedbacks"]


def test_a_kept_backup_restores_and_answers_the_same(kept: tuple[Path, dict[str, Any]]) -> None:
    directory, expected = kept
    HebbianIndex.restore(directory / "backup", directory / "restored")
    learned = afresh(directory, deleted=False, embedder=KEPT["Letters"]())
    with HebbianIndex.open(directory / "restored", embedder=KEPT["Letters"]()) as index:
        assert_same(answers(index), learned)
        assert index.doctor().feedbacks == expected["feedbacks"]


def test_a_kept_log_teaches_a_fresh_index_the_same(kept: tuple[Path, dict[str, Any]]) -> None:
    directory, expected = kept
    with HebbianIndex.open(directory / "fresh", embedder=KEPT["Letters"]()) as index:
        index.add([chunk for chunk in KEPT["CHUNKS"] if chunk["id"] != "gone"])
        unlearned = answers(index)
        assert index.import_feedback(directory / "feedback.jsonl") == expected["feedbacks"]
        assert answers(index) != unlearned
        with HebbianIndex.open(directory / "index", embedder=KEPT["Letters"]()) as old:
            assert_same(answers(index), answers(old))


def test_an_older_directory_is_derived_again_once_and_says_so_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    expected = unpacked("older", tmp_path)
    learned = afresh(tmp_path, deleted=False, embedder=KEPT["Letters"]())
    caplog.set_level(logging.INFO, logger="hebbgraph")
    for lines in (1, 0):
        caplog.clear()
        with HebbianIndex.open(tmp_path / "index", embedder=KEPT["Letters"]()) as index:
            assert_same(answers(index), learned)
            assert index.parts.log.count() == expected["feedbacks"]
        assert len(caplog.records) == lines, caplog.text


def test_the_upgrade_script_backs_up_and_checks_an_older_directory(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    expected = unpacked("older", tmp_path)
    before = files(tmp_path / "index")
    upgrade = runpy.run_path(str(ROOT / "examples" / "upgrade.py"))["upgrade"]
    assert upgrade(tmp_path / "index")
    assert files(tmp_path / "index.before") == before  # not yet migrated: 0.1 opens it
    assert f"{expected['feedbacks']} lessons" in capsys.readouterr().out
    HebbianIndex.restore(tmp_path / "index.before", tmp_path / "restored")
    with (
        HebbianIndex.open(tmp_path / "restored", embedder=KEPT["Letters"]()) as restored,
        HebbianIndex.open(tmp_path / "index", embedder=KEPT["Letters"]()) as upgraded,
    ):
        assert_same(answers(restored), answers(upgraded))
    assert upgrade(tmp_path / "index")  # again: nothing is in its way
    assert files(tmp_path / "index.before").keys() == before.keys()


def test_the_upgrade_script_makes_no_index_where_none_is(tmp_path: Path) -> None:
    upgrade = runpy.run_path(str(ROOT / "examples" / "upgrade.py"))["upgrade"]
    with pytest.raises(FileNotFoundError, match=r"mistyped\.hebb"):
        upgrade(tmp_path / "mistyped.hebb")
    assert not list(tmp_path.iterdir())
