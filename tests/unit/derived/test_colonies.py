"""The file of colonies: shared by processes, rebuilt when it is damaged or outdated."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from hebbgraph import HebbianIndex, Settings
from hebbgraph.derived.colonies import Colonies
from hebbgraph.formulas.communities import ColonyParameters

CHUNKS = [
    {
        "id": f"c{number:02}",
        "title": f"Ship {number % 7}",
        "text": f"Ship {number % 7} met Ship {(number + 1) % 7} off Cape Moss {number // 5}.",
    }
    for number in range(40)
]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    with HebbianIndex.open(tmp_path / "index") as index:
        index.add(CHUNKS)
        assert 1 < len(index.colonies()) < 10
    (file,) = (tmp_path / "index").rglob("colonies.arrays")
    return file


def _partition(index: HebbianIndex) -> dict[int, list[str]]:
    return {one.id: index.ids({"$colony": one.id}) for one in index.colonies()}


def test_a_number_means_one_colony_to_all_processes(
    open_index: Callable[..., HebbianIndex],
) -> None:
    one, other = open_index(), open_index()
    one.add(CHUNKS)
    assert _partition(one) == _partition(other)
    for step in range(5):
        one.add(
            {"id": f"n{step}{at}", "text": f"Ship {step + at} met Ship {at % 4} off Quill {step}."}
            for at in range(6)
        )
        one.colonies()  # the other one is asked later, after two such steps
        if step % 2:
            assert _partition(one) == _partition(other)
    one.colonies(rebuild=True)
    assert _partition(one) == _partition(other)


def test_other_parameters_find_other_colonies(place: Path) -> None:
    fine = Settings(colonies=ColonyParameters(resolution=8.0))
    with HebbianIndex.open(place.parents[2], settings=fine) as index:
        found = _partition(index)
        index.colonies(rebuild=True)
        assert {tuple(ids) for ids in _partition(index).values()} == {
            tuple(ids) for ids in found.values()
        }
    with HebbianIndex.open(place.parents[2]) as index:
        assert len(index.colonies()) < len(found)


def test_damaged_colonies_are_found_again(place: Path) -> None:
    whole, rng = place.read_bytes(), random.Random(1)
    for number in range(600):
        damaged = bytearray(whole)
        if number % 4:
            damaged[rng.randrange(len(whole))] ^= 1 << rng.randrange(8)
        else:
            del damaged[rng.randrange(len(whole)) :]
        place.write_bytes(damaged)
        assert Colonies(place.parent, ColonyParameters()).exist in (True, False)


def test_the_doctor_removes_a_damaged_file(place: Path) -> None:
    with HebbianIndex.open(place.parents[2]) as index:
        before = _partition(index)
        place.write_bytes(place.read_bytes()[:-40])
        (finding,) = index.doctor().findings
        assert (finding.part, finding.repaired) == ("colonies", False)
        (finding,) = index.doctor(repair=True).findings
        assert finding.repaired
        assert index.doctor().findings == ()
        assert _partition(index) == before
