"""Teaching and taking back, with an index that only takes notes."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any

import pytest
from recalls import recalled

from hebbgraph import NotFoundError, ParameterError, Recall
from hebbgraph.citations import Exchange, Learner, Reason, Recalled, Reply
from hebbgraph.records import AnswerRecord


class Notes:
    """Stands in for an index, which keeps no answers."""

    namespace = "default"

    def __init__(self, *, fails: bool = False) -> None:
        self.fails = fails
        self.given: list[SimpleNamespace] = []
        self.forgotten: list[str] = []
        self.recalls: dict[str, Recall] = {}

    def reinforce(self, recall: Recall, cited: Any, **options: Any) -> Any:
        if self.fails:
            raise OSError("disk full")
        feedback = SimpleNamespace(
            id=f"f{len(self.given)}", recall=recall, cited=tuple(cited), **options
        )
        self.given.append(feedback)
        return feedback

    def forget(self, feedback: str) -> int:
        self.forgotten.append(feedback)
        return 1

    def find_recall(self, recall_id: str) -> Recall | None:
        return self.recalls.get(recall_id)

    def find_feedback(self, ids: Iterable[str]) -> list[Any]:
        return [one for one in self.given if one.id in set(ids) - set(self.forgotten)]

    def holds(self, ids: Iterable[str]) -> set[str]:
        return set()

    def earlier_recalls(self, conversation: str) -> list[Recall]:
        return []

    def keep_recalls(self) -> None:
        pass

    def keep_answer(self, record: AnswerRecord) -> AnswerRecord:
        return record

    def find_answer(self, name: str) -> None:
        return None


def exchange(index: Notes, text: str = "So [1].", **options: Any) -> Exchange:
    prompt = "[1]\nText of a.\n\n[2]\nText of b."
    options.setdefault("recalls", [recalled("r", "a", "b", index=index)])
    options.setdefault("ids", ["run"])
    return Exchange(replies=[Reply(prompt=prompt, text=text)], **options)


def test_learning_now() -> None:
    index = Notes()
    outcome = Learner().learn(exchange(index, actor="ida"))
    (given,) = index.given
    assert (given.cited, given.shown, given.rejected, given.actor) == (
        ("a",),
        ("a", "b"),
        (),
        "ida",
    )
    assert outcome.feedback == (given,)
    outcome = Learner().learn(exchange(index, "No idea."))
    assert (outcome.feedback, outcome.reason) == ((), Reason.NOTHING_CITED)


def test_an_answer_repeated_within_a_request_teaches_once() -> None:
    index, learner, taught = Notes(), Learner(), set[str]()
    learner.learn(exchange(index, taught=taught))
    again = learner.learn(exchange(index, "So [1][2].", taught=taught))
    assert [given.cited for given in index.given] == [("a",), ("b",)]
    assert again.lessons[0].shown == ("b",)
    assert learner.learn(exchange(index, taught=taught)).reason is Reason.ALREADY_TAUGHT


def test_a_slow_judge_keeps_no_other_answer_waiting_and_nothing_is_taught_twice() -> None:
    judging, go_on = threading.Event(), threading.Event()

    def slow(sentence: str, text: str) -> None:
        judging.set()
        assert go_on.wait(60)

    index, learner, taught = Notes(), Learner(), set[str]()
    judged = exchange(index, taught=taught, judge=slow)
    learning = threading.Thread(target=learner.learn, args=(judged,))
    learning.start()
    try:
        assert judging.wait(60)
        learner.learn(exchange(index, taught=taught))  # it hangs if it has to wait
    finally:
        go_on.set()
        learning.join(60)
    assert [given.cited for given in index.given] == [("a",)]


def test_in_the_background_in_order(caplog: pytest.LogCaptureFixture) -> None:
    index, learner = Notes(), Learner()
    threads: list[str] = []

    def read(text: str) -> Exchange:
        threads.append(threading.current_thread().name)
        if text == "broken":
            raise ValueError("unreadable")
        return exchange(index, text)

    for text in ("So [1].", "broken", "So [2]."):
        learner.submit(lambda text=text: read(text))
    assert learner.flush(20)
    learner.submit(lambda: read("So [1] and [2]."), background=False)
    assert [given.cited for given in index.given] == [("a",), ("b",), ("a", "b")]
    assert threads == ["hebbgraph-learner"] * 3 + [threading.current_thread().name]
    assert "unreadable" in caplog.text


def test_an_index_that_fails_does_not_keep_others_from_learning(
    caplog: pytest.LogCaptureFixture,
) -> None:
    broken, whole = Notes(fails=True), Notes()

    def both() -> Exchange:
        recalls = [recalled("r1", "a", index=broken), recalled("r2", "b", index=whole)]
        return exchange(whole, "So [1] and [2].", recalls=recalls)

    learner = Learner()
    learner.submit(both, background=False)
    assert [given.cited for given in whole.given] == [("b",)]
    assert "disk full" in caplog.text
    with pytest.raises(OSError, match="disk full"):
        learner.learn(both())
    assert len(whole.given) == 2
    # The verdict can be given again: what worked is taken back first, so it counts once.
    broken.fails = False
    assert len(learner.feedback("run", True)) == 2
    assert whole.forgotten == [whole.given[1].id]


def test_errors_of_on_lesson_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    index = Notes()

    def fail(feedback: Any) -> None:
        raise LookupError("nobody listens")

    assert Learner(on_lesson=fail).learn(exchange(index)).feedback
    assert "nobody listens" in caplog.text


def test_thumbs() -> None:
    index, heard = Notes(), list[Any]()
    learner = Learner(on_lesson=heard.append)
    learner.submit(lambda: exchange(index, actor="ida"))
    (up,) = learner.feedback("run", True)
    assert index.given == [up]
    (down,) = learner.feedback("run", False)
    assert index.forgotten == [up.id]
    assert (down.cited, down.rejected, down.actor) == ((), ("a",), "ida")
    (again,) = learner.feedback("run", True, actor="otto")
    assert (again.cited, again.actor) == (("a",), "otto")
    assert index.forgotten == [up.id, down.id]
    assert heard == index.given == [up, down, again]


def test_what_is_vouched_for_is_taught_again_if_it_was_taught_without() -> None:
    index, learner = Notes(), Learner()
    learner.learn(exchange(index, actor="ida"))
    (plain,) = index.given
    assert not plain.trusted
    (vouched,) = learner.feedback("run", True, trusted=True)
    assert (vouched.cited, vouched.actor, vouched.trusted) == (("a",), "ida", True)
    assert index.forgotten == [plain.id]
    assert learner.feedback("run", True, trusted=True) == [vouched]
    learner.learn(exchange(index, trusted=True, ids=["other"]))
    (about,) = learner.feedback("other", True, cited=["b"])
    assert index.given[-2].trusted
    assert about.trusted
    (visitors,) = learner.feedback("other", False, actor="visitor")
    assert (visitors.actor, visitors.trusted) == ("visitor", False)
    with pytest.raises(ParameterError, match="trusted is True or False, got 'ida'"):
        learner.feedback("run", True, trusted="ida")  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="judge is a callable"):
        Learner(judge="gpt")  # type: ignore[arg-type]


def test_learning_on_approval() -> None:
    index = Notes()
    learner = Learner(learn_on="approval")
    learner.submit(lambda: exchange(index))
    assert learner.flush(20)
    assert index.given == []
    learner.feedback("run", True)
    assert [given.cited for given in index.given] == [("a",)]
    with pytest.raises(ParameterError, match="learn_on"):
        Learner(learn_on="hope")  # type: ignore[arg-type]


def test_a_thumb_about_chunks() -> None:
    index, learner = Notes(), Learner()
    learner.learn(exchange(index, actor="ida"))
    (given,) = learner.feedback("run", False, cited=["b"])
    assert (given.rejected, given.shown, given.actor) == (("b",), ("a", "b"), "ida")
    index.recalls["late"] = recalled("late", "a", "b").recall
    (given,) = learner.feedback("late", True, cited=["b"], index=index, actor="otto")
    assert (given.cited, given.shown, given.actor) == (("b",), ("b",), "otto")
    with pytest.raises(ParameterError, match="cited names no chunk"):
        learner.feedback("run", True, cited=[])
    for id_, where in (("late", None), ("never", index)):
        with pytest.raises(NotFoundError):
            learner.feedback(id_, True, cited=["b"], index=where)


def test_as_many_answers_are_remembered_as_asked() -> None:
    index, learner = Notes(), Learner(remember=3)
    for number in range(4):
        learner.learn(exchange(index, ids=[f"run-{number}", f"call-{number}"]))
    learner.learn(exchange(index, "No idea.", ids=["uncited"]))
    learner.learn(exchange(index, ids=[]))
    for number in (2, 3):
        assert learner.feedback(f"run-{number}", True) == learner.feedback(f"call-{number}", True)
    assert learner.feedback("uncited", True) == []
    assert learner.undo("uncited") == 0
    for unknown in ("run-0", "call-1"):
        with pytest.raises(NotFoundError, match=r"\(the last 3\) nor by an index"):
            learner.feedback(unknown, True)


def test_conversations_belong_to_a_learner() -> None:
    one, other = Learner(), Learner()
    one.conversations.note("t", [Recalled(Notes(), recalled("r").recall)])
    assert (len(one.conversations), len(other.conversations)) == (1, 0)
