"""What people see of an index: traces, causes, neighbourhoods, and what forgetting would do."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from itertools import pairwise

import pytest

from hebbgraph import (
    Chunk,
    HebbianIndex,
    NotFoundError,
    ParameterError,
    Recall,
    Settings,
    Trace,
)

pytestmark = pytest.mark.also_served

QUESTION = "Where was the builder of the Petrel born?"


def _taught(index: HebbianIndex, *, actor: str | None = None) -> Recall:
    recall = index.recall(QUESTION, k=8)
    index.reinforce(recall, cited=["moss", "bay"], actor=actor)
    return index.recall(QUESTION, k=8)


def _assert_ordered(trace: Trace) -> None:
    """A node passes mass on only once some has arrived on it."""
    reached = {0}
    for event in trace.events:
        assert event.source in reached, (trace.nodes[event.source], event)
        assert event.mass > 0
        assert 0 <= event.learned <= 1
        reached.add(event.target)
    assert [event.step for event in trace.events] == sorted(event.step for event in trace.events)


@pytest.mark.parametrize("taught", [False, True])
def test_a_trace_tells_what_the_recall_did(
    make_index: Callable[..., HebbianIndex], taught: bool
) -> None:
    index = make_index()
    recall = _taught(index) if taught else index.recall(QUESTION, k=8)
    trace = index.trace(recall)
    _assert_ordered(trace)
    assert trace.confidence == recall.confidence
    expected = {hit.chunk.id: (hit.rank, hit.score) for hit in recall.hits if hit.score > 0}
    found = {hit.chunk_id: (hit.rank, pytest.approx(hit.score)) for hit in trace.hits}
    assert found == expected
    # Mass is not created on the way: a tag passes on at most what reached it.
    arrived: defaultdict[tuple[int, int], float] = defaultdict(float)
    passed: defaultdict[tuple[int, int], float] = defaultdict(float)
    for event in trace.events:
        arrived[event.step, event.target] += event.mass
        if trace.nodes[event.source].kind == "tag" and not event.learned:
            passed[event.step, event.source] += event.mass
    for key, mass in passed.items():
        assert mass <= arrived[key] + 1e-9
    assert any(event.learned > 0 for event in trace.events) == taught


def test_its_path_can_be_followed_in_the_trace(make_index: Callable[..., HebbianIndex]) -> None:
    index = make_index()
    recall = _taught(index)
    trace = index.trace(recall)
    edges = {(event.source, event.target) for event in trace.events}
    at = {(node.kind, node.value): number for number, node in enumerate(trace.nodes)}
    for hit in recall.hits:
        steps = [(step.kind, step.value) for step in hit.path if step.kind in ("tag", "chunk")]
        for one, other in pairwise(steps):
            assert (at[one], at[other]) in edges


def test_a_hit_without_a_title_is_named_by_its_text_on_its_path() -> None:
    texts = ["Ida Moss sketched the Tessel Beacon.", "The Tessel Beacon was lit by Corin Vale."]
    with HebbianIndex.open(":memory:") as index:
        index.add(texts)
        index.keep_recalls()
        recall = index.recall("What did Ida Moss sketch, and who lit it?")
        assert {hit.path_text.rpartition(" → ")[2] for hit in recall.hits} == set(texts)
        kept = index.find_recall(recall.id)
    assert kept is not None
    assert [hit.path_text for hit in kept.hits] == [hit.path_text for hit in recall.hits]


def test_causes_add_up(make_index: Callable[..., HebbianIndex]) -> None:
    index = make_index()
    before = {hit.chunk.id: hit.score for hit in index.recall(QUESTION, k=8).hits}
    recall = _taught(index)
    for hit in index.trace(recall).hits:
        causes = hit.causes
        total = causes.lexical + causes.dense + causes.graph + causes.learned
        assert total == pytest.approx(hit.score, abs=1e-12)
        # What nobody cited learned nothing, and stays as it was but for the room that is taken
        # at the top.
        without = hit.score - causes.learned
        assert before[hit.chunk_id] >= without - 1e-12 >= 0.9 * before[hit.chunk_id] - 1e-12
        assert (causes.learned > 0) == (hit.chunk_id in ("moss", "bay"))
        assert causes.dense == 0  # there is no embedder
        explanation = index.explain(recall, hit.chunk_id)
        assert explanation.causes == causes
        assert explanation.unlearned_score == pytest.approx(before[hit.chunk_id])
    assert index.trace(recall).hits[0].causes.learned > 0
    ranked = {hit.chunk_id: hit.unlearned_rank for hit in index.trace(recall).hits}
    static = sorted(before, key=lambda id_: -before[id_])
    assert all(rank is None or static[rank - 1] == id_ for id_, rank in ranked.items())


def test_ranks_without_feedback_break_ties_as_ranks_do(
    open_index: Callable[..., HebbianIndex],
) -> None:
    index = open_index()
    index.add([Chunk(id=id_, text="A gull sat on the quay.") for id_ in "cab"])
    index.add([Chunk(id="z", text="Bread rises overnight.")])
    hits = index.trace(index.recall("Where did the gull sit?")).hits
    assert [(hit.chunk_id, hit.unlearned_rank) for hit in hits] == [("a", 1), ("b", 2), ("c", 3)]


def test_what_is_cut_is_told(open_index: Callable[..., HebbianIndex]) -> None:
    index = open_index()
    crowd = [f"The letter {number} was signed by Ida Moss in {number}." for number in range(40)]
    others = [f"A note on knots, the {number}th of many." for number in range(160)]
    moss = Chunk(id="moss", title="Ida Moss", text="She was a shipwright.")
    index.add([*crowd, *others, moss])
    cuts = index.trace(index.recall("Who was Ida Moss?")).cuts
    assert ("ida moss", 0) in {(cut.value, cut.step) for cut in cuts if "hub" in cut.reason}


def test_a_trace_is_bounded_and_filtered(make_index: Callable[..., HebbianIndex]) -> None:
    index = make_index()
    recall = _taught(index)
    whole = index.trace(recall)
    part = index.trace(recall, limit=3)
    assert len(part.events) == 3
    assert part.more == len(whole.events) - 3 + whole.more
    assert {event.mass for event in part.events} == set(
        sorted((event.mass for event in whole.events), reverse=True)[:3]
    )
    ships = index.trace(recall, where={"kind": "ship"})
    assert {node.value for node in ships.nodes if node.kind == "chunk"} <= {"petrel", "heron"}
    with pytest.raises(ParameterError, match="limit"):
        index.trace(recall, limit=0)
    with pytest.raises(ParameterError, match="namespace"):
        index.trace(recall.model_copy(update={"namespace": "other"}))
    with pytest.raises(NotFoundError):
        index.trace("unknown")


def test_a_trace_survives_json(make_index: Callable[..., HebbianIndex]) -> None:
    trace = make_index().trace(_taught(make_index(name="other")))
    assert Trace.model_validate_json(trace.model_dump_json()) == trace


# -- the neighbourhood of a tag -------------------------------------------------------


@pytest.mark.not_served
def test_neighbours_are_counted_by_shared_chunks(make_index: Callable[..., HebbianIndex]) -> None:
    index = make_index()
    graph = index.to_networkx("tags")
    found = index.neighborhood("Ida Moss")
    weights = {node.tag: node.weight for node in found.nodes[1:]}
    assert weights == {tag: graph["ida moss"][tag]["weight"] for tag in graph["ida moss"]}
    assert list(weights.values()) == sorted(weights.values(), reverse=True)
    assert found.nodes[0].chunks == found.nodes[0].weight == 3
    assert [(one.chunk_id, one.is_title) for one in found.chunks] == [
        ("moss", True), ("petrel", False), ("heron", False),
    ]  # fmt: skip
    for edge in found.edges:
        one, other = found.nodes[edge.source].tag, found.nodes[edge.target].tag
        assert graph[one][other]["weight"] >= edge.weight
    assert {0} | {edge.target for edge in found.edges if edge.source == 0} == set(
        range(len(found.nodes))
    )


def test_a_neighbourhood_is_bounded_and_folds_hubs(
    open_index: Callable[..., HebbianIndex],
) -> None:
    index = open_index()
    index.add(
        [f"He met the Harbour Office at Place{n % 20} Quay by Berth{n} Post." for n in range(40)]
    )
    index.add([f"They saw Place{n % 20} Quay and Berth{n} Post." for n in range(160)])
    found = index.neighborhood("harbour office", limit=10)
    assert len(found.nodes) == 10
    assert found.more == 20 + 40 - 9
    around = index.neighborhood("place3 quay")
    assert [hub.tag for hub in around.hubs] == ["harbour office"]
    assert around.n_hubs == 1
    assert "harbour office" not in {node.tag for node in around.nodes}
    assert len(index.neighborhood("harbour office").edges) <= 5 * 500


def test_a_tag_that_is_not_there(make_index: Callable[..., HebbianIndex]) -> None:
    index = make_index()
    with pytest.raises(NotFoundError, match="'ida moss'"):
        index.neighborhood("Moss")
    with pytest.raises(ParameterError, match="limit"):
        index.neighborhood("ida moss", limit=0)


def test_colonies_color_a_neighbourhood(make_index: Callable[..., HebbianIndex]) -> None:
    index = make_index()
    assert {node.colony for node in index.neighborhood("ida moss").nodes} == {None}
    colonies = {colony.id for colony in index.colonies()}
    assert {node.colony for node in index.neighborhood("ida moss").nodes} <= {None, *colonies}
    assert index.neighborhood("ida moss").nodes[0].colony is not None


def test_tags_are_found_by_name(make_index: Callable[..., HebbianIndex]) -> None:
    index = make_index()
    assert [one.tag for one in index.tags("moss")] == ["ida moss"]
    assert [one.tag for one in index.tags("BAY")] == ["tessel bay"]
    (moss,) = index.tags("Ida Moss")
    assert (moss.chunks, moss.titles) == (3, 1)
    every = index.tags()
    assert [one.chunks for one in every] == sorted((one.chunks for one in every), reverse=True)
    assert len(index.tags(limit=2)) == 2
    assert index.tags("no such tag") == []
    explained = index.explain(index.recall("anything"), "petrel").tags
    assert {one.tag for one in index.tags(chunk="petrel")} == set(explained)
    with pytest.raises(NotFoundError):
        index.tags(chunk="gone")
    with pytest.raises(ParameterError, match="not both"):
        index.tags("bay", chunk="petrel")
    index.correct_tags("merge", ["corin vale"], into="ida moss")
    (moss,) = index.tags("Ida Moss")
    assert (moss.chunks, moss.titles) == (4, 2)
    with pytest.raises(ParameterError):
        index.tags(limit=0)


# -- before forgetting ----------------------------------------------------------------


def test_a_dry_run_tells_and_changes_nothing(make_index: Callable[..., HebbianIndex]) -> None:
    index = make_index()
    first = index.reinforce(index.recall(QUESTION, k=8), cited=["moss"], actor="ann")
    second = index.reinforce(index.recall("Who sold the Heron?", k=8), cited=["vale"])
    before = index.recall(QUESTION, k=8)
    told = index.forget(actor="ann", dry_run=True)
    assert told.feedback == (first.id,)
    assert told.actors == {"ann": 1}
    assert told.removed > 0
    assert all(change.after == 0 != change.before for change in told.changes)
    assert "moss" in {change.target for change in told.changes}
    assert index.recall(QUESTION, k=8).hits == before.hits
    assert index.forget(everything=True, dry_run=True).feedback == (first.id, second.id)
    assert index.forget(actor="eve", dry_run=True).feedback == ()
    with pytest.raises(ParameterError):
        index.forget(dry_run=True)
    assert index.forget(actor="ann") == 1
    assert index.forget(actor="ann", dry_run=True).removed == 0


def test_a_dry_run_of_one_chunk(make_index: Callable[..., HebbianIndex]) -> None:
    index = make_index(settings=Settings())
    _taught(index)
    told = index.forget(chunk="bay", dry_run=True)
    assert told.removed > 0
    assert told.changed > 0  # credit is shared among fewer
    edges = index.prune().edges
    index.forget(chunk="bay")
    assert sum(edges.values()) - sum(index.prune().edges.values()) == told.removed


@pytest.mark.parametrize("how", ["plain", "seeds", "reranker"])
def test_causes_add_up_to_the_score_of_a_hit(how: str, corpus: list[Chunk]) -> None:
    def backwards(question: str, texts: Sequence[str]) -> list[float]:
        return [float(number) for number in range(len(texts))]

    with HebbianIndex.open(":memory:", reranker=backwards if how == "reranker" else None) as index:
        index.add(corpus)
        seeds = [("vale", 1.0), ("bare", 0.4)] if how == "seeds" else None
        recall = index.recall(QUESTION, k=6, seeds=seeds)
        other = 0.0
        for hit in recall.hits:
            causes = index.explain(recall, hit.chunk.id).causes
            assert sum(causes.model_dump().values()) == pytest.approx(hit.score, abs=1e-9)
            other += abs(causes.other)
        assert (other > 0) is (how != "plain")
        assert len(index.trace(recall).hits) <= len(recall.hits)
