"""The confidence of each set's own questions and of questions about other subjects."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from hebbgraph.arrays import FloatArray
from hebbgraph.hebbian_index import HebbianIndex
from hebbgraph.recall.recaller import Recaller
from hebbgraph.recall.step_list import StepList
from numpy.typing import NDArray

from hebbgraph_bench.datasets import Dataset, Query
from hebbgraph_bench.ours import HebbianRetriever

__all__ = ["KINDS", "Sureness", "applied", "ask", "off_topic", "shrunk", "threshold"]

#: Questions about other subjects in the style of each set. A set that is not listed gets all
#: kinds.
KINDS = {
    "2wiki_164": "encyclopaedia",
    "cisi": "science",
    "covidqa_half": "science",
    "cranfield": "science",
    "docs_tech": "technical",
    "hotpotqa_train100": "encyclopaedia",
    "mtrag_half": "support",
    "multihoprag_facts": "news",
    "musique_train100": "encyclopaedia",
    "or_sharc_half": "support",
    "squad_paraphrase": "encyclopaedia",
}


@cache
def _questions() -> dict[str, list[str]]:
    questions_by_set: dict[str, list[str]] = json.loads(
        Path(__file__).with_name("off_topic.json").read_text("utf-8")
    )
    return questions_by_set


def off_topic(name: str) -> list[str]:
    """Return the questions that a set of this name does not answer."""
    by_kind = _questions()
    if name in KINDS:
        return by_kind[KINDS[name]]
    return [question for questions in by_kind.values() for question in questions]


@dataclass(frozen=True, slots=True)
class Sureness:
    """The confidence of one set's questions.

    Parameters
    ----------
    name : str
    own : ndarray of bool, shape (n,)
        Whether the set answers the question.
    confidence : ndarray of float64, shape (n,)
        Confidence of the recalls.
    features : ndarray of float64, shape (n, 1) or (n, 2)
        Coverage and, with an embedder, nearness.
    """

    name: str
    own: NDArray[np.bool_]
    confidence: FloatArray
    features: FloatArray

    def kept(self, threshold: float) -> float:
        """Return the share of its own questions at or above the threshold."""
        return float((self.confidence[self.own] >= threshold).mean())

    def rejected(self, threshold: float) -> float:
        """Return the share of the other questions below it."""
        return float((self.confidence[~self.own] < threshold).mean())


def ask(dataset: Dataset, embedder: Any = None, *, history: bool = True) -> Sureness:
    """Index a set; ask its own questions, and those about other subjects."""
    retriever = HebbianRetriever(embedder=embedder)
    try:
        retriever.index([c for c in dataset.corpus if c.title.strip() or c.text.strip()])
        index = retriever.opened
        own = [(query.text, query.history if history else ()) for query in dataset.queries]
        off = [(question, ()) for question in off_topic(dataset.name)]
        recaller = Recaller(index.parts, StepList(index.parts))
        rows = [_confidence_row(index, recaller, text, said) for text, said in (*own, *off)]
    finally:
        retriever.close()
    sure = np.array([row[0] for row in rows])
    is_own = np.arange(len(rows)) < len(own)
    return Sureness(dataset.name, is_own, sure, np.array([row[1:] for row in rows]))


def _confidence_row(
    index: HebbianIndex, recaller: Recaller, text: str, history: Sequence[str]
) -> tuple[float, ...]:
    recall = index.recall(text, k=1, history=history)
    with index.parts.reading():
        evidence = recaller.request_of(recall).evidence
    near = () if evidence.near is None else (evidence.near,)
    return (recall.confidence or 0.0, evidence.covered, *near)


def shrunk(dataset: Dataset, size: int, *, seed: int) -> Dataset:
    """Return a small set: questions whose answers fill up to half of it, and other chunks."""
    rng = random.Random(seed)
    room = max(size // 2, 3)
    chosen: list[Query] = []
    gold: set[str] = set()
    for query in rng.sample(dataset.queries, len(dataset.queries)):
        if len(gold | set(query.relevant)) <= room:
            chosen.append(query)
            gold |= set(query.relevant)
    distractors = [chunk for chunk in dataset.corpus if chunk.id not in gold]
    filled = rng.sample(distractors, min(max(size - len(gold), 0), len(distractors)))
    corpus = (*(chunk for chunk in dataset.corpus if chunk.id in gold), *filled)
    return replace(dataset, corpus=corpus, queries=tuple(chosen))


def threshold(sureness: Sureness, share: float = 0.96) -> float:
    """Return the midpoint between the confidence of own and of other questions.

    One end is the confidence that at least ``share`` of the own questions reach, the other is the
    one that as many of the others stay below. The highest threshold that keeps a share of the own
    questions would not transfer: on a set of easy questions it is above .9.
    """
    low = np.quantile(sureness.confidence[sureness.own], 1.0 - share)
    high = np.quantile(sureness.confidence[~sureness.own], share)
    return float(low + high) / 2.0


def applied(
    sets: Sequence[Sureness], share: float = 0.96
) -> Iterator[tuple[str, float, FloatArray]]:
    """Yield each set's name, its threshold, and the shares that the other sets keep and reject.

    The shares are an array of shape (n_sets - 1, 2).
    """
    for one in sets:
        at = threshold(one, share)
        shares = [(other.kept(at), other.rejected(at)) for other in sets if other is not one]
        yield one.name, at, np.array(shares).reshape(-1, 2)
