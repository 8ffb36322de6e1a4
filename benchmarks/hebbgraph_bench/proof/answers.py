"""Answers of a model from each system's context, and its citations.

All systems may fill the same number of tokens; ``gold`` is the context of the relevant passages,
an upper bound. The model reads numbered sources and answers in a few words with the keys of the
sources it used. The metrics are exact match and F1 of the answer without keys, and the share of
citations that are relevant (``precision``, over answers with citations).

Then an index learns from the model's own citations, right or wrong, and related questions are asked
again, to see whether recall still rises.
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

#: Has an example, since a small model does not follow instructions; unrelated to any set.
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
    """The reader, the number of questions, and the size of the context.

    Parameters
    ----------
    questions : int
        Sample per set, drawn with ``seed``.
    tokens : int
        Size of the context, for every system.
    url, model : str, optional
        An OpenAI-compatible service and its model; by default, the small local model.
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

    def open_reader(self, cache: Path) -> Reader:
        """Return the reader, with its answers stored in ``cache``."""
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
    reader = settings.open_reader(cache)
    with caching(model, cache / "vectors") as embedder:
        sample = dataset.sampled(settings.questions, seed=settings.seed)
        retrievers = {**direct(embedder), GOLD: _Gold(sample)}
        systems = _answered(sample, retrievers, reader, settings.tokens)
        try:
            learning = _learned(dataset, embedder, reader, settings)
        except DatasetError:  # no two questions share evidence
            learning = None
    return Measured({"questions": len(sample.queries), "systems": systems, "learning": learning})


def exact_match(answer: str, expected: Sequence[str]) -> float:
    """Return 1 if the answer is an expected one, both normalised as SQuAD's script does.

    Examples
    --------
    >>> exact_match("The Petrel.", ["petrel"])
    1.0
    """
    return float(normalize_answer(answer) in {normalize_answer(text) for text in expected})


def f1(answer: str, expected: Sequence[str]) -> float:
    """Return the best F1 of words with an expected answer.

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
    """Returns the relevant passages: an upper bound for any system."""

    name = GOLD

    def __init__(self, dataset: Dataset) -> None:
        self._relevant = {query.text: sorted(query.relevant) for query in dataset.queries}

    def index(self, chunks: Sequence[Chunk], /) -> None:
        """Do nothing."""

    def retrieve(self, query: str, k: int, /) -> list[RankedChunk]:
        """Return the relevant passages."""
        return [RankedChunk(id_, 1.0) for id_ in self._relevant[query][:k]]

    def close(self) -> None:
        """Do nothing."""


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
                _metrics_of(query, system, context, chunks, reader, tokens)
                for query in dataset.queries
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


def _metrics_of(
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
    """Answer the questions to learn from, reinforce the model's citations, and ask all again."""
    parts = split(dataset, seed=settings.seed, at_most=settings.questions)
    chunks = {chunk.id: chunk for chunk in dataset.corpus}
    context = Context(dataset.corpus)
    queries = {query.id: query for query in dataset.queries}
    right = cited = 0
    with Lab(dataset, embedder) as lab, lab.fresh() as index:

        def recall_at_5() -> dict[str, Any]:
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

        before = recall_at_5()
        for question in parts.learn[: settings.questions]:
            recall = index.recall(question.text, k=K)
            shown = context.fitting([hit.chunk.id for hit in recall.hits], settings.tokens)
            answer = _answer(queries[question.id], shown, chunks, reader)
            if answer.cited:
                index.reinforce(recall, cited=answer.cited, shown=shown, actor="reader")
            cited += len(answer.cited)
            right += sum(id_ in question.relevant for id_ in answer.cited)
        after = recall_at_5()
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
