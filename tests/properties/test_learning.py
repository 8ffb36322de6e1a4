"""Learning step by step equals reading the log from the start, whatever happens between."""

from __future__ import annotations

import io
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from learned import dump

from hebbgraph import Chunk, HebbianIndex, Recall
from hebbgraph.learning.memory import Memory
from hebbgraph.recall import Recaller

QUESTIONS = (
    "Where was the builder of the Petrel born?",
    "Birthplace of whoever built the schooner Petrel?",
    "Who kept a yard at Gannet Point?",
    "What did the Heron carry for Corin Vale?",
)

_position = st.integers(0, 8)
_question = st.integers(0, len(QUESTIONS) - 1)
_actor = st.sampled_from([None, "ann", "bob"])
_OPERATIONS = st.one_of(
    st.tuples(st.just("cite"), _question, st.sets(_position, min_size=1, max_size=3), _actor),
    st.tuples(st.just("reject"), _question, _position, _actor),
    st.tuples(st.just("ask"), _question),
    st.tuples(st.just("forget one"), _position),
    st.tuples(st.just("forget actor"), st.sampled_from(["ann", "bob"])),
    st.tuples(st.just("forget chunk"), _position),
    st.tuples(st.just("delete"), _position),
    st.tuples(st.just("put"), _position, st.booleans()),
)


class _Steps:
    """Applies operations to an index, and knows which chunks it holds."""

    def __init__(self, index: HebbianIndex, corpus: list[Chunk]) -> None:
        self.index = index
        self.corpus = corpus
        self.held = {chunk.id: chunk for chunk in corpus}
        self.given: list[str] = []
        index.add(corpus)

    def _chunk(self, position: int) -> Chunk:
        return self.corpus[position % len(self.corpus)]

    def apply(self, kind: str, *arguments: Any) -> None:
        index = self.index
        if kind == "ask":
            index.recall(QUESTIONS[arguments[0]])
        elif kind in ("cite", "reject"):
            question, positions, actor = arguments
            recall = index.recall(QUESTIONS[question], k=9)
            hits = [hit.chunk.id for hit in recall.hits]
            if hits and kind == "cite":
                cited = {hits[position % len(hits)] for position in positions}
                self.given.append(index.reinforce(recall, sorted(cited), actor=actor).id)
            elif hits:
                rejected = [hits[positions % len(hits)]]
                self.given.append(index.reinforce(recall, [], rejected=rejected, actor=actor).id)
        elif kind == "forget one" and self.given:
            index.forget(self.given[arguments[0] % len(self.given)])
        elif kind == "forget actor":
            index.forget(actor=arguments[0])
        elif kind == "forget chunk":
            index.forget(chunk=self._chunk(arguments[0]).id)
        elif kind == "delete":
            index.delete([self._chunk(arguments[0]).id])
            self.held.pop(self._chunk(arguments[0]).id, None)
        elif kind == "put":
            chunk = self._chunk(arguments[0])
            if arguments[1]:
                chunk = chunk.model_copy(update={"text": f"{chunk.text} Gulls nest there."})
            index.add([chunk])
            self.held[chunk.id] = chunk


def _weights(index: HebbianIndex) -> dict[tuple[int, str, str | None], float]:
    index.recall(QUESTIONS[0])
    return dump(index.parts.memory)


def _rankings(index: HebbianIndex) -> list[list[tuple[str, float]]]:
    return [
        [(hit.chunk.id, pytest.approx(hit.score, abs=1e-9)) for hit in index.recall(question).hits]
        for question in QUESTIONS
    ]


@settings(
    max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(operations=st.lists(_OPERATIONS, max_size=10))
def test_learning_step_by_step_equals_replay(
    operations: list[tuple[Any, ...]], corpus: list[Chunk]
) -> None:
    with HebbianIndex.open(":memory:") as index, HebbianIndex.open(":memory:") as fresh:
        steps = _Steps(index, corpus)
        for kind, *arguments in operations:
            steps.apply(kind, *arguments)
        index.compact()  # Tantivy counts deleted chunks until then
        log = io.StringIO()
        index.export_feedback(log)
        log.seek(0)
        fresh.add(list(steps.held.values()))
        fresh.import_feedback(log)
        assert _weights(index) == pytest.approx(_weights(fresh), abs=1e-12)
        assert _rankings(index) == _rankings(fresh)


@settings(
    max_examples=6, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(operations=st.lists(_OPERATIONS, max_size=8))
def test_forgetting_everything_leaves_the_static_index(
    operations: list[tuple[Any, ...]], corpus: list[Chunk]
) -> None:
    with HebbianIndex.open(":memory:") as index, HebbianIndex.open(":memory:") as fresh:
        steps = _Steps(index, corpus)
        for kind, *arguments in operations:
            steps.apply(kind, *arguments)
        index.forget(everything=True)
        index.compact()
        fresh.add(list(steps.held.values()))
        for question in QUESTIONS:
            mine, other = (one.recall(question) for one in (index, fresh))
            assert _found(mine) == _found(other)
        # Against another index sums may differ in the last bit, against itself they may not.
        parts = index.parts
        static = Recaller(parts, memory=Memory(parts.log, parts.truth, parts.settings.learning))
        for question in QUESTIONS:
            plain = static.recall(question)
            assert index.recall(question).hits == plain.hits


_SAID = st.one_of(
    st.tuples(st.just("cite"), _question, st.sets(_position, min_size=1, max_size=3), _actor),
    st.tuples(st.just("reject"), _question, _position, _actor),
)


@settings(
    max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    before=st.lists(_SAID, min_size=1, max_size=8),
    taken=st.lists(
        st.one_of(
            st.tuples(st.just("forget one"), _position),
            st.tuples(st.just("forget actor"), st.sampled_from(["ann", "bob"])),
            st.tuples(st.just("forget chunk"), _position),
        ),
        min_size=1,
        max_size=3,
    ),
)
def test_undoing_what_was_forgotten_leaves_the_log_as_it_was(
    before: list[tuple[Any, ...]], taken: list[tuple[Any, ...]], corpus: list[Chunk]
) -> None:
    with HebbianIndex.open(":memory:") as index:
        steps = _Steps(index, corpus)
        for kind, *arguments in before:
            steps.apply(kind, *arguments)

        def state() -> tuple[str, Any, Any]:
            log = io.StringIO()
            index.export_feedback(log)
            return log.getvalue(), _weights(index), _rankings(index)

        was = state()
        for kind, *arguments in taken:
            steps.apply(kind, *arguments)
        for one in index.forgotten():  # the latest first
            assert index.undo_forget(one) == len(one.feedback)
        assert index.forgotten() == []
        assert state() == was


def _found(recall: Recall) -> list[tuple[str, float, list[str]]]:
    return [
        (hit.chunk.id, pytest.approx(hit.score, abs=1e-9), [step.value for step in hit.path])
        for hit in recall.hits
    ]
