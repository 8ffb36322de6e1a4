"""Compare with the retrievers of LangChain and LlamaIndex on questions in two wordings.

Forty passages of an invented island (harrow) and thirty things to know, each asked plainly and in
other words. Sixteen are in one passage, fourteen take two.
"Learned" means that three users asked the other wording of each question, and their answers cited
what they needed of the first five passages; no question that counts was ever taught. Printed are
R@5 and the mean reciprocal rank of the first passage that is needed.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Callable, Iterable
from itertools import product
from typing import Any, NamedTuple

from langchain_classic.retrievers import EnsembleRetriever
from langchain_community.retrievers import BM25Retriever
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.vectorstores import InMemoryVectorStore
from langchain_hebbgraph import HebbianRetriever
from llama_index.core import VectorStoreIndex
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.llms import MockLLM
from llama_index.core.retrievers import QueryFusionRetriever
from llama_index.core.retrievers.fusion_retriever import FUSION_MODES
from llama_index.core.schema import BaseNode, TextNode
from llama_index.retrievers import hebbgraph as llama
from llama_index.retrievers.bm25 import BM25Retriever as LlamaBM25Retriever

from hebbgraph import HebbianIndex, Recall
from hebbgraph_bench.embedding import CachedModel
from hebbgraph_bench.sets import HARROW

K = 10
SHOWN = 5  # passages from which an answer cites
ACTORS = ("ann", "ben", "cid")
KINDS = ("lookup", "two passages", "reworded")
Ask = Callable[[str], list[str]]


class Question(NamedTuple):
    text: str
    gold: list[str]
    kind: str


def passages() -> dict[str, str]:
    lines = (HARROW / "corpus.jsonl").read_text("utf-8").splitlines()
    return {row["id"]: row["text"] for row in map(json.loads, lines)}


def questions() -> list[Question]:
    lines = (HARROW / "queries.jsonl").read_text("utf-8").splitlines()
    rows = map(json.loads, lines)
    return [Question(row["question"], row["supporting_ids"], row["type"]) for row in rows]


class LangChainModel(Embeddings):
    """A sentence-transformers model for LangChain, without its package for them."""

    def __init__(self, embedder: CachedModel) -> None:
        self.model_name, self._embedder = "benchmark", embedder

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        vectors: list[list[float]] = self._embedder.embed_documents(texts).tolist()
        return vectors

    def embed_query(self, text: str) -> list[float]:
        vector: list[float] = self._embedder.embed_query(text).tolist()
        return vector


class LlamaModel(BaseEmbedding):
    """The same for LlamaIndex."""

    model_name: str = "benchmark"
    embedder: Any = None

    def _get_text_embedding(self, text: str) -> list[float]:
        return self._get_query_embedding(text)

    def _get_query_embedding(self, query: str) -> list[float]:
        vector: list[float] = self.embedder.embed_query(query).tolist()
        return vector

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_query_embedding(query)


# -- what is compared -----------------------------------------------------------------------


def langchain(embedder: CachedModel | None) -> Iterable[tuple[str, Ask, Any]]:
    """Yield names, functions from a question to ids, and the retriever, if it learns."""
    made = [Document(text, id=name, metadata={"title": name}) for name, text in passages().items()]
    # BM25Retriever and vector stores read no title.
    titled = [Document(f"{d.id}\n{d.page_content}", id=d.id) for d in made]
    bm25 = BM25Retriever.from_documents(titled, k=K, preprocess_func=words)
    yield "BM25Retriever", asking(bm25), None
    if embedder is not None:
        model = LangChainModel(embedder)
        store = InMemoryVectorStore(model)
        store.add_documents(titled)
        vectors = store.as_retriever(search_kwargs={"k": K})
        yield "InMemoryVectorStore", asking(vectors), None
        both = EnsembleRetriever(retrievers=[bm25, vectors], weights=[0.5, 0.5])
        yield "EnsembleRetriever of both", asking(both), None
        own = HebbianRetriever.from_documents(made, model, k=K)
        yield "HebbianRetriever with vectors", asking(own), own
        over = HebbianRetriever(path=":memory:", vectorstore=store, k=K)
        yield "HebbianRetriever over the store", asking(over), over
    bare = HebbianRetriever.from_documents(made, k=K)
    yield "HebbianRetriever", asking(bare), bare


def words(text: str) -> list[str]:
    """LangChain's BM25Retriever splits at spaces only by default, and finds no "ferry?"."""
    return re.findall(r"\w+", text.lower())


def asking(retriever: Any) -> Ask:
    return lambda question: [str(found.id) for found in retriever.invoke(question)][:K]


def llama_index(embedder: CachedModel | None) -> Iterable[tuple[str, Ask, Any]]:
    """Yield the same of LlamaIndex."""
    made: list[BaseNode] = [
        TextNode(text=text, id_=name, metadata={"title": name}) for name, text in passages().items()
    ]
    bm25 = LlamaBM25Retriever.from_defaults(nodes=made, similarity_top_k=K)
    yield "BM25Retriever", retrieving(bm25), None
    if embedder is not None:
        model = LlamaModel(embedder=embedder)
        index = VectorStoreIndex(made, embed_model=model)
        vectors = index.as_retriever(similarity_top_k=K)
        yield "VectorStoreIndex", retrieving(vectors), None
        fusion = QueryFusionRetriever(
            [bm25, vectors],
            num_queries=1,
            mode=FUSION_MODES.RECIPROCAL_RANK,
            similarity_top_k=K,
            use_async=False,
            llm=MockLLM(),
        )
        yield "QueryFusionRetriever of both", retrieving(fusion), None
        own = llama.HebbianRetriever.from_nodes(
            made, path=":memory:", embed_model=model, similarity_top_k=K
        )
        yield "HebbianRetriever with vectors", retrieving(own), own
        over = llama.HebbianRetriever(path=":memory:", vector_index=index, similarity_top_k=K)
        yield "HebbianRetriever over the index", retrieving(over), over
    bare = llama.HebbianRetriever.from_nodes(made, path=":memory:", similarity_top_k=K)
    yield "HebbianRetriever", retrieving(bare), bare


def retrieving(retriever: Any) -> Ask:
    return lambda question: [found.node.node_id for found in retriever.retrieve(question)]


# -- measuring ------------------------------------------------------------------------------


def scores(ask: Ask, asked: Iterable[Question]) -> tuple[float, float]:
    """Return R@5 and the mean reciprocal rank of the first chunk that is needed."""
    found = [(question, ask(question.text)) for question in asked]
    r5 = sum(len({*q.gold} & {*ids[:5]}) / len(q.gold) for q, ids in found)
    ranks = (min((ids.index(g) + 1 for g in q.gold if g in ids), default=None) for q, ids in found)
    return r5 / len(found), sum(1 / rank for rank in ranks if rank) / len(found)


def row(name: str, ask: Ask, made: list[Question]) -> str:
    kinds = [{kind} for kind in KINDS] + [{*KINDS}]
    asked = ([question for question in made if question.kind in some] for some in kinds)
    cells = ("{:.2f} / {:.2f}".format(*scores(ask, some)) for some in asked)
    return f"| {name} | {' | '.join(cells)} |"


class Hearing(BaseCallbackHandler):
    """Hears the recall behind a retrieval of LangChain."""

    def on_hebbian_recall(self, recalled: Any, **run: Any) -> None:
        self.recall: Recall = recalled.recall


def recalling(retriever: Any) -> Callable[[str], Recall]:
    """Return a function from a question to its recall."""
    if isinstance(retriever, llama.HebbianRetriever):
        return retriever.recall

    def recall(question: str) -> Recall:
        hearing = Hearing()
        retriever.invoke(question, {"callbacks": [hearing]})
        return hearing.recall

    return recall


def after_learning(
    ask: Ask, index: HebbianIndex, recall: Callable[[str], Recall], made: list[Question]
) -> Ask:
    """Return answers to each wording, after lessons on the other wording of each question."""
    answers: dict[str, list[str]] = {}
    for reworded in (True, False):
        taught = [question for question in made if (question.kind == "reworded") is reworded]
        index.forget(everything=True)
        for actor, question in product(ACTORS, taught):
            made_for = recall(question.text)
            shown = [hit.id for hit in made_for[:SHOWN]]
            if cited := [id_ for id_ in shown if id_ in question.gold]:
                index.reinforce(made_for, cited=cited, shown=shown, actor=actor)
        answers |= {q.text: ask(q.text) for q in made if q not in taught}
    return answers.__getitem__


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--embedder", metavar="MODEL", help="a model, or minilm")


def run(options: argparse.Namespace) -> int:
    embedder = CachedModel(options.embedder) if options.embedder else None
    made = questions()
    for framework, rivals in (("LangChain", langchain), ("LlamaIndex", llama_index)):
        print(f"\n| {framework}, R@5 / MRR | lookup | two passages | reworded | all |")
        print("|---|---|---|---|---|")
        for name, ask, learner in rivals(embedder):
            print(row(name, ask, made), flush=True)
            if learner is not None:
                learned = after_learning(ask, learner.index, recalling(learner), made)
                print(row(f"{name}, learned", learned, made), flush=True)
    return 0
