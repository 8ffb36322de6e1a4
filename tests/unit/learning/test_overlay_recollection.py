"""What past queries bring back, worked by hand."""

from types import SimpleNamespace

import numpy as np
import pytest

from hebbgraph.learning import overlay
from hebbgraph.learning.episodes import ActiveEpisodes
from hebbgraph.learning.overlay import Opinion, Recollection
from hebbgraph.settings import LearningSettings


def recollection(likeness, signed):
    past = np.arange(len(likeness))
    return Recollection(
        SimpleNamespace(settings=LearningSettings()),
        ActiveEpisodes(past, past, np.array(likeness, float)),
        likeness,
        [one**2 for one in likeness],
        [
            Opinion(at, slot, one)
            for at, row in enumerate(signed)
            for slot, one in enumerate(row)
            if one
        ],
    )


def seen(*values):
    """Direct evidence for the chunk of each opinion."""
    return list(values)


def test_a_past_query_whose_chunks_are_seen_counts_in_full():
    found = recollection([0.5], [[0.4, 0.4]]).recognised(seen(1.0, 0.1))
    assert list(found.likeness) == [0.5]


def test_one_whose_chunks_nobody_sees_counts_only_as_far_as_it_asks_the_same():
    found = recollection([0.5, 1.0], [[0.4, 0.0], [0.0, 0.4]]).recognised(seen(0.0, 0.0))
    # 0.5² is the chance that the first asks the same.
    assert list(found.likeness) == pytest.approx([0.125, 1.0])


def test_what_a_past_query_did_not_want_is_no_agreement():
    found = recollection([0.4], [[0.3, -0.3]]).recognised(seen(0.0, 1.0))
    assert found.likeness[0] == pytest.approx(0.4 * 0.16)


def test_the_same_question_needs_no_direct_evidence(monkeypatch):
    monkeypatch.setattr(overlay, "_EPISODE_PRIOR", 1.0)
    monkeypatch.setattr(overlay, "_EPISODE_GAIN", 1.0)
    again = recollection([1.0], [[0.4, 0.4]])
    slots, mass = again.seeds(seen(0.9, 0.0))
    assert slots.tolist() == [0, 1]
    # 0.4 / (1 + 1) as odds.
    assert mass.tolist() == pytest.approx([0.25, 0.25])


def test_a_question_that_is_merely_alike_needs_it(monkeypatch):
    monkeypatch.setattr(overlay, "_EPISODE_PRIOR", 0.5)
    monkeypatch.setattr(overlay, "_EPISODE_GAIN", 1.0)
    near = recollection([0.5], [[0.4, 0.4]])
    _, mass = near.seeds(seen(1.0, 0.0))
    # 0.5 * 0.4 / (0.5 + 0.5), and a quarter of that.
    assert mass.tolist() == pytest.approx([0.2 / 0.8, 0.05 / 0.95])


def test_nothing_comes_back_of_nothing():
    nothing = recollection([], []).recognised(seen())
    assert nothing.seeds(seen()) is None
    assert [array.tolist() for array in nothing.inhibited()] == [[], []]


def test_direct_evidence_is_asked_for_all_chunks_at_once():
    asked = []

    def evidence(slots):
        asked.append(slots.tolist())
        return slots / 10

    found = recollection([0.5, 0.2], [[0.4, 0.4], [0.0, -0.1, 0.3]]).seen(evidence)
    assert (found, asked) == ([0.0, 0.1, 0.1, 0.2], [[0, 1, 1, 2]])
    assert recollection([], []).seen(evidence) == []
