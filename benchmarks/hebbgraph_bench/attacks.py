"""What invented names can do: reciprocal rank of the right chunk, for the very question.

Honest readers cite a right chunk of each of 20 questions, attackers a wrong one that search also
found, or reject the right one. Then the questions are asked again. Nobody is trusted.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Sequence

from usebench.tables import markdown, number

from hebbgraph import HebbianIndex, Settings
from hebbgraph.records import Recall
from hebbgraph_bench.sets import add_options, opened_set

QUESTIONS = 20

#: Attack: honest names, attackers' names, whether they reject the right chunk, quorum.
ATTACKS = {
    "nobody attacks, nobody teaches": (0, 0, False, 1),
    "nobody attacks, 3 honest": (3, 0, False, 1),
    "1 name, nobody honest": (0, 1, False, 1),
    "1 name, nobody honest, quorum 2": (0, 1, False, 2),
    "1 name, 1 honest": (1, 1, False, 1),
    "1 name, 3 honest": (3, 1, False, 1),
    "2 names, 3 honest": (3, 2, False, 1),
    "2 names that reject, 3 honest": (3, 2, True, 1),
    "5 fans, 5 honest": (5, 5, False, 1),
    "10 fans, 10 honest": (10, 10, False, 1),
    "10 fans, 12 honest": (12, 10, False, 1),
    "100 names, 3 honest": (3, 100, False, 1),
    "100 names that reject, nobody honest": (0, 100, True, 1),
}


def reciprocal_rank(recall: Recall, right: str) -> float:
    """Return 1 / rank of the right chunk, 0 if it is no hit."""
    return next((1.0 / hit.rank for hit in recall if hit.id == right), 0.0)


def measure(
    chunks: Sequence[dict[str, str]],
    asked: Sequence[tuple[str, str]],
    attack: tuple[int, int, bool, int],
) -> float:
    """Return the mean reciprocal rank after an attack."""
    honest, bad, rejects, quorum = attack
    with HebbianIndex.open(":memory:", settings=Settings(quorum=quorum)) as index:
        index.add(chunks)
        for question, right in asked:
            recall = index.recall(question, k=10)
            wrong = next(hit.id for hit in reversed(recall.hits) if hit.id != right)
            says: list[tuple[str, list[str], list[str]]]
            says = [(f"honest {at}", [right], []) for at in range(honest)]
            says += [
                (f"bad {at}", [] if rejects else [wrong], [right] if rejects else [])
                for at in range(bad)
            ]
            random.Random(question).shuffle(says)
            for actor, cited, rejected in says:
                index.reinforce(recall, cited=cited, rejected=rejected, actor=actor)
        ranks = [reciprocal_rank(index.recall(question, k=10), right) for question, right in asked]
        return sum(ranks) / len(ranks)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_options(parser)


def run(options: argparse.Namespace) -> int:
    rows = [[name] for name in ATTACKS]
    for name in options.sets:
        uses = opened_set(name, options, order="shuffled")
        chunks = [{"id": p.id, "title": p.title, "text": p.text} for p in uses.passages]
        right_of = {event.question: next(iter(event.relevant)) for event in uses.events}
        asked = random.Random(options.seed).sample(sorted(right_of.items()), QUESTIONS)
        for row, attack in zip(rows, ATTACKS.values(), strict=True):
            row.append(number(measure(chunks, asked, attack)))
    print(markdown("Mean reciprocal rank of the right chunk", ["attack", *options.sets], rows))
    return 0
