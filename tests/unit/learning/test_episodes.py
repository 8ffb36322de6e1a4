"""Which past queries a new one is like."""

from typing import NamedTuple

import numpy as np
import pytest

from hebbgraph.learning import episodes as module
from hebbgraph.learning.episodes import Episodes, episode_node
from hebbgraph.learning.names import Names
from hebbgraph.records import Cue, Feedback
from hebbgraph.settings import LearningSettings


class Past(NamedTuple):
    nodes: list
    likeness: float


def feedback(name, vector=None, terms=(), cues=()):
    return Feedback(
        id=name,
        namespace="n",
        recall_id=name,
        cues=tuple(Cue(tag=tag, weight=1.0) for tag in cues),
        terms=tuple((term, 1.0) for term in terms),
        vector=None if vector is None else tuple(vector),
        embedder=None if vector is None else "m",
    )


def angle(degrees):
    return np.cos(np.radians(degrees)), np.sin(np.radians(degrees))


def remembering(*given, **settings):
    names = Names()
    episodes = Episodes(LearningSettings(**settings), names)
    for one in given:
        episodes.add(names.add(episode_node(one)), one)
    return episodes


def ask(episodes, *, vector=None, features=(), embedder="m"):
    held = None if vector is None else np.array(vector, dtype=np.float32)
    active = episodes.active(dict.fromkeys(features, 1.0), held, embedder)
    return [
        Past(active.nodes[active.owner == at].tolist(), like)
        for at, like in enumerate(active.likeness.tolist())
    ]


def test_likeness_runs_from_the_threshold_to_the_same_question():
    episodes = remembering(
        feedback("a", angle(0)), feedback("b", angle(90)), episode_similarity=0.5
    )
    [same] = ask(episodes, vector=angle(0))
    assert same.likeness == pytest.approx(1.0, abs=1e-3)
    assert ask(episodes, vector=angle(-61)) == []
    [near] = ask(episodes, vector=angle(-41.4))  # cosine 0.75: half way
    assert near.likeness == pytest.approx(0.5, abs=1e-2)


def test_near_duplicates_count_as_one():
    episodes = remembering(*(feedback(str(i), angle(i)) for i in range(5)))
    [one] = ask(episodes, vector=angle(0))
    assert len(one.nodes) == 5


def test_active_queries_are_capped_to_the_most_similar(monkeypatch):
    monkeypatch.setattr("hebbgraph.learning.episodes._MOST_ACTIVE", 3)
    monkeypatch.setattr("hebbgraph.learning.episodes._NEARLY_THE_SAME", 1.0)
    episodes = remembering(*(feedback(str(i), angle(i)) for i in range(0, 50, 5)))
    active = ask(episodes, vector=angle(0))
    assert len(active) == 3
    assert active[0].likeness > active[1].likeness > active[2].likeness


def test_without_vectors_words_and_tags_decide():
    episodes = remembering(
        feedback("a", terms=["x", "y"], cues=["owl"]), feedback("b", terms=["z", "u", "v"])
    )
    [one] = ask(episodes, features=["x", "y", "t:owl"])
    assert one.likeness == pytest.approx(1.0)
    assert ask(episodes, features=["w"]) == []


def test_vectors_of_another_model_are_not_compared():
    episodes = remembering(feedback("a", angle(0)))
    assert ask(episodes, vector=angle(0), embedder="other") == []
    assert ask(episodes, vector=(1.0, 0.0, 0.0)) == []


def test_the_same_question_is_remembered_once():
    episodes = remembering(feedback("a", angle(0)), feedback("b", angle(0)))
    assert len(episodes) == 1


def test_a_sketch_of_many_finds_the_same_as_looking_at_all(monkeypatch):
    rng = np.random.default_rng(1)
    vectors = rng.normal(size=(600, 64))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    given = [feedback(str(i), vector) for i, vector in enumerate(vectors)]
    exact = remembering(*given)
    monkeypatch.setattr(module, "_SKETCH_FROM", 100)
    sketched = remembering(*given)
    for vector in vectors[:20]:
        near = vector + 0.05 * rng.normal(size=64)
        near /= np.linalg.norm(near)
        assert ask(sketched, vector=near) == ask(exact, vector=near)
