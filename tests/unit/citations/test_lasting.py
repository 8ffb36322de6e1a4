"""What links answers to lessons outlives the learner: another process judges, and counts once."""

from __future__ import annotations

import logging
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from hebbgraph import HebbianIndex, IndexPool, NotFoundError, Recall
from hebbgraph.citations import (
    Exchange,
    Journal,
    Learner,
    Outcome,
    Reason,
    Recalled,
    Reply,
    user_id,
)

OWLS = [
    {"id": "owl", "text": "Owls hunt voles at night, from a perch."},
    {"id": "vole", "text": "Voles sleep in burrows under the snow."},
]
PROMPT = (
    "[1]\nOwls hunt voles at night, from a perch.\n\n[2]\nVoles sleep in burrows under the snow."
)


def asked(
    index: HebbianIndex, answer: str = "At night [1].", *, run: str = "run", **fields: object
) -> tuple[Exchange, Recall]:
    recall = index.recall("When do owls hunt?")
    return Exchange(
        recalls=[Recalled(index, recall)],
        replies=[Reply(prompt=PROMPT, text=answer)],
        ids=[run, recall.id],
        **fields,  # type: ignore[arg-type]
    ), recall


def told(index: HebbianIndex) -> list[tuple[tuple[str, ...], tuple[str, ...], str | None]]:
    """What the log holds: cited, rejected, actor."""
    return [(one.cited, one.rejected, one.actor) for _, one in index.parts.log.after(0)]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    with HebbianIndex.open(tmp_path / "i") as index:
        index.add(OWLS)
    return tmp_path / "i"


def test_a_late_thumb_in_another_process_counts_once(place: Path) -> None:
    with HebbianIndex.open(place) as index:
        exchange, recall = asked(index, actor="ida")
        Learner().learn(exchange)
    with HebbianIndex.open(place) as index:
        later = Learner(index=index)
        for name in ("run", recall.id):
            assert len(later.feedback(name, True)) == 1
        assert told(index) == [(("owl",), (), "ida")]
        for _ in range(2):
            later.feedback("run", False)
            assert told(index) == [((), ("owl",), "ida")]
    with HebbianIndex.open(place) as index:
        Learner(index=index).feedback("run", True)
        assert told(index) == [(("owl",), (), "ida")]
        assert Learner(index=index).undo("run") == 1
        assert told(index) == []
        assert Learner(index=index).feedback("run", True, actor="otto")
        assert told(index) == [(("owl",), (), "otto")]


def test_two_workers_judge_the_same_answer(place: Path) -> None:
    with HebbianIndex.open(place) as one, HebbianIndex.open(place) as other:
        first, second = Learner(index=one), Learner(index=other)
        exchange, _ = asked(one)
        first.learn(exchange)
        second.feedback("run", False)
        first.feedback("run", True)
        second.feedback("run", True)
        assert told(one) == [(("owl",), (), None)]


def test_an_index_that_is_open_twice_has_each_lesson_once(place: Path) -> None:
    with HebbianIndex.open(place) as index, HebbianIndex.open(place) as other:
        for home in (index, other):  # one of them is looked at first
            learner = Learner(home)
            exchange, recall = asked(index)
            learner.learn(exchange)
            assert [len(learner.feedback(recall.id, good)) for good in (False, True)] == [1, 1]
            kept = index.find_answer(recall.id)
            assert kept is not None
            assert len(kept.credits) == 1


def test_tenants_that_choose_one_name_judge_and_take_back_only_their_own_answers(
    tmp_path: Path,
) -> None:
    with IndexPool(tmp_path) as pool:
        learner = Learner(pool, actor="ida")
        for namespace in ("a", "b"):
            pool[namespace].add(OWLS)
            exchange, _ = asked(pool[namespace], actor="ida")
            exchange.ids = ["answer-1"]  # no id of a recall tells the two apart
            learner.learn(exchange)

        learner.feedback("answer-1", False, namespace="a")
        assert told(pool["a"]) == [((), ("owl",), "ida")]
        assert told(pool["b"]) == [(("owl",), (), "ida")]

        assert learner.undo("answer-1", namespace="b") == 1
        assert told(pool["a"]) == [((), ("owl",), "ida")]
        assert told(pool["b"]) == []


def test_an_approval_may_come_after_a_restart(place: Path) -> None:
    with HebbianIndex.open(place) as index:
        exchange, _ = asked(index)
        Learner(learn_on="approval").submit(lambda: exchange, background=False)
        assert told(index) == []
    with HebbianIndex.open(place) as index:
        Learner(learn_on="approval", index=index).feedback("run", True)
        assert told(index) == [(("owl",), (), None)]


def test_whom_the_application_vouches_for_is_known_after_a_restart(place: Path) -> None:
    with HebbianIndex.open(place) as index:
        exchange, _ = asked(index, actor="ida", trusted=True)
        Learner(learn_on="approval").submit(lambda: exchange, background=False)
    with HebbianIndex.open(place) as index:
        for good in (True, False, True):
            (taught,) = Learner(learn_on="approval", index=index).feedback("run", good)
            assert (taught.actor, taught.trusted) == ("ida", True)


def test_a_killed_process_leaves_what_it_taught_and_no_half(place: Path) -> None:
    code = f"""
import os, sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
from test_lasting import asked
from hebbgraph import HebbianIndex
from hebbgraph.citations import Learner
index = HebbianIndex.open({str(place)!r})
learner = Learner()
learner.submit(lambda: asked(index)[0])
learner.flush()
os._exit(9)
"""
    done = subprocess.run([sys.executable, "-c", code], timeout=60)
    assert done.returncode == 9
    with HebbianIndex.open(place) as index:
        assert told(index) == [(("owl",), (), None)]
        Learner(index=index).feedback("run", True)
        assert told(index) == [(("owl",), (), None)]


def test_a_later_turn_in_another_process_cites_an_earlier_source(place: Path) -> None:
    with HebbianIndex.open(place) as index:
        exchange, recall = asked(index, "I do not know.", conversation="chat")
        Learner().learn(exchange)
    with HebbianIndex.open(place) as index:
        learner = Learner(index=index)
        for conversation, expected in (("another", []), ("chat", [(("owl",), (), None)])):
            later = Exchange(
                earlier=learner.earlier(conversation),
                replies=[Reply(prompt=PROMPT, text="As I said, at night [1].")],
                conversation=conversation,
                ids=[f"later in {conversation}"],
            )
            learner.learn(later)
            assert told(index) == expected
        [feedback] = index.find_feedback([one.id for _, one in index.parts.log.after(0)])
        assert feedback.recall_id == recall.id
        learner.feedback("later in chat", False)
        assert told(index) == [((), ("owl",), None)]


def test_a_run_that_goes_on_after_an_interruption_keeps_its_name(
    place: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with HebbianIndex.open(place) as index:
        learner = Learner()
        interrupted, _ = asked(index, conversation="chat")
        interrupted.replies = ()
        assert learner.learn(interrupted).reason is Reason.NO_REPLY
        resumed, _ = asked(index, conversation="chat")
        assert learner.learn(resumed).cited == ("owl",)
        assert "two answers are named" not in caplog.text
        learner.learn(asked(index, conversation="chat")[0])
        assert "two answers are named 'run'" in caplog.text


def test_what_was_forgotten_is_not_taught_again_by_itself(place: Path) -> None:
    with HebbianIndex.open(place) as index:
        learner = Learner()
        learner.learn(asked(index, actor="ida")[0])
        index.forget(actor="ida")
        with pytest.raises(NotFoundError):
            Learner(index=index).feedback("run", False)
        # The process that gave the answer still knows it; the user says it anew.
        learner.feedback("run", True)
        assert told(index) == [(("owl",), (), "ida")]


def test_every_answer_is_counted_told_and_handed_on(
    open_index: Callable[..., HebbianIndex], caplog: pytest.LogCaptureFixture
) -> None:
    index = open_index()
    index.add(OWLS)
    seen: list[Outcome] = []
    learner = Learner(on_answer=seen.append)
    caplog.set_level(logging.INFO, logger="hebbgraph.citations")

    def broken() -> Exchange:
        raise ValueError("unreadable")

    for read in (
        lambda: asked(index, actor="ida")[0],
        lambda: asked(index, "I do not know.")[0],
        lambda: asked(index, failed=True)[0],
        broken,
    ):
        learner.submit(read, background=False)
    learner.learn(Exchange())
    assert learner.counts == {
        "failed": 1,
        "learned": 1,
        "nothing_cited": 1,
        "nothing_recalled": 1,
        "unreadable": 1,
    }
    assert [one.code for one in seen] == [one.code for one in learner.lessons]
    lines = [one.getMessage() for one in caplog.records if one.name == "hebbgraph.citations"]
    assert lines == [
        "run run: learned that it cites 'owl' of 2 chunks shown, by 'ida'",
        "run run: learned nothing: the run failed",
        "learned nothing: the answer could not be read",
    ]
    assert index.parts.answers.counts() == {"failed": 1, "learned": 1, "nothing_cited": 1}


def test_a_likely_mistake_is_a_warning_once(
    open_index: Callable[..., HebbianIndex],
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Journal, "_has_warned", False)
    index = open_index()
    index.add(OWLS)
    learner = Learner()
    for turn in ("1", "2"):
        exchange, _ = asked(index, run=turn)
        exchange.replies = [Reply(prompt=PROMPT.replace("[", "").replace("]", ""), text="So [1].")]
        learner.learn(exchange)
        learner.learn(asked(index, run=f"{turn} again")[0])
    told = [one.getMessage() for one in caplog.records if one.levelno == logging.WARNING]
    assert len(told) == 2
    assert "no chunk had a key in the prompt" in told[0]
    assert "put keys before the texts" in told[0]
    assert "without an actor" in told[1]
    assert "pass actor=... to each Exchange, or" in told[1]  # no word of a framework


def test_learning_goes_on_where_nothing_can_be_kept(
    place: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with HebbianIndex.open(place) as index:
        exchange, _ = asked(index)
    learner = Learner()
    learner.submit(lambda: exchange, background=False)
    assert learner.counts == {"refused": 1}
    assert "is closed" in caplog.text


@pytest.mark.parametrize(
    ("metadata", "expected"),
    [
        ({"user_id": 7}, "7"),
        ({"userId": "ida"}, "ida"),
        ({"langfuse_user_id": "ida"}, "ida"),
        ({"user": {"id": "ida"}}, "ida"),
        ({"user": "ida", "user_id": "otto"}, "otto"),
        ({"user_id": " "}, None),
        ({"user": {}}, None),
        ({}, None),
    ],
)
def test_where_people_put_the_user(metadata: dict[str, object], expected: str | None) -> None:
    assert user_id(metadata) == expected
