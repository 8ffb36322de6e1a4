from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pytest

from hebbgraph.graph import tag_graph
from hebbgraph.graph.proposed import TaggedChunks
from hebbgraph.graph.tag_graph import TagGraph

Proposal = Mapping[str, Sequence[str]]


def _step(
    graph: TagGraph,
    generation: int,
    added: Mapping[int, tuple[Proposal, str]],
    removed: Sequence[int] = (),
    again: Mapping[int, str] | None = None,
) -> tuple[set[str], set[str]]:
    """One generation: rows with proposals and text, removed slots, slots matched again."""
    first = graph.n_slots
    gone = np.array(removed, dtype=np.int64)
    change = graph.stage(gone, ((row, row * 7, by_kind) for row, (by_kind, _) in added.items()))
    tagged = TaggedChunks()
    texts = dict(again or {}) | {
        slot: text for slot, (_, text) in enumerate(added.values(), start=first)
    }
    for slots in (list(texts)[:1], list(texts)[1:]):  # in two batches
        read = graph.phrases.reader("english").read([["", texts[slot]] for slot in slots])
        graph.tag(tagged, np.array(slots, dtype=np.int64), read)
    graph.commit(generation, gone, graph.incidence_after(gone, tagged))
    keys = graph.phrases.keys
    return {keys[n] for n in change.entered}, {keys[n] for n in change.left}


def _tags(graph: TagGraph, slot: int) -> dict[str, bool]:
    _, tags, is_title = graph.incidence.tags_of(np.array([slot]))
    return {
        graph.phrases.keys[tag]: own
        for tag, own in zip(tags.tolist(), is_title.tolist(), strict=True)
    }


def _known(graph: TagGraph) -> set[str]:
    keys = graph.phrases.keys
    texts = graph.phrases.reader("english").read([list(keys)], terms=False)
    return {keys[number] for number in graph.phrases.match_texts(texts)[1].tolist()}


TITLED = ({"title": ["ida moss"], "name": ["tessel bay"]}, "ida moss was born in tessel bay")
MENTIONS = ({"name": ["ida moss", "petrel"]}, "the petrel was built by ida moss")


def test_titles_and_repeated_names_become_tags() -> None:
    graph = TagGraph.empty()
    assert _step(graph, 1, {1: TITLED, 2: MENTIONS}) == ({"ida moss"}, set())
    assert _tags(graph, 0) == {"ida moss": True}
    assert _tags(graph, 1) == {"ida moss": False}
    assert (graph.n_chunks, graph.generation, graph.rows.tolist()) == (2, 1, [1, 2])
    assert graph.cues(["ida", "moss"]) == [graph.phrases.number("ida moss")]
    assert graph.cues(["petrel"]) == []


def test_a_phrase_that_enters_reaches_an_older_chunk_and_leaves_again() -> None:
    graph = TagGraph.empty()
    _step(graph, 1, {1: MENTIONS})
    assert _tags(graph, 0) == {}
    entered, _ = _step(graph, 2, {2: TITLED}, again={0: MENTIONS[1]})
    assert entered == {"ida moss"}
    assert _tags(graph, 0) == {"ida moss": False}
    _, left = _step(graph, 3, {}, removed=[1], again={0: MENTIONS[1]})
    assert left == {"ida moss"}
    assert _tags(graph, 0) == {}
    assert graph.n_chunks == 1


def test_the_subject_of_an_untitled_chunk_entitles_it() -> None:
    graph = TagGraph.empty()
    _step(graph, 1, {1: MENTIONS, 2: ({"subject": ["ida moss"]}, "ida moss is a builder")})
    assert _known(graph) == {"ida moss"}
    assert [_tags(graph, slot) for slot in (0, 1)] == [{"ida moss": False}, {"ida moss": True}]


def test_given_tags_need_no_mention_and_are_not_titles() -> None:
    graph = TagGraph.empty()
    _step(graph, 1, {1: ({"given": ["ice trade"], "title": ["petrel"]}, "nothing of the kind")})
    assert _tags(graph, 0) == {"ice trade": False, "petrel": True}


def test_given_tags_stay_with_their_chunk_and_hide_nothing() -> None:
    graph = TagGraph.empty()
    builder = ({"title": ["ida moss"], "given": ["ida moss of tessel bay"]}, "ida moss")
    mention = ({"name": ["gull"]}, "built by ida moss of tessel bay")
    _step(graph, 1, {1: builder, 2: mention})
    assert _tags(graph, 0) == {"ida moss": True, "ida moss of tessel bay": False}
    assert _tags(graph, 1) == {"ida moss": False}  # the longer phrase does not hide it
    numbers = [graph.phrases.number(key) for key in ("ida moss", "ida moss of tessel bay")]
    assert graph.cues(["ida", "moss", "of", "tessel", "bay"]) == numbers
    assert graph.cues(["ida", "moss"]) == numbers[:1]


def test_given_tags_change_no_other_tag() -> None:
    plain, tagged = TagGraph.empty(), TagGraph.empty()
    extra = {"given": ["tessel bay", "petrel", "moss was born in"]}
    _step(plain, 1, {1: TITLED, 2: MENTIONS})
    _step(tagged, 1, {1: TITLED, 2: (MENTIONS[0] | extra, MENTIONS[1])})
    assert _known(plain) == _known(tagged) == {"ida moss"}
    assert _tags(tagged, 0) == _tags(plain, 0)
    assert _tags(tagged, 1) == _tags(plain, 1) | dict.fromkeys(extra["given"], False)
    _step(tagged, 2, {}, removed=[1])
    assert not tagged.phrases.given_counts.any()
    assert tagged.cues(["moss", "was", "born", "in"]) == []
    assert not tagged.folded().phrases.given_counts.any()


def test_a_phrase_proposed_twice_by_one_chunk_counts_once() -> None:
    graph = TagGraph.empty()
    _step(graph, 1, {1: ({"name": ["ida moss"], "term": ["ida moss"]}, "ida moss")})
    assert graph.phrases.candidate_counts.tolist() == [1]
    assert _tags(graph, 0) == {}


def test_staged_chunks_are_not_live_before_the_commit() -> None:
    graph = TagGraph.empty()
    graph.stage(np.empty(0, np.int64), [(5, 0, {"title": ["petrel"]})])
    assert (graph.n_slots, graph.n_chunks, graph.generation) == (1, 0, 0)
    assert graph.slots_of(np.array([5])).tolist() == []
    assert graph.cues(["petrel"]) == []
    graph.commit(1, np.empty(0, np.int64), graph.incidence)
    assert graph.slots_of(np.array([4, 5, 6])).tolist() == [0]


def test_folding_changes_no_result() -> None:
    graph = TagGraph.empty()
    _step(graph, 1, {1: TITLED, 2: MENTIONS})
    _step(graph, 2, {3: ({"title": ["petrel"]}, "the petrel sank")}, again={1: MENTIONS[1]})
    _step(graph, 3, {}, removed=[0], again={1: MENTIONS[1]})
    folded = graph.folded()
    assert (folded.n_slots, folded.n_chunks, folded.generation) == (2, 2, 3)
    assert folded.rows.tolist() == [2, 3]
    assert folded.id_prefixes.tolist() == [14, 21]
    assert folded.incidence.base is not None
    assert [_tags(folded, slot) for slot in (0, 1)] == [_tags(graph, slot) for slot in (1, 2)]
    assert "tessel bay" not in folded.phrases.keys  # nobody proposes it any more
    assert "ida moss" in folded.phrases.keys  # one chunk still does
    assert folded.cues(["ida", "moss", "petrel"]) == [folded.phrases.number("petrel")]


@pytest.mark.parametrize("fold_min", [0, 1000])
def test_rows_set_one_by_one_or_all_at_once_are_the_same(
    monkeypatch: pytest.MonkeyPatch, fold_min: int
) -> None:
    monkeypatch.setattr(tag_graph, "_FOLD_MIN", fold_min)
    graph = TagGraph.empty()
    _step(graph, 1, {1: TITLED, 2: MENTIONS, 3: TITLED})
    _step(graph, 2, {4: MENTIONS}, removed=[2], again={1: MENTIONS[1]})
    assert [_tags(graph, slot) for slot in range(4)] == [
        {"ida moss": True, "tessel bay": False}, {"ida moss": False, "petrel": False}, {},
        {"ida moss": False, "petrel": False},
    ]  # fmt: skip
    ida = graph.phrases.number("ida moss")
    assert graph.df(np.array([ida])).tolist() == [3]


def test_folding_is_due_when_many_chunks_are_dead(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tag_graph, "_FOLD_MIN", 2)
    graph = TagGraph.empty()
    _step(graph, 1, dict.fromkeys(range(1, 5), TITLED))
    assert not graph.is_due_for_folding
    _step(graph, 2, {}, removed=[0, 1, 2])
    assert graph.is_due_for_folding
    assert not graph.folded().is_due_for_folding


def test_a_noun_justifies_three_mentions_and_a_phrase_four() -> None:
    graph = TagGraph.empty()
    kinds: Proposal = {"noun": ["rope"], "term": ["hemp rope maker"]}
    rows: dict[int, tuple[Proposal, str]] = dict.fromkeys((1, 2), (kinds, "rope. hemp rope maker"))
    rows |= dict.fromkeys(range(3, 8), ({}, "rope. hemp rope maker"))
    _step(graph, 1, rows)
    both = np.array(graph.phrases.intern(["rope", "hemp rope maker"]))
    assert graph.are_incidental(both).tolist() == [True, False]  # 7 mentions each
    _step(graph, 2, {}, removed=[6])
    assert graph.are_incidental(both).tolist() == [False, False]


def test_an_incidental_phrase_is_a_tag_only_of_chunks_it_titles() -> None:
    graph = TagGraph.empty()
    rows: dict[int, tuple[Proposal, str]] = {1: ({"title": ["moss"]}, "moss")}
    rows |= {row: ({"opener": ["need"]}, "need moss") for row in (2, 3)}
    rows |= {row: ({}, "need moss") for row in range(4, 18)}
    _step(graph, 1, rows)
    moss, need = (graph.phrases.intern([key])[0] for key in ("moss", "need"))
    both = np.array([moss, need])
    assert graph.are_incidental(both).tolist() == [True, True]  # 17 and 16 mentions
    assert graph.df(both).tolist() == [1, 0]
    assert [part.tolist() for part in graph.chunks_of(both)] == [[0], [0], [True]]
    assert [part.tolist() for part in graph.tags_of(np.arange(3))] == [[0], [moss], [True]]
    assert graph.postings(np.arange(3)).indptr.tolist() == [0, 1, 1, 1]
    assert graph.cues(["need", "moss"]) == [moss]
    owner, _, _, df, is_tag = graph.mentions_of(np.array([0, 1]))
    assert (owner.tolist(), sorted(df.tolist())) == ([0, 1, 1], [16, 17, 17])
    assert is_tag.tolist() == [True, False, False]

    _step(graph, 2, {}, removed=[16])
    assert graph.are_incidental(both).tolist() == [False, True]
    assert graph.df(both).tolist() == [16, 0]
    assert not graph.folded().are_incidental(np.array([0])).any()
