"""Colonies after any history: a partition of what is there, the same in every process."""

from __future__ import annotations

from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hebbgraph import HebbianIndex

NAMES = ["Ida Moss", "Tessel Bay", "Petrel", "Gull Rock", "Hemp", "Amber Line"]

chunk = st.builds(
    lambda number, names: {
        "id": f"c{number}",
        "title": names[0] if names else "",
        "text": " met ".join(names) or "nothing",
    },
    st.integers(0, 15),
    st.lists(st.sampled_from(NAMES), max_size=3, unique=True),
)
step = st.one_of(
    st.lists(chunk, min_size=1, max_size=6, unique_by=lambda one: one["id"]),
    st.integers(0, 15),
)


def _partition(index: HebbianIndex) -> dict[str, int]:
    graph = index.to_networkx("colonies")
    return dict(graph.nodes(data="colony"))


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(history=st.lists(step, min_size=1, max_size=6))
def test_every_live_chunk_is_in_one_colony(history: list[list[dict[str, str]] | int]) -> None:
    with HebbianIndex.open(":memory:") as index, HebbianIndex.open(":memory:") as other:
        for taken in history:
            for one in (index, other):
                if isinstance(taken, int):
                    one.delete([f"c{taken}"])
                else:
                    one.add(taken)
                one.colonies()
            found = _partition(index)
            assert set(found) == {
                node[6:] for node in index.to_networkx("incidence") if node.startswith("chunk:")
            }
            assert found == _partition(other)
            joined = index.to_networkx("colonies")
            for node, colony in found.items():
                assert (colony == -1) == (not index_edges(index, node))
            sizes = {one.id: one.chunks for one in index.colonies()}
            assert sum(sizes.values()) == sum(colony >= 0 for colony in found.values())
            assert index.stats().colonies == len(sizes)
            assert joined.graph["generation"] == index.stats().generation
        before = {one.id: one.chunks for one in index.colonies(rebuild=True)}
        assert before == {one.id: one.chunks for one in other.colonies(rebuild=True)}


def index_edges(index: HebbianIndex, node: str) -> bool:
    """Whether a chunk shares a tag with another."""
    graph = index.to_networkx("incidence")
    chunk = f"chunk:{node}"
    return any(graph.degree(tag) > 1 for tag in graph.neighbors(chunk))


def test_colonies_outlive_the_process(tmp_path: Path) -> None:
    chunks = [
        {"id": f"{group}{number}", "text": f"{NAMES[group]} and {NAMES[group + 1]} number {number}"}
        for group in (0, 3)
        for number in range(6)
    ]
    with HebbianIndex.open(tmp_path / "a.hebb") as index:
        index.add(chunks)
        before, colonies = _partition(index), index.colonies()
    with HebbianIndex.open(tmp_path / "a.hebb") as index:
        assert index.stats().colonies == len(colonies) == 2
        assert _partition(index) == before
        index.add([{"id": "new", "text": f"{NAMES[3]} and {NAMES[4]} again"}])
        after = _partition(index)
        assert {id_: after[id_] for id_ in before} == before
        assert after["new"] == before["30"]
    (found,) = (tmp_path / "a.hebb").glob("derived/*/colonies.arrays")
    found.write_bytes(b"broken")
    with HebbianIndex.open(tmp_path / "a.hebb") as index:
        assert index.stats().colonies == 0
        assert len(index.colonies()) == 2
