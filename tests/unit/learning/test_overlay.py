"""Rows of learned edges: step by step, at once, and by an implementation without arrays."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from learned import dump

import hebbgraph.learning.overlay as overlay_module
from hebbgraph.formulas.homeostasis import MIN_WEIGHT, target_scales
from hebbgraph.learning.overlay import Overlay
from hebbgraph.learning.traces import Family, Trace, chunk_node, tag_node
from hebbgraph.learning.weights import RawWeights
from hebbgraph.settings import LearningSettings

N_TAGS, N_CHUNKS = 6, 7
HASH = "0123456789abcdef"
SETTINGS = LearningSettings(half_life_events=20.0, actor_events=2.0, actor_share=0.1)
IN_CREDIT, FAN_OUT = 1.5, 5  # reached sooner than by those of recalls


@pytest.fixture(autouse=True, scope="module")
def _tighter_bounds():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(overlay_module, "IN_CREDIT", IN_CREDIT)
        patch.setattr(overlay_module, "FAN_OUT", FAN_OUT)
        yield


class _Phrases:
    def __len__(self) -> int:
        return N_TAGS

    def numbers(self, keys: Sequence[str]) -> dict[str, int]:
        return {key: int(key) for key in keys}


# One more tag and chunk are taught than the graph holds: they come with a batch that is on
# its way in, of which the table of phrases knows already. And a chunk is gone.
GRAPH = SimpleNamespace(
    phrases=_Phrases(),
    generation=1,
    rows=np.arange(0, 2 * N_CHUNKS, 2),
    alive=np.arange(N_CHUNKS) != 3,
    n_slots=N_CHUNKS,
)


def overlay(weights: RawWeights, known: dict[str, tuple[int, str]] | None = None) -> Overlay:
    def resolve(ids):
        return {id_: (2 * int(id_), HASH) for id_ in ids if int(id_) < N_CHUNKS}

    return Overlay(GRAPH, weights, SETTINGS, {} if known is None else known, resolve)


def rows(made: Overlay) -> dict[tuple[str, int], list[tuple[int, float]]]:
    found = {("into chunks", at): made._to_chunk.row(at) for at in range(-N_CHUNKS, 2 * N_TAGS)}
    found |= {("hops", at): made._hops.row(at) for at in range(N_TAGS)}
    return found | {("past", at): made._opinions.row(at) for at in range(len(made.number))}


def naive(weights: RawWeights) -> dict[tuple[Family, str], dict[str, float]]:
    """What leaves each node, from the weights by name."""
    actors = dict(zip(weights.actors.numbers, weights.actor_scales().tolist(), strict=False))
    targets = target_scales(weights.credits(), in_credit=IN_CREDIT).tolist()

    def is_here(node: str) -> bool:
        number = int(node[2:] if node[0] == "t" else node[19:])
        return number < N_TAGS if node[0] == "t" else number < N_CHUNKS and number != 3

    kept: dict[tuple[Family, str], dict[str, tuple[float, float]]] = {}
    for (name, source, target, actor), weight in dump(weights).items():
        if not is_here(target) or (source[0] != "e" and not is_here(source)):
            continue
        number = weights.number(target)
        weight *= actors.get(actor, 1.0)
        if weight > 0 and number is not None and number < len(targets):
            weight *= targets[number]
        row = kept.setdefault((Family[name], source), {})
        up, down = row.get(target, (1.0, 1.0))
        row[target] = (up * (1.0 - max(weight, 0.0)), down * (1.0 + min(weight, 0.0)))
    net = {
        key: {target: down - up for target, (up, down) in row.items()} for key, row in kept.items()
    }
    for key, row in net.items():
        if key[0] is Family.EPISODE:
            continue
        fan_out = 4 if key[0] in (Family.HOP, Family.ARRIVAL) else FAN_OUT
        strong = [(w, t) for t, w in row.items() if w >= MIN_WEIGHT]
        strong = sorted(strong, key=lambda one: (-one[0], weights.number(one[1])))[:fan_out]
        scale = 1.0 / max(sum(w for w, _ in strong), 1.0)
        net[key] = {t: w * scale for w, t in strong}
    return net


_tag = st.integers(0, N_TAGS).map(lambda n: tag_node(str(n)))
_chunk = st.integers(0, N_CHUNKS).map(lambda n: chunk_node(str(n), HASH))
_past = st.integers(0, 3).map(lambda n: f"e:{n}")
_credit = st.sampled_from([1.0, 0.5, -0.5])


def _traces(family: Family, source: st.SearchStrategy[str], target: st.SearchStrategy[str]):
    return st.builds(Trace, st.just(family), source, target, _credit, st.just(2))


_trace = st.one_of(
    _traces(Family.CUE, _tag, _chunk),
    _traces(Family.PAIR, _chunk, _chunk),
    _traces(Family.EPISODE, _past, _chunk),
    _traces(Family.HOP, _tag, _tag),
    _traces(Family.ARRIVAL, _tag, _chunk),
)
_lesson = st.tuples(st.lists(_trace, min_size=1, max_size=8), st.sampled_from([None, "ann", "bob"]))


@given(st.lists(st.tuples(_lesson, st.booleans()), min_size=1, max_size=40))
def test_rows_step_by_step_are_those_made_at_once(lessons):
    weights = RawWeights(SETTINGS)
    followed = overlay(weights)
    # From here on, the clock that readers go by moves with every 16th lesson.
    for _ in range(320):
        weights.fold([], None)
    for lesson, is_read in lessons:
        followed.outdate(weights.fold(*lesson))
        if is_read:
            followed.bring_up_to_date()
    at_once = overlay(weights)
    for made in (followed, at_once):
        made.bring_up_to_date()
    assert rows(followed) == rows(at_once)


@given(st.lists(_lesson, min_size=1, max_size=40))
def test_rows_read_together_are_those_read_one_by_one_and_are_read_once(lessons):
    weights = RawWeights(SETTINGS)
    for lesson in lessons:
        weights.fold(*lesson)
    together, one_by_one = overlay(weights), overlay(weights)
    for made in (together, one_by_one):
        made.bring_up_to_date()
    pools = (together._to_chunk, together._hops, together._opinions)
    together.path_edges()
    held = [len(pool) for pool in pools]
    together.path_edges()
    assert rows(together) == rows(one_by_one)
    assert [len(pool) for pool in pools] == held


@given(st.lists(_lesson, min_size=1, max_size=40))
def test_rows_are_those_of_an_implementation_without_arrays(lessons):
    weights = RawWeights(SETTINGS)
    for lesson in lessons:
        weights.fold(*lesson)
    made = overlay(weights)
    made.bring_up_to_date()
    expected: dict[tuple[str, int], dict[int, float]] = {}
    for (family, source), row in sorted(naive(weights).items()):
        node = weights.number(source)
        assert node is not None
        number = int(made.number[node])
        into = {int(made.number[weights.number(target)]): w for target, w in row.items()}
        places = {
            Family.CUE: [("into chunks", number + N_TAGS)],
            Family.ARRIVAL: [("into chunks", number), ("into chunks", number + N_TAGS)],
            Family.PAIR: [("into chunks", ~number)],
            Family.HOP: [("hops", number)],
            Family.EPISODE: [("past", node)],
        }[family]
        for place in places:
            for target, weight in into.items():
                # A cue follows what was learned of it as a cue, and as a tag.
                key = target if family is not Family.ARRIVAL else target + 1000
                expected.setdefault(place, {})[key] = weight
    for place, row in rows(made).items():
        wanted = sorted((key % 1000, weight) for key, weight in expected.get(place, {}).items())
        assert [target for target, _ in sorted(row)] == [target for target, _ in wanted]
        assert [weight for _, weight in sorted(row)] == pytest.approx([w for _, w in wanted])


def test_a_row_by_name_is_the_one_that_recalls_follow():
    weights = RawWeights(SETTINGS)
    cue = Trace(Family.CUE, tag_node("2"), chunk_node("4", HASH), 1.0, 1)
    weights.fold([cue], None)
    made = overlay(weights)
    made.bring_up_to_date()
    [(target, weight)] = made._to_chunk.row(2 + N_TAGS)
    assert made.row(Family.CUE, made.node_of_tag[2]) == {target: weight} == {4: weight}
    assert made._to_chunk.row(2) == []
    assert made.row(Family.ARRIVAL, made.node_of_tag[2]) == {}


def test_a_chunk_that_was_put_again_is_looked_up_again():
    weights = RawWeights(SETTINGS)
    cue = Trace(Family.CUE, tag_node("2"), chunk_node("4", HASH), 1.0, 1)
    weights.fold([cue], None)
    known = {"4": (2 * 3, HASH)}  # the row that it lay in is dead
    made = overlay(weights, known)
    made.bring_up_to_date()
    assert set(made.node_of_slot) == {4}
    assert known == {"4": (2 * 4, HASH)}
