"""Spreading worked by hand on graphs of a few chunks."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from array_view import ArrayView

from hebbgraph.formulas.activation import Activation, spread
from hebbgraph.formulas.evidence import Evidence
from hebbgraph.formulas.spreading_step import SpreadingParameters

ONE_STEP = SpreadingParameters(
    n_seeds=1,
    cue_share=0.4,
    n_steps=1,
    title_salience=32.0,
    leak=1.0,
    mention_credit=0.6,
    unnamed_credit=1.0,
    evidence_power=4.0,
    half_saturation=0.04,
)


def evidence(values: dict[int, float], elsewhere: float = 0.05) -> Evidence:
    chunks = sorted(values)
    return Evidence(np.array(chunks), np.array([values[c] for c in chunks]), elsewhere)


def cues(*tags: int) -> np.ndarray:
    return np.array(tags, np.int64)


def credit(activation: Activation, chunk: int) -> float:
    """Undo x / (x + half_saturation)."""
    arrived = float(activation.arrived[activation.chunks.tolist().index(chunk)])
    return 0.04 * arrived / (1.0 - arrived)


def nodes(activation: Activation, chunk: int) -> list[tuple[str, int]]:
    return [(node.kind, node.id) for node in activation.path(chunk)]


def test_the_bridge_of_a_title_with_the_usual_constants() -> None:
    """Chunk 0 has title 0 and mentions tag 1, which is the title of chunk 1."""
    view = ArrayView([[0, 1], [1], [2]], titles=[{0}, {1}, {2}])
    activation = spread(view, np.array([0]), Evidence(np.array([0, 2]), np.array([1.0, 0.3])))
    assert activation.top(3)[0].tolist() == [0, 1, 2]
    assert nodes(activation, 1) == [("tag", 0), ("chunk", 0), ("tag", 1), ("chunk", 1)]


def test_one_link_by_hand() -> None:
    # Chunk 0 is entitled 0 and mentions 1, the title of chunk 1.
    view = ArrayView([[0, 1], [1], [2]], titles=[{0}, {1}, {2}])
    activation = spread(view, cues(0), evidence({0: 1.0, 2: 0.3}), parameters=ONE_STEP)
    # The cue's 0.4 goes to chunk 0 but for the leak; the seed starts with 0.6.
    on_0 = 0.4 * 32 / (32 + 1)
    mass = 0.6 + on_0
    on_tag_1 = mass  # all of it: tag 0 is no other chunk's
    pull = 32 * 0.05 + 1.0 + 1.0  # the title of chunk 1, the mention in chunk 0, the leak
    assert credit(activation, 1) == pytest.approx(on_tag_1 * 32 * 0.05 / pull)
    assert credit(activation, 0) == pytest.approx(on_0 + 0.6 * on_tag_1 * 1.0 / pull)
    chunks, scores = activation.top(3)
    assert chunks.tolist() == [0, 1, 2]
    x = credit(activation, 1)
    assert scores[1] == pytest.approx(1 - (1 - 0.05**4) * (1 - x / (x + 0.04)))
    assert scores[2] == pytest.approx(0.3**4)


def test_paths_name_the_cue_the_seed_and_the_bridge() -> None:
    view = ArrayView([[0, 1], [1], [2]], titles=[{0}, {1}, {2}])
    activation = spread(view, cues(0), evidence({0: 1.0, 2: 0.3}), parameters=ONE_STEP)
    assert nodes(activation, 1) == [("tag", 0), ("chunk", 0), ("tag", 1), ("chunk", 1)]
    assert nodes(activation, 2) == [("chunk", 2)]


def test_scores_and_arrivals_of_single_chunks() -> None:
    view = ArrayView([[0, 1], [1], [2], []], titles=[{0}, {1}, {2}, set()])
    activation = spread(view, cues(0), evidence({0: 1.0, 2: 0.3}), parameters=ONE_STEP)
    chunks, scores = activation.top(3)
    assert [activation.at(c, activation.scores) for c in chunks.tolist()] == scores.tolist()
    assert activation.at(1, activation.arrived) == activation.arrived[1] > 0
    assert activation.at(2, activation.arrived) == 0.0  # by its own evidence alone
    assert activation.at(3, activation.scores) == 0.0  # not reached


def test_a_backlink_leads_to_the_chunks_that_mention_a_title() -> None:
    view = ArrayView([[0], [0]], titles=[{0}, set()])
    activation = spread(view, cues(), evidence({0: 1.0}, elsewhere=0.5), parameters=ONE_STEP)
    assert credit(activation, 1) == pytest.approx(0.5 / (0.5 + 1.0))
    assert nodes(activation, 1) == [("chunk", 0), ("tag", 0), ("chunk", 1)]


def test_no_flow_between_chunks_of_one_title() -> None:
    view = ArrayView([[0], [0], [0]], titles=[{0}, {0}, {0}])
    activation = spread(view, cues(), evidence({0: 1.0, 1: 0.5}), parameters=ONE_STEP)
    assert activation.chunks.tolist() == [0, 1]
    assert activation.arrived.tolist() == [0.0, 0.0]


def test_a_shared_title_says_less_about_each_chunk() -> None:
    view = ArrayView([[0], [0], [], []], titles=[{0}, {0}, set(), set()])
    activation = spread(view, cues(0), evidence({0: 0.5, 2: 1.0}, 0.5), parameters=ONE_STEP)
    assert credit(activation, 0) == pytest.approx(0.4 * 16 / (16 + 16 + 1) / 2)


def test_only_trusted_mass_uses_co_mentions() -> None:
    view = ArrayView([[0, 1], [1]], titles=[{0}, set()])
    direct = evidence({0: 1.0}, elsewhere=0.5)
    assert spread(view, cues(), direct, parameters=ONE_STEP).chunks.tolist() == [0]
    named = spread(view, cues(0), direct, parameters=ONE_STEP)
    on_tag_1 = 0.6 + 0.4 * 32 / 33
    assert credit(named, 1) == pytest.approx(0.6 * on_tag_1 * 0.5 / (0.5 + 1.0 + 1.0))


def test_a_seed_without_title_is_not_trusted() -> None:
    view = ArrayView([[1], [1], [2]], titles=[set(), set(), {2}])
    parameters = SpreadingParameters(n_seeds=1, n_steps=1, cue_share=0.0)
    activation = spread(view, cues(2), evidence({0: 1.0}, 0.5), parameters=parameters)
    assert 1 not in activation.chunks.tolist()


def test_without_a_named_title_activation_counts_less() -> None:
    view = ArrayView([[0], [0], [1]], titles=[{0}, set(), {1}])
    direct = evidence({0: 1.0}, elsewhere=0.5)
    parameters = replace(ONE_STEP, unnamed_credit=0.6, cue_share=0.0)
    activation = spread(view, cues(), direct, parameters=parameters)
    assert credit(activation, 1) == pytest.approx(0.6 * 0.5 / (0.5 + 1.0))
    # A cue of trust .5 halves what is missing.
    half = np.array([0.5])
    trusted = spread(view, cues(1), direct, parameters=parameters, cue_trust=half)
    assert credit(trusted, 1) == pytest.approx(0.8 * 0.5 / (0.5 + 1.0))


def test_direct_evidence_is_doubted_if_a_title_is_named_and_no_chunk_holds_the_whole_question() -> (
    None
):
    view = ArrayView([[0, 1], [1], [2]], titles=[{0}, {1}, {2}])
    direct = evidence({0: 1.0, 2: 0.8})

    def score_of_2(*named: int, held: float, trust: float = 1.0) -> float:
        activation = spread(
            view,
            cues(*named),
            replace(direct, share_held=held),
            parameters=replace(ONE_STEP, doubt=0.5),
            cue_trust=np.full(len(named), trust),
        )
        scores = dict(zip(activation.chunks.tolist(), activation.scores.tolist(), strict=True))
        assert activation.direct[activation.chunks.tolist().index(2)] == pytest.approx(scores[2])
        return scores[2]

    # Nothing flows to chunk 2, so its score is what is left of .8 ** 4.
    assert score_of_2(0, held=1.0) == pytest.approx(0.8**4)
    assert score_of_2(0, held=0.4) == pytest.approx(0.8**4 * (1 - 0.5 * 0.6))
    assert score_of_2(0, held=0.4, trust=0.5) == pytest.approx(0.8**4 * (1 - 0.5 * 0.5 * 0.6))
    # Without a named title there is nothing that could know better.
    assert score_of_2(held=0.4) == pytest.approx(0.8**4)


def test_cues_share_the_starting_mass_by_how_rare_they_are() -> None:
    view = ArrayView([[0], [1], [1]], titles=[{0}, {1}, set()])
    activation = spread(view, cues(1, 0), evidence({}, 0.5), parameters=ONE_STEP)
    rare, common = np.log1p(3 / 1) ** 2, np.log1p(3 / 2) ** 2
    on_0, on_1 = (0.4 * weight / (rare + common) for weight in (rare, common))
    assert activation.layers[0].arrived(0) == pytest.approx(on_0 * 16 / 17)
    assert activation.layers[0].arrived(1) == pytest.approx(on_1 * 16 / (16 + 0.5 + 1))


def test_incidental_phrases_take_their_share_and_pass_nothing_on() -> None:
    view = ArrayView([[0, 1, 2], [1], [2]], titles=[{0}, set(), set()], incidental={1})
    activation = spread(view, cues(0), evidence({0: 1.0}, 0.5), parameters=ONE_STEP)
    assert activation.chunks.tolist() == [0, 2]
    on_tag_2 = (0.6 + 0.4 * 32 / 33) / 2
    assert credit(activation, 2) == pytest.approx(0.6 * on_tag_2 * 0.5 / (0.5 + 1.0 + 1.0))


@pytest.mark.parametrize("trust", [[1.0, 0.5], [0.5, 1.0]])
def test_a_seed_is_trusted_as_far_as_the_best_of_its_titles(trust: list[float]) -> None:
    view = ArrayView([[0, 1, 2], [2]], titles=[{0, 1}, set()])
    direct = evidence({0: 1.0}, elsewhere=0.5)
    activation = spread(view, cues(0, 1), direct, parameters=ONE_STEP, cue_trust=np.array(trust))
    on_tag_2 = 0.6 + 0.2 * 1.5 * 32 / 33
    assert credit(activation, 1) == pytest.approx(0.6 * on_tag_2 * 0.5 / (0.5 + 1.0 + 1.0))


def test_the_weight_of_the_graph_bounds_what_arrives() -> None:
    view = ArrayView([[0], [0]], titles=[{0}, set()])
    direct = evidence({0: 1.0}, elsewhere=0.5)
    full, half, none = (
        spread(view, cues(), direct, parameters=replace(ONE_STEP, graph_weight=weight))
        for weight in (1.0, 0.5, 0.0)
    )
    assert half.arrived.tolist() == (full.arrived / 2).tolist()
    assert none.top(1)[0].tolist() == [0]
    assert none.at(1, none.scores) == pytest.approx(0.5**4)


def test_trust_in_a_cue_bounds_what_its_title_receives() -> None:
    view = ArrayView([[0], [1]], titles=[{0}, {1}])
    half = np.array([0.5])
    activation = spread(view, cues(0), evidence({1: 1.0}, 0.5), parameters=ONE_STEP, cue_trust=half)
    assert credit(activation, 0) == pytest.approx(0.5 * 0.4 * 16 / (16 + 1))


def test_cues_do_not_lead_to_chunks_that_only_mention_them() -> None:
    view = ArrayView([[0], [1]])
    activation = spread(view, cues(0), evidence({1: 1.0}), parameters=ONE_STEP)
    assert activation.chunks.tolist() == [1]


def test_hubs_pass_nothing_and_are_not_cues() -> None:
    view = ArrayView([[0, 1], [1], [1], [1]], titles=[{0}, {1}, set(), set()])
    parameters = SpreadingParameters(hub_share=0.0, hub_floor=3)
    activation = spread(view, cues(1), evidence({0: 1.0}), parameters=parameters)
    assert activation.chunks.tolist() == [0]


def test_best_direct_evidence_is_never_outvoted() -> None:
    view = ArrayView([[0, 1], [1], []], titles=[{0}, {1}, set()])
    activation = spread(view, cues(0, 1), evidence({0: 0.9, 2: 1.0}))
    assert activation.top(1)[0].tolist() == [2]


def test_excluded_chunks_neither_receive_nor_pass() -> None:
    view = ArrayView([[0, 1], [1, 2], [2]], titles=[{0}, {1}, {2}])
    direct = evidence({0: 1.0})
    assert spread(view, cues(0), direct).chunks.tolist() == [0, 1, 2]
    mask = np.array([True, False, True])
    assert spread(view, cues(0), direct, allowed=mask.__getitem__).chunks.tolist() == [0]
    assert spread(view, cues(0), direct, allowed=(~mask).__getitem__).chunks.tolist() == []


def test_all_candidates_come_back_and_ties_are_kept() -> None:
    view = ArrayView([[], [], [], []])
    activation = spread(view, cues(), evidence({0: 0.5, 1: 0.5, 2: 0.5, 3: 0.1}))
    chunks, scores = activation.top(2)
    assert chunks.tolist() == [0, 1, 2]
    assert scores.tolist() == [0.5**4] * 3
    assert activation.top(9)[0].tolist() == [0, 1, 2, 3]


def test_nothing_to_start_from() -> None:
    view = ArrayView([[0]], titles=[{0}])
    assert len(spread(view, cues(), evidence({})).chunks) == 0
    assert spread(view, cues(), evidence({0: 0.0})).scores.tolist() == [0.0]
    assert spread(view, cues(0), evidence({})).top(1)[0].tolist() == [0]


def test_hub_cut_is_between_floor_and_cap() -> None:
    parameters = SpreadingParameters(hub_share=0.01, hub_floor=20, hub_cap=100)
    assert [parameters.hub_cut(n) for n in (10, 5_000, 1_000_000)] == [20, 50, 100]
