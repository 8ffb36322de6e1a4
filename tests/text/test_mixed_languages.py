"""Texts in several languages in one index: a word is not taken for that of another language."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from hebbgraph import HebbianIndex

_GERMAN = (
    "Die Imker treffen sich in Graz, und die Bienen fliegen mit dem Wind. Häuser stehen am Weg, "
    "aber nicht viele, und der Bäcker hat noch Brot."
)
_ENGLISH = {
    "rules": "Dogs may come, but not into the hall. It is open in May, of new use, and run well.",
    "fair": "Butter is sold at the fair, where a letter may be left with the runner.",
    "recipe": "Let it ferment for a week until it is clear, and set it aside.",
}


@pytest.fixture(scope="module")
def mixed() -> Iterator[HebbianIndex]:
    with HebbianIndex.open(":memory:") as index:
        index.add([{"id": "german", "text": _GERMAN}])
        index.add({"id": id_, "text": text} for id_, text in _ENGLISH.items())
        yield index


@pytest.mark.parametrize("word", ["butter", "letter", "runner"])
def test_only_what_holds_a_word_is_found(mixed: HebbianIndex, word: str) -> None:
    assert [hit.id for hit in mixed.recall(word) if hit.score] == ["fair"]


@pytest.mark.parametrize("word", ["inner", "offer", "upper", "setter", "newest", "mite", "hate"])
def test_a_word_that_nothing_holds_is_not_known(mixed: HebbianIndex, word: str) -> None:
    recall = mixed.recall(word)
    assert not any(hit.has for hit in recall)
    assert recall.confidence is not None
    assert recall.confidence < 0.01


@pytest.mark.parametrize("word", ["Haus", "Hauses", "Biene", "Weges", "Bäckers", "Winde"])
def test_inflected_words_are_found_in_their_language(mixed: HebbianIndex, word: str) -> None:
    assert mixed.recall(word)[0].id == "german"
    assert mixed.recall(word)[0].has == (word.lower(),)


_ENGLISH_ONLY = {
    "dog": "The dog may sleep in the lodge.",
    "car": "Rent a car at the quay.",
    "van": "A van costs more.",
    "hat": "Keep your hat on.",
    "war": "The war ended in May.",
    "door": "The door has a code.",
    "min": "At most 600 requests a min are served.",
    "lodge": "The lodge, the quay, the code of the lodge: a lodge costs nothing; a request ends.",
}


@pytest.mark.parametrize(
    "others", [[], ["Le chat dort sur la table et il ne mange pas avec nous."]]
)
@pytest.mark.parametrize(
    "question",
    ["dog lodge", "car quay", "van costs", "hat keep", "war ended", "door code", "min requests"],
)
def test_an_english_word_is_not_taken_for_a_function_word_of_another_language(
    question: str, others: list[str]
) -> None:
    """A few words do not make a question Danish, French, Dutch or German."""
    with HebbianIndex.open(":memory:") as index:
        index.add({"id": id_, "text": text} for id_, text in _ENGLISH_ONLY.items())
        index.add({"id": f"f{at}", "text": text} for at, text in enumerate(others))
        word = question.split()[0]
        recall = index.recall(question)
        assert recall[0].id == word
        assert word in recall[0].has


def test_function_words_of_the_chunks_language_are_left_out() -> None:
    with HebbianIndex.open(":memory:") as index:
        index.add(
            [
                {"id": "g", "text": _GERMAN},
                {"id": "w", "text": "Wo man singt, da ist das Lied nicht weit."},
            ]
        )
        assert list(index.recall("wo Brot").terms) == ["brot"]


def test_function_words_of_a_language_that_no_chunk_has_are_left_out() -> None:
    with HebbianIndex.open(":memory:") as index:
        index.add({"id": id_, "text": text} for id_, text in _ENGLISH_ONLY.items())
        recall = index.recall("Wo ist die lodge?")
        assert (list(recall.terms), recall[0].id) == (["lodg"], "lodge")
