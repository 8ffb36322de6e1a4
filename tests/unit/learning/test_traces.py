"""What one feedback teaches."""

import pytest

from hebbgraph.learning.traces import Family, shared_credit, traces_of
from hebbgraph.records import Cue, Feedback, PathStep, ShownChunk
from hebbgraph.settings import LearningSettings

H = "0" * 16


def feedback(
    shown="abcdefgh", cited="c", rejected="", paths=(), cues=(("owl", 2.0), ("vole", 1.0))
):
    return Feedback(
        id="f",
        namespace="n",
        recall_id="r",
        shown=tuple(
            ShownChunk(chunk_id=id_, rank=rank, text_hash=H) for rank, id_ in enumerate(shown, 1)
        ),
        cited=tuple(cited),
        rejected=tuple(rejected),
        cues=tuple(Cue(tag=tag, weight=weight) for tag, weight in cues),
        paths=paths,
    )


def traces(given, **settings):
    lesson = traces_of(given, "e:1", LearningSettings(inhibition=0.5, **settings))
    return {
        (
            trace.family,
            trace.source[2:].removeprefix(f"{H}:"),
            trace.target[2:].removeprefix(f"{H}:"),
        ): trace.credit
        for trace in lesson
    }


def test_credit_is_shared_and_indifference_teaches_nothing():
    assert shared_credit(1, 8, many_shown=5) == pytest.approx(1 - 1 / 64)
    assert shared_credit(4, 8, many_shown=5) == pytest.approx((1 - 1 / 4) / 2)
    assert shared_credit(8, 8, many_shown=5) == 0
    assert shared_credit(0, 8, many_shown=5) == 0


def test_cues_learn_by_how_much_they_say():
    found = traces(feedback(), families=("cue",))
    assert found[Family.CUE, "owl", "c"] == pytest.approx(1 - 1 / 64)
    assert found[Family.CUE, "vole", "c"] == pytest.approx((1 - 1 / 64) / 2)


def test_only_what_stands_above_a_citation_was_passed_over():
    found = traces(feedback(), families=("episode",))
    assert {target: credit for (_, _, target), credit in found.items() if credit < 0} == {
        "a": -0.5,
        "b": -0.5,
    }


def test_the_rejected_lose_wherever_they_stand():
    found = traces(feedback(cited="", rejected="h"), families=("episode",))
    assert found == {(Family.EPISODE, "1", "h"): -1.0}


def test_citing_all_of_many_teaches_nothing():
    assert traces(feedback(cited="abcdefgh")) == {}


def test_cited_chunks_are_paired_both_ways():
    found = traces(feedback(shown="abcd", cited="ab"), families=("pair",))
    assert set(found) == {(Family.PAIR, "a", "b"), (Family.PAIR, "b", "a")}


def test_the_path_of_a_cited_chunk_is_strengthened():
    path = (
        PathStep(kind="tag", value="owl"),
        PathStep(kind="chunk", value="a"),
        PathStep(kind="tag", value="vole"),
        PathStep(kind="chunk", value="c"),
    )
    found = traces(feedback(paths=(path,)), families=("path",))
    assert set(found) == {(Family.HOP, "owl", "vole"), (Family.ARRIVAL, "vole", "c")}
