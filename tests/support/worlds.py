"""Both adapters behind the same few verbs, for the tests that hold for either."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_hebbgraph import CitationLearner as LangChainLearner
from langchain_hebbgraph import (
    HebbianRetriever,
    HebbianTextSplitter,
    HebbianVectorStore,
    create_citing_retriever_tool,
)
from llama_index.core import Document as LlamaDocument
from llama_index.core.schema import MetadataMode, NodeWithScore, TextNode
from llama_index.core.vector_stores.types import MetadataFilter, MetadataFilters
from llama_index.retrievers import hebbgraph as llama
from llama_index_instrumentation.dispatcher import instrument_tags
from llama_models import RuleLLM, WordEmbedding
from scripted import Scripted, chain_of

from hebbgraph import HebbianIndex
from hebbgraph.citations import Learner

__all__ = ["QUESTION", "SHIPS", "Found", "LangChain", "LlamaIndex", "Passage", "World"]


class Passage(NamedTuple):
    """What is written; without an id the frameworks find one, or a random one."""

    text: str
    id: str | None = None
    metadata: Mapping[str, Any] = {}


class Found(NamedTuple):
    """What is found."""

    id: str
    text: str
    metadata: dict[str, Any]


QUESTION = "Where was the builder of the Petrel born?"
SHIPS = (
    Passage("The Petrel was built by Ida Moss.", "petrel", {"title": "Petrel", "owner": "ann"}),
    Passage("Ida Moss was born in Tessel Bay.", "moss", {"title": "Ida Moss", "owner": "ben"}),
    Passage("Bread rises when yeast makes gas.", "bread", {"title": "Bread", "owner": "ben"}),
    Passage("Owls hunt voles at night.", "owls", {"title": "Owls", "owner": "ann"}),
    Passage("Salt keeps cod for a year.", "salt", {"title": "Salt", "owner": "cid"}),
)


class World(Protocol):
    """The verbs of an adapter."""

    default_k: int

    def write(self, path: Any, passages: Sequence[Passage], **options: Any) -> None:
        """Add passages to the index at a path."""

    def open(self, path: Any, **options: Any) -> Any:
        """Return a retriever; ``k``, ``filter`` (equalities), ``filter_by``, ``namespace_by``."""

    def ask(self, retriever: Any, question: Any, request: Any = None) -> list[Found]: ...
    async def aask(self, retriever: Any, question: str, request: Any = None) -> list[Found]: ...
    def store(self, index: HebbianIndex) -> Any: ...
    def learner(self, source: Any, **options: Any) -> Learner: ...
    def answer(self, learner: Any, retriever: Any, cited: str, request: Any = None) -> str:
        """Ask the question, cite the passage with this text, and return the answer."""

    def tool(self, retriever: Any, question: str) -> str: ...
    def split(self, text: str) -> list[tuple[str, str]]:
        """Return id and text of the pieces of a.md."""


def _cite(prompt: str, text: str) -> str:
    """Return an answer that cites the passage with a text, as a model reads it; none for ""."""
    keys = re.findall(r"^\[(\d+)\]", prompt[: prompt.index(text)], re.MULTILINE)
    return f"So it is [{keys[-1]}]." if text else "So it is."


class Counting(Embeddings):
    """LangChain's twin of the words' embedding."""

    def __init__(self) -> None:
        self._model = WordEmbedding()

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self._model._get_query_embedding(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        return self._model._get_query_embedding(text)


class LangChain:
    """LangChain: what a request says stands in ``configurable``."""

    default_k = 4

    def write(self, path: Any, passages: Sequence[Passage], **options: Any) -> None:
        documents = [Document(text, id=id_, metadata={**meta}) for text, id_, meta in passages]
        if options.pop("embedded", False):
            options["embedding"] = Counting()
        HebbianRetriever.from_documents(documents, path=path, **options).close()

    def open(self, path: Any, **options: Any) -> Any:
        if options.pop("embedded", False):
            options["embedding"] = Counting()
        return HebbianRetriever(path=path, **options)

    def ask(self, retriever: Any, question: Any, request: Any = None) -> list[Found]:
        return _documents(retriever.invoke(question, {"configurable": request or {}}))

    async def aask(self, retriever: Any, question: str, request: Any = None) -> list[Found]:
        return _documents(await retriever.ainvoke(question, {"configurable": request or {}}))

    def store(self, index: HebbianIndex) -> Any:
        return HebbianVectorStore(index=index)

    def learner(self, source: Any, **options: Any) -> Learner:
        return LangChainLearner(source, on_sigterm=False, **options)

    def answer(self, learner: Any, retriever: Any, cited: str, request: Any = None) -> str:
        said = request or {}

        def model(messages: list[Any]) -> str:
            return _cite("\n".join(str(message.content) for message in messages), cited)

        config: Any = {"callbacks": [learner], "configurable": said}
        if "answer_id" in said:
            config["run_id"] = said["answer_id"]
        return str(chain_of(retriever, Scripted(answer=model)).invoke(QUESTION, config).content)

    def tool(self, retriever: Any, question: str) -> str:
        return str(create_citing_retriever_tool(retriever).invoke({"query": question}))

    def split(self, text: str) -> list[tuple[str, str]]:
        whole = Document(text, id="a.md", metadata={"source": "a.md"})
        pieces = HebbianTextSplitter().split_documents([whole])
        return [(str(piece.id), piece.page_content) for piece in pieces]


def _documents(documents: Sequence[Document]) -> list[Found]:
    return [Found(str(d.id), d.page_content, d.metadata) for d in documents]


class LlamaIndex:
    """LlamaIndex: what a request says are instrument tags."""

    default_k = 2

    def write(self, path: Any, passages: Sequence[Passage], **options: Any) -> None:
        nodes = [
            TextNode(text=text, metadata={**meta}, **({"id_": id_} if id_ else {}))
            for text, id_, meta in passages
        ]
        if options.pop("embedded", False):
            options["embed_model"] = WordEmbedding()
        llama.HebbianRetriever.from_nodes(nodes, path=path, **options).close()

    def open(self, path: Any, **options: Any) -> Any:
        if options.pop("embedded", False):
            options["embed_model"] = WordEmbedding()
        if "k" in options:
            options["similarity_top_k"] = options.pop("k")
        if "filter" in options:
            options["filters"] = _filters(options.pop("filter"))
        if (rule := options.pop("filter_by", None)) is not None:
            options["filter_by"] = _translated(rule)
        return llama.HebbianRetriever(path=path, **options)

    def ask(self, retriever: Any, question: Any, request: Any = None) -> list[Found]:
        with instrument_tags(_tags(request)):
            return _nodes(retriever.retrieve(question))

    async def aask(self, retriever: Any, question: str, request: Any = None) -> list[Found]:
        with instrument_tags(_tags(request)):
            return _nodes(await retriever.aretrieve(question))

    def store(self, index: HebbianIndex) -> Any:
        return llama.HebbianVectorStore(index)

    def learner(self, source: Any, **options: Any) -> Learner:
        return llama.CitationLearner(source, on_sigterm=False, **options).install()

    def answer(self, learner: Any, retriever: Any, cited: str, request: Any = None) -> str:
        model = RuleLLM(rule=lambda prompt: _cite(prompt, cited))
        index = llama.HebbianGraphIndex(index=retriever.index)
        options: Any = {**retriever._bound, "similarity_top_k": retriever.similarity_top_k}
        with instrument_tags(_tags(request)):
            return str(index.as_query_engine(model, cite=True, **options).query(QUESTION))

    def tool(self, retriever: Any, question: str) -> str:
        return llama.citing_tool(retriever)(input=question).content

    def split(self, text: str) -> list[tuple[str, str]]:
        whole = LlamaDocument(id_="a.md", text=text, metadata={"source": "a.md"})
        parsed = llama.HebbianNodeParser().get_nodes_from_documents([whole])
        return [(node.node_id, node.get_content(MetadataMode.NONE)) for node in parsed]


def _tags(request: Any) -> dict[str, Any]:
    said = {**(request or {})}
    if "hebbgraph_filter" in said:
        said["hebbgraph_filters"] = _filters(said.pop("hebbgraph_filter"))
    return said


def _filters(where: Mapping[str, Any]) -> MetadataFilters:
    return MetadataFilters(filters=[MetadataFilter(key=k, value=v) for k, v in where.items()])


def _translated(rule: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def translated(request: Any) -> Any:
        where = rule(request)
        return None if where is None else _filters(where)

    return translated


def _nodes(results: Sequence[NodeWithScore]) -> list[Found]:
    return [Found(r.node.node_id, r.node.get_content(), r.node.metadata) for r in results]
