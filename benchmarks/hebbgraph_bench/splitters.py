"""Does an embedding model help behind the frameworks' own splitters?

Twenty passages at a time, shuffled, are one document under their titles. LangChain's
RecursiveCharacterTextSplitter and LlamaIndex's SentenceSplitter cut the documents, each in the
size that its pages show and in smaller ones. A question finds a passage it needs if one of the
first five pieces holds most of its text. Printed is the share found, without a model and with it.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any, NamedTuple

from langchain_core.documents import Document
from langchain_hebbgraph import HebbianRetriever
from langchain_text_splitters import RecursiveCharacterTextSplitter
from llama_index.core import Document as LlamaDocument
from llama_index.core.node_parser import SentenceSplitter
from llama_index.retrievers import hebbgraph as llama
from usebench.records import UseSet

from hebbgraph_bench.embedding import CachedModel
from hebbgraph_bench.frameworks import LangChainModel, LlamaModel
from hebbgraph_bench.sets import add_options, difference, model_of, opened_set, write_json

_PASSAGES = 20  # of one document
_FOUND = 5
#: Size and overlap: characters, and tokens.
RECURSIVE, SENTENCES = [(1000, 200), (500, 50)], [(1024, 200), (256, 20), (128, 20)]


class _LangChainModel(LangChainModel):
    max_seq_length = 256  # what MiniLM reads; HuggingFaceEmbeddings say it, too


class _LlamaModel(LlamaModel):
    max_length: int = 256


class _Place(NamedTuple):
    """Where a passage, or a piece of a document, stands."""

    document: str
    start: int
    end: int


def documents(uses: UseSet, seed: int) -> tuple[dict[str, str], dict[str, _Place]]:
    """Return documents by name, and the place of each passage's text."""
    passages = list(uses.passages)
    random.Random(seed).shuffle(passages)
    texts, places = dict[str, str](), dict[str, _Place]()
    for at, passage in enumerate(passages):
        name = f"document {at // _PASSAGES + 1}.txt"
        head = f"{texts.get(name, '')}{passage.title}\n\n"
        places[passage.id] = _Place(name, len(head), len(head) + len(passage.text))
        texts[name] = f"{head}{passage.text}\n\n"
    return texts, places


def langchain(texts: dict[str, str], model: CachedModel | None) -> Iterator[tuple[str, Any, int]]:
    """Yield names, what asks for pieces, and how many there are."""
    made = [Document(text, metadata={"source": name}) for name, text in texts.items()]
    for size, overlap in RECURSIVE:
        splitter = RecursiveCharacterTextSplitter(
            chunk_size=size, chunk_overlap=overlap, add_start_index=True
        )
        pieces = splitter.split_documents(made)
        embedding = None if model is None else _LangChainModel(model)
        retriever = HebbianRetriever.from_documents(pieces, embedding, k=_FOUND)
        yield f"RecursiveCharacterTextSplitter, {size}", partial(_asked, retriever), len(pieces)
        retriever.close()


def _asked(retriever: HebbianRetriever, question: str) -> Iterator[_Place]:
    for piece in retriever.invoke(question):
        start = piece.metadata["start_index"]
        yield _Place(piece.metadata["source"], start, start + len(piece.page_content))


def llama_index(texts: dict[str, str], model: CachedModel | None) -> Iterator[tuple[str, Any, int]]:
    """Yield the same of LlamaIndex."""
    made = [LlamaDocument(text=text, id_=name) for name, text in texts.items()]
    for size, overlap in SENTENCES:
        nodes = SentenceSplitter(chunk_size=size, chunk_overlap=overlap)(made)
        embedding = None if model is None else _LlamaModel(embedder=model)
        retriever = llama.HebbianRetriever.from_nodes(
            nodes, embed_model=embedding, similarity_top_k=_FOUND
        )
        yield f"SentenceSplitter, {size}", partial(_retrieved, retriever), len(nodes)
        retriever.close()


def _retrieved(retriever: llama.HebbianRetriever, question: str) -> Iterator[_Place]:
    for found in retriever.retrieve(question):
        node: Any = found.node
        yield _Place(node.ref_doc_id, node.start_char_idx, node.end_char_idx)


def shares(uses: UseSet, places: dict[str, _Place], ask: Any) -> list[float]:
    """Return for each question which share of the passages that it needs is found."""
    made = []
    for event in uses.events:
        pieces = list(ask(event.question))
        found = [any(_holds(piece, places[id_]) for piece in pieces) for id_ in event.gold]
        made.append(sum(found) / len(found))
    return made


def _holds(piece: _Place, passage: _Place) -> bool:
    both = min(piece.end, passage.end) - max(piece.start, passage.start)
    return piece.document == passage.document and 2 * both > passage.end - passage.start


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_options(parser)


def run(options: argparse.Namespace) -> int:
    model, figures = model_of(options), dict[str, Any]()
    print("| set | splitter, size | pieces | no model | model | difference |")
    print("|---|---|---:|---:|---:|---:|")
    for name in options.sets:
        uses = opened_set(name, options, order="shuffled")
        texts, places = documents(uses, options.seed)
        for rows in (langchain, llama_index):
            both: Iterable[Any] = zip(rows(texts, None), rows(texts, model), strict=True)
            for (splitter, bare, n), (_, embedded, _) in both:
                found = [shares(uses, places, ask) for ask in (bare, embedded)]
                text, figures[f"{name}, {splitter}"] = difference(found[1], found[0], options.seed)
                cells = (f"{sum(part) / len(part):.3f}" for part in found)
                print(f"| {name} | {splitter} | {n} | {' | '.join(cells)} | {text} |", flush=True)
    write_json(options, figures)
    return 0
