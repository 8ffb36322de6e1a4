"""Bio-RAG's experiment [1]_: does reinforcement change a dense graph, and which remedy helps?

The paper's forty documents on four topics are not published; these were written to its description,
with twenty questions, a rewording of each, and ten questions that are never asked while learning.
In each of ten rounds all questions are asked, paths to relevant documents gain, other edges decay.
Named sets stand for the larger corpora that the paper proposes: half of their questions are asked.

References
----------
.. [1] Phago Research Group (2026), Bio-RAG: Self-Reinforcing Knowledge Graph Retrieval
   Through Hebbian Learning.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from hebbgraph_papers.bio_rag.graph import (
    PAPER_DIGESTED,
    PAPER_EDGES,
    TermGraph,
    TfIdf,
    dense_graph,
    document_edges,
)
from hebbgraph_papers.bio_rag.learning import Learning, TermSearch, learn_round
from numpy.typing import NDArray
from usebench.metrics import ndcg_at_k, reciprocal_rank
from usebench.records import Passage, UseSet
from usebench.tables import markdown, number

from hebbgraph import HebbianIndex
from hebbgraph_bench.embedding import CachedModel
from hebbgraph_bench.sets import add_options, difference, model_of, opened_set, write_json

__all__ = ["ROUNDS", "TOPICS", "add_arguments", "run"]

TOPICS = Path(__file__).parent / "four_topics"
ROUNDS, _DEPTH = 10, 10
#: Edges of the density curve besides all, and of the graph that is pruned by weight.
_CURVE, _PRUNED = (PAPER_EDGES, 128_000, 64_000, 32_000, 16_000, 12_000, 10_000), 20_000
#: Terms of a larger corpus; how often chance must be exceeded for two terms to belong together.
_MORE_NODES, _LIFT = 6_000, 3.0
_METRICS: dict[str, Callable[[list[str], Mapping[str, int]], float]] = {
    "P@5": lambda ranked, grades: len(grades.keys() & set(ranked[:5])) / 5,
    "P@10": lambda ranked, grades: len(grades.keys() & set(ranked[:10])) / 10,
    "MRR": lambda ranked, grades: reciprocal_rank(ranked, grades, _DEPTH),
    "nDCG@10": lambda ranked, grades: ndcg_at_k(ranked, grades, _DEPTH),
}
_Rank = Callable[[str], list[int]]
_Scores = dict[str, dict[str, list[float]]]
"""Values of each question, by stratum and metric."""


@dataclass(frozen=True)
class Corpus:
    """Documents, and questions with grades of documents by number; the first stratum is asked."""

    passages: Sequence[Passage]
    strata: Mapping[str, Sequence[tuple[str, Mapping[int, int]]]]
    tf_idf: TfIdf
    similarity: Callable[[str], NDArray[np.float64]]

    @property
    def asked(self) -> Sequence[tuple[str, Mapping[int, int]]]:
        """The questions that teach."""
        return next(iter(self.strata.values()))


@dataclass(frozen=True)
class Arm:
    """A way to make the graph and to learn, before the first round and after the last."""

    name: str
    edges: int
    before: _Scores
    after: _Scores
    rounds: list[float]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this experiment."""
    add_options(parser)
    parser.set_defaults(sets=[])


def run(options: argparse.Namespace) -> int:
    """Measure and print."""
    model, seed = model_of(options), options.seed
    corpus = _four_topics(model)
    figures: dict[str, Any] = {"baselines": _baselines(corpus, seed)}
    causes, remedies, curve = _arms(corpus, model, seed)
    print(_first_table(figures["baselines"], causes[0]), end="\n\n")
    for title, arms in (("Causes", causes), ("Remedies", remedies), ("Density", curve)):
        print(_differences(title, arms, seed), end="\n\n")
        figures[title] = [vars(arm) for arm in arms]
    heads = ["graph", *map(str, range(ROUNDS + 1))]
    lines = [[arm.name, *map(number, arm.rounds)] for arm in causes]
    print(markdown("nDCG@10 of asked questions after each round", heads, lines), end="\n\n")
    for name in options.sets:
        uses = opened_set(name, options, order="shuffled")
        arms = _larger(uses, model, seed)
        print(_differences(f"Remedy 5, {uses.name}", arms, seed), end="\n\n")
        figures[uses.name] = [vars(arm) for arm in arms]
    write_json(options, figures)
    if model is not None:
        model.close()
    return 0


# -- arms -------------------------------------------------------------------------------------


def _arms(
    corpus: Corpus, model: CachedModel | None, seed: int
) -> tuple[list[Arm], list[Arm], list[Arm]]:
    """Return the graph as published with what decides its result, the remedies, the curve."""
    texts, between = (
        [p.full_text for p in corpus.passages],
        document_edges(corpus.tf_idf, seed=seed),
    )
    drawn = np.random.default_rng(seed).permutation(len(texts))[:PAPER_DIGESTED]
    written = dense_graph(texts, digested=sorted(drawn.tolist()), between=between)
    everything = dense_graph(texts, between=between)
    full, base = everything.strongest(PAPER_EDGES, seed=seed), Learning()
    full_at_one = replace(full, weights=np.ones(len(full)))
    labels = list(full.labels)
    vectors = corpus.tf_idf.term_vectors(labels) if model is None else model.embed(labels)
    sparse = full.similar(vectors)

    def arms(*rows: tuple[str, TermGraph, Learning]) -> list[Arm]:
        return [_arm(corpus, *row) for row in rows]

    causes = arms(
        ("as written: 30 of 40 digested", written.strongest(PAPER_EDGES, seed=seed), base),
        ("all 40 digested", full, base),
        ("weights at the ceiling, no decay", full_at_one, Learning(w_max=1.0, decay=0.0)),
        ("weights at the ceiling, decay .01", full_at_one, Learning(w_max=1.0)),
    )
    remedies = arms(
        ("1 pruning: the strongest 20,000", full.strongest(_PRUNED, seed=seed), base),
        ("1 pruning: the unused, after round 5", full, replace(base, prune_after=5)),
        ("2 sparse: similar above .7, and overlap", sparse, base),
        ("3 inhibition .5", full, replace(base, inhibition=0.5)),
        ("4 a judge prunes (a rule stands in)", full.judged(_more_than_chance(full)), base),
        ("6 decay .1", full, replace(base, decay=0.1)),
        ("6 decay .01, growing by half a round", full, replace(base, decay_growth=1.5)),
        ("2 and 3 together", sparse, replace(base, inhibition=0.5)),
    )
    remedies.append(_ours(corpus, model))
    sizes = [len(everything), *_CURVE]
    curve = arms(*((f"{n:,} edges", everything.strongest(n, seed=seed), base) for n in sizes))
    return causes, remedies, curve


def _larger(uses: UseSet, model: CachedModel | None, seed: int) -> list[Arm]:
    """Return arms on a larger corpus, dense and sparse."""
    row = {passage.id: at for at, passage in enumerate(uses.passages)}
    questions = [
        (e.question, {row[i]: grade for i, grade in e.relevant.items()}) for e in uses.events
    ]
    half = len(questions) // 2
    strata = {"asked": questions[:half], "never asked": questions[half:]}
    corpus = _corpus(uses.passages, strata, model)
    texts = [passage.full_text for passage in uses.passages]
    full = dense_graph(texts, n_nodes=len(texts) + _MORE_NODES)
    between = int(full.between_terms.sum())
    few = full.strongest(len(full) - between + between // 100, seed=seed)
    rows = ("dense", full), ("5 one per cent of the edges between terms", few)
    return [*(_arm(corpus, *row, Learning()) for row in rows), _ours(corpus, model)]


def _arm(corpus: Corpus, name: str, graph: TermGraph, learning: Learning) -> Arm:
    """Run the rounds on a copy of the graph."""
    print(name, file=sys.stderr, flush=True)
    searched = TermSearch(graph.kept(np.ones(len(graph), np.bool_)), corpus.similarity)

    def rank(question: str) -> list[int]:
        found: list[int] = searched.search(question).documents[:_DEPTH].tolist()
        return found

    before, rounds, used = _judged(corpus, rank), list[float](), set[int]()
    for turn in range(ROUNDS):
        answers = [(grades, searched.search(question)) for question, grades in corpus.asked]
        ranked = [found.documents[:_DEPTH].tolist() for _, found in answers]
        rounds.append(float(np.mean(_values(ranked, corpus.asked)["nDCG@10"])))
        learn_round(searched, answers, learning, number=turn, used=used)
    after = _judged(corpus, rank)
    rounds.append(float(np.mean(next(iter(after.values()))["nDCG@10"])))
    return Arm(name, len(graph), before, after, rounds)


def _ours(corpus: Corpus, model: CachedModel | None) -> Arm:
    """Run the rounds with the default strategy and its own learning."""
    row = {passage.id: at for at, passage in enumerate(corpus.passages)}
    rounds = []
    with HebbianIndex.open(":memory:", embedder=model) as index:
        index.add({"id": p.id, "title": p.title, "text": p.text} for p in corpus.passages)

        def rank(question: str) -> list[int]:
            return [row[hit.id] for hit in index.recall(question, _DEPTH)]

        before = _judged(corpus, rank)
        for _ in range(ROUNDS):
            recalls = [index.recall(question, _DEPTH) for question, _ in corpus.asked]
            ranked = [[row[hit.id] for hit in recall] for recall in recalls]
            rounds.append(float(np.mean(_values(ranked, corpus.asked)["nDCG@10"])))
            for recall, (_, grades) in zip(recalls, corpus.asked, strict=True):
                cited = [hit.id for hit in recall if row[hit.id] in grades]
                index.reinforce(recall, cited)
        after = _judged(corpus, rank)
        edges = index.to_networkx().number_of_edges()
    rounds.append(float(np.mean(next(iter(after.values()))["nDCG@10"])))
    return Arm("hebbgraph: spreading, its own learning", edges, before, after, rounds)


def _more_than_chance(graph: TermGraph) -> Callable[[str, str], bool]:
    """Return a judge that keeps terms which share three times as many documents as by chance."""
    documents: dict[str, set[int]] = {}
    for document, terms in enumerate(graph.holdings):
        for term in terms:
            documents.setdefault(term, set()).add(document)

    def judge(first: str, second: str) -> bool:
        left, right = documents[first], documents[second]
        return len(left & right) * graph.n_documents >= _LIFT * len(left) * len(right)

    return judge


# -- judging ----------------------------------------------------------------------------------


def _judged(corpus: Corpus, rank: _Rank) -> _Scores:
    return {
        stratum: _values([rank(question) for question, _ in questions], questions)
        for stratum, questions in corpus.strata.items()
    }


def _values(
    ranked: Sequence[Sequence[int]], questions: Sequence[tuple[str, Mapping[int, int]]]
) -> dict[str, list[float]]:
    values: dict[str, list[float]] = {name: [] for name in _METRICS}
    for documents, (_, grades) in zip(ranked, questions, strict=True):
        named = {str(document): grade for document, grade in grades.items() if grade > 0}
        for name, metric in _METRICS.items():
            values[name].append(metric([str(document) for document in documents], named))
    return values


def _baselines(corpus: Corpus, seed: int) -> dict[str, _Scores]:
    rng = np.random.default_rng(seed)

    def by_tf_idf(question: str) -> list[int]:
        scores = corpus.tf_idf.scores(question)
        best: list[int] = np.argsort(-scores, kind="stable")[:_DEPTH].tolist()
        return [document for document in best if scores[document] > 0]

    def by_chance(_: str) -> list[int]:
        drawn: list[int] = rng.permutation(len(corpus.passages))[:_DEPTH].tolist()
        return drawn

    return {"TF-IDF": _judged(corpus, by_tf_idf), "random": _judged(corpus, by_chance)}


def _first_table(baselines: Mapping[str, _Scores], written: Arm) -> str:
    systems = {"Bio-RAG, reinforced": written.after, "Bio-RAG, static": written.before, **baselines}
    rows = [
        [name, *(number(float(np.mean(values))) for values in scores["asked"].values())]
        for name, scores in systems.items()
    ]
    return markdown("Table 1, on documents of our own", ["system", *_METRICS], rows)


def _differences(title: str, arms: Sequence[Arm], seed: int) -> str:
    strata = list(arms[0].before)
    rows = []
    for arm in arms:
        static = float(np.mean(arm.before[strata[0]]["nDCG@10"]))
        changes = (
            difference(arm.after[stratum]["nDCG@10"], arm.before[stratum]["nDCG@10"], seed)[0]
            for stratum in strata
        )
        rows.append([arm.name, f"{arm.edges:,}", number(static), *changes])
    title += ": nDCG@10, reinforced minus static"
    return markdown(title, ["graph", "edges", f"static, {strata[0]}", *strata], rows)


# -- corpora ----------------------------------------------------------------------------------


def _four_topics(model: CachedModel | None) -> Corpus:
    lines = (TOPICS / "corpus.jsonl").read_text("utf-8").splitlines()
    passages = [Passage(**json.loads(line)) for line in lines]
    row = {passage.id: at for at, passage in enumerate(passages)}
    strata: dict[str, list[tuple[str, Mapping[int, int]]]] = {
        "asked": [],
        "reworded": [],
        "never asked": [],
    }
    for line in map(json.loads, (TOPICS / "queries.jsonl").read_text("utf-8").splitlines()):
        grades = {row[id_]: grade for id_, grade in line["grades"].items()}
        stratum = "asked" if line["split"] == "past" else "never asked"
        strata[stratum].append((line["question"], grades))
        if stratum == "asked":
            strata["reworded"].append((line["rewording"], grades))
    return _corpus(passages, strata, model)


def _corpus(
    passages: Sequence[Passage],
    strata: Mapping[str, Sequence[tuple[str, Mapping[int, int]]]],
    model: CachedModel | None,
) -> Corpus:
    texts = [passage.full_text for passage in passages]
    tf_idf = TfIdf(texts)
    if model is None:
        return Corpus(passages, strata, tf_idf, tf_idf.scores)
    vectors = model.embed(texts)

    def similarity(question: str) -> NDArray[np.float64]:
        cosines = np.maximum(vectors @ model.embed_query(question), 0.0)
        scores: NDArray[np.float64] = cosines.astype(np.float64)
        return scores

    return Corpus(passages, strata, tf_idf, similarity)
