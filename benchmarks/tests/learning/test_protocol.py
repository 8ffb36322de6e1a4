"""Splits and teachers, worked by hand."""

from __future__ import annotations

import pytest
from hebbgraph.errors import DatasetError

from hebbgraph_bench.datasets import Dataset, Query, Variant
from hebbgraph_bench.learning.splits import Question, split
from hebbgraph_bench.learning.teachers import Gold, Hostile, Shown, WrongCitations

QUESTIONS = [Question(str(n), f"question {n}", {f"g{n}": 1}) for n in range(20)]


def ask(text: str) -> Shown:
    """Show the answer between two chunks that all questions are shown."""
    return Shown(text, ("spam", f"g{text.split()[1]}", "dust"))


def test_variants_are_strata() -> None:
    variants = {"keywords": Variant("k", {"a": 1}), "follow_up": Variant("f", {"b": 1})}
    queries = (
        Query("1", "one", {"a": 1}, variants=variants),
        Query("2", "two", {"a": 1, "c": 1}),
        Query("3", "three", {"d": 1}),
    )
    found = split(Dataset("x", (), queries))
    assert [one.id for one in found.learn] == ["1"]
    assert {name: [one.id for one in some] for name, some in found.strata.items()} == {
        "same": ["1"],
        "keywords": ["1 keywords"],
        "follow_up": ["1 follow_up"],
        "shared evidence": ["2"],
        "untouched": ["3"],
    }
    assert found.strata["follow_up"][0].relevant == {"b": 1}


def test_of_a_group_the_first_type_is_learned() -> None:
    queries = (
        Query("p1", "reworded", {"a": 1}, type="dev_para", group="g"),
        Query("o1", "original", {"a": 1}, type="dev_orig", group="g"),
        Query("alone", "alone", {"b": 1}, group="h"),
    )
    found = split(Dataset("x", (), queries))
    assert [one.id for one in found.learn] == ["o1"]
    assert [one.id for one in found.strata["reworded (dev_para)"]] == ["p1"]
    assert [one.id for one in found.strata["untouched"]] == ["alone"]


def test_halves_are_fixed_by_the_seed_and_can_be_drawn_from() -> None:
    queries = tuple(Query(str(n), f"{n}", {f"c{n % 5}": 1}) for n in range(20))
    first, again, other = (split(Dataset("x", (), queries), seed=seed) for seed in (1, 1, 2))
    assert first == again
    assert first != other
    assert len(first.learn) == 10
    drawn = split(Dataset("x", (), queries), seed=1, at_most=3)
    assert drawn.learn == first.learn
    assert all(len(some) <= 3 for some in drawn.strata.values())
    with pytest.raises(DatasetError, match="nothing that is learned could help"):
        split(Dataset("x", (), (Query("1", "one", {"a": 1}), Query("2", "two", {"b": 1}))))


def test_gold_cites_what_is_relevant_and_shown() -> None:
    events = list(Gold().events([*QUESTIONS[:1], Question("x", "question 5", {"no": 1})], ask))
    assert [(event.cited, event.actor) for event in events] == [(["g0"], None)]


def test_wrong_citations_replace_one_in_the_share_asked_for() -> None:
    events = list(WrongCitations(0.2, seed=1).events(QUESTIONS, ask))
    wrong = [event for event in events if not event.cited[0].startswith("g")]
    assert (len(events), len(wrong)) == (20, 4)
    assert all(event.cited[0] in event.shown.ids for event in wrong)


@pytest.mark.parametrize("goal", ["promote", "lowest"])
def test_every_actor_gives_as_many_feedbacks(goal: str) -> None:
    teacher = Hostile(0.2, goal, QUESTIONS, actors=10, seed=0)  # type: ignore[arg-type]
    events = list(teacher.events(QUESTIONS, ask))
    hostile = [event for event in events if event.actor and event.actor.startswith("intruder")]
    assert len({event.actor for event in hostile}) == 2
    assert len(hostile) == 2 * 3  # 20 questions among 8 honest actors: 2 or 3 each
    assert len(events) - len(hostile) == 20
    cited = {id_ for event in hostile for id_ in event.cited}
    # Both are shown to all questions; the smaller id is promoted, the last shown is lowest.
    assert cited == {"dust"}
