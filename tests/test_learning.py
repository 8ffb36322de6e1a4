"""Lessons: what they move, and that forgetting leaves no trace."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
import ships
from edges import edges
from hypothesis import given, settings
from hypothesis import strategies as st

import hebbgraph.learning.fitting
from hebbgraph import HebbianIndex, Settings
from hebbgraph.errors import IndexBusyError, LessonError, NotFoundError, ParameterError
from hebbgraph.formulas.fitting import KINDS
from hebbgraph.formulas.votes import Statement, beliefs
from hebbgraph.learning import teaching
from hebbgraph.learning.applying import CUES, VECTOR, Products, evidence_of, products
from hebbgraph.learning.fitting import without
from hebbgraph.learning.folding import CITED, PATH, REJECTED, question_weights
from hebbgraph.learning.lessons import LessonRow, lessons_of
from hebbgraph.records import Recall
from hebbgraph.store.database import Cache

PLACES = ("barn", "forest", "meadow", "valley", "town", "hill", "marsh", "coast")
CHUNKS = [
    {"id": f"c{at}", "text": f"Owls hunt voles at night in the {place}, says note {at}."}
    for at, place in enumerate(PLACES)
]
QUESTIONS = (
    "Where do owls hunt when it rains?",
    "Which place is best for voles?",
    "Do owls like the coast in winter?",
    "What does the note say about the marsh?",
)


@pytest.fixture
def index() -> Iterator[HebbianIndex]:
    with HebbianIndex.open(":memory:") as opened:
        opened.add(CHUNKS)
        yield opened


def ranked(index: HebbianIndex, question: str = QUESTIONS[0]) -> list[tuple[str, float]]:
    return [(hit.id, hit.score) for hit in index.recall(question, k=8)]


def learned_rows(index: HebbianIndex) -> dict[str, list[tuple[Any, ...]]]:
    """Every learned row but the numbers that the database gives."""
    with index._database.read() as session:
        return {
            "taught": sorted(
                session.rows("SELECT digest, kind, cues, vector, square FROM $taught")
            ),
            "answered": sorted(session.rows("SELECT * FROM $answered")),
            "edges": sorted(
                session.rows("SELECT cue, sum(length(data)) FROM $learned GROUP BY cue")
            ),
        }


def test_what_was_cited_for_the_very_question_comes_first(index: HebbianIndex) -> None:
    recall = index.recall(QUESTIONS[0], k=8)
    assert not index.reinforce(recall, cited=["c5"], actor="ada").note
    assert ranked(index)[0][0] == "c5"
    assert ranked(index, "when it rains where do owls hunt")[0][0] == "c5"


def test_a_reworded_question_gains_and_keeps_its_untaught_score(index: HebbianIndex) -> None:
    index.reinforce(index.recall("Where do owls hunt in heavy rain?", k=3), cited=["c2"])
    hit = index.recall("owls in heavy rain", k=8)["c2"]
    assert hit.rank == 1
    assert hit.score > 10 * hit.untaught


def test_a_rejected_chunk_is_last(index: HebbianIndex) -> None:
    first = ranked(index)[0][0]
    index.reinforce(index.recall(QUESTIONS[0], k=8), rejected=[first], actor="ada")
    assert ranked(index)[-1][0] == first


def test_a_rejection_lowers_nothing_else() -> None:
    with HebbianIndex.open(":memory:") as memory:
        memory.add([{"id": "expense", "title": "Expenses", "text": "Every expense is paid."},
                    {"id": "cancel", "text": "You may cancel a plan at any time."},
                    {"id": "price", "text": "The plan costs 29 euros, the most of all."},
                    *({"id": f"o{n}", "text": f"Owl {n} hunts."} for n in range(30))])  # fmt: skip
        question = "most expensive plan"
        before = memory.recall(question, 3)
        assert before[0].id == "expense"
        memory.reinforce(before, rejected=["expense"], actor="ann")
        after = {hit.id: hit.score for hit in memory.recall(question, 4)}
        assert [after[id_] for id_ in ("cancel", "price")] == pytest.approx(
            [before[id_].score for id_ in ("cancel", "price")]
        )
        assert after["expense"] < after["price"]


def test_what_others_said_about_a_question_is_no_evidence_that_lessons_carry_over() -> None:
    """Each question is asked without its lessons, whoever gave them."""
    with HebbianIndex.open(":memory:") as memory:
        memory.add({"id": f"c{n}", "text": f"Owl {n} hunts voles in field {n}."} for n in range(20))
        for n in range(8):
            for actor in ("ann", "bo", "cy"):
                recall = memory.recall(f"Which bird is seen by the walker {'abcdefgh'[n]}kovik?")
                memory.reinforce(recall, cited=[f"c{n}"], actor=actor)
        evaluation = memory.evaluate()
        assert evaluation.questions
        assert evaluation.taught <= evaluation.untaught + 0.05


def test_a_chunk_that_is_cited_and_rejected_alike_keeps_its_untaught_score(
    index: HebbianIndex,
) -> None:
    """Its other citations make it no less like the question that is disputed."""
    index.reinforce(index.recall(QUESTIONS[0], k=8), cited=["c5"], actor="ada")
    for at in range(8):
        asked = index.recall(f"Which hill has number {at}?", k=8)
        index.reinforce(asked, cited=["c5"], actor=f"reader {at}")
    index.reinforce(index.recall(QUESTIONS[0], k=8), rejected=["c5"], actor="ben")
    assert [row[2] for row in learned_rows(index)["answered"]].count(0.0) == 1
    hit = index.recall(QUESTIONS[0], k=8)["c5"]
    assert hit.score >= hit.untaught > 0.0
    index.reinforce(index.recall(QUESTIONS[0], k=8), rejected=["c5"], actor="cem")
    assert ranked(index)[-1][0] == "c5"


def test_without_lessons_recall_is_the_static_one(index: HebbianIndex) -> None:
    before = ranked(index)
    lesson = index.reinforce(index.recall(QUESTIONS[0], k=8), cited=["c5"])
    index.forget(lesson.id)
    assert ranked(index) == before
    assert learned_rows(index) == {"taught": [], "answered": [], "edges": []}


def test_citing_all_of_five_shown_chunks_teaches_nothing_and_says_so(index: HebbianIndex) -> None:
    recall = index.recall(QUESTIONS[0], k=5)
    lesson = index.reinforce(recall, cited=[hit.id for hit in recall])
    assert lesson.note == "all 5 shown chunks are cited, which tells none from another"
    assert index.lessons() == []


def test_an_edit_rests_a_lesson_and_the_old_text_brings_it_back(index: HebbianIndex) -> None:
    index.reinforce(index.recall(QUESTIONS[0], k=8), cited=["c5"])
    index.add([{"id": "c5", "text": "Something else about owls."}])
    assert ranked(index)[0][0] != "c5"
    index.add([CHUNKS[5]])
    assert ranked(index)[0][0] == "c5"


def test_a_copy_of_a_text_under_another_id_keeps_the_lesson(index: HebbianIndex) -> None:
    index.reinforce(index.recall(QUESTIONS[0], k=8), cited=["c5"])
    index.delete("c5")
    index.add([{**CHUNKS[5], "id": "again"}])
    assert ranked(index)[0][0] == "again"


def test_metadata_do_not_touch_a_lesson(index: HebbianIndex) -> None:
    index.reinforce(index.recall(QUESTIONS[0], k=8), cited=["c5"])
    index.add([{**CHUNKS[5], "metadata": {"seen": 2}}])
    assert ranked(index)[0][0] == "c5"


def test_with_a_quorum_one_unknown_name_moves_nothing() -> None:
    with HebbianIndex.open(":memory:", settings=Settings(quorum=2)) as index:
        index.add(CHUNKS)
        before = ranked(index)
        index.reinforce(index.recall(QUESTIONS[0], k=8), cited=["c5"], actor="eve")
        assert ranked(index) == before
        index.reinforce(index.recall(QUESTIONS[0], k=8), cited=["c5"], actor="ada")
        assert ranked(index)[0][0] == "c5"
        index.forget(everything=True)
        index.reinforce(index.recall(QUESTIONS[0], k=8), cited=["c6"], trusted=True)
        assert ranked(index)[0][0] == "c6"


def test_a_recall_that_was_sent_teaches(index: HebbianIndex) -> None:
    sent = Recall.model_validate_json(index.recall(QUESTIONS[0], k=8).model_dump_json())
    index.reinforce(sent, cited=["c5"])
    assert ranked(index)[0][0] == "c5"


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"cited": ["no"]}, LessonError, "'no' is no hit of recall r, and no chunk of the index"),
        ({"cited": ["owls"]}, LessonError, r"index, but a document, with the chunks \['hash'\]"),
        ({"cited": ["c1"], "rejected": ["c1"]}, LessonError, "'c1' is both cited and rejected"),
        ({"cited": ["c1"], "rating": 2.0}, ParameterError, "rating is a number from -1 to 1"),
        ({"cited": ["c1"], "actor": "a\n"}, ParameterError, "actor is printable text"),
    ],
)
def test_what_cannot_be_taught_is_refused(
    index: HebbianIndex, options: dict[str, Any], error: type[Exception], message: str
) -> None:
    index.add([{"id": "hash", "text": "Owls hunt voles.", "document_id": "owls"}])
    recall = index.recall(QUESTIONS[0], k=3, recall_id="r")
    with pytest.raises(error, match=message):
        index.reinforce(recall, **options)
    assert index.lessons() == []


LESSONS = st.lists(
    st.tuples(
        st.integers(0, len(QUESTIONS) - 1),
        st.sets(st.integers(0, 7), max_size=2),
        st.sets(st.integers(0, 7), max_size=1),
        st.sampled_from([None, "ada", "ben", "eve"]),
        st.sampled_from([None, 0.5, -0.5]),
    ),
    max_size=7,
)


def teach(index: HebbianIndex, lessons: list[tuple[Any, ...]], recalls: list[Recall]) -> list[str]:
    ids = []
    for question, cited, rejected, actor, rating in lessons:
        lesson = index.reinforce(
            recalls[question],
            cited=[f"c{at}" for at in sorted(cited)],
            rejected=[f"c{at}" for at in sorted(rejected - cited)],
            actor=actor,
            rating=rating,
        )
        if not lesson.note:
            ids.append(lesson.id)
    return ids


@settings(max_examples=60, deadline=None)
@given(LESSONS, LESSONS)
def test_forgetting_leaves_the_edges_of_never_taught(
    kept: list[tuple[Any, ...]], forgotten: list[tuple[Any, ...]]
) -> None:
    with HebbianIndex.open(":memory:") as index, HebbianIndex.open(":memory:") as never:
        for one in (index, never):
            one.add(CHUNKS)
        recalls = [index.recall(question, k=8) for question in QUESTIONS]
        teach(index, kept[:3], recalls)
        for id_ in teach(index, forgotten, recalls):
            index.forget(id_)
        teach(never, kept[:3], recalls)
        assert learned_rows(index) == learned_rows(never)
        assert [ranked(index, q) for q in QUESTIONS] == [ranked(never, q) for q in QUESTIONS]


@settings(max_examples=40, deadline=None)
@given(LESSONS, st.randoms(use_true_random=False))
def test_the_order_of_lessons_on_different_questions_changes_no_edge(
    lessons: list[tuple[Any, ...]], random: Any
) -> None:
    distinct = list({lesson[0]: lesson for lesson in lessons}.values())
    shuffled = random.sample(distinct, len(distinct))
    with HebbianIndex.open(":memory:") as first, HebbianIndex.open(":memory:") as second:
        for one in (first, second):
            one.add(CHUNKS)
        recalls = [first.recall(question, k=8) for question in QUESTIONS]
        teach(first, distinct, recalls)
        teach(second, shuffled, recalls)
        assert learned_rows(first) == learned_rows(second)


def test_an_honest_majority_wins_clearly() -> None:
    def cites(actor: str | None, chunk: str) -> Statement:
        return Statement(actor, frozenset([chunk]), frozenset())

    honest = [cites(name, "right") for name in "abcde"]
    found = beliefs([*honest, cites("eve", "wrong"), cites("mallory", "wrong")])
    assert found["right"].cited > 3 * found["wrong"].cited


def test_repeating_oneself_convinces_hardly() -> None:
    once = beliefs([Statement("eve", frozenset(["x"]), frozenset())])["x"].cited
    often = [Statement("eve", frozenset(["x"]), frozenset()) for _ in range(10)]
    assert once < beliefs(often)["x"].cited < 3 * once


@pytest.mark.parametrize("actor", ["eve", None])
def test_nobody_outvotes_others_by_repetition(actor: str | None) -> None:
    """Neither as one actor nor as nobody; if nobody is named, repetition is all that there is."""

    def says(actor: str | None, cited: str, rejected: str) -> Statement:
        return Statement(actor, frozenset([cited]), frozenset([rejected]))

    lies = [says(actor, "wrong", "right") for _ in range(100)]
    found = beliefs([says(name, "right", "wrong") for name in "abc"] + lies)
    assert found["right"].answers > 0.9
    assert found["wrong"].answers < -0.9
    found = beliefs(
        [says(None, "right", "wrong") for _ in range(10)] + [says(None, "wrong", "right")]
    )
    assert found["right"].answers > 0.9


def test_the_last_word_of_an_actor_counts() -> None:
    said = [Statement("ada", frozenset([chunk]), frozenset()) for chunk in ("old", "new")]
    found = beliefs(said)
    assert set(found) == {"new"}


def test_nobody_named_learns_as_much_as_one_actor(index: HebbianIndex) -> None:
    for question, cited in zip(QUESTIONS, ("c1", "c3", "c7", "c6"), strict=True):
        index.reinforce(index.recall(question, k=8), cited=[cited])
    for question, cited in itertools.islice(zip(QUESTIONS, ("c1", "c3"), strict=False), 2):
        assert ranked(index, question)[0][0] == cited


def test_actors_may_change_their_minds_while_trust_is_fitted(index: HebbianIndex) -> None:
    for at in range(40):
        recall = index.recall(QUESTIONS[at % 4] + f" In year {at // 8}?", k=8)
        index.reinforce(recall, cited=[f"c{at % 5}"], actor=f"u{at % 3}")
        index.reinforce(recall, cited=[f"c{(at + 1) % 5}"], actor=f"u{at % 3}")
    assert index.doctor() == []


def test_a_lesson_is_taught_although_trust_cannot_be_fitted(
    index: HebbianIndex, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(hebbgraph.learning.fitting, "_fitted", Mock(side_effect=IndexBusyError))
        for at in range(16):
            index.reinforce(index.recall(f"Which owl is {at}?", k=8), cited=["c5"])
    assert len(index.lessons()) == 16
    assert index.stats()["trust"] is None
    index.export_lessons(tmp_path / "lessons.jsonl")
    assert index.import_lessons(tmp_path / "lessons.jsonl") == 0
    assert index.stats()["trust"]["n"] == 16


def test_a_reason_may_hold_what_no_database_stores(index: HebbianIndex) -> None:
    recall = index.recall(QUESTIONS[0])
    lesson = index.reinforce(recall, cited=["c5"], reason="bad \udcff\0 bytes")
    assert lesson.reason == "bad    bytes"


def test_of_two_copies_the_one_that_the_filter_passes_gains() -> None:
    copy = "Owls hunt voles at night in the barn."
    with HebbianIndex.open(":memory:") as index:
        texts = (copy, "Voles fear owls at night.")
        for owner, (n, text) in itertools.product("ab", enumerate(texts)):
            index.add([{"id": f"{owner}{n}", "text": text, "metadata": {"owner": owner}}])
        index.reinforce(index.recall("Who hunts in the dark?"), cited=["a0"])
        seen_by_b = index.recall("Who hunts in the dark?", where={"owner": "b"})
        assert seen_by_b[0].id == "b0"
        assert seen_by_b[0].score > seen_by_b[0].untaught


def test_a_recall_of_another_namespace_teaches_nothing(tmp_path: Path) -> None:
    with HebbianIndex.open(tmp_path) as index, index.in_namespace("b") as other:
        index.add(CHUNKS)
        other.add(CHUNKS)
        recall = index.recall(QUESTIONS[0])
        with pytest.raises(LessonError, match="of namespace 'default', this is 'b'"):
            other.reinforce(recall, cited=["c5"])
        with pytest.raises(LessonError):
            other.explain(recall, "c5")


@pytest.mark.parametrize(
    "wrong",
    [
        {"rating": "good"},
        {"reason": 5},
        {"shown": 5},
        {"cited": 5},
        {"actor": 5},
    ],
)
def test_wrong_types_are_named(index: HebbianIndex, wrong: dict[str, Any]) -> None:
    with pytest.raises(ParameterError, match=next(iter(wrong))):
        index.reinforce(index.recall(QUESTIONS[0]), **wrong)
    since: Any
    for since in ("2024-01-01", math.nan):
        with pytest.raises(ParameterError, match="since is a float"):
            index.forget(since=since)
    assert index.lessons() == []


# -- history ----------------------------------------------------------------------------------


def test_a_kept_recall_is_judged_later_by_its_id_or_that_of_an_answer(tmp_path: Path) -> None:
    with HebbianIndex.open(tmp_path / "here") as index:
        index.add(CHUNKS)
        recall = index.recall(QUESTIONS[0], k=8, where={"x": {"$exists": False}})
        index.keep(recall, answer="run-7")
    with HebbianIndex.open(tmp_path / "here") as index:
        (kept,) = index.kept("run-7")
        assert kept == index.kept(recall.id)[0]
        assert kept.where is None
        assert not any(hit.text for hit in kept)
        assert index.reinforce("run-7", cited=["c5"], actor="ada").recall == recall.id
        lesson = index.reinforce(recall.id, cited=["c5"], actor="ada")
        assert lesson.id == index.lessons(recall=recall.id)[1].id
        assert ranked(index)[0][0] == "c5"
    with HebbianIndex.open(tmp_path / "there") as index:
        index.add(CHUNKS)
        index.reinforce(recall, cited=["c5"], actor="ada")
        assert ranked(index)[0][0] == "c5"


def test_the_id_of_a_recall_cannot_be_taken(index: HebbianIndex) -> None:
    index.keep(index.recall(QUESTIONS[0], recall_id="run-17"))
    with pytest.raises(LessonError, match="taken by another question"):
        index.keep(index.recall(QUESTIONS[1], recall_id="run-17"))
    index.keep(index.recall(QUESTIONS[0], recall_id="run-17"), answer="again")
    assert [recall.question for recall in index.kept("run-17")] == [QUESTIONS[0]]
    with pytest.raises(NotFoundError, match="0 recalls 'run-18' are kept"):
        index.reinforce("run-18", cited=["c1"])


def test_only_the_newest_recalls_are_kept(
    index: HebbianIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(teaching, "_MOST_KEPT", 3)
    recalls = [index.recall(f"owls {at}") for at in range(5)]
    for recall in recalls:
        index.keep(recall)
    assert [len(index.kept(recall.id)) for recall in recalls] == [0, 0, 1, 1, 1]


def test_lessons_tell_why_they_move_nothing(index: HebbianIndex) -> None:
    recall = index.recall(QUESTIONS[0], k=8)
    for actor, cited in (
        ("ada", "c1"),
        ("ada", "c2"),
        ("ben", "c2"),
        ("cleo", "c2"),
        ("eve", "c3"),
    ):
        index.reinforce(recall, cited=[cited], actor=actor)
    index.reinforce(index.recall(QUESTIONS[1], k=8), cited=["c4"], actor="ada")
    notes = [lesson.note for lesson in index.lessons()]
    assert notes == [
        "the actor has since said something else about this question",
        *["", "", "", "others contradict it", ""],
    ]
    index.add([{"id": "c4", "text": "Nobody hunts here."}])
    assert index.lessons(chunk="c4")[0].note.startswith("its chunks were deleted or edited")
    index.add([CHUNKS[4]])
    assert index.lessons(chunk="c4")[0].note == ""


def test_below_the_quorum_a_lesson_moves_nothing_and_says_so() -> None:
    with HebbianIndex.open(":memory:", settings=Settings(quorum=2)) as index:
        index.add(CHUNKS)
        before = ranked(index)
        index.reinforce(index.recall(QUESTIONS[0], k=8), cited=["c5"], actor="eve")
        assert ranked(index) == before
        assert index.lessons()[0].note == "fewer than 2 actors say so"
        index.reinforce(index.recall(QUESTIONS[0], k=8), cited=["c5"], actor="ada")
        assert [lesson.note for lesson in index.lessons()] == ["", ""]


def test_lessons_travel_as_lines_of_json(index: HebbianIndex, tmp_path: Path) -> None:
    for at, question in enumerate(QUESTIONS):
        index.reinforce(index.recall(question, k=8), cited=[f"c{at}"], actor="ada", reason="ök")
    assert index.export_lessons(tmp_path / "lessons.jsonl") == 4
    with HebbianIndex.open(":memory:") as other:
        other.add(CHUNKS)
        assert other.import_lessons(tmp_path / "lessons.jsonl") == 4
        assert other.import_lessons(tmp_path / "lessons.jsonl") == 0
        assert learned_rows(other) == learned_rows(index)
        assert [ranked(other, q) for q in QUESTIONS] == [ranked(index, q) for q in QUESTIONS]


def test_of_imported_lessons_too_the_latest_of_an_actor_counts(
    index: HebbianIndex, tmp_path: Path
) -> None:
    """A file of an earlier day takes no word back, and the order of lines is nothing."""
    file = tmp_path / "lessons.jsonl"
    for cited in ("c5", "c2"):
        index.reinforce(index.recall(QUESTIONS[0], k=8), cited=[cited], actor="ada")
    expected = learned_rows(index), ranked(index)
    index.export_lessons(file)
    file.write_text("".join(reversed(file.read_text("utf-8").splitlines(keepends=True))), "utf-8")
    index.forget(everything=True)
    assert index.import_lessons(file) == 2
    assert (learned_rows(index), ranked(index)) == expected
    assert ranked(index)[0][0] == "c2"
    assert [bool(each.note) for each in index.lessons()] == [True, False]


def test_a_word_more_does_not_hide_what_was_taught() -> None:
    """Search is unsure of such a question, and one word of it is in another chunk."""
    with HebbianIndex.open(":memory:") as memory:
        memory.add([{"id": "lost", "text": "Found things lie behind the bar for a month."},
                    {"id": "wheel", "text": "Wheelchair users board by the stern ramp."},
                    *({"id": f"o{n}", "text": f"Owl {n} hunts voles in field {n}."}
                      for n in range(30))])  # fmt: skip
        question = "Who keeps the umbrella that I forgot on board"
        memory.reinforce(memory.recall(question), cited=["lost"], actor="ann")
        evaluation = memory.evaluate()
        assert evaluation.taught == evaluation.untaught  # nobody else has taught anything
        for reworded in (f"{question} today?", "I forgot my umbrella on board"):
            recall = memory.recall(reworded)
            assert recall[0].id == "lost"
            assert recall[0].score > 2 * recall["wheel"].score


def test_a_lesson_that_a_file_holds_twice_is_taught_once(
    index: HebbianIndex, tmp_path: Path
) -> None:
    index.reinforce(index.recall(QUESTIONS[0]), cited=["c0"])
    path = tmp_path / "lessons.jsonl"
    index.export_lessons(path)
    path.write_text(2 * path.read_text())
    with HebbianIndex.open(":memory:") as other:
        other.add(CHUNKS)
        assert other.import_lessons(path) == 1
        assert learned_rows(other) == learned_rows(index)


def test_no_recall_is_kept_under_an_empty_name(index: HebbianIndex) -> None:
    recall = index.recall(QUESTIONS[0])
    index.keep(recall)
    assert [kept.id for kept in index.kept(recall.id)] == [recall.id]
    assert index.kept("") == []


def test_a_hit_that_lessons_alone_brought_says_so(index: HebbianIndex) -> None:
    index.reinforce(index.recall("gizmo frobs", k=3), cited=["c3"])
    first = index.recall("gizmo frobs", k=3)[0]
    assert (first.id, first.untaught, first.why) == (
        "c3",
        0.0,
        "raised by lessons; lacks gizmo, frobs",
    )


@pytest.mark.parametrize(
    "change",
    [
        {"created": "yesterday"},
        {"created": None},
        {"created": math.nan},
        {"id": []},
        {"id": None},
        {"question_key": None},
        {"actor": {}},
        {"cues": [[1], ["x"]]},
        {"cues": [[2**70], [1]]},
        {"vector": [math.nan, 1.0]},
        {"body": None},
        {"body": {}},
        {"body.weight": 50},
        {"body.weight": math.nan},
        {"body.cited": ["c1"]},
        {"body.scores": {"a": "b"}},
        {"body.found": {}},
        {"body.shares": [0.5]},
    ],
    ids=repr,
)
def test_a_broken_line_is_refused_and_nothing_is_taught(
    index: HebbianIndex, tmp_path: Path, change: dict[str, Any]
) -> None:
    path = tmp_path / "lessons.jsonl"
    index.reinforce(index.recall(QUESTIONS[0], k=8), cited=["c1"], actor="ada")
    index.export_lessons(path)
    good = json.loads(path.read_text())
    for name, value in change.items():
        outer, _, inner = name.partition(".")
        (good[outer] if inner else good).__setitem__(inner or outer, value)
    for line in (json.dumps(good), "null", "[1, 2]", '{"id": 1}', "\ufffd"):
        path.write_text(line + "\n")
        with HebbianIndex.open(":memory:") as other:
            other.add(CHUNKS)
            with pytest.raises(LessonError, match="line 1 is not an exported lesson"):
                other.import_lessons(path)
            assert other.lessons() == []


@pytest.mark.parametrize("name", ["id", "cues", "vector"])
def test_a_line_that_lacks_something_is_told_what(
    index: HebbianIndex, tmp_path: Path, name: str
) -> None:
    path = tmp_path / "lessons.jsonl"
    index.reinforce(index.recall(QUESTIONS[0], k=8), cited=["c1"], actor="ada")
    index.export_lessons(path)
    line = json.loads(path.read_text())
    del line[name]
    path.write_text(json.dumps(line))
    with pytest.raises(LessonError, match=f"line 1 is not an exported lesson: it lacks '{name}'$"):
        index.import_lessons(path)


def test_evaluate_asks_past_questions_without_their_own_lessons(index: HebbianIndex) -> None:
    assert index.evaluate().questions == 0
    index.reinforce(index.recall("Where do owls hunt in heavy rain?", k=8), cited=["c2"])
    alone = index.evaluate()
    assert alone.questions == 1
    assert alone.taught == alone.untaught < 1.0
    for question in (
        "Do owls hunt in heavy rain?",
        "heavy rain and owls",
        "owls in the heavy rain",
    ):
        index.reinforce(index.recall(question, k=8), cited=["c2"])
    together = index.evaluate()
    assert together.questions == 4
    assert together.taught > together.untaught
    assert (alone.better, alone.worse) == (0, 0)
    assert (together.better, together.worse) == (4, 0)


def test_what_a_lesson_adds_to_each_kind_of_sum_is_taken_out_again() -> None:
    with HebbianIndex.open(":memory:", embedder=ships.ByNumber()) as index:
        index.add(ships.CORPUS)
        recall = index.recall("Where was the builder of the Petrel born?", k=5)
        cited, rejected = recall.hits[:2]
        lesson = index.reinforce(recall, [cited.id], [rejected.id])
        with index._database.read() as session:
            (row,) = lessons_of(session, [lesson.id])
            own = question_weights(session, row.question_key, quorum=1)
        held = products_of(index, row)
        left = without(held, own)
        for kind, text in ((CITED, cited), (REJECTED, rejected), (PATH, cited)):
            assert held.values[held.digests.index(text.digest), kind, CUES].min() > 0.5, kind
            assert left[:, kind, CUES].max() < 1e-5, kind  # as an exam does
        index.forget(lesson.id)
        assert products_of(index, row).digests == []


def test_questions_of_one_kind_are_less_alike_than_their_vectors() -> None:
    """A cosine of .65, halfway from chance to 1, cites by a quarter and rejects by a sixteenth."""
    values = np.zeros((3, 3, 2, 2))
    values[0, CITED, VECTOR] = values[1, REJECTED, VECTOR] = 0.65, 1.0
    values[2, CITED, VECTOR] = 4.0, 16.0  # the same question, four times
    evidence = evidence_of(values)
    assert evidence[:, KINDS.index("vectors")].round(4).tolist() == [0.25, -0.0625, 1.0]
    assert evidence[:, KINDS.index("often by vectors")].round(4).tolist() == [0.0, 0.0, 1.0]


def products_of(index: HebbianIndex, lesson: LessonRow) -> Products:
    """Return the products of a lesson's question with the sums of the texts that it names."""
    with index._database.read() as session:
        question = lesson.cues, lesson.path, lesson.vector
        return products(session, *question, digests=sorted(lesson.texts()), cache=Cache())


def test_a_citation_strengthens_edges_of_tags_and_forgetting_returns_them() -> None:
    with HebbianIndex.open(":memory:") as index:
        index.add(ships.CORPUS)
        before = edges(index)
        assert not any(learned for _, learned in before.values())
        recall = index.recall("Where was the builder of the Petrel born?", k=5)
        lesson = index.reinforce(recall, cited=[recall[1].id], actor="ada")
        after = edges(index)
        raised = {edge for edge in after if after[edge][1] > 0}
        assert raised
        assert {edge: weight for edge, (weight, _) in after.items()} == {
            edge: weight for edge, (weight, _) in before.items()
        }
        tag, other = sorted(next(iter(raised)))
        assert {n.tag: n.learned for n in index.neighbors(tag)}[other] == after[
            frozenset((tag, other))
        ][1]
        index.forget(lesson.id)
        assert edges(index) == before


def test_who_cites_nearly_everything_strengthens_little(index: HebbianIndex) -> None:
    recall = index.recall("owls in heavy rain", k=8)
    index.reinforce(recall, cited=[hit.id for hit in recall][:7])
    weak = max(hit.score - hit.untaught for hit in index.recall("heavy rain for owls and voles"))
    index.forget(everything=True)
    index.reinforce(recall, cited=[recall[0].id])
    strong = max(hit.score - hit.untaught for hit in index.recall("heavy rain for owls and voles"))
    assert strong > 2 * weak


def test_forgetting_again_ends_what_was_interrupted(
    index: HebbianIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C may arrive when the lessons are gone, and trust is not yet fitted anew."""
    for at in range(40):
        recall = index.recall(f"{QUESTIONS[at % 4]} In year {at // 4}?", k=8)
        index.reinforce(recall, cited=[f"c{at % 5}"], actor=("ann", "eve")[at % 10 == 0])
    fitted = hebbgraph.learning.fitting._fitted

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(hebbgraph.learning.fitting, "_fitted", interrupted)
    with pytest.raises(KeyboardInterrupt):
        index.forget(actor="eve")
    assert index.stats()["trust"] is None
    monkeypatch.setattr(hebbgraph.learning.fitting, "_fitted", fitted)
    assert index.forget(actor="eve") == 0
    assert index.stats()["trust"]["n"] == 32
