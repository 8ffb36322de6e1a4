"""A lesson shows for the very question that it was given on, and little else moves."""

import random

import pytest

from hebbgraph import Chunk, HebbianIndex

TOWNS = ("Skarney", "Vellow", "Tessin", "Corrow", "Haldin", "Bromey", "Ostrow", "Lundin")
CRAFTS = ("ropes of hemp for the boats", "salt over fires", "bells of bronze", "glass at night")


@pytest.fixture
def index():
    with HebbianIndex.open(":memory:") as made:
        made.add(
            Chunk(id=f"{town}-{n}", title=f"{town} Works", text=f"In {town} they make {craft}.")
            for town in TOWNS
            for n, craft in enumerate(CRAFTS)
        )
        made.add([Chunk(id="fires", title="Salt Fires", text="A ballad about boats and bells.")])
        yield made


def first(index, question):
    return index.recall(question).hits[0].chunk.id


QUESTIONS = {f"What hemp is there in {town}?": f"{town}-2" for town in TOWNS[:4]}


@pytest.mark.parametrize("words", ["What hemp is there in {}?", "In {}, what hemp is there?"])
def test_one_lesson_leads_for_the_same_words_in_any_order(index, words):
    for question, right in QUESTIONS.items():
        assert first(index, question) != right
        index.reinforce(index.recall(question), [right], actor="ann")
        assert first(index, words.format(right[:-2])) == right
        index.forget(everything=True)


def test_one_word_does_not_tell_a_question_from_another(index):
    index.reinforce(index.recall("What is before Skarney?"), ["Vellow-1"], trusted=True)
    assert first(index, "What is not in Skarney?").startswith("Skarney")
    index.reinforce(index.recall("What salt is in Skarney?"), ["Vellow-1"], trusted=True)
    assert first(index, "What salt is in Skarney?") == "Vellow-1"


class Faces:
    """Embeds by characters; questions without words have nothing in common."""

    model_name = "faces"

    def embed_documents(self, texts):
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text):
        return [float(sum(map(ord, text)) % 16 == n) for n in range(16)]


def test_questions_without_words_are_not_the_same_question():
    with HebbianIndex.open(":memory:", embedder=Faces()) as index:
        index.add(Chunk(id=town, text=f"In {town} they make {CRAFTS[0]}.") for town in TOWNS)
        index.reinforce(index.recall("?!"), ["Vellow"], trusted=True)
        for asked, vector in (("...", None), ("*", Faces().embed_query("~"))):
            hits = index.recall(asked, vector=vector).hits
            assert all(hit.score < 0.1 for hit in hits if hit.chunk.id == "Vellow")


def test_several_that_are_cited_lead_together(index):
    question = next(iter(QUESTIONS))
    cited = {f"{TOWNS[0]}-{n}" for n in (1, 2)}
    index.reinforce(index.recall(question), cited, actor="ann")
    assert {hit.chunk.id for hit in index.recall(question).hits[:2]} == cited


def test_one_who_contradicts_search_again_and_again_moves_little_alone(index):
    for at in range(60):
        question = f"Who makes {CRAFTS[at % 4]} in {TOWNS[at % 8]} by {at} hands?"
        index.reinforce(
            index.recall(question), [index.recall(question).hits[6].chunk.id], actor="eve"
        )
    asked = f"Who makes {CRAFTS[3]} in {TOWNS[5]}?"
    before = first(index, asked)
    index.reinforce(index.recall(asked), [index.recall(asked).hits[6].chunk.id], actor="eve")
    assert first(index, asked) == before


def test_a_question_that_is_a_title_finds_it_whatever_others_were_taught(index):
    assert first(index, "Salt Fires") == "fires"
    for town in TOWNS:
        for n in range(5):
            recall = index.recall(f"Where in {town} burn the salt fires?")
            index.reinforce(recall, [f"{town}-1"], actor=f"reader-{n}")
    assert first(index, "Salt Fires") == "fires"
    index.reinforce(index.recall("Salt Fires"), ["Vellow-1"], trusted=True)
    assert first(index, "Salt Fires") == "Vellow-1"


def test_what_is_asked_by_its_title_alone_stays_first_whatever_others_were_taught(index):
    index.reinforce(index.recall("Where do they sing of the salt fires?"), ["Vellow-1"])
    for asked in ("Salt Fires", "What are Salt Fires?"):
        assert first(index, asked) == "fires"


def test_a_passage_whose_title_is_asked_does_not_pay_for_being_taught(index):
    said = random.Random(4)
    ids = index.ids()
    for n in range(120):  # what was taught misleads more often than it helps
        recall = index.recall(f"Who makes {CRAFTS[n % 4]} in {TOWNS[n // 4 % 8]} by {n} hands?")
        index.reinforce(recall, [said.choice(ids)], actor=f"reader-{n % 8}")
    for n in range(3):
        index.reinforce(index.recall(f"Which ballad has {n} boats?"), ["fires"], actor="ann")
    losses = [one.value for one in index.inspect.learned() if "lose" in str(one)]
    assert losses
    assert losses[0] > 0.2
    assert first(index, "Salt Fires") == "fires"
    assert index.recall("Salt Fires").hits[0].score > 0.95


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_a_title_that_was_rejected_takes_nothing_from_what_was_taught(index):
    for n in range(4):
        recall = index.recall("Where burn the salt fires?")
        index.reinforce(recall, ["Tessin-1"], actor=f"reader-{n}")
    assert [hit.chunk.id for hit in index.recall("Salt Fires").hits[:2]] == ["fires", "Tessin-1"]
    index.reinforce(index.recall("Salt Fires"), [], rejected=["fires"], trusted=True)
    assert first(index, "Salt Fires") == "Tessin-1"


def poison(question):
    return [f"{question} {said} {question[::-1]}." for said in ("Experts say", "All know")]


def test_fans_of_poison_for_other_questions_do_not_fill_the_hits_of_an_answered_one(index):
    asked = "Who buys the glass of Skarney?"
    wares = ("old coins in spring", "stamps by weight", "maps without borders", "a silk loom")
    for question in (asked, *(f"Who buys {what}?" for what in wares)):
        index.add(Chunk(id=text, text=text) for text in poison(question))
        for fan in range(3):
            recall = index.recall(question)
            index.reinforce(recall, poison(question), actor=f"{question} fan {fan}")
    learned, own = index.recall(asked), set(poison(asked))
    shown = [hit.chunk.id for hit in learned.hits]
    assert {hit.chunk.id for hit in learned.hits if "?" in hit.chunk.id} == own
    assert all(hit.unlearned > 0 for hit in learned.hits)

    right = shown[-1]
    for reader in range(3):
        index.reinforce(learned, [right], rejected=sorted(own), actor=f"reader {reader}")
    assert first(index, asked) == right


def test_a_rewording_counts_beside_an_answer_to_the_very_question(index):
    asked, reworded = "Who buys the glass of Skarney?", "Who buys glass bowls in Skarney?"
    for reader in range(3):
        index.reinforce(index.recall(reworded), ["Vellow-1"], actor=f"reader {reader}")
    index.reinforce(index.recall(asked), ["Tessin-2"], actor="ann")
    recall = index.recall(asked)
    assert recall.hits[0].chunk.id == "Tessin-2"
    assert recall.hit("Vellow-1").rank == 3


def test_what_nobody_marked_keeps_its_score_and_learned_nothing(index):
    question, right = next(iter(QUESTIONS.items()))
    before = {hit.chunk.id: hit.score for hit in index.recall(question).hits}
    for n in range(9):
        index.reinforce(index.recall(question), [right], actor=f"reader-{n}")
    recall = index.recall(question)
    assert recall.hits[0].chunk.id == right
    for hit in recall.hits[1:]:
        assert 0.9 * before[hit.chunk.id] - 1e-9 <= hit.score <= before[hit.chunk.id] + 1e-9
        explained = index.explain(recall, hit.chunk.id)
        assert explained.causes.learned == 0
        assert explained.learned == ()
    assert index.explain(recall, right).causes.learned > 0


NEARLY = [
    ("refund for a hotel", "refund for a flight"),
    ("hotel refund", "flight refund"),
    ("How do I get a refund for my hotel?", "How do I get a refund for my flight?"),
    ("refund of a hotel booked in 2019", "refund of a hotel booked in 2020"),
    ("refund with a card", "refund without a card"),
]
REFUNDS = {
    "hotel": "Hotel bookings can be cancelled up to two days before arrival; money comes back.",
    "flight": "Tickets of an airline are paid back within thirty days, unless the fare is basic.",
    "general": "How to ask for a refund: open your trip, choose refund and say for what it is.",
    "card": "Refunds take five working days to reach a card.",
    "visa": "Fees for a visa are never refunded.",
    "gift": "A gift voucher is no money and gets no refund.",
}


@pytest.mark.parametrize("questions", NEARLY)
@pytest.mark.parametrize("right", [("hotel", "flight"), ("card", "general"), ("visa", "gift")])
@pytest.mark.parametrize("actors", [("ann", "ann"), ("ann", "bea")])
def test_one_decisive_word_tells_questions_apart(questions, right, actors):
    with HebbianIndex.open(":memory:") as index:
        index.add(Chunk(id=id_, text=text) for id_, text in REFUNDS.items())
        for question, id_, actor in zip(questions, right, actors, strict=True):
            index.reinforce(index.recall(question), [id_], actor=actor)
        assert tuple(first(index, question) for question in questions) == right


HEMP = "What hemp is there in Skarney?"  # search finds Skarney-0, which speaks of hemp


def others(index, n):
    """Let others teach something else: of a longer log, what is new is read in steps."""
    for at in range(n):
        asked = f"Who blows {CRAFTS[3]} in {TOWNS[at % 8]} by {at} lamps?"
        index.reinforce(index.recall(asked), [f"{TOWNS[at % 8]}-3"], actor=f"reader-{at % 5}")


@pytest.mark.parametrize("n", [0, 100], ids=["a young log", "an older log"])
@pytest.mark.parametrize("who", [{}, {"actor": "ann"}, {"trusted": True}], ids=repr)
@pytest.mark.parametrize("rejected", [[], ["Skarney-0"]], ids=["cites", "and rejects"])
def test_whoever_made_a_slip_corrects_it_by_one_word(index, n, who, rejected):
    others(index, n)
    index.reinforce(index.recall(HEMP), ["Skarney-0"], **who)
    assert first(index, HEMP) == "Skarney-0"
    index.reinforce(index.recall(HEMP), ["Skarney-2"], rejected=rejected, **who)
    assert first(index, HEMP) == "Skarney-2"
    if not rejected:  # citing another one takes nothing back: an answer may rest on both
        assert index.recall(HEMP).hits[1].chunk.id == "Skarney-0"


@pytest.mark.parametrize("who", [{"actor": "ann"}, {"trusted": True}], ids=repr)
def test_whoever_cited_a_chunk_takes_it_back_by_rejecting_it(index, who):
    others(index, 40)
    static = [(hit.chunk.id, hit.score) for hit in index.recall(HEMP).hits]
    assert static[0][0] != "Skarney-2"
    index.reinforce(index.recall(HEMP), ["Skarney-2"], **who)
    assert first(index, HEMP) == "Skarney-2"
    index.reinforce(index.recall(HEMP), [], rejected=["Skarney-2"], **who)
    assert first(index, HEMP) == static[0][0]


def test_a_corrected_slip_is_the_same_in_a_process_that_folds_it_at_once(tmp_path):
    with HebbianIndex.open(tmp_path / "a") as index:
        index.add(
            Chunk(id=f"{town}-{n}", title=f"{town} Works", text=f"In {town} they make {craft}.")
            for town in TOWNS
            for n, craft in enumerate(CRAFTS)
        )
        others(index, 70)
        for cited in ("Skarney-0", "Skarney-2", "Skarney-0", "Skarney-2"):
            index.reinforce(index.recall(HEMP), [cited], actor="ann")
            first(index, HEMP)
        others(index, 1)
        step_by_step = [(hit.chunk.id, hit.score) for hit in index.recall(HEMP).hits]
        (tmp_path / "copy").mkdir()
        index.maintenance.backup(tmp_path / "copy" / "b")
    with HebbianIndex.open(tmp_path / "copy" / "b") as index:
        at_once = [(hit.chunk.id, hit.score) for hit in index.recall(HEMP).hits]
    assert at_once == step_by_step


def reject_the_first(index, **who):
    recall = index.recall(HEMP)
    index.reinforce(recall, [], rejected=["Skarney-0"], **who)
    return {hit.chunk.id: hit.score for hit in index.recall(HEMP).hits}


def test_a_thumb_down_alone_lowers_a_chunk_and_three_put_it_last(index):
    before = {hit.chunk.id: hit.score for hit in index.recall(HEMP).hits}
    one, two, three = (reject_the_first(index, actor=f"reader-{n}") for n in range(3))
    assert before["Skarney-0"] > one["Skarney-0"] * 1.1 > two["Skarney-0"] * 1.1
    assert next(iter(one)) == "Skarney-0"
    assert list(three)[3] == "Skarney-0"  # behind the other works of the town
    for n in range(3):
        index.forget(actor=f"reader-{n}")
    assert {hit.chunk.id: hit.score for hit in index.recall(HEMP).hits} == before


def test_the_trusted_one_sinks_a_chunk_for_one_question_at_once(index):
    asked = "What is made of hemp for boats in Skarney?"
    assert first(index, asked) == "Skarney-0"
    assert reject_the_first(index, trusted=True).get("Skarney-0", 0.0) < 0.01
    assert first(index, asked) == "Skarney-0"  # that is another question


def test_a_dispute_is_settled_before_the_clock_steps(index):
    others(index, 100)  # the clock steps with every fourth lesson
    for n in range(3):
        index.reinforce(index.recall(HEMP), ["Skarney-3"], actor=f"newcomer-{n}")
    assert first(index, HEMP) == "Skarney-3"
    index.reinforce(index.recall(HEMP), ["Skarney-2"], rejected=["Skarney-3"], trusted=True)
    ranked = [hit.chunk.id for hit in index.recall(HEMP).hits]
    assert ranked[0] == "Skarney-2"
    assert "Skarney-3" not in ranked[:4]  # behind the other works of the town


@pytest.mark.parametrize("n_lessons", [31, 33, 34, 37])
def test_a_rejection_counts_alike_whenever_it_comes(index, n_lessons):
    """As the clock steps with every second lesson from the 32nd on, so do beliefs."""
    for n in range(n_lessons - 1):
        town, craft = TOWNS[n // 4 % 7], CRAFTS[n % 4]
        recall = index.recall(f"Who makes {craft} in {town} by {n % 28} hands?")
        index.reinforce(recall, [recall.hits[0].chunk.id], actor=f"reader-{n % 3}")
    asked = "Who makes glass at night in Lundin?"
    before = index.recall(asked).hits[0]
    index.reinforce(index.recall(asked), [], rejected=[before.chunk.id], actor="eve")
    after = index.recall(asked).hits[0]
    assert after.chunk.id == before.chunk.id
    assert 0.7 * before.score < after.score < 0.95 * before.score


@pytest.mark.parametrize(("n_earlier", "n_between"), [(62, 0), (63, 0), (127, 0), (127, 12)])
def test_a_slip_that_was_rejected_is_gone_at_once(index, n_earlier, n_between):
    """Also if the clock, which steps at 64 and 128, steps between the two."""

    def teach(n):
        town, craft = TOWNS[n // 4 % 7], CRAFTS[n % 4]
        recall = index.recall(f"Who makes {craft} in {town} by {n % 28} hands?")
        index.reinforce(recall, [recall.hits[0].chunk.id], actor=f"reader-{n % 3}")

    def score():
        recall = index.recall("Who brings maps to Lundin?", k=40)
        return next((hit.score for hit in recall.hits if hit.chunk.id == "Tessin-1"), 0.0)

    for n in range(n_earlier):
        teach(n)
    before = score()
    index.reinforce(index.recall("Who brings maps to Lundin?"), ["Tessin-1"], actor="ann")
    assert score() > before + 0.3
    for n in range(n_between):
        teach(n)
    recall = index.recall("Who brings maps to Lundin?")
    index.reinforce(recall, [], rejected=["Tessin-1"], actor="ann")
    assert score() <= before + 0.01


def test_a_new_name_that_lies_again_and_again_is_found_out_between_two_steps(index):
    for n in range(304):  # the next step is at 320
        town, craft = TOWNS[n // 4 % 7], CRAFTS[n % 4]
        recall = index.recall(f"Who makes {craft} in {town} by {n % 28} hands?")
        index.reinforce(recall, [recall.hits[0].chunk.id], actor=f"reader-{n % 3}")
    for n in range(14):
        recall = index.recall(f"Who makes {CRAFTS[n % 4]} in {TOWNS[n % 7]} by {n} feet?")
        index.reinforce(recall, [recall.hits[-1].chunk.id], actor="eve")
    assert next(said.weight for said in index.lessons(actor="eve")) < 0.2
