"""R@5 of questions in another language than their answers."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any, NamedTuple

import numpy as np
from hebbgraph import Chunk, HebbianIndex, Settings
from hebbgraph.embedders import embed_passages

from hebbgraph_bench.metrics import recall_at_k

__all__ = ["Question", "Scores", "arms", "chunks", "dense", "measure", "questions"]

K = 5


class Question(NamedTuple):
    """A question, its language, and the chunks that answer it: one or two."""

    id: str
    language: str
    text: str
    gold: tuple[str, ...]


@dataclass(frozen=True)
class Scores:
    """R@5 of each question."""

    by_question: Mapping[str, float]

    def mean(self, *, hops: int, language: str | None = None) -> float:
        """Return the mean over questions of so many hops (and in a language)."""
        values = [
            self.by_question[question.id]
            for question in questions()
            if len(question.gold) == hops and language in (None, question.language)
        ]
        return float(np.mean(values))


def _lines(name: str) -> Iterator[dict[str, Any]]:
    file = resources.files(__package__) / name
    yield from map(json.loads, file.read_text("utf-8").splitlines())


@cache
def chunks() -> tuple[Chunk, ...]:
    """Return the chunks in random order: neighbours in the file belong together."""
    corpus = [Chunk(id=line["id"], title=line["title"], text=line["text"])
             for line in _lines("corpus.jsonl")]  # fmt: skip
    random.Random(0).shuffle(corpus)
    return tuple(corpus)


@cache
def questions() -> tuple[Question, ...]:
    """Return the questions."""
    return tuple(
        Question(line["id"], line["language"], line["question"], tuple(line["supporting_ids"]))
        for line in _lines("queries.jsonl")
    )


def glossary() -> dict[str, tuple[str, ...]]:
    """Return names of things in the language of a question."""
    entries = json.loads((resources.files(__package__) / "glossary.json").read_text("utf-8"))
    return {name: tuple(names) for name, names in entries.items()}


def arms(*, dense: bool) -> dict[str, Settings]:
    """Return the compared settings, by name; ``dense`` with an embedder."""
    rest = {"keep_recalls": 0, "across_languages": dense}
    with_names = {
        "scripts": Settings(aliases=("scripts",), **rest),
        "scripts, glossary": Settings(aliases=("scripts",), glossary=glossary(), **rest),
    }
    if not dense:
        return {"words": Settings(**rest), **with_names}
    return {
        "as usual": Settings(keep_recalls=0),
        "across languages": Settings(**rest),
        "across languages, translations": Settings(aliases=("translations",), **rest),
        **{f"across languages, {name}": settings for name, settings in with_names.items()},
    }


def measure(settings: Settings, embedder: Any = None) -> Scores:
    """Ask an index with these settings."""
    with HebbianIndex.open(":memory:", embedder=embedder, settings=settings) as index:
        index.add(chunks())
        ranked = (
            [hit.chunk.id for hit in index.recall(question.text, k=K).hits]
            for question in questions()
        )
        return _scored(ranked)


def dense(embedder: Any) -> Scores:
    """Rank by cosine alone."""
    matrix = np.asarray(embed_passages(embedder, list(chunks())))
    ids = [chunk.id for chunk in chunks()]
    query_vectors = (
        np.asarray(embedder.embed_query(question.text), np.float32) for question in questions()
    )
    return _scored(
        [ids[row] for row in np.argsort(-(matrix @ vector))[:K]] for vector in query_vectors
    )


def _scored(ranked: Iterator[Sequence[str]] | Any) -> Scores:
    return Scores({
        question.id: recall_at_k(ids, dict.fromkeys(question.gold, 1), K)
        for question, ids in zip(questions(), ranked, strict=True)
    })  # fmt: skip
