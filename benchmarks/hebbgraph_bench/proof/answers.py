"""Answers, not only passages: what a model makes of each system's context, and what it cites.

All systems may fill the same number of tokens; ``gold`` is what the model makes of the passages
that answer, the most that any system can bring. The model reads numbered sources and answers in a
few words with the keys of what it used. Judged are exact match and F1 of the answer without its
keys, and the share of what it cites that is relevant (``precision``; over answers that cite).

Then an index learns from the model's own citations, right or wrong, and the questions that shared
evidence with them are asked again: does recall still rise?
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from hebbgraph.citations import Formatter, parse_citations
from hebbgraph.errors import DatasetError
from hebbgraph.formulas.bootstrap import paired_bootstrap
from hebbgraph.protocols import Embedder
from hebbgraph.records import Chunk

from hebbgraph_bench.baselines import RankedChunk, Retriever
from hebbgraph_bench.context import Context
from hebbgraph_bench.datasets import Dataset, Query, load
from hebbgraph_bench.embedding import CachingEmbedder, caching
from hebbgraph_bench.learning.lab import Lab
from hebbgraph_bench.learning.splits import SAME, split
from hebbgraph_bench.metrics import normalize_answer
from hebbgraph_bench.proof.measuring import K, Measured
from hebbgraph_bench.proof.models import GEMMA
from hebbgraph_bench.proof.reading import KeptReader, LocalReader, Reader, UrlReader
from hebbgraph_bench.proof.retrieval import OURS, direct
from hebbgraph_bench.protocol import judge

__all__ = ["GOLD", "AnswerSettings", "exact_match", "f1", "measure_answers"]

#: With an example, since a small model knows no instructions; it is about neither set nor sources.
_PROMPT = """Each question is answered from its sources in as few words as can be. After the \
answer stand the keys of the sources that were used, in square brackets.

Sources:

[k7] The Petrel
The Petrel is a schooner that was built by Ida Moss.

[k8] Ida Moss
Ida Moss was a shipwright, born in Tessel.

Question: Where was the builder of the Petrel born?
Answer: Tessel [k7] [k8]

Sources:

{sources}

Question: {question}
Answer:"""
GOLD = "gold"
_METRICS = ("EM", "F1", "precision", "cites", "recall")
_KEY = re.compile(r"\[[^\]]*\]")


@dataclass(frozen=True)
class AnswerSettings:
    """Who reads, how many questions, and how much.

    Parameters
    ----------
    questions : int
        Drawn with ``seed`` of each set.
    tokens : int
        Of context, for every system.
    url, model : str, optional
        Of a service that is compatible with OpenAI's; the small local model if left out.
    seed : int
    """

    questions: int = 200
    tokens: int = 800
    url: str | None = None
    model: str | None = None
    seed: int = 0

    @property
    def reader(self) -> str:
        """The model's name."""
        return self.model or GEMMA.name

    def opened(self, cache: Path) -> Reader:
        """Return the reader, with its answers kept in ``cache``."""
        inner: Reader
        if self.url is not None:
            inner = UrlReader(self.url, self.reader)
        else:
            inner = LocalReader(GEMMA.fetch(cache / "models"), self.reader)
        return KeptReader(inner, cache / "answers")


def measure_answers(
    path: Path, settings: AnswerSettings, *, model: Embedder | None, cache: Path
) -> Measured:
    """Let the model answer from each system's context, then learn from what it cites."""
    dataset = load(path)
    reader = settings.opened(cache)
    with caching(model, cache / "vectors") as embedder:
        sample = dataset.sampled(settings.questions, seed=settings.seed)
        retrievers = {**direct(embedder), GOLD: _Gold(sample)}
        systems = _answered(sample, retrievers, reader, settings.tokens)
        try:
            learning = _learned(dataset, embedder, reader, settings)
        except DatasetError:  # no two questions have evidence in common
            learning = None
    return Measured({"questions": len(sample.queries), "systems": systems, "learning": learning})


def exact_match(answer: str, expected: Sequence[str]) -> float:
    """1 if the answer is one of those wanted, both normalised as SQuAD's script does.

    Examples
    --------
    >>> exact_match("The Petrel.", ["petrel"])
    1.0
    """
    return float(normalize_answer(answer) in {normalize_answer(text) for text in expected})


def f1(answer: str, expected: Sequence[str]) -> float:
    """The best F1 of words with one of the wanted answers.

    Examples
    --------
    >>> f1("the ship Petrel", ["Petrel"])  # half of two words, all of one
    0.666...
    """
    answer_words = normalize_answer(answer).split()
    best = 0.0
    for text in expected:
        words = normalize_answer(text).split()
        shared = sum((Counter(answer_words) & Counter(words)).values())
        if shared:
            best = max(best, 2 * shared / (len(answer_words) + len(words)))
    return best


class _Gold:
    """Returns what answers a question: no system, but the most that one can bring."""

    name = GOLD

    def __init__(self, dataset: Dataset) -> None:
        self._relevant = {query.text: sorted(query.relevant) for query in dataset.queries}

    def index(self, chunks: Sequence[Chunk], /) -> None:
        """Take in nothing."""

    def retrieve(self, query: str, k: int, /) -> list[RankedChunk]:
        """Return what answers it."""
        return [RankedChunk(id_, 1.0) for id_ in self._relevant[query][:k]]

    def close(self) -> None:
        """Keep nothing."""


@dataclass(frozen=True, slots=True)
class _Answer:
    text: str
    cited: tuple[str, ...]


def _answer(
    query: Query, ids: Sequence[str], chunks: Mapping[str, Chunk], reader: Reader
) -> _Answer:
    rendered = Formatter().render([chunks[id_] for id_ in ids])
    reply = reader.read(_PROMPT.format(sources=rendered.text, question=query.text)).strip()
    first_line = reply.splitlines()[0] if reply else ""
    return _Answer(_KEY.sub(" ", first_line).strip(" .:"), tuple(parse_citations(reply, rendered)))


def _answered(
    dataset: Dataset, systems: dict[str, Retriever], reader: Reader, tokens: int
) -> dict[str, Any]:
    context = Context(dataset.corpus)
    chunks = {chunk.id: chunk for chunk in dataset.corpus}
    values: dict[str, dict[str, Any]] = {}
    for name, system in systems.items():
        try:
            system.index([chunk for chunk in dataset.corpus if chunk.title or chunk.text])
            rows = [
                _judged(query, system, context, chunks, reader, tokens) for query in dataset.queries
            ]
        finally:
            system.close()
        columns = np.array(rows, dtype=np.float64).T
        values[name] = dict(zip(_METRICS, columns, strict=True))
    return {
        name: {
            **{metric: _mean(column) for metric, column in means_of.items()},
            "ours minus it": _minus(values[OURS]["F1"], means_of["F1"]),
        }
        for name, means_of in values.items()
    }


def _judged(
    query: Query,
    system: Retriever,
    context: Context,
    chunks: Mapping[str, Chunk],
    reader: Reader,
    tokens: int,
) -> tuple[float, ...]:
    depth = min(context.enough_for(tokens), 10 * K)
    ranking = [hit.id for hit in system.retrieve(query.text, depth)]
    fitted = context.fitting(ranking, tokens)
    answer = _answer(query, fitted, chunks, reader)
    is_relevant = [id_ in query.relevant for id_ in answer.cited]
    return (
        exact_match(answer.text, query.answers),
        f1(answer.text, query.answers),
        float(np.mean(is_relevant)) if is_relevant else float("nan"),
        float(bool(is_relevant)),
        len(set(fitted) & set(query.relevant)) / len(query.relevant),
    )


def _learned(
    dataset: Dataset,
    embedder: CachingEmbedder | None,
    reader: Reader,
    settings: AnswerSettings,
) -> dict[str, Any]:
    """Answer what can be learned from, reinforce what the model cites, and ask all kinds anew."""
    parts = split(dataset, seed=settings.seed, at_most=settings.questions)
    chunks = {chunk.id: chunk for chunk in dataset.corpus}
    context = Context(dataset.corpus)
    queries = {query.id: query for query in dataset.queries}
    right = cited = 0
    with Lab(dataset, embedder) as lab, lab.fresh() as index:

        def asked() -> dict[str, Any]:
            return {
                stratum: judge(
                    [
                        [hit.chunk.id for hit in index.recall(question.text, k=K).hits]
                        for question in of_stratum
                    ],
                    [question.relevant for question in of_stratum],
                    K,
                )["R@5"]
                for stratum, of_stratum in parts.strata.items()
            }

        before = asked()
        for question in parts.learn[: settings.questions]:
            recall = index.recall(question.text, k=K)
            shown = context.fitting([hit.chunk.id for hit in recall.hits], settings.tokens)
            answer = _answer(queries[question.id], shown, chunks, reader)
            if answer.cited:
                index.reinforce(recall, cited=answer.cited, shown=shown, actor="reader")
            cited += len(answer.cited)
            right += sum(id_ in question.relevant for id_ in answer.cited)
        after = asked()
    return {
        "learned": min(len(parts.learn), settings.questions),
        "cited": cited,
        "right": right,
        "strata": {
            stratum if stratum != SAME else "the same": {
                "questions": len(before[stratum]),
                "before": float(before[stratum].mean()),
                "after": _minus(after[stratum], before[stratum]),
            }
            for stratum in before
        },
    }


def _mean(values: Any) -> float:
    defined = values[~np.isnan(values)]
    return float(defined.mean()) if defined.size else float("nan")


def _minus(ours: Any, theirs: Any) -> dict[str, float]:
    difference = paired_bootstrap(ours, theirs)
    return {"mean": difference.mean, "low": difference.low, "high": difference.high}
