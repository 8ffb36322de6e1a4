"""A sample of what ``make soak`` does at length: damage, failing disks, hostile strings."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import damage
import faults
import pytest
from hostile_strings import Attack

from hebbgraph import HebbianIndex, ParameterError, StorageError

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="runs each case in a fork")


def test_damaged_files_and_mixes_of_states(tmp_path: Path) -> None:
    ready = damage.made_in_child(tmp_path)
    drawn = damage.cases_of(ready, 8, seed=3)
    results = {case: damage.run(ready, case, tmp_path) for case in drawn}
    folders = damage.whole_folders(ready)[::4]
    mixed = {what: damage.run_damage(ready, work, tmp_path) for what, work in folders}
    wrong = [(what, one) for what, one in (*results.items(), *mixed.items()) if not one.ok]
    assert wrong == []
    assert {damage.kind_of(case.file) for case in drawn} >= {"graph", "vectors", "database"}


@pytest.fixture(scope="module")
def disk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[faults.Disk]:
    if reason := faults.missing():
        pytest.skip(reason)
    made = faults.Disk(tmp_path_factory.mktemp("disk"))
    yield made
    made.close()


@pytest.mark.parametrize("share", [0.2, 0.7])
@pytest.mark.parametrize("kind", ["no space", "I/O error", "cut"])
def test_a_disk_that_fails_at_some_point(disk: faults.Disk, kind: str, share: float) -> None:
    at = round(share * disk.points_known)
    assert disk.fail(at, kind, 1 if share < 0.5 else 40, folders=share > 0.5) == ""


@pytest.mark.every_database
def test_hostile_strings_in_every_argument(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, backend: str
) -> None:
    monkeypatch.chdir(tmp_path)
    attack = Attack(tmp_path / "index", tmp_path, seed=5)
    if backend != "sqlite":  # the fixture puts another ``open`` in its place
        attack.targets = [target for target in attack.targets if target[0] != "open"]
    wrong = attack.run(120)
    attack.close()
    assert wrong == []


@pytest.mark.every_database
@pytest.mark.parametrize(
    "call",
    [
        lambda index: index.forget(feedback=["\ud800"]),
        lambda index: index.forget(everything="no"),
        lambda index: index.forget(actor=[("ida", 1.0)]),
        lambda index: index.forget(chunk=["a"]),
        lambda index: index.lessons(actor=["ida"]),
        lambda index: index.refresh([], delete_missing="no"),
        lambda index: index.recall("Petrel", seeds=[("\ud800", 1.0)]),
        lambda index: index.undo_tag_correction("\ud800"),
        lambda index: index.find_answer(5),
        lambda index: index.earlier_recalls(b"x"),
        lambda index: index.keep_answer({}),
        lambda index: index.export_feedback({}),
        lambda index: index.import_feedback("bo\0at"),
        lambda index: index.trace(index.recall("Petrel"), limit="many"),
        lambda index: index.add(["The Heron."], on_progress="bar"),
    ],
)
def test_what_hostile_strings_have_found(index_of_one: HebbianIndex, call: object) -> None:
    assert callable(call)
    with pytest.raises(ParameterError):
        call(index_of_one)


def test_a_backup_whose_name_is_too_long(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="too long"):
        HebbianIndex.restore(tmp_path / ("x" * 300), tmp_path / "new")


@pytest.fixture
def index_of_one() -> Iterator[HebbianIndex]:
    with HebbianIndex.open(":memory:") as index:
        index.add(["The Petrel."])
        yield index
