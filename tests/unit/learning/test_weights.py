"""The fold of lessons into raw weights."""

from types import SimpleNamespace

import pytest

from hebbgraph.learning.traces import Family, Trace
from hebbgraph.learning.weights import RawWeights
from hebbgraph.settings import LearningSettings


def rows(raw: RawWeights, family: Family, source: str) -> SimpleNamespace:
    """The edges that leave one node, one entry per actor."""
    number = raw.number(source)
    assert number is not None
    edge = raw.edges_from([(family, number)])
    return SimpleNamespace(edge=edge, actor=raw.ends(edge).actor, weight=raw.weight(edge))


def lesson(*traces, actor=None):
    return [Trace(*trace) for trace in traces], actor


OWL = (Family.CUE, "t:owl", "c:1:a", 1.0, 1)


def weights(**settings):
    return RawWeights(LearningSettings(learning_rate=0.5, **settings))


def test_weights_halve_over_their_half_life():
    raw = weights(half_life_events=2.0)
    raw.fold(*lesson(OWL))
    for _ in range(4):
        raw.fold(*lesson((Family.CUE, "t:vole", "c:1:b", 1.0, 1)))
    assert rows(raw, Family.CUE, "t:owl").weight.tolist() == pytest.approx([0.125])


def test_decay_counts_lessons_before_the_rule_is_applied():
    raw = weights(half_life_events=1.0)
    raw.fold(*lesson(OWL))
    raw.fold(*lesson(OWL))
    # 0.5, halved to 0.25, then half of what is left.
    assert rows(raw, Family.CUE, "t:owl").weight.tolist() == pytest.approx([0.625])


def test_depression_makes_no_edges_but_for_past_queries():
    raw = weights()
    raw.fold(*lesson((Family.CUE, "t:owl", "c:1:a", -1.0, 1)))
    assert len(raw) == 0
    raw.fold(*lesson((Family.EPISODE, "e:1", "c:1:a", -1.0, 1)))
    assert len(raw) == 1


def test_inhibition_stops_at_its_floor():
    raw = weights()
    for _ in range(60):
        raw.fold(*lesson((Family.EPISODE, "e:1", "c:1:a", -1.0, 1)))
    [weight] = rows(raw, Family.EPISODE, "e:1").weight
    assert -0.5 <= weight < -0.499


def test_actors_are_kept_apart_until_read():
    raw = weights()
    raw.fold(*lesson(OWL, actor="ann"))
    raw.fold(*lesson(OWL, actor="bob"))
    raw.fold(*lesson(OWL, actor="ann"))
    found = rows(raw, Family.CUE, "t:owl")
    by_actor = dict(zip(found.actor.tolist(), found.weight.tolist(), strict=True))
    assert sorted(by_actor.values()) == pytest.approx([0.5, 0.75], abs=1e-3)
    assert raw.actors.events().tolist() == [0, 2, 1]


def test_a_plain_function_is_a_rule():
    def double(weight, credit, length, /, *, learning_rate, w_max, w_min):
        return 2 * weight + 0.1

    raw = RawWeights(LearningSettings(rule=double, half_life_events=1e9))
    raw.fold(*lesson(OWL))
    raw.fold(*lesson(OWL))
    assert rows(raw, Family.CUE, "t:owl").weight.tolist() == pytest.approx([0.3])


def test_a_rule_cannot_leave_the_bounds():
    raw = RawWeights(LearningSettings(rule=lambda weight, *_, **__: weight + 99.0))
    raw.fold(*lesson(OWL))
    assert rows(raw, Family.CUE, "t:owl").weight.tolist() == pytest.approx([1.0])


def test_teachers_are_remembered():
    raw = weights()
    raw.fold(*lesson(OWL))
    raw.fold(*lesson((Family.CUE, "t:owl", "c:1:b", 1.0, 1)))
    found = rows(raw, Family.CUE, "t:owl")
    edges, events, _ = raw.teachers(found.edge[:1])
    assert (edges.tolist(), events.tolist()) == ([0], [0])


def test_who_is_new_between_two_steps_of_the_clock_is_said_to_weigh_what_recalls_let_it():
    raw = weights()
    for _ in range(32):
        raw.fold([], "ann")
    assert raw.fold(*lesson(OWL, actor="bob")) is not None  # the clock has not moved
    owl = rows(raw, Family.CUE, "t:owl")
    assert raw.believed(owl.edge).tolist() == owl.weight.tolist()
    assert raw.scale_of("bob") == 1.0
    assert raw.scale_of("bob", unjudged=0.5) == 0.5
