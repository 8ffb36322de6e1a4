"""A search where one passage must be the first, and alone."""

from collections.abc import Iterable

from hebbgraph import HebbianIndex

FILL = [f"The keeper of hall {n} writes a note about rope and salt every week." for n in range(20)]


def assert_first(question: str, right: str, others: Iterable[str]) -> None:
    """Check that a passage is the first for a question, above others and twenty unrelated ones."""
    with HebbianIndex.open(":memory:") as index:
        index.add([*others, *FILL, right])
        first, *rest = index.recall(question, k=2)
    assert first.text == right
    assert not rest or first.score > rest[0].score
