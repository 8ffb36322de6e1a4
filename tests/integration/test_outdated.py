"""What people say is outdated, and what holds in its place."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from hebbgraph import Chunk, Feedback, HebbianIndex
from hebbgraph.citations import Exchange, Learner, Recalled, Reply
from hebbgraph.cli import app
from hebbgraph.errors import FeedbackError, ParameterError
from hebbgraph.recall.staleness import IN_A_CIRCLE

CHUNKS = [
    Chunk(id="old", text="The ferry to Ostrand costs 4 crowns."),
    Chunk(id="new", text="Passage over the sound is 5 crowns since the spring."),
    Chunk(id="far", text="The ferry of Ostrand is painted green."),
    Chunk(id="mill", text="Grain is ground at the mill of Ostrand."),
]
FARE, PAINT = "What does the ferry to Ostrand cost?", "Ferry of Ostrand: colour?"


@pytest.fixture
def index() -> HebbianIndex:
    index = HebbianIndex.open(":memory:")
    index.add(CHUNKS)
    return index


def _found(index: HebbianIndex) -> list[list[tuple[str, float, object]]]:
    return [
        [(hit.chunk.id, hit.score, hit.stale) for hit in index.recall(question).hits]
        for question in (FARE, PAINT, "mill")
    ]


def _stale(index: HebbianIndex, question: str = PAINT) -> dict[str, tuple[str, ...]]:
    hits = index.recall(question).hits
    return {hit.chunk.id: hit.stale.replaced_by for hit in hits if hit.stale is not None}


def test_what_is_vouched_for_supersedes_in_all_recalls(index: HebbianIndex) -> None:
    before = _found(index)
    feedback = index.reinforce(
        index.recall(FARE), outdated={"old": "new"}, actor="ida", trusted=True
    )
    assert (feedback.cited, feedback.rejected) == (("new",), ("old",))
    assert feedback.reasons == {"old": "outdated"}
    assert _stale(index) == {"old": ("new",)}
    ranked = [hit.chunk.id for hit in index.recall("the ferry to Ostrand costs").hits]
    assert ranked.index("new") < ranked.index("old")
    hidden = index.recall(FARE, where={"$stale": False})
    assert "old" not in [hit.chunk.id for hit in hidden.hits]
    [lesson] = index.lessons()
    assert (lesson.outdated, lesson.trusted, lesson.actor) == ({"old": "new"}, True, "ida")
    assert index.maintenance.doctor().notes == ()
    assert index.forget(actor="ida") == 1
    assert _found(index) == before


def test_what_nobody_vouches_for_is_a_proposal(index: HebbianIndex) -> None:
    for actor in ("ida", "bo"):
        index.reinforce(index.recall(FARE), outdated={"old": "new"}, actor=actor)
    assert _stale(index) == {}
    assert index.recall(FARE).hits[0].chunk.id == "new"  # a lesson it is, of this question
    [note] = index.maintenance.doctor().notes
    assert note.startswith("2 believed actors called 'old' outdated by 'new': if so")
    index.reinforce(index.recall(FARE), outdated={"old": "new"}, trusted=True)
    assert index.maintenance.doctor().notes == ()
    assert _stale(index) == {"old": ("new",)}


def test_it_is_said_of_a_text(index: HebbianIndex) -> None:
    index.reinforce(index.recall(FARE), outdated={"old": "new"}, trusted=True)
    index.add([Chunk(id="new", text="Passage over the sound is 6 crowns.")])
    assert _stale(index) == {"old": ("new",)}
    index.add([Chunk(id="old", text="The ferry to Ostrand costs nothing any more.")])
    assert _stale(index) == {}


def test_what_holds_may_be_deleted(index: HebbianIndex) -> None:
    index.reinforce(index.recall(FARE), outdated={"old": "new"}, trusted=True)
    index.delete(["new"])
    assert _stale(index) == {}


def _vouch(index: HebbianIndex, old: str, new: str) -> Feedback:
    return index.reinforce(index.recall(FARE), outdated={old: new}, trusted=True)


def test_the_opposite_takes_over_and_back(index: HebbianIndex) -> None:
    first = _vouch(index, "old", "new")
    second = _vouch(index, "new", "old")
    assert _stale(index, FARE) == {"new": ("old",)}
    assert index.recall(FARE).hits[0].chunk.id == "old"
    third = _vouch(index, "old", "new")
    assert _stale(index) == {"old": ("new",)}
    index.forget(third)
    assert _stale(index, FARE) == {"new": ("old",)}
    index.forget(second)
    assert _stale(index) == {"old": ("new",)}
    assert index.maintenance.doctor().notes == ()
    index.forget(first)
    assert _stale(index) == {}


def test_the_latest_word_breaks_a_circle(index: HebbianIndex) -> None:
    for old, new in (("old", "new"), ("new", "far"), ("far", "old")):
        _vouch(index, old, new)
    assert _stale(index, FARE) == {"new": ("old",), "far": ("old",)}
    assert IN_A_CIRCLE not in index.recall(FARE).notes
    [note] = index.maintenance.doctor().notes
    assert note.startswith("chunk 'old' no longer counts as outdated by 'new': what was vouched")
    _vouch(index, "old", "mill")  # is in no circle, so the others stay
    assert _stale(index, FARE) == dict.fromkeys(("old", "new", "far"), ("mill",))


def test_what_chunks_say_of_each_other_is_decided(index: HebbianIndex) -> None:
    index.add([CHUNKS[0].model_copy(update={"supersedes": ("new",)})])
    assert _stale(index, FARE) == {"new": ("old",)}
    said = _vouch(index, "old", "new")
    assert _stale(index, FARE) == {"old": ("new",)}
    index.forget(said)
    index.add([CHUNKS[1].model_copy(update={"supersedes": ("old",)})])
    assert (_stale(index, FARE), index.recall(FARE).notes) == ({}, (IN_A_CIRCLE,))
    _vouch(index, "old", "new")
    assert (_stale(index, FARE), index.recall(FARE).notes) == ({"old": ("new",)}, ())


def test_it_lasts_and_travels(tmp_path: Path) -> None:
    with HebbianIndex.open(tmp_path / "here") as index:
        index.add(CHUNKS)
        index.reinforce(index.recall(FARE), outdated={"old": "new"}, trusted=True)
        index.recall(FARE)
        index.parts.memory.save_snapshot()
        log = io.StringIO()
        index.log.export(log)
    with HebbianIndex.open(tmp_path / "here") as index:
        assert _stale(index) == {"old": ("new",)}
    log.seek(0)
    with HebbianIndex.open(tmp_path / "there") as index:
        index.add(CHUNKS)
        index.log.import_(log, origin="here")
        assert _stale(index) == {"old": ("new",)}
        log = io.StringIO(
            log.getvalue().replace('"outdated":{"old":"new"}', '"outdated":{"old":"x"}')
        )
        with pytest.raises(FeedbackError, match="line 1: what is outdated is rejected"):
            index.log.import_(log, origin="forged")


@pytest.mark.parametrize(
    ("said", "error"),
    [
        ({"outdated": {}}, "names no chunk"),
        ({"outdated": ["old"]}, "which chunk holds now"),
        ({"outdated": {"old": 4}}, "outdated takes ids"),
        ({"outdated": {"old": "old"}}, "'old' holds now in place of itself"),
        ({"outdated": {"old": "new"}, "cited": ["old"]}, "both cited and rejected"),
        ({"outdated": {"old": "new"}, "rating": -0.5}, "said to hold now"),
        ({"outdated": {"old": "none"}}, "holds no chunk 'none'"),
        ({"rating": 1.0}, r"rating=1\.0 is for chunks .* name some by cited"),
        ({"rating": 3, "cited": ["old"]}, "from wrong to right; got 3$"),
        ({"rating": {"old": 3}}, "got 3 of chunk 'old'"),
    ],
)
def test_what_makes_no_sense_is_refused(
    index: HebbianIndex, said: dict[str, object], error: str
) -> None:
    with pytest.raises((FeedbackError, ParameterError), match=error):
        index.reinforce(index.recall(FARE), **said)  # type: ignore[arg-type]


_IDS = [chunk.id for chunk in CHUNKS]
_SAID = st.tuples(
    st.sampled_from([FARE, PAINT]),
    st.permutations(_IDS),
    st.sampled_from(["ida", "bo"]),
    st.booleans(),
)


@settings(max_examples=25, deadline=None)
@given(kept=st.lists(_SAID, max_size=3), taken=st.lists(_SAID, min_size=1, max_size=3))
def test_forgetting_leaves_what_was_never_told(
    kept: list[tuple[str, list[str], str, bool]], taken: list[tuple[str, list[str], str, bool]]
) -> None:
    with HebbianIndex.open(":memory:") as index, HebbianIndex.open(":memory:") as other:
        index.add(CHUNKS)
        other.add(CHUNKS)
        given_too = []
        for said in (*kept, *taken):
            for one in (index, other) if said in kept else (index,):
                question, ids, actor, trusted = said
                feedback = one.reinforce(
                    one.recall(question), outdated={ids[0]: ids[1]}, actor=actor, trusted=trusted
                )
                given_too += [feedback.id] if one is index and said not in kept else []
            _found(index)
        index.forget(given_too) if given_too else None
        assert _found(index) == _found(other)


def test_from_the_command_line(tmp_path: Path) -> None:
    db = str(tmp_path / "here")
    with HebbianIndex.open(db) as index:
        index.add(CHUNKS)
        index.keep_recalls()
        recall = index.recall(FARE)
    run = CliRunner().invoke
    said = run(app, ["cite", recall.id, "--outdated", "old=new", "--trusted", "--db", db])
    assert said.exit_code == 0, said.output
    assert "old replaced by new" in run(app, ["lessons", "--db", db]).output
    assert "proposal" not in run(app, ["lessons", "--db", db]).output
    for actor in ("bo", "eve"):  # who may not vouch
        run(app, ["cite", recall.id, "--outdated", "far=mill", "--actor", actor, "--db", db])
    told = run(app, ["lessons", "--db", db]).output
    assert "proposal: far replaced by mill, says 2 lessons" in told
    [accept] = [line for line in told.splitlines() if line.startswith("  accept:  hebbgraph ")]
    [dismiss] = [line for line in told.splitlines() if line.startswith("  dismiss: hebbgraph ")]
    run(app, [*accept.split()[2:], "--db", db])
    assert "proposal" not in run(app, ["lessons", "--db", db]).output
    with HebbianIndex.open(db) as index:
        assert _stale(index) == {"old": ("new",), "far": ("mill",)}
        index.forget([one.feedback_id for one in index.lessons() if one.outdated == {"far": "mill"}
                      and one.trusted])  # fmt: skip
    assert run(app, [*dismiss.split()[2:], "--db", db]).exit_code == 0
    assert "proposal" not in run(app, ["lessons", "--db", db]).output
    wrong = run(app, ["cite", recall.id, "--outdated", "old", "--db", db])
    assert wrong.exit_code != 0
    with HebbianIndex.open(db) as index:
        assert _stale(index) == {"old": ("new",)}


def test_proposals_about_deleted_chunks_are_not_listed(tmp_path: Path) -> None:
    db = str(tmp_path / "here")
    with HebbianIndex.open(db) as index:
        index.add(CHUNKS)
        index.reinforce(index.recall(FARE), outdated={"far": "mill"}, actor="bo")
    run = CliRunner().invoke
    assert "proposal: far replaced by mill" in run(app, ["lessons", "--db", db]).output
    assert run(app, ["delete", "far", "--db", db]).exit_code == 0
    told = run(app, ["lessons", "--db", db]).output
    assert ("1 lesson\n" in told, "proposal: " in told) == (True, False)


def test_a_thumb_down_says_what_holds_now(index: HebbianIndex) -> None:
    recall = index.recall(FARE)
    prompt = "\n\n".join(f"[{hit.rank}] {hit.chunk.text}" for hit in recall.hits)
    rank = next(hit.rank for hit in recall.hits if hit.chunk.id == "old")
    learner = Learner(index=index)
    said = Reply(prompt=prompt, text=f"Four crowns [{rank}].")
    learner.learn(Exchange(recalls=[Recalled(index, recall)], replies=[said], ids=["run"]))
    with pytest.raises(ParameterError, match="give good=False"):
        learner.feedback("run", True, outdated={"old": "new"})
    [told] = learner.feedback("run", False, outdated={"old": "new"}, actor="ida", trusted=True)
    assert (told.cited, told.rejected, told.outdated) == (("new",), ("old",), {"old": "new"})
    assert _stale(index) == {"old": ("new",)}
    assert Learner(index=index).undo("run") == 1  # also in another process
    assert _stale(index) == {}
    assert learner.feedback("run", True)[0].cited == ("old",)
