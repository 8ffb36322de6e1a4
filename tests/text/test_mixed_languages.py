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
