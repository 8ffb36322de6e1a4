"""A word that no chunk holds is searched for as a known one, one slip away; a note says so."""

import pytest

from hebbgraph import HebbianIndex
from hebbgraph.formulas.confidence import NOTHING_KNOWN

PASSAGES = {
    "heron": "Heron Bridge was painted green.",
    "receiver": "The receiver must be switched off before it is opened.",
    "gannet": "Gannet Fell has a ski lift that was built in 1931.",
    "library": "The library lends three books at a time.",
    "kayak": "Paddlers leave their kayaks behind the boathouse.",
    "error": "E4305 means that the pump ran dry; order part 7734512.",
    "mieten": "Die Kündigung des Mietvertrags ist bis zum dritten Werktag möglich.",
    "mairie": "La bibliothèque municipale ouvre à neuf heures.",
    "most": "Библиотека открыта по вторникам.",
    "nisi": "Το πλοίο φεύγει από το λιμάνι κάθε πρωί.",
}


@pytest.fixture(scope="module")
def index():
    with HebbianIndex.open(":memory:") as index:
        index.add({"id": id_, "text": text} for id_, text in PASSAGES.items())
        index.add({"id": f"f{n}", "text": f"Hall {n} has rope and salt."} for n in range(40))
        yield index


@pytest.mark.parametrize(
    ("question", "wanted"),
    [
        ("Herron", "heron"),  # a letter more
        ("Brridge", "heron"),
        ("Brigde", "heron"),  # two swapped
        ("paintd", "heron"),
        ("reciever", "receiver"),
        ("recevier", "receiver"),
        ("swithced", "receiver"),
        ("opend", "receiver"),
        ("ganet", "gannet"),
        ("libary", "library"),
        ("librarry", "library"),
        ("kayacks", "kayak"),
        ("padlers", "kayak"),
        ("boathuose", "kayak"),
        ("Kündingung", "mieten"),
        ("Mietvertrags Werktg", "mieten"),
        ("biblioteque municipale", "mairie"),
        ("Библеотека", "most"),
        ("Биллиотека", "most"),  # a wrong one
        ("λιμμάνι", "nisi"),
    ],
)
def test_word_with_a_slip_finds_its_passage(index, question, wanted):
    recall = index.recall(question, k=1)
    assert recall[0].id == wanted
    assert recall.confidence >= NOTHING_KNOWN
    assert [note for note in recall.notes if note.endswith("searched for in its place")]


@pytest.mark.parametrize(
    "question", ["E4306", "7734513", "X4305", "gull", "Jeron", "pupm", "panted"]
)
def test_codes_short_words_and_first_letters_are_taken_as_they_are(index, question):
    recall = index.recall(question, k=1)
    assert recall[0].score < 0.1
    assert not any("in its place" in note for note in recall.notes)


def test_a_question_for_an_unknown_code_is_not_answered_by_its_other_words():
    texts = {
        "known": "Error X17 means that the paper is out.",
        "list": "Errors are listed with what they mean in the manual.",
    }
    with HebbianIndex.open(":memory:") as own:
        own.add({"id": id_, "text": text} for id_, text in texts.items())
        own.add({"id": str(n), "text": f"Hall {n} has a lamp and a rope."} for n in range(60))
        assert own.recall("What does error E99 mean?").confidence < NOTHING_KNOWN
        assert own.recall("What does error X17 mean?").confidence > 0.8


def test_known_words_are_left_alone(index):
    recall = index.recall("Which halls lend a receiver?", k=1)
    assert not any("in its place" in note for note in recall.notes)


def test_a_slip_is_no_longer_one_when_a_chunk_holds_the_word(index):
    with HebbianIndex.open(":memory:") as own:
        own.add([{"id": "heron", "text": PASSAGES["heron"]}, {"id": "other", "text": "A gull."}])
        assert own.recall("Herron", k=1)[0].id == "heron"
        own.add([{"id": "name", "text": "Herron keeps the ledger."}])
        assert own.recall("Herron", k=1)[0].id == "name"
        own.delete("name")
        assert own.recall("Herron", k=1)[0].id == "heron"


def test_nothing_known_is_not_said_of_what_a_lesson_raised():
    with HebbianIndex.open(":memory:") as own:
        own.add({"id": id_, "text": text} for id_, text in PASSAGES.items())
        asked = own.recall("Where do boats go when winter comes?", k=3)
        assert any(note.startswith("nothing known") for note in asked.notes)
        own.reinforce(asked, cited=["kayak"], actor="ann")
        again = own.recall("Where do boats lie in winter?", k=3)
        assert again[0].id == "kayak"
        assert not any(note.startswith("nothing known") for note in again.notes)
