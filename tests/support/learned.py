"""What was taught by name, for comparisons."""

from __future__ import annotations

from hebbgraph.learning.memory import Memory

__all__ = ["dump"]


def dump(memory: Memory) -> dict[tuple[int, str, str | None], float]:
    """Return what was taught of each chunk for each question, by each actor."""
    lessons, amounts = memory.lessons, memory.amounts()
    actors = list(memory.actors)
    found: dict[tuple[int, str, str | None], float] = {}
    for lesson, node, credit in zip(
        lessons.link_lesson.tolist(),
        lessons.link_node.tolist(),
        lessons.link_credit.tolist(),
        strict=True,
    ):
        link = int(lessons.question[lesson]), lessons.nodes[node], actors[lessons.actor[lesson]]
        found[link] = found.get(link, 0.0) + float(amounts[lesson]) * credit
    return found
