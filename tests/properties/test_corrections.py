"""Corrections to tags equal a naive reading of the same log, and undoing one leaves no trace."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hebbgraph import Chunk, HebbgraphError, HebbianIndex, Recall, TagCorrection

QUESTIONS = (
    "Where was the builder of the Petrel born?",
    "What did Ida Moss sell to Corin Vale?",
    "Which point has a yard and a chapel?",
    "What is the shipwright of the ice trade called?",
)
_tag = st.sampled_from(["ida moss", "corin vale", "tessel bay", "gannet point", "petrel", "yard"])
_name = st.one_of(_tag, st.sampled_from(["shipwright", "cold bay", "ice trade"]))
_OPERATIONS = st.one_of(
    st.tuples(st.just("merge"), st.lists(_tag, min_size=1, max_size=3, unique=True), _name),
    st.tuples(st.just("rename"), _tag.map(lambda tag: [tag]), _name),
    st.tuples(st.just("mute"), st.lists(_name, min_size=1, max_size=2, unique=True), st.none()),
    st.tuples(st.just("split"), _name.map(lambda tag: [tag]), _name),
    st.tuples(st.just("undo"), st.integers(0, 5), st.none()),
    st.tuples(st.just("delete"), st.integers(0, 7), st.none()),
    st.tuples(st.just("put"), st.integers(0, 7), st.none()),
)


def _postings(index: HebbianIndex) -> dict[str, dict[str, bool]]:
    """The tags of each chunk, and which of them entitle it, as anyone reads them."""
    with index.parts.derived.reading():
        graph = index.parts.derived.graph
        live = np.flatnonzero(graph.alive)
        ids = index.parts.truth.ids(graph.rows[live].tolist())
        found: dict[str, dict[str, bool]] = {ids[int(graph.rows[slot])]: {} for slot in live}
        owner, tags, is_title = graph.incidence.tags_of(live)
        for at, tag, own in zip(owner.tolist(), tags.tolist(), is_title.tolist(), strict=True):
            found[ids[int(graph.rows[live[at]])]][graph.phrases.keys[tag]] = own
        return found


def _naively(
    postings: dict[str, dict[str, bool]], corrections: Sequence[TagCorrection]
) -> dict[str, dict[str, bool]]:
    for one in corrections:
        for id_, tags in postings.items():
            if one.kind == "split" and id_ not in one.chunks:
                continue
            own = [tags.pop(tag) for tag in one.tags if tag in tags]
            if own and one.into is not None:
                tags[one.into] = any(own) or tags.get(one.into, False)
    return postings


def _hits(recall: Recall) -> list[tuple[str, float]]:
    return [(hit.chunk.id, round(hit.score, 9)) for hit in recall.hits]


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.lists(_OPERATIONS, max_size=10))
def test_it_is_a_left_fold_over_what_the_texts_say(
    corpus: list[Chunk], operations: list[tuple[str, Any, Any]]
) -> None:
    held = {chunk.id: chunk for chunk in corpus}
    with HebbianIndex.open(":memory:") as index:
        index.add(corpus)
        for kind, what, into in operations:
            if kind == "undo":
                if corrections := index.tag_corrections():
                    assert index.undo_tag_correction(corrections[what % len(corrections)])
            elif kind == "delete":
                index.delete([corpus[what].id])
                held.pop(corpus[what].id, None)
            elif kind == "put":
                held[corpus[what].id] = corpus[what]
                index.add([corpus[what]])
            else:
                chunks = sorted(held)[::2] if kind == "split" else None
                try:
                    index.correct_tags(kind, what, into=into, chunks=chunks)  # type: ignore[arg-type]
                except HebbgraphError:
                    continue  # such as a tag that no chunk holds now
        with HebbianIndex.open(":memory:") as plain:
            plain.add(list(held.values()))
            expected = _naively(_postings(plain), index.tag_corrections())
            assert _postings(index) == expected
            assert index.doctor().ok
            index.compact()
            assert _postings(index) == expected
            for correction in index.tag_corrections():
                index.undo_tag_correction(correction)
            assert _postings(index) == _postings(plain)
            for question in QUESTIONS:
                assert _hits(index.recall(question)) == _hits(plain.recall(question))


def test_what_was_learned_follows_a_tag(make_index: Callable[..., HebbianIndex]) -> None:
    index = make_index()
    question = "Which trade did Ida Moss build for?"
    recall = index.recall(question)
    index.reinforce(recall, cited=["bay"])
    taught = _hits(index.recall(question))
    correction = index.correct_tags("rename", "Ida Moss", into="Master Moss")
    renamed = index.recall(question)
    assert [cue.tag for cue in renamed.cues][-1] == "master moss"
    assert _hits(renamed) == taught
    index.undo_tag_correction(correction)
    assert _hits(index.recall(question)) == taught
