from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hebbgraph.text import proposals
from hebbgraph.text.proposer import Proposer, _pages

_PLAIN = (
    "the of and to is was it war A I Petrel petrel Petrel, petrels. The Will May Mr Dr. U.S. "
    "NATO (NATO) WHO AC/DC Angela Merkel Germany's New York Times Well-Known well-known iPhone "
    "A-Team ERR-12 ERR-12. foo_bar C++ 1978 1978, 6½ R&D & — ( ) : . “Ida Moss” (born der die "
    "und ist nicht eine les dans une Straße Wien Łódź l'homme 東京大学 は 《红楼梦》 Café 서울 "
    "हिन्दी القاهرة Москва 👩 THE QUICK BROWN FOX Installing installing quick fox - ## Table None "
    "https://a.example/Main_Page src/main.rs self.run os.path 0xff <div mM"
)
_STRANGE = ["e\u0301", "\u0301", "\u200b", "\x1c", "x" * 64, "X" * 65, "\n", "\n\n"]
_WORDS = st.sampled_from([*_PLAIN.split(), *_STRANGE])
_TEXTS = st.one_of(st.lists(_WORDS, max_size=40).map(" ".join), st.text(max_size=30))
_CHUNKS = st.tuples(_TEXTS, _TEXTS, st.lists(_TEXTS, max_size=2))
_OPENERS = "The owl of the wood is a bird and it was the last. "
#: So many that they are read together.
_MANY = 16


def _one_by_one(chunks: list[tuple[str, str, list[str]]]) -> list[list[tuple[str, list[str]]]]:
    return [list(proposals(*chunk).items()) for chunk in chunks]


@given(st.lists(_CHUNKS, min_size=1, max_size=4), st.booleans(), st.integers(0, 200))
def test_many_chunks_propose_what_each_alone_does(
    chunks: list[tuple[str, str, list[str]]], english: bool, capacity: int
) -> None:
    if english:
        chunks = [(_OPENERS + text, title, tags) for text, title, tags in chunks]
    proposer = Proposer(capacity=capacity)
    many = chunks * (_MANY // len(chunks) + 1)
    for _ in range(2):  # words are new, then known (or forgotten)
        found = [list(one.items()) for one in proposer.propose(many)]
        assert found == _one_by_one(chunks) * (_MANY // len(chunks) + 1)


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("", ""),
        ("The Petrel (launched 1871) is a barque of the line and was the first.", ""),
        ("Petrel is the first. A petrel was of the sea, and to it the Petrel came.", "Owl"),
        ("It is the year of the North Atlantic Treaty Organization (NATO) and NATO.", "NATO"),
        ("The " + "Ida Moss and " * 1200 + "the " + "X" * 70 + " was of it.", "Ida"),
        ("The " + " ".join(f"Name{i}a Of{i}b of the" for i in range(1100)) + " is", "Last One"),
    ],
)
def test_chunks_of_every_kind_stand_beside_others(text: str, title: str) -> None:
    other = ("The river of Ida Moss is the longest and was to the sea.", "Ida Moss", ["moss"])
    chunks = [(text, title, ["The Owl", "owl"])] + [other] * _MANY
    found = [list(one.items()) for one in Proposer().propose(chunks)]
    assert found == _one_by_one(chunks)


def test_words_too_long_to_be_kept_are_not() -> None:
    proposer = Proposer()
    proposer.propose([("The owl is of the wood and " + "y" * 100_000, "", [])] * _MANY)
    assert max(map(len, proposer._words)) <= 65


def test_pages_are_neither_long_nor_large() -> None:
    chunks = [("x" * (400_000 if at < 4 else 1), "", [str(at)]) for at in range(1100)]
    pages = list(_pages(chunks))
    assert [len(page) for page in pages] == [3, 500, 500, 97]
    assert [chunk for page in pages for chunk in page] == chunks


def test_what_rests_keeps_the_words_that_come_again() -> None:
    proposer = Proposer()
    often = "The owl of Ida Moss is a bird and it was the last"
    rare = [" ".join(f"w{chunk}x{word}" for word in range(100)) for chunk in range(400)]
    chunks: list[tuple[str, str, list[str]]] = [(f"{often} {words}", "", []) for words in rare]
    assert [list(one.items()) for one in proposer.propose(chunks)] == _one_by_one(chunks)
    proposer.rest()
    assert set(often.split()) <= proposer._words.keys()
    assert len(proposer._words) < 20
    assert [list(one.items()) for one in proposer.propose(chunks)] == _one_by_one(chunks)
