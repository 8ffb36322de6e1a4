"""The corpus of Bio-RAG's experiment, written anew: forty documents and their questions.

The paper did not publish its documents. These follow its description (sections 3.1 and 3.2):
ten documents each on molecular biology, climate science, computer architecture and Renaissance
art, of 500 to 800 words, and twenty questions within and across topics, each with graded
judgements (3: the document is about it; 2: it helps to answer; 1: it touches it). In addition,
each question has a rewording, and ten further questions are never asked while learning.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from hebbgraph.records import Chunk

from hebbgraph_bench.datasets import Dataset, Query
from hebbgraph_bench.datasets.records import Variant

__all__ = ["REWORDED", "TOPICS", "BioRagSet", "load_set"]

TOPICS = {
    "mb": "molecular biology",
    "cs": "climate science",
    "ca": "computer architecture",
    "ra": "Renaissance art",
}
REWORDED = "paraphrase_heavy"


@dataclass(frozen=True, slots=True)
class BioRagSet:
    """The documents, the asked questions, and those never asked."""

    asked: Dataset
    held_out: tuple[Query, ...]


@cache
def load_set() -> BioRagSet:
    """Read the packaged set."""
    folder = files(__package__) / "corpus"
    chunks = []
    for file in sorted(folder.iterdir(), key=lambda path: path.name):
        stem, _, suffix = file.name.rpartition(".")
        if suffix == "md":
            heading, _, text = file.read_text(encoding="utf-8").partition("\n")
            chunks.append(
                Chunk(
                    id=stem,
                    title=heading.removeprefix("#").strip(),
                    text=text.strip(),
                    metadata={"topic": TOPICS[stem[:2]]},
                )
            )
    lines = (folder / "queries.jsonl").read_text(encoding="utf-8").splitlines()
    rows: list[dict[str, Any]] = [json.loads(line) for line in lines]
    return BioRagSet(
        Dataset("bio-rag", tuple(chunks), tuple(map(_query, _some(rows, held_out=False)))),
        tuple(map(_query, _some(rows, held_out=True))),
    )


def _some(rows: list[dict[str, Any]], *, held_out: bool) -> list[dict[str, Any]]:
    return [row for row in rows if row.get("held_out", False) is held_out]


def _query(row: dict[str, Any]) -> Query:
    grades = dict(row["grades"])
    reworded = row.get("reworded")
    return Query(
        row["id"],
        row["question"],
        grades,
        type=row["type"],
        variants={REWORDED: Variant(reworded, grades)} if reworded else {},
    )
