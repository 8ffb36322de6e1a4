"""HebbianGraphIndex: a hebbgraph index as a LlamaIndex index class."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from inspect import signature
from pathlib import Path
from typing import Any, Self, cast

from llama_index.core.base.base_query_engine import BaseQueryEngine
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.callbacks.base import CallbackManager
from llama_index.core.chat_engine import (
    CondensePlusContextChatEngine,
    ContextChatEngine,
)
from llama_index.core.chat_engine.types import BaseChatEngine, ChatMode
from llama_index.core.indices.base import BaseIndex
from llama_index.core.indices.registry import INDEX_STRUCT_TYPE_TO_INDEX_CLASS
from llama_index.core.llms import LLM
from llama_index.core.llms.utils import LLMType, resolve_llm
from llama_index.core.memory import Memory
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.retrievers import AutoMergingRetriever
from llama_index.core.schema import BaseNode, Document, IndexNode, TransformComponent
from llama_index.core.settings import Settings
from llama_index.core.storage.docstore.types import RefDocInfo
from llama_index.core.storage.storage_context import StorageContext

from hebbgraph.arguments import check_names
from hebbgraph.calling import Closing, in_thread
from llama_index.retrievers.hebbgraph.base import HebbianRetriever
from llama_index.retrievers.hebbgraph.options import (
    INSTEAD,
    IndexedOptions,
    SearchOptions,
    check_nodes,
)
from llama_index.retrievers.hebbgraph.parsing import Parsing
from llama_index.retrievers.hebbgraph.prompts import (
    CITATION_CHAT_TEMPLATE,
    CITATION_QA_TEMPLATE,
    CITATION_REFINE_TEMPLATE,
    CitationFormatter,
)
from llama_index.retrievers.hebbgraph.storage import HebbianDocstore, HebbianStruct
from llama_index.retrievers.hebbgraph.store import MEMORY, HebbianVectorStore
from llama_index.retrievers.hebbgraph.writing import Written

__all__ = ["HebbianGraphIndex"]

_RETRIEVER_NAMES = (frozenset(IndexedOptions.__annotations__) - {"embed_model"}) | set(
    SearchOptions.names()
)
_MERGING_NAMES = {"auto_merge", "simple_ratio_thresh"}
#: Engines of the chat modes that retrieve, and the name of their template argument.
_CHAT_ENGINES: dict[ChatMode, tuple[Any, str]] = {
    ChatMode.CONTEXT: (ContextChatEngine, "context_template"),
    ChatMode.CONDENSE_PLUS_CONTEXT: (CondensePlusContextChatEngine, "context_prompt"),
    ChatMode.BEST: (CondensePlusContextChatEngine, "context_prompt"),
}
_INSTEAD = {
    **INSTEAD,
    "storage_context": "the index stores its nodes itself; location=... says where",
}


class HebbianGraphIndex(Closing, BaseIndex[HebbianStruct]):
    """An index class over a graph that learns; it needs no embedding model.

    As in every LlamaIndex index, inserting only adds, and documents are updated, refreshed and
    deleted by their id. Unchanged nodes are not written again.

    Parameters
    ----------
    nodes : sequence of BaseNode, optional
        Nodes to insert. Of a hierarchy, the leaves are searched and the parents are stored apart,
        for ``as_retriever(auto_merge=True)``.
    location : str or Path
        A directory, a database URL or ``":memory:"``. An existing index is opened. Everything is
        stored there as it is written; ``storage_context.persist`` only notes the location, for
        ``load_index_from_storage``, and refuses an index in memory.
    namespace : str
        The tenant.
    embed_model : BaseEmbedding, optional
        Adds dense search. By default nothing is embedded.
    edges : sequence of str, optional
        Metadata fields whose values join nodes; see ``HebbianIndex.open``.
    transformations : sequence of TransformComponent, optional
        Split documents; by default a :class:`HebbianNodeParser`. Nodes get lasting ids.
    objects, callback_manager, show_progress
        As for every index.

    Attributes
    ----------
    index : HebbianIndex
        For everything else: ``reinforce``, ``lessons``, ``stats``, ``explain``.

    Examples
    --------
    >>> petrel = Document(id_="petrel.md", text="The Petrel was built by Ida Moss.")
    >>> index = HebbianGraphIndex.from_documents([petrel])
    >>> index.refresh_ref_docs([petrel, Document(id_="bread.md", text="Bread rises.")])
    [False, True]
    >>> index.as_retriever(similarity_top_k=1).retrieve("Who built the Petrel?")[0].text
    'The Petrel was built by Ida Moss.'
    """

    index_struct_cls = HebbianStruct

    def __init__(
        self,
        nodes: Sequence[BaseNode] | None = None,
        *,
        location: str | Path = MEMORY,
        namespace: str = "default",
        embed_model: BaseEmbedding | None = None,
        edges: Sequence[str] | None = None,
        transformations: Sequence[TransformComponent] | None = None,
        objects: Sequence[IndexNode] | None = None,
        callback_manager: CallbackManager | None = None,
        show_progress: bool = False,
        index_struct: HebbianStruct | None = None,
        storage_context: StorageContext | None = None,
    ) -> None:
        given_nodes = [*check_nodes(nodes or []), *(objects or ())]
        if index_struct is not None:  # load_index_from_storage
            location = index_struct.find() if location == MEMORY else location
            namespace = index_struct.namespace
        elif storage_context is not None:
            check_names(["storage_context"], (), of=type(self).__name__, instead=_INSTEAD)
        struct = HebbianStruct.of(location, namespace)
        self._store = HebbianVectorStore.open(
            location, namespace=namespace, embed_model=embed_model, edges=edges
        )
        self.index = self._store.index
        self._embed_model = embed_model
        self._parse = Parsing(transformations or ())
        docstore = HebbianDocstore(self._store)
        with self._closed_on_error():
            super().__init__(
                index_struct=replace(index_struct or struct, location=struct.location),
                objects=objects,
                storage_context=storage_context or StorageContext.from_defaults(docstore),
                callback_manager=callback_manager,
                transformations=self._parse.transformations,
                show_progress=show_progress,
            )
            self._docstore = docstore
            if given_nodes:
                self.insert_nodes(given_nodes)

    @classmethod
    def from_documents(
        cls,
        documents: Sequence[Document],
        storage_context: StorageContext | None = None,
        show_progress: bool = False,
        callback_manager: CallbackManager | None = None,
        transformations: Sequence[TransformComponent] | None = None,
        **kwargs: Any,
    ) -> Self:
        """Make an index of documents, or add them to the index at ``location``.

        Call :meth:`refresh_ref_docs` for documents that have changed.

        Parameters
        ----------
        documents : sequence of Document
            Give them lasting ids.
        storage_context : None
            Refused: the index stores its nodes itself.
        show_progress, callback_manager, transformations
            As for the constructor.
        **kwargs
            As for the constructor: ``location``, ``namespace``, ``embed_model``, ``edges``.
        """
        known = {*signature(cls.__init__).parameters, "documents"}
        known -= {"storage_context", "index_struct"}
        names = [*kwargs, *([] if storage_context is None else ["storage_context"])]
        check_names(names, known, of=cls.__name__, instead=_INSTEAD)
        check_nodes(documents, "documents")
        index = cls(
            transformations=transformations,
            callback_manager=callback_manager,
            show_progress=show_progress,
            **kwargs,
        )
        with index._closed_on_error():
            index._write(documents)
        return index

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.index!r})"

    # -- writing ------------------------------------------------------------------------

    def _build_index_from_nodes(
        self, nodes: Sequence[BaseNode], **build_kwargs: Any
    ) -> HebbianStruct:
        self._insert(nodes)
        return self.index_struct

    def _insert(self, nodes: Sequence[BaseNode], **insert_kwargs: Any) -> None:
        self._store.add(nodes, show_progress=self._show_progress)

    def _write(self, documents: Sequence[Document], **options: Any) -> Written:
        progress = self._show_progress
        return self._store.write(documents, parse=self._parse, show_progress=progress, **options)

    def insert_nodes(self, nodes: Sequence[BaseNode], **insert_kwargs: Any) -> None:
        """Insert nodes; the same id replaces."""
        nodes = check_nodes(nodes)
        for node in nodes:
            if isinstance(node, IndexNode) and node.obj is not None:
                self._object_map[node.index_id] = node.obj
        self._insert(nodes)

    def insert(self, document: Document, **insert_kwargs: Any) -> None:
        """Insert the nodes of a document; its nodes that are in the index stay.

        Call :meth:`update_ref_doc` for a document that has changed.
        """
        self._write([document])

    def update_ref_doc(self, document: Document, **update_kwargs: Any) -> None:
        """Replace a document by what it is now."""
        self._write([document], refresh=True)

    def refresh_ref_docs(self, documents: Sequence[Document], **update_kwargs: Any) -> list[bool]:
        """Replace documents by what they are now; tell for each whether it is new or changed.

        As in every index, a document with the same text and metadata is not split again. Call
        :meth:`update_ref_doc` after a change of the node parser.
        """
        changed = self._write(documents, refresh=True, skip_unchanged=True).changed
        return [document.id_ in changed for document in documents]

    def delete_ref_doc(
        self, ref_doc_id: str, delete_from_docstore: bool = False, **delete_kwargs: Any
    ) -> None:
        """Delete all nodes of a document; an absent one is ignored."""
        self._store.delete(ref_doc_id)

    def _delete_node(self, node_id: str, **delete_kwargs: Any) -> None:
        self._store.delete_nodes([node_id])

    def delete_nodes(
        self, node_ids: list[str], delete_from_docstore: bool = False, **delete_kwargs: Any
    ) -> None:
        """Delete nodes by id; absent ones are ignored."""
        self._store.delete_nodes(node_ids)

    ainsert_nodes = in_thread(insert_nodes)  # type: ignore[arg-type]  # self
    ainsert = in_thread(insert)  # type: ignore[arg-type]  # self
    aupdate_ref_doc = in_thread(update_ref_doc)  # type: ignore[arg-type]  # self
    arefresh_ref_docs = in_thread(refresh_ref_docs)  # type: ignore[arg-type]  # self
    adelete_ref_doc = in_thread(delete_ref_doc)  # type: ignore[arg-type]  # self
    adelete_nodes = in_thread(delete_nodes)  # type: ignore[arg-type]  # self

    # -- reading ------------------------------------------------------------------------

    @property
    def vector_store(self) -> HebbianVectorStore:
        """The index as a vector store, for a ``VectorIndexAutoRetriever`` and the like."""
        return self._store

    @property
    def ref_doc_info(self) -> dict[str, RefDocInfo]:
        """The node ids of each document, and the metadata of its first node."""
        return self.docstore.get_all_ref_doc_info() or {}

    def as_retriever(
        self,
        *,
        auto_merge: bool = False,
        simple_ratio_thresh: float = 0.5,
        **kwargs: Any,
    ) -> BaseRetriever:
        """Make a retriever.

        Parameters
        ----------
        auto_merge : bool
            Merge nodes into their parent when enough of its children were found (LlamaIndex's
            ``AutoMergingRetriever``). For nodes of a hierarchy.
        simple_ratio_thresh : float
            The share of children above which they are merged.
        **kwargs
            As for :class:`HebbianRetriever`.
        """
        check_names(kwargs, sorted(_RETRIEVER_NAMES), of="as_retriever", instead=_INSTEAD)
        if self._object_map:
            kwargs["object_map"] = {**self._object_map, **(kwargs.get("object_map") or {})}
        kwargs.setdefault("callback_manager", self._callback_manager)
        retriever = HebbianRetriever(self.index, embed_model=self._embed_model, **kwargs)
        if not auto_merge:
            return retriever
        return AutoMergingRetriever(
            cast(Any, retriever),
            StorageContext.from_defaults(self.docstore),
            simple_ratio_thresh=simple_ratio_thresh,
        )

    def as_query_engine(
        self, llm: LLMType | None = None, *, cite: bool = False, **kwargs: Any
    ) -> BaseQueryEngine:
        """Make a query engine.

        Parameters
        ----------
        llm : LLM, optional
            By default that of LlamaIndex's Settings.
        cite : bool
            Number the sources and ask the model to cite them, so that a :class:`CitationLearner`
            can learn. Adds the citation templates, and a :class:`CitationFormatter` unless the
            postprocessors include one.
        **kwargs
            As for :meth:`as_retriever` and ``RetrieverQueryEngine.from_args``.
        """
        make = RetrieverQueryEngine.from_args
        for_retriever, for_engine = _split_arguments(kwargs, make, of=self.as_query_engine)
        if cite:
            for_engine = _citing(for_engine, CITATION_QA_TEMPLATE, "text_qa_template")
            for_engine.setdefault("refine_template", CITATION_REFINE_TEMPLATE)
        return make(self.as_retriever(**for_retriever), llm=self._llm(llm), **for_engine)

    def as_chat_engine(
        self,
        chat_mode: ChatMode = ChatMode.BEST,
        llm: LLMType | None = None,
        *,
        cite: bool = False,
        **kwargs: Any,
    ) -> BaseChatEngine:
        """Make a chat engine.

        Parameters
        ----------
        chat_mode, llm
            As for every index.
        cite : bool
            As for :meth:`as_query_engine`.
        **kwargs
            As for :meth:`as_retriever` and the engine of the mode. The retriever reads the engine's
            memory, so follow-ups are understood.
        """
        if chat_mode not in _CHAT_ENGINES:  # these use a query engine, or no retrieval
            return super().as_chat_engine(
                chat_mode, llm, **{**kwargs, **({"cite": cite} if cite else {})}
            )
        engine, template = _CHAT_ENGINES[chat_mode]
        for_retriever, for_engine = _split_arguments(
            kwargs, engine.from_defaults, of=self.as_chat_engine
        )
        if cite:
            for_engine = _citing(for_engine, CITATION_CHAT_TEMPLATE, template)
        model = self._llm(llm)
        if for_engine.get("memory") is None:
            for_engine["memory"] = Memory.from_defaults(
                chat_history=for_engine.pop("chat_history", None) or [],
                token_limit=model.metadata.context_window - 256,
            )
        retriever = self.as_retriever(**{**for_retriever, "memory": for_engine["memory"]})
        chat: BaseChatEngine = engine.from_defaults(retriever=retriever, llm=model, **for_engine)
        return chat

    def _llm(self, llm: LLMType | None) -> LLM:
        return resolve_llm(llm, callback_manager=self._callback_manager) if llm else Settings.llm

    def close(self) -> None:
        """Wait until pending answers are learned, then close the index."""
        self._store.close()


def _split_arguments(
    arguments: Mapping[str, Any], make: Callable[..., Any], *, of: Callable[..., Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the arguments for a retriever and those for an engine; some are for both."""
    for_retriever = _RETRIEVER_NAMES | _MERGING_NAMES
    for_engine = set(signature(make).parameters) - {"kwargs", "retriever", "query_engine", "llm"}
    own = signature(of).parameters.keys() - {"kwargs"}  # never passed, but perhaps meant
    known = sorted(for_retriever | for_engine | own)
    check_names(arguments, known, of=of.__name__, instead=_INSTEAD)
    return (
        {name: value for name, value in arguments.items() if name in for_retriever},
        {name: value for name, value in arguments.items() if name in for_engine},
    )


def _citing(arguments: Mapping[str, Any], template: Any, name: str) -> dict[str, Any]:
    """Add the citation template, and a formatter after all other postprocessors."""
    postprocessors = list(arguments.get("node_postprocessors") or ())
    if not any(isinstance(processor, CitationFormatter) for processor in postprocessors):
        postprocessors.append(CitationFormatter())
    return {name: template, **arguments, "node_postprocessors": postprocessors}


INDEX_STRUCT_TYPE_TO_INDEX_CLASS[HebbianStruct.get_type()] = HebbianGraphIndex
