"""usebench: ask, score, then teach; and each simple way to learn."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import bm25s
import numpy as np
import pytest
import usebench
from hypothesis import given
from hypothesis import strategies as st
from usebench.arms.expansion import DocumentExpansion
from usebench.bootstrap import paired_bootstrap
from usebench.cli import main
from usebench.embedders import Lsa
from usebench.errors import ParameterError, SetError
from usebench.experiment import run
from usebench.feedback import say, with_intruders
from usebench.history import build_git
from usebench.lexical import Postings
from usebench.metrics import judge, ndcg_at_k, recall_at_k
from usebench.prequential import parts, run_stream
from usebench.reading import read_set, write_set
from usebench.records import Event, Feedback, Passage, UseSet
from usebench.searches import Bm25
from usebench.systems import BUILT_IN, System, systems
from usebench.unlearning import measure_unlearning

ROOT = Path(usebench.__file__).parents[1]
PASSAGES = (
    Passage("moss", "Ida Moss built boats in a small yard.", "Ida Moss"),
    Passage("petrel", "A barque with three masts, lost in a storm.", "Petrel"),
    Passage("tide", "High water comes twice a day to the quay.", "Tides"),
)
QUESTIONS = ("Which boats of the yard had masts, a barque?", "Who lost a boat at the quay?")
LEARNING = [name for name in BUILT_IN if name not in ("bm25", "dense", "fusion", "weighted")]


def ask(number: int, question: str, *gold: str, **fields: Any) -> Event:
    return Event(str(number), question, dict.fromkeys(gold, 1), float(number), "ann", **fields)


@pytest.fixture
def harbour() -> UseSet:
    """Nothing in the passage says that the barque was wrecked."""
    events = (
        ask(0, "Which barque was wrecked?", "petrel"),
        ask(1, "Who built boats?", "moss"),
        ask(2, "Which one was wrecked?", "petrel"),
    )
    return UseSet("harbour", PASSAGES, events)


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

    def feedback(self, *, cited: Sequence[str], **details: Any) -> None:
        self.lines.append(tuple(cited))
        self.cited += cited


# -- asking and teaching --------------------------------------------------------------------


def test_each_question_is_asked_before_its_feedback_is_given(harbour: UseSet) -> None:
    diary = Diary()
    run_stream(diary, harbour, k=10)
    first, second, third = (event.question for event in harbour.events)
    ids = [passage.id for passage in PASSAGES]
    assert diary.lines == ["reset", ids, first, ("petrel",), second, third, ("petrel",)]
    untaught = Diary()
    assert run_stream(untaught, harbour, kind="none").log == []
    assert untaught.lines[2:] == [first, second, third]


def test_recorded_feedback_needs_no_search_and_the_past_is_not_scored(harbour: UseSet) -> None:
    first, *rest = harbour.events
    recorded = Feedback(first.question, ("petrel", "tide"), ("petrel",), rejected=("tide",))
    past = replace(first, scored=False, recorded=recorded)
    diary = Diary()
    done = run_stream(diary, replace(harbour, events=(past, *rest)))
    assert len(done.values["R@5"]) == 2
    assert diary.lines[2] == ("petrel",)


def test_questions_share_with_feedback_before_them_in_their_own_memory() -> None:
    events = [
        ask(0, "?", "a"),
        ask(1, "?", "a", memory="other"),
        ask(2, "?", "a", "b", taught=False),
        ask(3, "?", "b"),
    ]
    assert parts(events) == ["rest", "rest", "shares", "rest"]


def test_expansion_finds_by_use_what_bm25_ranks_by_words(harbour: UseSet) -> None:
    chosen = [System("bm25", Bm25), System("expansion", DocumentExpansion)]
    result = run(harbour, chosen, kinds=("right", "hostile"))
    assert result["scored"] == {"all": 3, "shares": 1, "rest": 2}
    bm25, expansion = result["systems"]
    assert list(bm25["runs"]) == ["none"]
    untaught, taught = expansion["runs"]["none"], expansion["runs"]["right"]
    assert untaught["values"] == [1.0, 1.0, 0.0] == bm25["runs"]["none"]["values"]
    assert taught["values"] == [1.0, 1.0, 1.0]
    assert taught["minus_untaught"]["R@5"]["shares"]["mean"] == 1.0
    assert expansion["unlearning"]["all"] == {"same": 1.0, "change": 0.0, "questions": 3}


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


# -- feedback -------------------------------------------------------------------------------


def test_a_right_reader_cites_what_was_shown_and_relevant() -> None:
    said = say(ask(0, "?", "a", "b"), ["x", "b"], "right")
    assert said is not None
    assert (said.cited, said.shown, said.actor) == (("b",), ("x", "b"), "ann")
    assert say(ask(0, "?", "a"), ["x"], "right") is None


@given(st.integers(0, 999), st.sets(st.sampled_from("abcxyz"), min_size=1))
def test_wrong_readers_cite_as_many_and_partial_ones_fewer(seed: int, ids: set[str]) -> None:
    shown = sorted(ids)
    cited = {
        kind: said.cited if (said := say(ask(0, "?", *"abc"), shown, kind, seed=seed)) else ()
        for kind in ("right", "wrong", "partial")
    }
    assert len(cited["wrong"]) == len(cited["right"])
    assert set(cited["wrong"]) <= ids
    assert set(cited["partial"]) <= set(cited["right"])


def test_every_tenth_feedback_of_a_hostile_stream_is_a_lie() -> None:
    mixed = with_intruders([ask(n, f"{n}?", "a") for n in range(90)])
    lies = [event for event in mixed if event.hostile]
    assert (len(lies), {lie.actor for lie in lies}) == (10, {"intruder-0", "intruder-1"})
    said = say(lies[0], ["a", "x", "y"], "hostile")
    assert said is not None
    assert said.cited == ("y",)


# -- measures -------------------------------------------------------------------------------


def test_three_passages_by_hand() -> None:
    judged = judge(["x", "b", "a"], {"a": 1, "b": 1})
    assert (judged["R@2"], judged["R@5"], judged["all-gold@5"], judged["MRR"]) == (0.5, 1, 1, 0.5)
    assert judged["nDCG@10"] == pytest.approx((0.63093 + 0.5) / (1 + 0.63093), abs=1e-5)
    assert judge(["also"], {"a": 1}, ["also"])["MRR"] == 1.0


@given(
    st.lists(st.sampled_from("abcdef"), unique=True, max_size=6),
    st.dictionaries(st.sampled_from("abcdef"), st.integers(1, 3), min_size=1),
)
def test_deeper_finds_no_less_and_the_best_order_finds_all(
    ranked: list[str], grades: dict[str, int]
) -> None:
    recalls = [recall_at_k(ranked, grades, k) for k in range(1, 7)]
    assert recalls == sorted(recalls)
    best = sorted(grades, key=lambda id_: -grades[id_])
    assert ndcg_at_k(best, grades, 6) == pytest.approx(1)


@given(st.lists(st.tuples(st.sampled_from([0.0, 0.5, 1.0]), st.floats(0, 1)), min_size=1))
def test_an_interval_holds_its_mean_and_turns_with_the_systems(
    pairs: list[tuple[float, float]],
) -> None:
    ours, theirs = zip(*pairs, strict=True)
    by, turned = paired_bootstrap(ours, theirs), paired_bootstrap(theirs, ours)
    assert by.low - 1e-9 <= by.mean <= by.high + 1e-9
    assert (by.wins, by.losses) == (turned.losses, turned.wins)
    with pytest.raises(ParameterError, match="one value a question"):
        paired_bootstrap([1.0], [1.0, 0.0])


# -- simple ways to learn -------------------------------------------------------------------


def opened(name: str) -> Any:
    (system,) = systems([name])
    arm: Any = system.make()
    arm.reset()
    arm.add(PASSAGES)
    return arm


@pytest.mark.parametrize("name", LEARNING)
def test_each_learns_and_forgets_exactly(name: str) -> None:
    both, alone, never = opened(name), opened(name), opened(name)
    first, second = never.search(QUESTIONS[0], 2)
    for _ in range(3):
        both.feedback(question=QUESTIONS[1], cited=["tide"], actor="bob")
        for arm in (both, alone):
            arm.feedback(question=QUESTIONS[0], cited=[second], actor="ann")
    assert alone.search(QUESTIONS[0], 2) == [second, first]
    both.forget("bob")
    assert answers(both) == answers(alone)
    both.forget()
    assert answers(both) == answers(never)


def answers(arm: Any) -> list[list[str]]:
    return [arm.search(question, 3) for question in QUESTIONS]


@given(
    st.lists(st.lists(st.sampled_from(["boat", "quay", "storm", "yard"])), min_size=2, max_size=6)
)
def test_postings_score_as_bm25s_does(texts: list[list[str]]) -> None:
    present = [term for term in ("boat", "yard") if any(term in terms for terms in texts)]
    if not present:
        return
    library = bm25s.BM25(method="lucene", k1=1.2, b=0.75, backend="numpy", dtype="float64")
    library.index(texts, show_progress=False)
    index = Postings()
    for number, terms in enumerate(texts):
        half = len(terms) // 2  # in two steps: what was appended counts as if it had been there
        index.extend(str(number), terms[:half])
        index.extend(str(number), terms[half:])
    ours = index.scores(dict.fromkeys(present, 1.0))
    theirs = library.get_scores(present).tolist()
    assert [ours.get(str(n), 0.0) for n in range(len(texts))] == pytest.approx(theirs)


def test_lsa_brings_words_together_that_occur_together() -> None:
    texts = ["cat purrs", "cat kitten", "kitten purrs"] * 10
    texts += ["quay tide", "tide water", "water quay"] * 10
    lsa = Lsa(dimensions=2)
    lsa.prepare(texts)
    cat, purrs, tide = lsa.embed(["cat", "purrs", "tide"])
    assert np.dot(cat, purrs) > 0.9
    assert abs(np.dot(cat, tide)) < 0.1


# -- sets and the command line --------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    corpus = [{"id": p.id, "title": p.title, "text": p.text} for p in PASSAGES]
    asked = [("Who built boats?", "moss"), ("Who sank?", "petrel"), ("Who went down?", "petrel")]
    queries = [
        {"id": str(n), "question": question, "supporting_ids": [gold], "group": gold}
        for n, (question, gold) in enumerate(asked * 3)
    ]
    write_set(tmp_path / "harbour", corpus, queries, order="shuffled")
    return tmp_path / "harbour"


def test_orders_of_a_set(folder: Path) -> None:
    shuffled, halves = read_set(folder), read_set(folder, order="halves", frozen=True)
    assert [event.id for event in shuffled.events] == [event.id for event in halves.events]
    assert [event.taught for event in halves.events] == [True] * 4 + [False] * 5
    assert [event.scored for event in halves.events] == [False] * 4 + [True] * 5
    reworded = read_set(folder, order="reworded")
    assert sorted(event.id for event in reworded.events if event.taught) == ["0", "1"]
    with pytest.raises(SetError, match="the order is one of shuffled"):
        read_set(folder, order="backwards")


def test_one_command_measures_the_readmes_retriever(
    folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text("utf-8"), re.DOTALL)
    (tmp_path / "toy.py").write_text(code, "utf-8")
    monkeypatch.chdir(tmp_path)
    names = ",".join([*BUILT_IN, "toy:Toy"])
    arguments = ["run", str(folder), "--systems", names, "--json", "result.json"]
    assert main([*arguments, "--feedback", "right", "wrong", "partial", "hostile"]) == 0
    printed = capsys.readouterr().out
    for title in ("asked before taught", "by who says what", "Unlearning", "Milliseconds"):
        assert title in printed
    (result,) = json.loads((tmp_path / "result.json").read_text("utf-8"))["sets"]
    toy = result["systems"][-1]
    assert (toy["name"], toy["unlearning"]) == ("toy:Toy", None)
    assert toy["runs"]["right"]["means"]["R@2"]["all"] == 1.0


def test_mistakes_are_told_in_a_line(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    assert main(["run", str(folder), "--systems", "nothing"]) == 2
    assert "no system is called 'nothing'" in capsys.readouterr().err
    assert main(["run", str(folder / "gone")]) == 2
    assert "expected this file" in capsys.readouterr().err
    code = "class Half:\n    def add(self, passages): ...\n    def search(self, q, k): ...\n"
    (tmp_path / "half_a_retriever.py").write_text(code, "utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(ParameterError, match="add reset, feedback, with an empty body"):
        systems(["half_a_retriever:Half"])


def test_a_history_asks_messages_and_cites_what_commits_touched(tmp_path: Path) -> None:
    repository = tmp_path / "repository"
    repository.mkdir()

    def git(*words: str) -> None:
        who = ("-c", "user.name=ann", "-c", "user.email=ann@a.example", "-c", "commit.gpgsign=0")
        subprocess.run(["git", *who, *words], cwd=repository, check=True, capture_output=True)

    def commit(message: str, day: int, **numbers: int) -> None:
        code = "def tide(day):\n    return {tide}\n\n\nclass Quay:\n    length = {quay}\n"
        (repository / "port.py").write_text(code.format(**numbers))
        git("add", ".")
        git("commit", "-q", "-m", message, "--date", f"2020-01-{day:02} 12:00:00 +0000")

    git("init", "-q")
    for number in range(8):
        commit(f"Let the tide rise {number}", 1 + number, tide=number, quay=0)
    commit("Make the quay longer (#12) in port.py", 9, tide=7, quay=9)
    commit("oops", 10, tide=8, quay=9)
    build_git(repository, tmp_path / "set")
    uses = read_set(tmp_path / "set")
    assert {passage.id for passage in uses.passages} == {"port.py::tide", "port.py::Quay"}
    cited = {event.question: sorted(event.gold) for event in uses.events}
    assert cited["Make the quay longer in"] == ["port.py::Quay"]
    assert cited["Let the tide rise 3"] == ["port.py::tide"]
    assert "oops" not in cited
    assert [event.scored for event in uses.events] == [False] * 8 + [True]


def test_nothing_of_hebbgraph_is_imported() -> None:
    code = (
        "import sys, usebench.cli;"
        "print([n for n in sys.modules if n.startswith(('hebbgraph', 'langchain', 'torch'))])"
    )
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.strip() == "[]"
