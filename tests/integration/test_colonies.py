"""Colonies as a filter, as a constraint, and in what is exported."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from hebbgraph import HebbianIndex
from hebbgraph.errors import ParameterError
from hebbgraph.formulas.communities import ColonyParameters

GROUPS = {"sea": ("Petrel", "Ida Moss"), "rope": ("Hemp Field", "Long Walk")}
CHUNKS = [
    {"id": f"{name}{n}", "text": f"{one} and {other} are seen {n} times in winter."}
    for name, (one, other) in GROUPS.items()
    for n in range(4)
]


@pytest.fixture
def index() -> Iterator[HebbianIndex]:
    with HebbianIndex.open(":memory:") as opened:
        opened.add([*CHUNKS, {"id": "alone", "text": "nothing else here"}])
        yield opened


def test_colonies_are_named_by_their_tags(index: HebbianIndex) -> None:
    assert index.stats().colonies == 0  # nobody has asked yet
    first, second = index.colonies()
    assert (first.chunks, second.chunks) == (4, 4)
    tags = {tag for colony in (first, second) for tag in colony.tags}
    assert {"petrel", "ida moss", "hemp field", "long walk"} <= tags
    assert first.name.split(", ")[0] == first.tags[0]
    assert index.stats().colonies == 2


def test_a_recall_within_one_colony(index: HebbianIndex) -> None:
    rope = next(one.id for one in index.colonies() if "hemp field" in one.tags)
    recall = index.recall("winter", k=9, where={"$colony": rope})
    assert {hit.chunk.id[:4] for hit in recall.hits} == {"rope"}
    without = index.recall("winter", k=9, where={"$colony": {"$exists": False}})
    assert [hit.chunk.id for hit in without.hits] == ["alone"]
    both = index.recall("winter", k=9, where={"$colony": {"$in": [0, 1]}})
    assert len(both.hits) == 8


def test_hits_from_different_colonies(index: HebbianIndex) -> None:
    narrow = index.recall("Petrel and Ida Moss", k=3)
    assert {hit.chunk.id[:3] for hit in narrow.hits} == {"sea"}
    wide = index.recall("Petrel and Ida Moss in winter", k=4, per_colony=1)
    kinds = [hit.chunk.id[:3] for hit in wide.hits]
    assert "rop" in kinds
    assert [hit.rank for hit in wide.hits] == [1, 2, 3, 4]
    assert [hit.score for hit in wide.hits] == sorted(
        (hit.score for hit in wide.hits), reverse=True
    )
    with pytest.raises(ParameterError, match="per_colony"):
        index.recall("winter", per_colony=0)


def test_ids_stay_when_chunks_come_and_go(index: HebbianIndex) -> None:
    before = {one.tags[0]: one.id for one in index.colonies()}
    index.delete(["rope0", "sea1"])
    index.add([{"id": "new", "text": "Petrel and Ida Moss were here."}])
    assert {one.tags[0]: one.id for one in index.colonies()} == before
    assert {one.tags[0]: one.id for one in index.colonies(rebuild=True)} == before
    index.compact()
    assert {one.tags[0]: one.id for one in index.colonies()} == before


def test_the_export_carries_colonies(index: HebbianIndex) -> None:
    graph = index.to_networkx("colonies")
    assert graph.nodes["alone"]["colony"] == -1
    assert graph.nodes["sea0"]["colony"] == graph.nodes["sea3"]["colony"] >= 0
    bridge = graph["sea0"]["rope0"]["weight"]  # both speak of winter
    assert 0 < bridge < graph["sea0"]["sea1"]["weight"]


@pytest.mark.parametrize(
    "wrong", [{"resolution": 0.0}, {"nearest": 0}, {"max_df": 1}],
)  # fmt: skip
def test_parameters_outside_their_range(wrong: dict[str, float]) -> None:
    with pytest.raises(ParameterError):
        ColonyParameters(**wrong)  # type: ignore[arg-type]
