"""How far long passages are held back follows from the corpus."""

from __future__ import annotations

import random
from pathlib import Path

from hebbgraph import HebbianIndex

TOPICS = [[f"{stem}{topic}" for stem in ("vam", "lor", "sut", "nep")] for topic in range(60)]
WORDS = [word for topic in TOPICS for word in topic]


def chat() -> list[dict[str, str]]:
    """Write messages of four words on one matter, and replies that touch many matters."""
    draw = random.Random(0)
    messages = []
    for at, topic in enumerate(TOPICS):
        messages.append({"id": f"short-{at}", "text": " ".join(topic)})
        messages.append({"id": f"next-{at}", "text": " ".join([*draw.sample(topic, 3), "yes"])})
        others = draw.sample([other for other in TOPICS if other is not topic], 24)
        words = [word for other in others for word in draw.sample(other, 2)]
        messages.append({"id": f"long-{at}", "text": " ".join([*words, *words, *topic[:3]])})
    return messages


def test_where_long_replies_hide_short_messages_they_are_held_back_more(tmp_path: Path) -> None:
    with HebbianIndex.open(tmp_path) as index:
        index.add(chat())
        lengths = index.inspect.stats().lengths
        assert lengths["b"] > 0.75
        assert lengths["low"] > 0.0
    with HebbianIndex.open(tmp_path) as index:  # it is kept
        assert index.inspect.stats().lengths == lengths


def test_passages_of_about_one_length_are_ranked_as_ever() -> None:
    draw = random.Random(0)
    with HebbianIndex.open(":memory:") as index:
        index.add(" ".join(draw.sample(WORDS, 20)) for _ in range(150))
        assert index.inspect.stats().lengths["b"] == 0.75


def test_it_is_measured_again_when_the_corpus_has_doubled() -> None:
    messages = chat()
    with HebbianIndex.open(":memory:") as index:
        index.add(messages[:90])
        assert index.inspect.stats().lengths == {}
        index.add(messages[90:110])
        first = index.inspect.stats().lengths
        index.add(messages[110:150])
        assert index.inspect.stats().lengths == first
        index.add(f"{word} {at}" for at, word in enumerate(WORDS[:90]))
        assert index.inspect.stats().lengths != first
