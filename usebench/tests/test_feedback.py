from __future__ import annotations

import pytest
from harbour import ask
from hypothesis import given
from hypothesis import strategies as st

from usebench.errors import ParameterError
from usebench.feedback import KINDS, say, stream, with_intruders
from usebench.records import Feedback


def test_a_right_reader_cites_what_was_shown_and_serves() -> None:
    said = say(ask(0, "?", "a", "b"), ["x", "b"], "right")
    assert said is not None
    assert (said.cited, said.shown, said.actor) == (("b",), ("x", "b"), "ann")
    assert say(ask(0, "?", "a"), ["x"], "right") is None
    assert say(ask(0, "?", "a", taught=False), ["a"], "right") is None


def test_gold_feedback_cites_what_was_not_shown_too() -> None:
    said = say(ask(1, "?", "petrel", "tide"), ["moss", "petrel"], "gold")
    assert said is not None
    assert (said.shown, said.cited) == (("moss", "petrel"), ("petrel", "tide"))


def test_what_people_said_counts_rather_than_what_is_relevant() -> None:
    said = Feedback("?", ("a", "x"), ("x",), rejected=("a",), ratings={"x": 1.0, "a": 0.0})
    spoken = say(ask(0, "?", "a", recorded=said), ["a"], "right")
    assert spoken is not None
    assert (spoken.cited, spoken.rejected, spoken.ratings) == (("x",), ("a",), said.ratings)


@given(st.integers(0, 999), st.sets(st.sampled_from("abcxyz"), min_size=1))
def test_wrong_readers_cite_as_many_and_partial_ones_fewer(seed: int, ids: set[str]) -> None:
    shown = sorted(ids)
    event = ask(0, "?", "a", "b", "c")
    cited = {
        kind: said.cited if (said := say(event, shown, kind, seed=seed)) else ()
        for kind in ("right", "wrong", "partial")
    }
    assert len(cited["wrong"]) == len(cited["right"])
    assert set(cited["wrong"]) <= ids
    assert set(cited["partial"]) <= set(cited["right"])
    assert say(event, shown, "wrong", seed=seed) == say(event, shown, "wrong", seed=seed)


def test_every_tenth_feedback_of_a_hostile_stream_is_a_lie() -> None:
    events = [ask(n, f"{n}?", "a") for n in range(90)]
    mixed = with_intruders(events)
    lies = [event for event in mixed if event.hostile]
    assert len(lies) == 10
    assert {event.actor for event in lies} == {"intruder-0", "intruder-1"}
    assert not any(event.scored for event in lies)
    assert [event for event in mixed if not event.hostile] == events
    said = say(lies[0], ["a", "x", "y"], "hostile")
    assert said is not None
    assert said.cited == ("y",)
    assert stream(events, "right") is events


def test_a_kind_that_nobody_knows_is_named() -> None:
    with pytest.raises(ParameterError, match=f"{', '.join(KINDS)}; got 'kind'"):
        stream([], "kind")
