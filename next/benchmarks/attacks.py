"""What invented names can do: reciprocal rank of the right chunk, for the very question.

usage: PYTHON attacks.py SET...      folders with corpus.jsonl and queries.jsonl

Honest readers cite a right chunk of each of 20 questions, attackers a wrong one that search also
found, or reject the right one. Then the questions are asked again. Nobody is trusted.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Sequence
from pathlib import Path

from hebbgraph import HebbianIndex, Settings
from hebbgraph.records import Recall

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


def main() -> None:
    folders = [Path(argument) for argument in sys.argv[1:]]
    table: dict[str, list[float]] = {name: [] for name in ATTACKS}
    for folder in folders:
        lines = (folder / "corpus.jsonl").read_text("utf-8").splitlines()
        chunks = [
            {"id": row["id"], "title": row.get("title") or "", "text": row["text"]}
            for row in map(json.loads, lines)
            if row["text"].strip()
        ]
        held = {chunk["id"] for chunk in chunks}
        lines = (folder / "queries.jsonl").read_text("utf-8").splitlines()
        right_of = {
            row["question"]: right[0]
            for row in map(json.loads, lines)
            if (right := [id_ for id_ in row["supporting_ids"] if id_ in held])
        }
        asked = random.Random(0).sample(sorted(right_of.items()), 20)
        for name, attack in ATTACKS.items():
            table[name].append(measure(chunks, asked, attack))
    print("| attack |", " | ".join(folder.name for folder in folders), "|")
    print("|---|" + "---|" * len(folders))
    for name, values in table.items():
        print(f"| {name} |", " | ".join(f"{value:.2f}" for value in values), "|")


if __name__ == "__main__":
    main()
