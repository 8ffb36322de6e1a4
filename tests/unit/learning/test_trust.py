"""Whom the log believes, which recalls may teach, and that a word counts once."""

import io
import json
import time
from types import SimpleNamespace

import pytest
from typer.testing import CliRunner

from hebbgraph import Chunk, FeedbackError, HebbianIndex, ParameterError, Recall
from hebbgraph.cli import app
from hebbgraph.records import Hit
from hebbgraph.settings import LearningSettings, Settings

QUESTION = "Where was the builder of the Petrel born?"
QUESTIONS = (
    QUESTION,
    "Who kept a yard at Gannet Point?",
    "What did the Heron carry for Corin Vale?",
    "What does a bowline do under load?",
)


@pytest.fixture
def index(corpus):
    with HebbianIndex.open(":memory:") as made:
        made.keep_recalls()
        made.add(corpus)
        yield made


def scores(index, question=QUESTION):
    return {hit.chunk.id: hit.score for hit in index.recall(question, k=8).hits}


def believed(index):
    index.recall(QUESTION)
    learned = index.parts.memory
    return {actor: learned.weight_of(actor) for actor in learned.actors}


# -- whose word it is ------------------------------------------------------------------------


def test_what_is_unnamed_is_one_actors_word_unless_it_is_trusted(index):
    assert not index.reinforce(index.recall(QUESTION, k=8), ["bay"]).trusted
    assert index.reinforce(index.recall(QUESTION, k=8), ["bay"], trusted=True).trusted
    index.reinforce(index.recall(QUESTION, k=8), ["bay"], actor="ann")
    index.reinforce(index.recall(QUESTION, k=8), ["bay"], actor="ann", trusted=True)
    believed(index)
    learned = index.parts.memory
    assert list(learned.actors) == [None, "", "ann"]
    assert learned.lessons.actor.tolist() == [1, 0, 2, 0]


def test_a_lesson_says_how_much_of_it_counts(index):
    for n in range(12):  # eve always cites what search finds worst
        for question in QUESTIONS:
            recall = index.recall(question, k=8, id=f"{n} {question}")
            index.reinforce(recall, [recall.hits[-1].chunk.id], actor="eve")
            index.reinforce(recall, [recall.hits[0].chunk.id], actor="ann")
    index.reinforce(index.recall(QUESTION, k=8), ["bay"], trusted=True)
    weight = {one.actor: one.weight for one in index.lessons()}
    active = {one.actor: one.active for one in index.lessons()}
    assert weight["eve"] < 0.05
    assert weight["ann"] > 0.3  # bounded, as nobody else teaches
    assert weight[None] == 1.0
    # What weighs next to nothing is not followed, whatever it once shaped.
    assert active["eve"] == 0
    # One who says the same again and again is followed for the first time of each question.
    followed = [one.active for one in index.lessons() if one.actor == "ann"]
    assert 1 <= sum(followed) <= len(followed) / 2
    before = scores(index)
    index.forget(actor="eve")
    assert scores(index) == pytest.approx(before, abs=0.08)


def test_the_commands_know_what_is_unnamed(tmp_path, corpus):
    db = str(tmp_path / "index")
    with HebbianIndex.open(db) as index:
        index.add(corpus)
        for actor in (None, "ann"):
            index.reinforce(index.recall(QUESTION, k=8), ["bay"], actor=actor)

    def said(*words):
        return json.loads(CliRunner().invoke(app, [*words, "--db", db, "--json"]).output)

    assert [one["actor"] for one in said("lessons", "--unnamed")["lessons"]] == [None]
    assert said("forget", "--unnamed") == {"forgotten": 1}
    assert [one["actor"] for one in said("lessons")["lessons"]] == ["ann"]


def test_what_is_unnamed_can_be_listed_and_forgotten_alone(index):
    for actor in (None, "ann"):
        for question in QUESTIONS:
            recall = index.recall(question, k=8)
            index.reinforce(recall, [recall.hits[0].chunk.id], actor=actor)
    assert [one.actor for one in index.lessons(unnamed=True)] == [None] * 4
    told = index.forget(unnamed=True, dry_run=True)
    assert told.actors == {"": 4}
    assert index.forget(unnamed=True) == 4
    assert {one.actor for one in index.lessons()} == {"ann"}
    for call in (index.forget, index.lessons):
        with pytest.raises(ParameterError, match="leave either out"):
            call(actor="ann", unnamed=True)
        with pytest.raises(ParameterError, match="True or False"):
            call(unnamed="yes")


def test_trust_is_durable(index, corpus):
    index.reinforce(index.recall(QUESTION, k=8), ["knots"], trusted=True)
    index.reinforce(index.recall(QUESTION, k=8), ["bay"])
    log = io.StringIO()
    index.export_feedback(log)
    assert [json.loads(line)["trusted"] for line in log.getvalue().splitlines()] == [True, False]
    log.seek(0)
    with HebbianIndex.open(":memory:") as other:
        other.add(corpus)
        other.import_feedback(log)
        assert scores(other) == pytest.approx(scores(index), abs=1e-9)


def test_what_earlier_versions_logged_without_a_name_came_from_the_application(index):
    index.reinforce(index.recall(QUESTION, k=8), ["bay"])
    index.reinforce(index.recall(QUESTION, k=8), ["bay"], actor="ann")
    log = io.StringIO()
    index.export_feedback(log)
    lines = [json.loads(line) for line in log.getvalue().splitlines()]
    for line in lines:
        del line["trusted"], line["evidence"]
    index.forget(everything=True)
    index.import_feedback(io.StringIO("\n".join(map(json.dumps, lines))))
    assert [one.trusted for _, one in index.parts.log.after(0)] == [True, False]


def test_readers_of_what_the_graph_brought_are_believed_each_at_once(index):
    """Search finds nothing in such a chunk, so it cannot say whether they are right."""
    for n in range(12):
        recall = index.recall(QUESTIONS[n % 4] + n // 4 * " Please", k=8)
        brought = [
            hit for hit in recall.hits if hit.evidence / recall.hits[0].evidence + 0.3 < hit.score
        ]
        if brought:
            index.reinforce(recall, [brought[0].chunk.id], actor=f"reader {n}")
    scales = believed(index)
    assert len(scales) > 4
    assert all(scale > 0.9 for name, scale in scales.items() if name)


def test_one_who_cites_the_worst_is_not_believed_and_one_who_reads_is(index):
    static = scores(index)
    for n in range(12):
        recall = index.recall(QUESTIONS[n % 4] + n // 4 * " Please", k=8)
        worst = min(recall.hits, key=lambda hit: hit.score)
        index.reinforce(recall, [worst.chunk.id], actor="eve")
    assert believed(index)["eve"] < 0.01
    # The first chunks that she cites against search count for what she asked, and nothing else:
    # her last word on the question, and on the one that asks it politely.
    moved = [id_ for id_, score in scores(index).items() if abs(score - static[id_]) > 0.02]
    assert len(moved) <= 2
    for question in (*QUESTIONS, *(f"{one} Please" for one in QUESTIONS)):
        recall = index.recall(question, k=8)
        best = max(recall.hits, key=lambda hit: hit.evidence)
        index.reinforce(recall, [best.chunk.id], actor="ann")
    assert believed(index)["ann"] > 2 / 3


def test_the_command_line_vouches(tmp_path, corpus):
    with HebbianIndex.open(tmp_path) as index:
        index.add(corpus)
        index.keep_recalls()
        recall = index.recall(QUESTION, k=8)
    arguments = ["cite", recall.id, "bay", "--db", str(tmp_path), "--trusted", "--json"]
    shown = CliRunner().invoke(app, arguments)
    assert shown.exit_code == 0, shown.output
    assert json.loads(shown.stdout)["trusted"] is True


# -- which recalls may teach -----------------------------------------------------------------


def forged(index, **changes):
    hit = Hit(chunk=Chunk(id="knots", text="A bowline."), score=1.0, rank=1)
    made = {"id": "x", "namespace": index.namespace, "strategy": "spreading", "query": "Ida?"}
    return Recall(**(made | {"hits": (hit,)} | changes))


def test_a_recall_made_by_hand_teaches_nothing(index):
    with pytest.raises(FeedbackError, match="is not as this index returned it"):
        index.reinforce(forged(index), ["knots"])
    assert index.parts.log.count() == 0


def test_a_copy_counts_if_the_recall_is_kept_and_is_refused_otherwise(corpus, tmp_path):
    with HebbianIndex.open(tmp_path) as index:
        index.add(corpus)
        lost = index.recall(QUESTION, k=3)
        index.keep_recalls()
        recall = index.recall(QUESTION, k=3, vector=[0.1, 0.2], history=["Who built the Petrel?"])
        copy = Recall.model_validate_json(recall.model_dump_json())
        assert index.reinforce(copy, [copy.hits[0].chunk.id]).recall_id == recall.id
        copy = Recall.model_validate_json(lost.model_dump_json())
        with pytest.raises(FeedbackError, match=f"recall '{lost.id}' is not as this index"):
            index.reinforce(copy, [copy.hits[0].chunk.id])
        assert index.reinforce(lost, [copy.hits[0].chunk.id]).recall_id == lost.id


def test_a_recall_teaches_when_its_index_was_opened_again_meanwhile(tmp_path, corpus):
    with HebbianIndex.open(tmp_path) as index:
        index.add(corpus)
        recall = index.recall(QUESTION, k=3)
    with HebbianIndex.open(tmp_path) as index:
        assert index.reinforce(recall, [recall.hits[0].chunk.id]).recall_id == recall.id


@pytest.mark.parametrize(
    "change",
    [
        lambda recall: {"id": "another"},
        lambda recall: {"query": "What is a bowline?"},
        lambda recall: {"hits": recall.hits[::-1]},
        lambda recall: {"hits": recall.hits[:1]},
        lambda recall: {"cues": ()},
        lambda recall: {"vector": (1.0, 0.0)},
        lambda recall: {
            "hits": tuple(hit.model_copy(update={"evidence": 1.0}) for hit in recall.hits)
        },
    ],
    ids=["id", "query", "order", "fewer", "cues", "vector", "evidence"],
)
def test_a_changed_copy_is_none(corpus, change):
    with HebbianIndex.open(":memory:", settings=Settings(keep_recalls=0)) as index:
        index.add(corpus)
        recall = index.recall(QUESTION, k=3)
        with pytest.raises(FeedbackError, match="is not as this index returned it"):
            index.reinforce(recall.model_copy(update=change(recall)), [recall.hits[0].chunk.id])


def test_a_changed_copy_counts_as_what_is_kept_of_it(index):
    recall = index.recall(QUESTION, k=2)
    found = [hit.chunk.id for hit in recall.hits]
    changed = recall.model_copy(update={"hits": (*recall.hits, *forged(index).hits)})
    if "knots" not in found:
        assert index.reinforce(changed, ["knots"], actor="ann").named[0].chunk_id == "knots"
    assert [shown.chunk_id for shown in index.reinforce(changed, found[:1]).shown] == found


def test_another_index_does_not_know_the_recall(index, corpus):
    with HebbianIndex.open(":memory:") as other:
        other.add(corpus)
        recall = other.recall(QUESTION, k=3)
    with pytest.raises(FeedbackError, match="is not as this index returned it"):
        index.reinforce(recall, [recall.hits[0].chunk.id])


# -- a word counts once ----------------------------------------------------------------------


def test_a_correction_counts_though_the_clock_went_back(index, corpus, monkeypatch):
    """What is said later is newer, whatever the clocks of hosts say."""
    recall = index.recall(QUESTION, k=8)
    first, second = [hit.chunk.id for hit in recall.hits][:2]
    index.reinforce(recall, [first], actor="ann")
    earlier = time.time() - 86_400
    monkeypatch.setattr("hebbgraph.learning.feedback.time", SimpleNamespace(time=lambda: earlier))
    assert index.reinforce(recall, [second], actor="ann").cited == (second,)
    assert [lesson.cited for _, lesson in index.parts.log.after(0)] == [(second,)]


def test_a_correction_takes_the_place_of_what_was_said(index, corpus):
    recall = index.recall(QUESTION, k=8)
    ids = [hit.chunk.id for hit in recall.hits]
    index.reinforce(recall, [ids[3]], actor="ann")
    corrected = index.reinforce(recall, [ids[1]], actor="ann")
    assert [one for _, one in index.parts.log.after(0)] == [corrected]
    with HebbianIndex.open(":memory:") as other:
        other.add(corpus)
        alone = other.recall(QUESTION, k=8)
        other.reinforce(alone, [ids[1]], actor="ann")
        assert scores(index) == pytest.approx(scores(other), abs=1e-9)


def test_the_same_recall_counts_once_however_often_it_is_shown(index):
    recall = index.recall(QUESTION, k=8)
    ids = [hit.chunk.id for hit in recall.hits]
    for n in range(50):
        index.reinforce(recall, [ids[7]], shown=ids[n % 7 :], actor="eve")
    assert index.parts.log.count() == 1
    index.reinforce(recall, [ids[7]], actor="ann")
    index.reinforce(recall, [ids[7]])
    assert index.parts.log.count() == 3


def test_the_same_word_twice_is_the_same_record(index):
    recall = index.recall(QUESTION, k=8)
    first = index.reinforce(recall, ["bay"], actor="ann")
    state = index.parts.truth.state()
    assert index.reinforce(recall, ["bay"], actor="ann") == first
    assert index.parts.truth.state() == state
    assert index.reinforce(recall, ["bay"], actor="ann", trusted=True).trusted


def test_an_older_export_does_not_undo_a_correction(index):
    recall = index.recall(QUESTION, k=8)
    index.reinforce(recall, ["knots"], actor="ann")
    log = io.StringIO()
    index.export_feedback(log)
    corrected = index.reinforce(recall, ["bay"], actor="ann")
    log.seek(0)
    assert index.import_feedback(log) == 0
    assert [one for _, one in index.parts.log.after(0)] == [corrected]


def test_what_nobody_believes_ages_nothing(corpus):
    settings = Settings(learning=LearningSettings(half_life_events=10))
    with HebbianIndex.open(":memory:", settings=settings) as index:
        index.add(corpus)
        index.reinforce(index.recall(QUESTION, k=8), ["bay"], actor="ann")

        def taught():
            index.recall(QUESTION)
            return float(index.parts.memory.amounts()[0])

        static, once = scores(index, "?"), taught()
        for n in range(64):  # eve always cites what search finds worst
            recall = index.recall(QUESTIONS[1 + n % 3], k=8, id=f"{n}")
            index.reinforce(recall, [recall.hits[-1].chunk.id], actor="eve")
        assert believed(index)["eve"] < 0.04
        # But for her first five words against search, that is, which count for anybody.
        assert taught() > 0.7 * once
        for n in range(10):
            index.reinforce(index.recall(f"{QUESTIONS[1]} {n}", k=8), ["moss"], trusted=True)
        assert taught() < 0.7 * once
        index.forget(everything=True)
        assert scores(index, "?") == static


def test_easy_questions_of_ones_own_buy_no_lies(index):
    """Eve asks what has but one answer, twice for each lie; others ask nothing of the kind."""
    easy = ("What freezes in winter?", "Which headland has a chapel?", "Who sold the Heron?")
    for n in range(24):
        for asked in (f"{easy[n % 3]} {n}", f"{easy[(n + 1) % 3]} {n} again"):
            recall = index.recall(asked, k=8)
            best = max(recall.hits, key=lambda hit: hit.evidence or 0.0)
            index.reinforce(recall, [best.chunk.id], actor="eve")
        recall = index.recall(f"{QUESTION} {n}", k=8)
        worst = min(recall.hits, key=lambda hit: hit.score)
        index.reinforce(recall, [worst.chunk.id], actor="eve")
    assert believed(index)["eve"] < 0.05
    counted = (index.parts.memory.amounts() > 0.05).nonzero()[0]
    # Up to five words of hers against search count, as anybody's do, and nothing else.
    assert 4 <= len(counted) <= 5
    assert (counted % 3 == 2).all()


def test_what_nobody_believes_changes_no_score(index):
    for n in range(20):
        recall = index.recall(QUESTIONS[n % 4] + n // 4 * " Please", k=8)
        worst = min(recall.hits, key=lambda hit: hit.score).chunk.id
        index.reinforce(recall, [worst], rejected=[recall.hits[0].chunk.id], actor="eve")
    for recall in [index.recall(one, k=8) for one in QUESTIONS]:
        index.reinforce(recall, [recall.hits[0].chunk.id], trusted=True)
    beside_eve = scores(index)
    assert believed(index)["eve"] < 0.01
    index.forget(actor="eve")
    assert scores(index) == pytest.approx(beside_eve, abs=1e-9)
