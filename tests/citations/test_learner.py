"""The learner on real indexes: lessons, verdicts, other tenants, and the end of the process."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from boats import BOATS

from hebbgraph import HebbgraphError, HebbianIndex, Recall
from hebbgraph.citations import Learner, Outcome, Passage, Reason, Reply, Shown, number_passages
from hebbgraph.citations import worker as worker_module

QUESTION = "Who built boat 7?"


@pytest.fixture
def index(tmp_path: Path) -> Iterator[HebbianIndex]:
    with HebbianIndex.open(tmp_path / "boats") as index:
        index.add(BOATS)
        yield index


@pytest.fixture
def learner(index: HebbianIndex) -> Iterator[Learner]:
    with Learner(index, on_sigterm=False, patience=0.0) as learner:
        yield learner


def reply(recall: Recall, answer: str = "Builder 7 [{}].", *ids: str) -> Reply:
    """An answer that cites chunks by their keys; by default the first hit."""
    numbered = number_passages(recall)
    keys = {id_: key for key, id_ in numbered.shown.keys.items()}
    names = ", ".join(keys[id_] for id_ in ids or (recall[0].id,))
    return Reply(answer.format(names), f"{numbered.text}\n\n{recall.question}")


def learn(learner: Learner, recall: Recall, *args: str, **options: Any) -> Outcome:
    return learner.learn([recall], [reply(recall, *args)], **options).result(60)


# -- answers ------------------------------------------------------------------------------


def test_an_answer_teaches_what_it_cites(index: HebbianIndex, learner: Learner) -> None:
    recall = index.recall(QUESTION, k=5)
    outcome = learn(learner, recall, actor="ida")
    (lesson,) = index.lessons()
    assert outcome.lessons[0].id == lesson.id
    assert (lesson.actor, [*lesson.cited], lesson.recall) == ("ida", [recall[0].id], recall.id)
    assert outcome.shown == tuple(hit.id for hit in recall)
    assert learner.counts == {"learned": 1}


def said(text: str) -> Reply:
    return Reply(text, number_passages([Passage("b7", BOATS[7]["text"])]).text)


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (said("Nobody knows."), Reason.NOTHING_CITED),
        (said("Builder 7 [4]."), Reason.NOT_A_KEY),
        (said("The passages do not say. [1]"), Reason.DENIED),
        (said("Das steht nirgends [1]."), Reason.DENIED),
        (Reply("Builder 7 [1].", "Who built boat 7?"), Reason.NOTHING_SHOWN),
        (Reply("Builder 7 [1].", BOATS[7]["text"]), Reason.NO_KEYS),
        (Reply("So [1].", shown=Shown(ids=("b7",), ambiguous=("1",))), Reason.NO_KEYS),
    ],
)
def test_why_nothing_is_learned(index: HebbianIndex, answer: Reply, reason: Reason) -> None:
    outcomes: list[Outcome] = []
    with Learner(index, denials=["steht nirgends"], on_outcome=outcomes.append) as learner:
        outcome = learner.learn([index.recall(QUESTION)], [answer], answer_id="a").result(60)
    assert (outcome.reason, outcome.lessons, outcome.answer_id) == (reason, (), "a")
    assert (outcomes, learner.counts) == ([outcome], {reason.name.lower(): 1})
    assert index.lessons() == []


def test_the_index_has_its_own_word(index: HebbianIndex, learner: Learner) -> None:
    recall = index.recall(QUESTION, k=5)
    outcome = learn(learner, recall, "All [{}].", *(hit.id for hit in recall))
    assert (outcome.reason, index.lessons()) == (Reason.NOTED, [])
    assert "all 5 shown" in outcome.detail


def test_errors_are_outcomes_and_logged_once(
    index: HebbianIndex, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(outcome: Outcome) -> None:
        raise RuntimeError("on purpose")

    recall = index.recall(QUESTION)
    with Learner(index, on_outcome=fail) as learner:
        for _ in range(3):
            assert learn(learner, recall, actor="\n").reason == Reason.REFUSED
        assert learner.learn([], [reply(recall)]).result(60).reason == Reason.NOTHING_CITED
        assert learner.learn([recall], []).result(60).reason == Reason.NOTHING_CITED
        assert learn(learner, recall).lessons
    warnings = [r for r in caplog.records if "teaches nothing" in r.message]
    assert [r.levelno for r in warnings] == [logging.WARNING]
    assert QUESTION not in caplog.text


def test_each_chunk_is_credited_to_the_recall_that_ranks_it_best(
    index: HebbianIndex, learner: Learner
) -> None:
    first, second = index.recall("boat 7", k=4), index.recall("boat 9", k=4)
    numbered = number_passages([*first, *(hit for hit in second if hit.id == "b9")])
    keys = {id_: key for key, id_ in numbered.shown.keys.items()}
    answer = Reply(f"Both [{keys['b7']}][{keys['b9']}].", numbered.text)
    outcome = learner.learn([first, second], [answer], answer_id="run").result(60)
    assert [(lesson.recall, [*lesson.cited]) for lesson in outcome.lessons] == [
        (first.id, ["b7"]),
        (second.id, ["b9"]),
    ]
    assert {recall.id for recall in index.kept("run")} == {first.id, second.id}


def test_an_agent_may_repeat_what_its_tool_cites(index: HebbianIndex, learner: Learner) -> None:
    recall = index.recall(QUESTION, k=3)
    tool = reply(recall, "It was number seven [{}].", recall[0].id)
    said = f"After a long search among all of the boats, I can say this now: {tool.answer}"
    agent = Reply(said, prompt=f"{QUESTION}\nTool: {tool.answer}")
    outcome = learner.learn([recall], [tool, agent], output=said).result(60)
    assert outcome.cited == (recall[0].id,)
    # A key is that of the tool that cited it, and no other tool's, be it above another index.
    for other in (reply(recall, "Nobody here knows."), reply(index.recall("boat 9", k=3))):
        own = [] if "Nobody" in other.answer else [tool]
        outcome = learner.learn([recall], [*own, other, agent], output=said).result(60)
        assert outcome.cited == ((recall[0].id,) if own else ())


def test_what_reached_the_user_is_the_answer(index: HebbianIndex, learner: Learner) -> None:
    recall = index.recall(QUESTION, k=3)
    draft = reply(recall, "A draft names another builder, wrongly [{}].", recall[1].id)
    final = reply(recall, "The builder of the seventh boat was number seven [{}].", recall[0].id)
    grade = Reply("yes", draft.prompt)
    shown = "The builder of the seventh boat was number seven (see the first passage)."
    state = {"question": QUESTION, "documents": [object()], "answer": final.answer}
    for output in (final.answer, shown, state, None):
        calls = [draft, grade, final] if output is None else [draft, final, grade]
        outcome = learner.learn([recall], calls, output=output).result(60)
        assert outcome.cited == (recall[0].id,)
    for said in ("I may not talk about boats.", ""):
        drafted = {"answer": said, "draft": draft.answer}
        for guarded in (said, {"answer": said}, {"question": QUESTION, "reply": said}, drafted):
            outcome = learner.learn([recall], [draft], output=guarded).result(60)
            assert outcome.reason == Reason.NOTHING_CITED


def test_tenants_have_their_own_indexes(tmp_path: Path) -> None:
    @cache
    def open_index(namespace: str) -> HebbianIndex:
        return HebbianIndex.open(tmp_path / "many", namespace=namespace)

    recalls = []
    for name in "ab":
        open_index(name).add(BOATS)
        recalls.append(open_index(name).recall(QUESTION, k=3))
    with Learner(open_index, namespace="a") as learner:
        outcome = learner.learn(recalls, [reply(recalls[0])], answer_id="x").result(60)
        learned = {name: len(open_index(name).lessons()) for name in "ab"}
        assert (len(outcome.lessons), learned) == (2, {"a": 1, "b": 1})
        assert learner.verdict("x", -1, namespace="b").result(60).lessons
    with Learner(open_index("a")) as learner:
        assert "namespace 'b' cannot teach" in learn(learner, recalls[1]).detail
    for name in "ab":
        open_index(name).close()


# -- the background -----------------------------------------------------------------------


class Gated:
    """An index whose lessons wait for a gate."""

    def __init__(self, namespace: str, order: list[str], gate: threading.Event) -> None:
        self.namespace, self.order, self.gate = namespace, order, gate

    def kept(self, id: str) -> list[Recall]:
        self.gate.wait(60)
        self.order.append(self.namespace)
        return []


def test_nobody_waits_for_the_backlog_of_another_tenant() -> None:
    order: list[str] = []
    gate = threading.Event()
    indexes = {name: Gated(name, order, gate) for name in "ab"}
    with Learner(indexes.__getitem__, patience=0.0) as learner:  # type: ignore[arg-type]
        futures = [learner.verdict(f"a{at}", 1, namespace="a") for at in range(100)]
        futures.append(learner.verdict("b", 1, namespace="b"))
        other = Learner(indexes["b"], patience=0.0)  # type: ignore[arg-type]
        assert other.flush()
        gate.set()
        assert {future.result(60).reason for future in futures} == {Reason.UNKNOWN_ANSWER}
    assert order.index("b") <= 2


def test_a_full_queue_drops_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_module, "MAX_WAITING", 5)
    gate = threading.Event()
    with Learner(Gated("a", [], gate), patience=0.0) as learner:  # type: ignore[arg-type]
        futures = [learner.verdict("x", 1) for _ in range(10)]
        assert not learner.flush(0.0)
        gate.set()
        reasons = [future.result(60).reason for future in futures]
    assert reasons[-1] == Reason.DROPPED
    assert learner.counts.keys() == {"dropped", "unknown_answer"}


def test_closing_settles_a_verdict_that_waits(index: HebbianIndex) -> None:
    learner = Learner(index, patience=60.0)
    future = learner.verdict("unknown", 1)
    time.sleep(0.3)  # it is tried, and waits
    assert not future.done()
    assert learner.close()
    assert future.done()
    assert learner.counts == {"unknown_answer": 1}


def test_a_closed_learner_learns_at_once(index: HebbianIndex) -> None:
    learner = Learner(index)
    assert learner.close()
    recall = index.recall(QUESTION)
    assert learner.learn([recall], [reply(recall)]).done()
    assert len(index.lessons()) == 1


# -- verdicts -----------------------------------------------------------------------------


@pytest.mark.parametrize("actor", [None, "ida"])
def test_thumbs(index: HebbianIndex, learner: Learner, actor: str | None) -> None:
    recall = index.recall(QUESTION, k=5)
    learn(learner, recall, "Builder [{}].", recall[2].id, actor=actor, answer_id="run-1")
    taught = index.recall(QUESTION, k=5)
    assert taught[0].id == recall[2].id
    for _ in range(2):
        (lesson,) = learner.verdict("run-1", -1).result(60).lessons
        assert ([*lesson.rejected], lesson.actor) == ([recall[2].id], actor)
        assert index.recall(QUESTION, k=5)[0].id != recall[2].id
    (lesson,) = learner.verdict("run-1", 1, reason="after all").result(60).lessons
    assert ([*lesson.cited], lesson.reason) == ([recall[2].id], "after all")
    assert index.recall(QUESTION, k=5)[0].id == recall[2].id
    if actor is None:  # the last word stands alone, however often it is said
        assert [lesson.id] == [one.id for one in index.lessons()]


def test_a_name_stays_with_its_first_answer(index: HebbianIndex, learner: Learner) -> None:
    """Whoever names an answer as another one was named cannot lead a thumb to a question."""
    first, second = index.recall(QUESTION, k=3), index.recall("Who built boat 9?", k=3)
    learn(learner, first, actor="ann", answer_id="17")
    learn(learner, second, actor="eve", answer_id="17")
    (thumb,) = learner.verdict("17", 1, actor="ann").result(60).lessons
    assert (thumb.recall, [*thumb.cited]) == (first.id, [first[0].id])


def test_a_thumb_about_other_chunks_and_by_somebody_else(
    index: HebbianIndex, learner: Learner
) -> None:
    recall = index.recall(QUESTION, k=3)
    outcome = learner.learn([recall], [said("Nobody knows.")], answer_id="run-2").result(60)
    assert outcome.reason == Reason.NOTHING_CITED
    assert learner.verdict("run-2", 1).result(60).reason == Reason.NOTHING_CITED
    (lesson,) = learner.verdict("run-2", 1, cited=[recall[1].id], actor="vale").result(60).lessons
    assert ([*lesson.cited], lesson.actor) == ([recall[1].id], "vale")


def test_wrong_verdicts(learner: Learner) -> None:
    assert learner.verdict("none", 1).result(60).reason == Reason.UNKNOWN_ANSWER
    for answer_id, rating in (("x", 0), ("x", 2), ("x", "good"), ("", 1), (None, 1)):
        with pytest.raises(HebbgraphError):
            learner.verdict(answer_id, rating)  # type: ignore[arg-type]


_ANSWERS_LATER = """
import sys
from hebbgraph.citations import Learner, Reply, number_passages
from hebbgraph import HebbianIndex
index = HebbianIndex.open(sys.argv[1])
learner = Learner(index, actor="ida")
recall = index.recall("Who built boat 7?", k=3)
sys.stdin.readline()
learner.learn([recall], [Reply("Builder 7 [1].", number_passages(recall).text)], answer_id="late")
"""
_ENV = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}


def child(script: str, *args: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", script, *args]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    return subprocess.Popen(command, env=_ENV, text=True, **pipes)


def test_a_thumb_waits_for_the_answer_of_another_process(
    index: HebbianIndex, tmp_path: Path
) -> None:
    with child(_ANSWERS_LATER, str(tmp_path / "boats")) as other, Learner(index) as learner:
        thumb = learner.verdict("late", -1)
        assert learner.flush()
        assert not thumb.done()
        other.communicate("now\n")  # and exits without a word to its learner
        (lesson,) = thumb.result(60).lessons
    assert (other.returncode, lesson.actor, len(lesson.rejected)) == (0, "ida", 1)


_FORTY = """
import sys, time
from hebbgraph.citations import Learner, Reply, number_passages
from hebbgraph import HebbianIndex
if sys.argv[2] == "handled":
    import signal
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(7))
index = HebbianIndex.open(sys.argv[1])
learner = Learner(index)
recalls = [index.recall(f"Who built boat {at}?", k=3) for at in range(40)]
for recall in recalls:
    learner.learn([recall], [Reply("So [1].", number_passages(recall).text)], answer_id=recall.id)
print("answered", flush=True)
time.sleep(60)
"""


@pytest.mark.skipif(os.name != "posix", reason="SIGTERM cannot be handled")
@pytest.mark.parametrize(("kind", "code"), [("default", -signal.SIGTERM), ("handled", 7)])
def test_sigterm_keeps_all_lessons(
    index: HebbianIndex, tmp_path: Path, kind: str, code: int
) -> None:
    with child(_FORTY, str(tmp_path / "boats"), kind) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "answered\n"
        other.send_signal(signal.SIGTERM)
        other.wait(60)
    assert (other.returncode, len(index.lessons())) == (code, 40)


_FORKS = """
import os, sys
from hebbgraph.citations import Learner, Reply, number_passages
from hebbgraph import HebbianIndex
index = HebbianIndex.open(sys.argv[1])
learner = Learner(index, actor="ida")
recall = index.recall("Who built boat 7?", k=3)
def learn():
    answer = Reply("Builder 7 [1].", number_passages(recall).text)
    return learner.learn([recall], [answer]).result(60).code
assert learn() == "learned"
pid = os.fork()
if not pid:
    os._exit(0 if learn() == "learned" and learner.counts["learned"] == 2 else 1)
sys.exit(os.waitpid(pid, 0)[1])
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks")
def test_a_forked_child_has_a_worker_of_its_own(index: HebbianIndex, tmp_path: Path) -> None:
    with child(_FORKS, str(tmp_path / "boats")) as other:
        other.communicate()
    assert (other.returncode, len(index.lessons())) == (0, 2)
