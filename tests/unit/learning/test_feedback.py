"""Feedback through the index: what is taken, kept, refused, and given back."""

import io
import json
from datetime import UTC, datetime

import pytest

from hebbgraph import HebbianIndex, Recall, Settings
from hebbgraph.errors import FeedbackError, NotFoundError, ParameterError
from hebbgraph.settings import LearningSettings

pytestmark = [pytest.mark.every_database, pytest.mark.also_served]

QUESTION = "Where was the builder of the Petrel born?"
#: Edges between tags alone outlive the chunks that they were learned from.
PARAPHRASE = "Birthplace of whoever built the schooner Petrel?"


class Angles:
    """Embeds by counting letters; close enough to tell texts apart."""

    model_name = "letters"

    def embed_documents(self, texts):
        return [[1.0 + text.lower().count(letter) for letter in "aeiourstln"] for text in texts]

    def embed_query(self, text):
        return self.embed_documents([text])[0]


@pytest.fixture
def index(corpus):
    with HebbianIndex.open(":memory:") as opened:
        opened.keep_recalls()
        opened.add(corpus)
        yield opened


def ranking(index, question=QUESTION, k=8):
    return [(hit.chunk.id, hit.score) for hit in index.recall(question, k=k).hits]


def order(index, question=QUESTION):
    return [id_ for id_, _ in ranking(index, question)]


def test_a_citation_changes_a_ranking_and_forgetting_undoes_it(index):
    before = ranking(index), ranking(index, PARAPHRASE)
    low = order(index)[-1]
    feedback = index.reinforce(index.recall(QUESTION, k=8), [low])
    assert order(index).index(low) < 7
    assert order(index, PARAPHRASE).index(low) < [id_ for id_, _ in before[1]].index(low)
    assert dict(ranking(index, PARAPHRASE))[low] > dict(before[1])[low]
    assert index.forget(feedback) == 1
    assert (ranking(index), ranking(index, PARAPHRASE)) == before


def test_an_empty_log_leaves_recall_as_it_is(index, corpus):
    feedback = index.reinforce(index.recall(QUESTION, k=8), ["bay"])
    index.forget(feedback)
    with HebbianIndex.open(":memory:") as static:
        static.add(corpus)
        for question in (QUESTION, PARAPHRASE, "slate", "who?"):
            mine, other = index.recall(question, k=8), static.recall(question, k=8)
            assert mine.hits == other.hits
            assert mine.cues == other.cues


def test_a_rejected_chunk_falls(index):
    first, score = ranking(index)[0]
    index.reinforce(index.recall(QUESTION, k=8), [], rejected=[first])
    assert dict(ranking(index))[first] < score


def test_ratings_count_by_how_good_they_are_and_reasons_are_kept(index):
    def lifted(**said):
        feedback = index.reinforce(index.recall(QUESTION, k=8), **said)
        after = dict(ranking(index))
        index.forget(feedback)
        return after

    before = dict(ranking(index))
    little, much = lifted(rating={"knots": 0.3}), lifted(rating={"knots": 1.0})
    assert before["knots"] < little["knots"] < much["knots"]
    assert lifted(cited=["knots"], rating=0.3) == little
    assert lifted(cited=["knots"]) == much
    poor, bad = lifted(rating={"moss": -0.3}), lifted(rating={"moss": -1.0})
    assert before["moss"] > poor["moss"] > bad["moss"]
    assert dict(ranking(index)) == before
    why = {"moss": "outdated"}
    said = index.reinforce(
        index.recall(QUESTION, k=8), rating={"bay": 0.5, "moss": -0.5, "vale": 0}, reason=why
    )
    assert (said.cited, said.rejected, said.reasons) == (("bay",), ("moss",), why)
    [listed] = index.lessons()
    assert (listed.ratings, listed.reasons) == ({"bay": 0.5, "moss": -0.5}, why)
    index.forget(chunk="moss")
    [left] = index.lessons()
    assert (left.ratings, left.reasons, left.rejected) == ({"bay": 0.5}, {}, ())


def test_another_rating_of_the_same_recall_takes_the_place_of_the_first(index):
    recall = index.recall(QUESTION, k=8)
    first = index.reinforce(recall, rating={"bay": 0.5}, actor="ann")
    assert index.reinforce(recall, rating={"bay": 0.5}, actor="ann") == first
    second = index.reinforce(recall, rating={"bay": -0.5}, reason="wrong", actor="ann")
    assert [one.ratings for one in index.lessons()] == [{"bay": -0.5}] == [second.ratings]


@pytest.mark.parametrize(
    ("said", "match"),
    [
        (
            {"rating": {"bay": 1.5}},
            "lies in \\[-1, 1\\], from wrong to right; got 1.5 of chunk 'bay'",
        ),
        ({"rating": {"bay": 0}}, "nothing to learn"),
        ({"cited": ["bay"], "rating": {"bay": -1}}, "'bay' is cited and rated -1"),
        ({"rejected": ["bay"], "rating": {"bay": 1}}, "'bay' is rejected and rated 1"),
        ({"cited": ["bay"], "reason": {"moss": "wrong"}}, "a reason for 'moss'"),
        ({"cited": ["bay"], "reason": "x" * 201}, "at most 200 characters"),
        ({"cited": ["bay"], "reason": ["wrong"]}, "reason"),
    ],
)
def test_ratings_that_say_nothing_clear_are_refused(index, said, match):
    with pytest.raises((FeedbackError, ParameterError), match=match):
        index.reinforce(index.recall(QUESTION, k=8), **said)


def test_other_questions_stay_as_they_are(index):
    before = ranking(index, "When does a bowline hold?")
    index.reinforce(index.recall(QUESTION, k=8), ["bay"])
    assert ranking(index, "When does a bowline hold?") == before


def test_the_same_feedback_counts_once(index):
    recall = index.recall(QUESTION, k=8)
    first = index.reinforce(recall, ["bay", "moss"], actor="ann")
    once = ranking(index)
    assert index.reinforce(recall, ["moss", "bay"], actor="ann") == first
    assert ranking(index) == once
    others = [
        index.reinforce(recall, ["bay"], actor="ann"),
        index.reinforce(recall, ["bay", "moss"], actor="bob"),
        index.reinforce(recall, ["bay", "moss"]),
        index.reinforce(index.recall(QUESTION, k=8), ["bay", "moss"], actor="ann"),
    ]
    assert len({feedback.id for feedback in [first, *others]}) == 5


def test_late_feedback_by_id_by_record_and_in_another_process(make_index, open_index):
    make_index().close()
    with open_index("index") as index:
        recall = index.recall(QUESTION, k=8)
        sent = recall.model_dump_json()
        before = ranking(index)
    with open_index("index") as index:
        by_record = index.reinforce(Recall.model_validate_json(sent), ["bay"])
        assert index.reinforce(recall.id, ["bay"]) == by_record
        after = ranking(index)
        assert after != before
    with open_index("index") as index:
        assert ranking(index) == after


def test_two_indexes_on_one_directory_see_each_others_feedback(make_index, open_index):
    one = make_index()
    other = open_index("index")
    before = ranking(other)
    feedback = one.reinforce(one.recall(QUESTION, k=8), ["bay"])
    assert ranking(other) == ranking(one) != before
    other.forget(feedback)
    assert ranking(one) == ranking(other) == before


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"cited": ["nobody"]}, FeedbackError, "holds no chunk 'nobody'"),
        ({"cited": []}, FeedbackError, "nothing was cited"),
        ({"cited": "petrel"}, ParameterError, "one str"),
        ({"cited": [3]}, ParameterError, "got int"),
        ({"cited": ["petrel"], "rejected": ["petrel"]}, FeedbackError, "both"),
        ({"cited": ["petrel"], "shown": ["petrel", "nobody"]}, FeedbackError, "hits"),
        ({"cited": ["petrel"], "actor": ""}, ParameterError, "actor"),
        ({"cited": ["petrel"], "actor": "a" * 600}, ParameterError, "actor"),
    ],
)
def test_what_cannot_teach_is_refused(index, arguments, error, message):
    recall = index.recall("Petrel Ida Moss Tessel Bay", k=3)
    assert {"petrel", "moss"} <= {hit.chunk.id for hit in recall.hits}
    with pytest.raises(error, match=message):
        index.reinforce(recall, **arguments)


@pytest.mark.not_served  # a client hands over copies, which are known if they are kept
def test_unknown_and_expired_recalls_are_told_apart_from_nothing(corpus):
    with HebbianIndex.open(":memory:", settings=Settings(keep_recalls=0)) as index:
        index.add(corpus)
        recall = index.recall(QUESTION, k=8)
        with pytest.raises(NotFoundError, match="the whole recall in place of its id"):
            index.reinforce(recall.id, ["bay"])
        index.reinforce(recall, ["bay"])


def test_namespaces_are_apart(make_index, open_index, corpus):
    one = make_index()
    other = open_index("index", namespace="other")
    other.add(corpus)
    before = ranking(other)
    recall = one.recall(QUESTION, k=8)
    one.reinforce(recall, ["bay"], actor="ann")
    assert ranking(other) == before != ranking(one)
    assert other.forget(actor="ann") == 0
    with pytest.raises(FeedbackError, match="namespace 'default'"):
        other.reinforce(recall, ["bay"])
    with pytest.raises(NotFoundError):
        other.reinforce(recall.id, ["bay"])


def test_an_actor_can_be_required(corpus):
    settings = Settings(learning=LearningSettings(require_actor=True))
    with HebbianIndex.open(":memory:", settings=settings) as index:
        index.add(corpus)
        with pytest.raises(FeedbackError, match="actor"):
            index.reinforce(index.recall(QUESTION, k=8), ["bay"])
        assert index.reinforce(index.recall(QUESTION, k=8), ["bay"], actor="ann").actor == "ann"


def test_citing_all_of_many_says_that_it_teaches_nothing(index, caplog):
    recall = index.recall(QUESTION, k=5)
    ids = [hit.chunk.id for hit in recall.hits]
    assert len(ids) == 5
    index.reinforce(recall, ids[:4])
    index.reinforce(recall, ids[:4], rejected=ids[4:])
    assert caplog.messages == []
    index.reinforce(recall, ids)
    assert caplog.messages == [
        "reinforce: all of 5 chunks were cited, which prefers none of them, so nothing is learned"
    ]


def test_one_actor_cannot_move_as_much_as_the_application(corpus):
    scores = []
    for trusted in (True, False):
        settings = Settings(learning=LearningSettings(actor_events=0.2))
        with HebbianIndex.open(":memory:", settings=settings) as index:
            index.add(corpus)
            for _ in range(30):
                recall = index.recall(QUESTION, k=8)
                index.reinforce(recall, ["knots"], actor="eve", trusted=trusted)
            scores.append(dict(ranking(index))["knots"])
    vouched_for, capped = scores
    assert capped < vouched_for


def test_what_was_not_recalled_may_be_cited(index):
    before = ranking(index)
    recall = index.recall(QUESTION, k=2)
    missing = next(id_ for id_ in ("knots", "bare", "vale") if recall.hit(id_) is None)
    feedback = index.reinforce(recall, [missing], rejected=[recall.hits[0].chunk.id])
    assert [named.chunk_id for named in feedback.named] == [missing]
    assert feedback.cited == (missing,)
    # Search finds next to nothing in it, and the next who ask this are shown it first.
    assert dict(before).get(missing, 0.0) < 0.05
    assert order(index).index(missing) == 0
    assert dict(ranking(index))[missing] > 0.9
    assert dict(ranking(index, PARAPHRASE))[missing] > 0.1
    index.reinforce(index.recall(QUESTION, k=2), [missing], actor="ann")
    assert order(index).index(missing) == 0
    index.forget(chunk=missing)
    assert ranking(index)[0][1] < before[0][1]  # the rejection stays
    index.forget(feedback)
    assert ranking(index) == before


def test_hostile_feedback_does_not_ruin_another_ranking(index):
    questions = ("Who sold the Heron?", "What freezes in winter?", "Which headland has a chapel?")
    before = [order(index, question)[:2] for question in questions]
    for _ in range(40):
        index.reinforce(index.recall(QUESTION, k=8), ["bare"], actor="eve")
    assert [order(index, question)[:2] for question in questions] == before


def test_who_teaches_the_same_again_and_again_unlearns_nothing(index):
    """Somebody tries a demonstration out, and cites what serves each time."""
    taught = {QUESTION: "vale", "Who sold the Heron?": "bare", "What freezes in winter?": "bay"}
    for question, chunk in taught.items():
        index.reinforce(index.recall(question, k=8), [chunk])
    once = {question: ranking(index, question) for question in taught}
    for _ in range(12):
        for question, chunk in taught.items():
            index.reinforce(index.recall(question, k=8), [chunk])
    for question, chunk in taught.items():
        assert order(index, question)[0] == once[question][0][0] == chunk
        assert ranking(index, question)[0][1] > once[question][0][1] - 0.05


def test_forgetting_by_actor_period_and_chunk(index):
    static = ranking(index)
    index.reinforce(index.recall(QUESTION, k=8), ["bay"], actor="ann")
    ann = ranking(index)
    between = datetime.now(UTC)
    index.reinforce(index.recall(QUESTION, k=8), ["vale"], actor="bob")
    assert ranking(index) != ann
    assert index.forget(since=between) == 1
    # What a recall found depends on what was learned, but a score no more on bob.
    assert ranking(index) == ann
    assert index.forget(chunk="bay") == 1
    assert ranking(index) == static
    index.reinforce(index.recall(QUESTION, k=8), ["bay"], actor="ann")
    assert index.forget(actor="ann", until=between) == 0
    assert index.forget(actor="ann") == 1
    assert ranking(index) == static
    with pytest.raises(ParameterError, match="everything=True"):
        index.forget()
    with pytest.raises(ParameterError, match="cannot be combined"):
        index.forget(actor="ann", everything=True)


@pytest.mark.not_served
def test_forgetting_a_chunk_leaves_the_others_in_the_same_feedback(index):
    index.reinforce(index.recall(QUESTION, k=8), ["bay", "vale"])
    assert index.forget(chunk="vale") == 1
    stream = io.StringIO()
    index.export_feedback(stream)
    [record] = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert record["cited"] == ["bay"]
    assert "vale" not in {shown["chunk_id"] for shown in record["shown"]}


def test_a_changed_text_is_not_what_was_cited(corpus):
    by_id = {chunk.id: chunk for chunk in corpus}
    with HebbianIndex.open(":memory:") as index:
        index.add(corpus)
        _changing_a_text_masks(index, by_id)


def _changing_a_text_masks(index, by_id):
    index.reinforce(index.recall(QUESTION, k=8), ["bay"])
    learned = ranking(index)
    changed = by_id["bay"].model_copy(update={"text": by_id["bay"].text + " Gulls nest there."})
    index.add([changed])
    index.compact()
    masked = ranking(index)
    index.add([by_id["bay"]])
    index.compact()
    assert ranking(index) == learned != masked
    index.forget(everything=True)
    index.add([changed])
    index.compact()
    assert ranking(index) == masked


@pytest.mark.not_served
def test_learned_weights_outlive_deleting_and_adding_the_same_text(index, corpus):
    by_id = {chunk.id: chunk for chunk in corpus}
    index.reinforce(index.recall(QUESTION, k=8), ["bay"])
    learned = ranking(index)
    index.delete("bay")
    assert "bay" not in order(index)
    index.add([by_id["bay"].model_copy(update={"metadata": {"new": 1}})])
    index.compact()
    assert ranking(index) == learned


def test_filtered_chunks_are_not_reached_over_learned_edges(index):
    for _ in range(3):
        index.reinforce(index.recall(QUESTION, k=8), ["bay"])
    recall = index.recall(QUESTION, k=8, where={"kind": "person"})
    assert {hit.chunk.id for hit in recall.hits} == {"moss", "vale"}
    steps = [step.value for hit in recall.hits for step in hit.path if step.kind == "chunk"]
    assert set(steps) <= {"moss", "vale"}


@pytest.mark.not_served
def test_export_and_import_teach_the_same(index, corpus, tmp_path):
    index.reinforce(index.recall(QUESTION, k=8), ["bay"], actor="ann")
    index.reinforce(index.recall(PARAPHRASE), ["moss"])
    assert index.export_feedback(tmp_path / "feedback.jsonl") == 2
    with HebbianIndex.open(":memory:") as other:
        other.add(corpus)
        assert other.import_feedback(tmp_path / "feedback.jsonl", origin="here") == 2
        assert other.import_feedback(tmp_path / "feedback.jsonl") == 0
        assert ranking(other) == ranking(index)
        stream = io.StringIO()
        other.export_feedback(stream)
        assert all(json.loads(line)["origin"] == "here" for line in stream.getvalue().splitlines())


@pytest.mark.not_served
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"cited": ["nobody"]}, "line 1: chunk 'nobody' was neither shown nor named"),
        ({"cited": []}, "nothing is cited"),
        ({"surprise": 1}, "line 1: surprise"),
        ({"terms": [["x", -1.0]]}, "negative"),
        ({"actor": ""}, "line 1: actor"),
        ({"created_at": float("inf")}, "line 1: created_at is not finite"),
        ({"vector": [1e6, 0.0]}, "not finite in half precision"),
        ({"paths": [[{"kind": "tag", "weight": float("nan")}]]}, "weight of a path"),
    ],
)
def test_bad_lines_are_refused_before_anything_is_kept(index, change, message):
    index.reinforce(index.recall(QUESTION, k=8), ["bay"])
    stream = io.StringIO()
    index.export_feedback(stream)
    record = json.loads(stream.getvalue()) | change
    with pytest.raises(FeedbackError, match=message):
        index.import_feedback(io.StringIO(json.dumps(record)))
    with pytest.raises(FeedbackError):
        index.import_feedback(io.StringIO("{"))


@pytest.mark.not_served
def test_a_feedback_that_lost_a_chunk_is_known_by_its_id(index, corpus):
    kept = [index.reinforce(index.recall(QUESTION, k=8), [id_]) for id_ in ("bay", "moss")]
    before, after = io.StringIO(), io.StringIO()
    index.export_feedback(before)
    assert index.forget(chunk="vale") == 2
    index.export_feedback(after)
    assert index.import_feedback(io.StringIO(after.getvalue())) == 0
    assert index.import_feedback(io.StringIO(before.getvalue())) == 0
    with HebbianIndex.open(":memory:") as other:
        other.add(corpus)
        assert other.import_feedback(io.StringIO(before.getvalue().splitlines()[0])) == 1
        assert other.import_feedback(io.StringIO(after.getvalue())) == 1
        assert other.forget(kept) == 2


def test_forgetting_a_chunk_spares_what_only_has_a_tag_of_its_name(index):
    question = "Where was Ida Moss, the builder of the Petrel, born?"
    feedback = index.reinforce(index.recall(question, k=8), ["bay"])
    tags = {cue.tag for cue in feedback.cues}
    tag = min(tags - {shown.chunk_id for shown in feedback.shown})
    assert index.forget(chunk=tag) == 0


@pytest.mark.not_served
@pytest.mark.parametrize("vector", [(1e6, 1.0), (float("nan"), 1.0)])
def test_a_vector_without_direction_teaches_nothing(index, vector):
    recall = index.recall(QUESTION, k=8).model_copy(update={"vector": vector})
    with pytest.raises(FeedbackError, match="is not finite"):
        index.reinforce(index.parts.recalls.issue(recall), ["bay"])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"cited": None}, "cited takes a sequence"),
        ({"cited": [["bay"]]}, "cited takes ids of chunks, such as hit.chunk.id; got list"),
        ({"cited": ["bay"], "rejected": 5}, "rejected takes a sequence"),
    ],
)
def test_what_is_no_list_of_ids(index, given, message):
    with pytest.raises(ParameterError, match=message):
        index.reinforce(index.recall(QUESTION, k=8), **given)


@pytest.mark.not_served
def test_what_nothing_can_be_forgotten_by(index):
    index.reinforce(index.recall(QUESTION, k=8), ["bay"])
    with pytest.raises(ParameterError, match="records or their ids"):
        index.forget(5)
    with pytest.raises(ParameterError, match="until is a datetime or seconds"):
        index.forget(until=float("nan"))
    assert index.export_feedback(io.StringIO()) == 1


@pytest.mark.not_served
def test_an_import_that_is_no_text(index, tmp_path):
    (tmp_path / "feedback.jsonl").write_bytes(b"\n\xff\xfe\x00")
    with pytest.raises(FeedbackError, match="is not UTF-8 text"):
        index.import_feedback(tmp_path / "feedback.jsonl")


@pytest.mark.not_served
def test_texts_of_questions_are_kept_only_if_asked_for(corpus):
    with HebbianIndex.open(":memory:") as index:
        index.add(corpus)
        kept = index.reinforce(index.recall(QUESTION, k=8), ["bay"])
        assert kept.query is None
        assert "builder" not in kept.model_dump_json()
    for days, text in ((30.0, QUESTION), (0.0, None)):
        learning = LearningSettings(store_queries=True, query_retention_days=days)
        with HebbianIndex.open(":memory:", settings=Settings(learning=learning)) as index:
            index.add(corpus)
            index.reinforce(index.recall(QUESTION, k=8), ["bay"])
            index.compact()
            stream = io.StringIO()
            index.export_feedback(stream)
            assert json.loads(stream.getvalue()).get("query") == text


def test_forgetting_what_somebody_said_forgets_the_recall_too(index):
    recall = index.recall(QUESTION, k=8)
    feedback = index.reinforce(recall, ["bay"], actor="ann")
    index.forget(feedback.id)  # one judgement, which may be given anew
    index.reinforce(recall.id, ["moss"], actor="ann")
    index.forget(actor="ann")
    assert index.find_recall(recall.id) is None


def test_explain_says_which_feedback_moved_a_hit(index):
    feedback = index.reinforce(index.recall(QUESTION, k=8), ["bay"], actor="ann")
    explained = index.explain(index.recall(PARAPHRASE), "bay")
    assert explained.learned
    assert {effect.feedback_id for effect in explained.learned} == {feedback.id}
    assert {effect.actor for effect in explained.learned} == {"ann"}
    moved = sum(effect.effect for effect in explained.learned)
    assert moved == pytest.approx(explained.score - explained.unlearned_score)
    assert moved > 0
    index.forget(feedback)
    explained = index.explain(index.recall(PARAPHRASE), "bay")
    assert explained.learned == ()
    assert explained.score == explained.unlearned_score


@pytest.mark.parametrize("families", [("words",), ("pairs",), ("words", "vectors", "pairs"), ()])
def test_effects_add_up_for_every_chunk_that_moved(corpus, families):
    learning = LearningSettings(families=families)
    with HebbianIndex.open(":memory:", settings=Settings(learning=learning)) as index:
        index.add(corpus)
        static = ranking(index, PARAPHRASE)
        for actor in ("ann", None):
            index.reinforce(index.recall(QUESTION, k=8), ["bay", "petrel"], actor=actor)
        recall = index.recall(PARAPHRASE, k=8)
        moved = 0
        for hit in recall.hits:
            explained = index.explain(recall, hit.chunk.id)
            change = explained.causes.learned
            moved += abs(change) > 1e-9
            effects = sum(effect.effect for effect in explained.learned)
            assert effects == pytest.approx(change, abs=1e-9)
        assert (moved > 0) == bool(families)
        assert (ranking(index, PARAPHRASE) == static) == (not families)


def test_what_was_learned_of_a_chunk_stays_when_it_is_put_again(index, corpus):
    index.reinforce(index.recall(QUESTION, k=8), ["bay"])
    learned = ranking(index, PARAPHRASE)
    [bay] = [chunk for chunk in corpus if chunk.id == "bay"]
    index.add([bay.model_copy(update={"metadata": {"seen": True}})])
    index.compact()  # until then, statistics of words count the former chunk too
    assert ranking(index, PARAPHRASE) == learned


def test_a_path_names_the_past_query_that_led_there(corpus):
    settings = Settings(learning=LearningSettings(families=("words", "vectors")))
    with HebbianIndex.open(":memory:", settings=settings) as index:
        index.add(corpus)
        index.reinforce(index.recall(QUESTION, k=8), ["bare"])
        hit = index.recall(QUESTION, k=8).hit("bare")
        assert [step.kind for step in hit.path] == ["query", "episode", "chunk"]


def test_prune_tells_what_is_idle_before_it_erases(corpus):
    with HebbianIndex.open(":memory:") as index:
        index.add(corpus)
        _pruning_in_two_steps(index)


def _pruning_in_two_steps(index):
    index.reinforce(index.recall(QUESTION, k=8), ["bay"])
    index.reinforce(index.recall("What do knots hold?", k=8), ["knots"])
    report = index.prune()
    assert sum(report.edges.values()) > 0
    assert (report.feedback, report.erased) == (0, 0)
    assert index.prune(1.0).feedback == 2
    index.delete([hit.chunk.id for hit in index.recall(QUESTION, k=8).hits])
    report = index.prune()
    assert report.feedback == 2
    assert report.masked["question"] == report.edges["question"] > 0
    assert index.prune(dry_run=False).erased == 2
    assert sum(index.prune().edges.values()) == 0
    with pytest.raises(ParameterError, match="min_weight"):
        index.prune(2.0)


def test_families_and_bounds_are_settings_that_replay(make_index, open_index):
    index = make_index()
    for question in (QUESTION, PARAPHRASE):
        index.reinforce(index.recall(question, k=8), ["bay", "vale"])
    learned = ranking(index)
    index.close()
    for learning in (LearningSettings(families=("pairs",)), LearningSettings(actor_events=0.1)):
        with open_index("index", settings=Settings(learning=learning)) as again:
            assert ranking(again) != learned
    with open_index("index") as again:
        assert ranking(again) == learned


def test_vectors_of_past_queries_are_used_and_belong_to_their_model(corpus):
    settings = Settings(learning=LearningSettings(families=("vectors",)))
    with HebbianIndex.open(":memory:", embedder=Angles(), settings=settings) as index:
        index.add(corpus)
        before = ranking(index)
        feedback = index.reinforce(index.recall(QUESTION, k=8), ["knots"])
        assert feedback.embedder == "letters"
        assert feedback.vector is not None
        assert dict(ranking(index))["knots"] > dict(before)["knots"]
        path = index.recall(QUESTION, k=8).hit("knots").path
        assert path[1].kind == "episode"


def test_chunks_pay_nothing_for_memory_that_takes_no_part():
    things = [
        "lamp",
        "rope",
        "anchor",
        "bell",
        "chart",
        "sail",
        "oar",
        "net",
        "mast",
        "keel",
        "crane",
        "buoy",
    ]
    after = [*things[1:], *things]
    texts = {
        one: f"The {one} hangs beside the {after[at]} and the {after[at + 1]} hangs further."
        for at, one in enumerate(things)
    }
    forms = (
        ("Where is the {} with the {}?", 0),
        ("Is a {} beside a {}?", 0),
        ("Who hung {} by {}?", -1),
    )
    question = "What hangs near the net and the mast?"
    settings = Settings(learning=LearningSettings(families=()))
    with HebbianIndex.open(":memory:", settings=settings) as index:
        index.add([{"id": id_, "text": text} for id_, text in texts.items()])
        static = ranking(index, question)
        for form, cited in forms:
            for at, one in enumerate(things):
                recall = index.recall(form.format(one, after[at]))
                index.reinforce(recall, [things[at + cited]])
        assert ranking(index, question) == static
        assert index.inspect.learned() == ()


async def test_async_twins(corpus):
    async with await HebbianIndex.aopen(":memory:") as index:
        await index.aadd(corpus)
        feedback = await index.areinforce(await index.arecall(QUESTION, k=8), ["bay"])
        assert (await index.aprune()).feedback == 0
        assert await index.aforget(feedback) == 1


def test_citing_one_of_two_right_chunks_says_nothing_against_the_other(index):
    names = [
        "alder",
        "birch",
        "cedar",
        "daisy",
        "elder",
        "fern",
        "gorse",
        "hazel",
        "iris",
        "juniper",
        "kelp",
        "laurel",
        "maple",
    ]
    questions = [f"Who saw {name} beside the old {other}?" for name in names for other in names[:2]]
    for cited in ("bay", "knots"):
        for question in questions:
            index.reinforce(index.recall(question, k=8), [cited], trusted=True)
    assert set(order(index, questions[0])[:2]) == {"bay", "knots"}
    values = {one.name: one.value for one in index.inspect.learned()}
    assert values.get("handicap", 0.0) < 0.1
