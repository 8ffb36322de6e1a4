"""Teaching and taking back; answers are kept by the index, or only remembered."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from recalls import recalled

from hebbgraph import FeedbackError, HebbianIndex, NotFoundError, ParameterError, Settings
from hebbgraph.citations import Exchange, Learner, Reason, Recalled, Reply
from hebbgraph.records import Feedback

_numbers = itertools.count()


class Notes(HebbianIndex):
    """An index that notes what it is taught, and what is taken back."""

    fails = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.given: list[Feedback] = []
        self.forgotten: list[str] = []

    def recalled(self, *ids: str) -> Recalled:
        made = recalled(f"recall {next(_numbers)}", *ids, index=self)
        self.parts.recalls.issue(made.recall)
        return made

    def reinforce(self, *args: Any, **options: Any) -> Feedback:
        if self.fails:
            raise OSError("disk full")
        self.given.append(super().reinforce(*args, **options))
        return self.given[-1]

    def forget(self, feedback: Any = None, **selection: Any) -> Any:
        self.forgotten.append(feedback)
        return super().forget(feedback, **selection)


@pytest.fixture(params=[None, 0], ids=["kept", "in memory"])
def index(request: pytest.FixtureRequest) -> Iterator[Notes]:
    with Notes.open(":memory:", settings=Settings(keep_recalls=request.param)) as index:
        index.add([{"id": id_, "text": f"Text of {id_}."} for id_ in "ab"])
        yield index


def exchange(index: Notes, text: str = "So [1].", **options: Any) -> Exchange:
    prompt = "[1]\nText of a.\n\n[2]\nText of b."
    options.setdefault("recalls", [index.recalled("a", "b")])
    options.setdefault("ids", ["run"])
    return Exchange(replies=[Reply(prompt=prompt, text=text)], **options)


def shown(feedback: Feedback) -> set[str]:
    return {one.chunk_id for one in feedback.shown}


def test_learning_now(index: Notes) -> None:
    outcome = Learner().learn(exchange(index, actor="ida"))
    (given,) = index.given
    assert (given.cited, shown(given), given.actor) == (("a",), {"a", "b"}, "ida")
    assert outcome.feedback == (given,)
    outcome = Learner().learn(exchange(index, "No idea."))
    assert (outcome.feedback, outcome.reason) == ((), Reason.NOTHING_CITED)


def test_who_teaches_if_an_exchange_does_not_say(index: Notes) -> None:
    learner = Learner(actor="otto", trusted=lambda metadata: True)
    learner.learn(exchange(index))
    learner.learn(exchange(index, actor="ida"))
    Learner(actor=lambda metadata: "uma").learn(exchange(index))
    given = [(given.actor, given.trusted) for given in index.given]
    assert given == [("otto", True), ("ida", True), ("uma", False)]


def test_a_verdict_names_the_chunks_of_an_answer_that_cited_nothing(index: Notes) -> None:
    learner = Learner()
    learner.learn(exchange(index, "No idea.", actor="ida"))
    assert learner.feedback("run", True) == []
    (given,) = learner.feedback("run", True, cited=["b"])
    assert (given.cited, given.actor) == (("b",), "ida")  # the request's


def test_an_answer_repeated_within_a_request_teaches_once(index: Notes) -> None:
    learner, taught = Learner(), set[str]()
    learner.learn(exchange(index, taught=taught))
    again = learner.learn(exchange(index, "So [1][2].", taught=taught))
    assert [given.cited for given in index.given] == [("a",), ("b",)]
    assert again.lessons[0].shown == ("b",)
    assert learner.learn(exchange(index, taught=taught)).reason is Reason.ALREADY_TAUGHT


def test_a_slow_judge_keeps_no_other_answer_waiting_and_nothing_is_taught_twice(
    index: Notes,
) -> None:
    judging, go_on = threading.Event(), threading.Event()

    def slow(sentence: str, text: str) -> None:
        judging.set()
        assert go_on.wait(60)

    learner, taught = Learner(), set[str]()
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


def test_in_the_background_in_order(index: Notes, caplog: pytest.LogCaptureFixture) -> None:
    learner = Learner()
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
    index: Notes, caplog: pytest.LogCaptureFixture
) -> None:
    with Notes.open(":memory:") as broken:
        broken.add([{"id": "a", "text": "Text of a."}])

        def both() -> Exchange:
            recalls = [broken.recalled("a"), index.recalled("b")]
            return exchange(index, "So [1] and [2].", recalls=recalls)

        broken.fails = True
        learner = Learner()
        learner.submit(both, background=False)
        assert [given.cited for given in index.given] == [("b",)]
        assert "disk full" in caplog.text
        with pytest.raises(OSError, match="disk full"):
            learner.learn(both())
        assert len(index.given) == 2
        broken.fails = False  # the verdict can be given again, and counts once
        assert len(learner.feedback("run", True)) == 2
        assert (len(index.given), len(broken.given)) == (2, 1)


def test_errors_of_on_lesson_are_logged(index: Notes, caplog: pytest.LogCaptureFixture) -> None:
    def fail(feedback: Any) -> None:
        raise LookupError("nobody listens")

    assert Learner(on_lesson=fail).learn(exchange(index)).feedback
    assert "nobody listens" in caplog.text


def test_thumbs(index: Notes) -> None:
    heard = list[Any]()
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


def test_what_is_vouched_for_is_taught_again_if_it_was_taught_without(index: Notes) -> None:
    learner = Learner()
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


def test_learning_on_approval(index: Notes) -> None:
    learner = Learner(learn_on="approval")
    learner.submit(lambda: exchange(index))
    assert learner.flush(20)
    assert index.given == []
    learner.feedback("run", True)
    assert [given.cited for given in index.given] == [("a",)]
    with pytest.raises(ParameterError, match="learn_on"):
        Learner(learn_on="hope")  # type: ignore[arg-type]


def test_an_actor_that_no_index_takes_is_refused_and_counted(
    index: Notes, caplog: pytest.LogCaptureFixture
) -> None:
    Learner(actor=lambda metadata: 7).learn(exchange(index))  # type: ignore[arg-type, return-value]
    assert index.given[-1].actor == "7"
    learner, strange = Learner(), exchange(index, actor=8)  # type: ignore[arg-type]
    strange.recalls[0].recall.__dict__["query"] = "a secret question"
    learner.submit(lambda: strange)
    learner.flush()
    assert (len(index.given), learner.counts) == (1, {"refused": 1})
    assert "an actor is a printable str" in caplog.text
    learner.submit(lambda: exchange(index, actor="x\n" * 500))
    learner.flush()
    assert learner.counts == {"refused": 2}
    assert "secret" not in caplog.text
    assert "x\\nx\\n" * 50 not in caplog.text


def test_a_name_that_a_request_chose_writes_no_line_of_its_own(
    index: Notes, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    forged = "17\nhebbgraph.citations INFO run 18: learned that it cites 'b'"
    outcome = Learner().learn(exchange(index, ids=[forged], actor="ida"))
    assert outcome.names[0] == forged
    assert str(outcome).startswith('run "17\\nhebb')
    assert not any("\n" in message for message in caplog.messages)
    assert len(str(Learner().learn(exchange(index, ids=["x" * 900])))) < 200


def test_an_actor_who_is_hardly_believed_is_a_warning(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ["organ", "ferry", "hemp", "yeast", "lens", "loom", "owl", "brine"]
    with Notes.open(":memory:") as index:
        index.add([{"id": word, "text": f"About the {word} and its {word}."} for word in words])

        def teach(learner: Learner, actor: str | None, at: int, *, good: bool) -> None:
            recall = index.recall(f"What about the {words[at]} and its {words[at]}?", k=8)
            cited = recall.hits[0 if good else -1].chunk
            prompt = "\n\n".join(f"[{h.rank}]\n{h.chunk.text}" for h in recall.hits)
            reply = Reply(prompt=prompt, text=f"So [{recall.hit(cited.id).rank}].")  # type: ignore[union-attr]
            learner.learn(Exchange(recalls=[Recalled(index, recall)], replies=[reply], actor=actor))

        learner = Learner()
        for at in range(8):
            assert "disagree" not in caplog.text
            teach(learner, "eve", at, good=False)
        assert "lessons of 'eve' count 0.00 each, as search or others disagree" in caplog.text
        caplog.clear()
        learner = Learner()
        for at in range(8):
            teach(learner, "ida", at, good=True)
        monkeypatch.setattr(index, "lessons", None)  # as where they may not be listed
        for at in range(8):
            teach(learner, None, at, good=False)
        assert "disagree" not in caplog.text


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"actor": "ida\n"}, "an actor is a printable str of at most 512 characters"),
        ({"actor": "x" * 513}, "an actor is a printable str of at most 512 characters"),
        ({"remember": -1}, "remember is a whole number, 0 or more, got -1"),
        ({"remember": "all"}, "remember is a whole number"),
        ({"on_answer": "print"}, "on_answer is a callable, got 'print'"),
        ({"on_lesson": 5}, "on_lesson is a callable, got 5"),
    ],
)
def test_options_that_are_none(options: dict[str, Any], says: str) -> None:
    with pytest.raises(ParameterError, match=says):
        Learner(**options)


def test_a_thumb_about_chunks(index: Notes) -> None:
    learner = Learner()
    learner.learn(exchange(index, actor="ida"))
    (given,) = learner.feedback("run", False, cited=["b"])
    assert (given.rejected, shown(given), given.actor) == (("b",), {"a", "b"}, "ida")
    with pytest.raises(ParameterError, match="cited names no chunk"):
        learner.feedback("run", True, cited=[])
    with pytest.raises(NotFoundError):
        Learner(index=index).feedback("never", True, cited=["b"])


@pytest.mark.parametrize("good", [True, False])
def test_a_thumb_about_a_chunk_that_no_recall_found(index: Notes, good: bool) -> None:
    index.add([{"id": "late", "text": "Text that was not found."}])
    learner = Learner()
    learner.learn(exchange(index, recalls=[index.recalled("a"), index.recalled("b")]))
    given = learner.feedback("run", good, cited=["late", "b"])
    judged = {id_ for one in given for id_ in (one.cited if good else one.rejected)}
    assert judged == {"late", "b"}
    assert "late" not in set[str]().union(*map(shown, given))
    assert learner.feedback("run", good, cited=["late", "b"]) == given
    with pytest.raises(FeedbackError, match=r"'nope' is not among the hits .* no such chunk"):
        learner.feedback("run", good, cited=["late", "nope"])


def test_a_thumb_about_chunks_of_a_recall_without_an_answer() -> None:
    with HebbianIndex.open(":memory:") as index:
        index.add([{"id": "a", "text": "Text of a."}])
        learner = Learner(index=index)
        recall = index.recall("Which text?")
        (given,) = learner.feedback(recall.id, True, cited=["a"], actor="otto")
        assert (given.cited, shown(given), given.actor) == (("a",), {"a"}, "otto")
        recall = index.recall("Which text?")
        (given,) = Learner(index=index, actor="ida").feedback(recall.id, False, cited=["a"])
        assert (given.rejected, given.actor) == (("a",), "ida")
        with pytest.raises(NotFoundError):
            Learner().feedback(recall.id, True, cited=["a"])


@pytest.mark.parametrize("index", [0], indirect=True)
def test_as_many_answers_are_remembered_as_asked(index: Notes) -> None:
    learner = Learner(remember=3)
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


@pytest.mark.parametrize("index", [0], indirect=True)
def test_the_latest_recalls_of_a_conversation_oldest_first(index: Notes) -> None:
    learner, recalls = Learner(), [index.recalled("a") for _ in range(11)]
    for at, made in enumerate(recalls[:10]):
        learner.learn(exchange(index, recalls=[made], ids=[str(at)], conversation="t"))
    learner.learn(exchange(index, recalls=[recalls[10]], ids=["10"], conversation="u"))
    assert learner.earlier("t") == recalls[2:10]
    assert learner.earlier("t", but=[recalls[9]]) == recalls[2:9]
    assert learner.earlier("v") == Learner().earlier("t") == []


def test_the_same_verdict_by_somebody_else_changes_nothing_unless_trusted(index: Notes) -> None:
    learner = Learner()
    learner.learn(exchange(index, actor="ida"))
    assert [given.actor for given in learner.feedback("run", True, actor="bo")] == ["ida"]
    (given,) = learner.feedback("run", True, actor="bo", trusted=True)
    assert (given.actor, given.trusted, len(index.lessons())) == ("bo", True, 1)
