"""Where words are written in syllables, marks and neighbours tell them apart."""

from __future__ import annotations

import unicodedata

from hebbgraph import Chunk, HebbianIndex


def test_marks_tell_syllables_apart() -> None:
    texts = {
        "table": "Ông thợ đóng cái bàn đá ở chợ.", "friend": "Ông thợ đánh bạn đá ở chợ.",
        "sell": "Ông thợ nói bán đá ở chợ.", "turned": "Ông thợ đặt đá bàn ở chợ.",
    }  # fmt: skip
    with HebbianIndex.open(":memory:") as index:
        index.add([Chunk(id=id_, text=text) for id_, text in texts.items()])
        for question, expected in [
            ("Ai đóng bàn đá ở chợ?", "table"),
            ("Ai có bạn đá ở chợ?", "friend"),
            ("Ai bán đá ở chợ?", "sell"),
            ("Ai có đá bàn ở chợ?", "turned"),
        ]:
            assert index.recall(question, k=1).hits[0].chunk.id == expected
            decomposed = unicodedata.normalize("NFD", question)
            assert index.recall(decomposed, k=1).hits[0].chunk.id == expected
        assert index.recall("Where was the đá bàn of the market?", k=1).hits[0].score > 0
        bare = index.recall("ai ban da o cho", k=4)
        assert {hit.chunk.id for hit in bare.hits if hit.score > 0} == set(texts)


def test_texts_that_were_typed_without_marks_are_found_with_them() -> None:
    with HebbianIndex.open(":memory:") as index:
        index.add(
            [Chunk(id="ban", text="Ong tho ban cai ban da."), Chunk(id="cho", text="O cho ca.")]
        )
        assert index.recall("Ông thợ bán cái gì?", k=1).hits[0].chunk.id == "ban"
