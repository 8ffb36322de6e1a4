from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from harbour import PASSAGES, ask

from usebench.arms.expansion import DocumentExpansion
from usebench.drivers.static import Bm25, Recent
from usebench.errors import ParameterError
from usebench.experiment import run
from usebench.prequential import parts, run_stream
from usebench.records import Feedback, Passage, UseSet
from usebench.systems import System
from usebench.unlearning import measure_unlearning


class Diary:
    """Writes down what is done to it, and finds nothing but what was cited."""

    def __init__(self) -> None:
        self.lines: list[Any] = []

    def reset(self) -> None:
        self.cited: list[str] = []
        self.lines.append("reset")

    def add(self, passages: Sequence[Passage], /) -> None:
        self.lines.append([passage.id for passage in passages])

    def search(self, question: str, k: int, /) -> list[str]:
        self.lines.append(question)
        return [*self.cited, "petrel", "petrel", "tide"][:k]

    def feedback(self, *, cited: Sequence[str], **said: Any) -> None:
        self.lines.append(tuple(cited))
        self.cited += cited


def test_each_question_is_asked_before_its_feedback_is_given(harbour: UseSet) -> None:
    diary = Diary()
    run_stream(diary, harbour, k=10)
    first, second, third = (event.question for event in harbour.events)
    ids = [passage.id for passage in PASSAGES]
    assert diary.lines == ["reset", ids, first, ("petrel",), second, third, ("petrel",)]


def test_an_untaught_run_gives_none(harbour: UseSet) -> None:
    diary = Diary()
    assert run_stream(diary, harbour, kind="none").log == []
    assert diary.lines[2:] == [event.question for event in harbour.events]


def test_what_is_no_id_is_refused(harbour: UseSet) -> None:
    class Scored(Diary):
        def search(self, question: str, k: int, /) -> list[Any]:
            return [("petrel", 0.9)]

    with pytest.raises(ParameterError, match=r"Scored.search returns ids .* \('petrel', 0.9\)"):
        run_stream(Scored(), harbour, kind="none")


def test_what_teaches_only_is_not_scored_and_what_is_recorded_needs_no_search(
    harbour: UseSet,
) -> None:
    first, *rest = harbour.events
    elsewhere = Feedback(first.question, ("petrel", "tide"), ("petrel",), rejected=("tide",))
    past = replace(first, scored=False, recorded=elsewhere)
    uses = replace(harbour, events=(past, *rest))
    diary = Diary()
    assert len(run_stream(diary, uses).values["R@5"]) == 2
    assert diary.lines[2] == ("petrel",)
    assert parts(uses.events) == ["rest", "shares"]


def test_questions_share_with_feedback_before_them_in_their_own_memory() -> None:
    events = [
        ask(0, "?", "a"),
        ask(1, "?", "a", memory="other"),
        ask(2, "?", "a", "b", taught=False),
        ask(3, "?", "b"),
    ]
    assert parts(events) == ["rest", "rest", "shares", "rest"]


def test_each_memory_is_asked_alone() -> None:
    chats = [Passage("1-0", "red", memory="1"), Passage("2-0", "red", memory="2")]
    events = (ask(0, "red", "1-0", memory="1"), ask(1, "red", "2-0", memory="2"))
    done = run_stream(Recent(), UseSet("chats", tuple(chats), events), kind="none", k=1)
    assert done.values["R@2"] == [1.0, 1.0]
    assert len(done.cost.milliseconds["add"]) == 2


def test_expansion_finds_by_use_what_bm25_ranks_by_words(harbour: UseSet) -> None:
    result = run(
        harbour,
        [System("bm25", Bm25), System("expansion", DocumentExpansion)],
        kinds=("right", "hostile"),
    )
    assert result["scored"] == {"all": 3, "shares": 1, "rest": 2}
    bm25, expansion = result["systems"]
    assert list(bm25["runs"]) == ["none"]
    untaught, taught = expansion["runs"]["none"], expansion["runs"]["right"]
    assert untaught["values"] == [1.0, 1.0, 0.0] == bm25["runs"]["none"]["values"]
    assert taught["values"] == [1.0, 1.0, 1.0]
    assert taught["minus_untaught"]["R@5"]["shares"]["mean"] == 1.0
    assert taught["minus_untaught"]["R@5"]["rest"]["mean"] == 0.0
    assert expansion["regret"]["untaught"]["curve"][-1] == -1.0
    assert bm25["regret"]["expansion"]["curve"][-1] == 1.0
    assert expansion["unlearning"]["all"] == {"same": 1.0, "change": 0.0, "questions": 3}
    assert taught["cost"]["model_calls"] == {"add": 0, "search": 0, "feedback": 0}
    assert taught["cost"]["bytes_after"] > taught["cost"]["bytes_before"]


class Stubborn(DocumentExpansion):
    """Says that it forgets, and does not."""

    def forget(self, actor: str | None = None) -> None:
        """Do nothing."""


def test_unlearning_that_leaves_traces_is_seen(harbour: UseSet) -> None:
    exact = measure_unlearning(Stubborn, harbour)
    assert exact is not None
    assert exact["all"].same == pytest.approx(2 / 3)
    assert exact["all"].change == pytest.approx(1 / 3)
    assert measure_unlearning(Diary, harbour) is None
