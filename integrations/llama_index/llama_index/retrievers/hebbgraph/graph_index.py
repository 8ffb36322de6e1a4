"""HebbianGraphIndex: a hebbgraph index where LlamaIndex expects an index class."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from inspect import signature
from pathlib import Path
from types import SimpleNamespace
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

from hebbgraph import HebbianIndex
from hebbgraph.arguments import check_names
from hebbgraph.calling import Closing, in_thread
from hebbgraph.citations import CLOSING_SECONDS, finish_learning
from llama_index.retrievers.hebbgraph.base import HebbianRetriever
from llama_index.retrievers.hebbgraph.docstore import HebbianDocstore
from llama_index.retrievers.hebbgraph.embedding import LlamaIndexEmbedder, check_embed_model
from llama_index.retrievers.hebbgraph.nodes import chunk_to_node
from llama_index.retrievers.hebbgraph.options import (
    INSTEAD,
    IndexedOptions,
    SearchOptions,
    nodes_of,
)
from llama_index.retrievers.hebbgraph.parents import Parents
from llama_index.retrievers.hebbgraph.parsing import Cutting
from llama_index.retrievers.hebbgraph.persisting import (
    MEMORY,
    HebbianStorageContext,
    HebbianStruct,
    place_of_struct,
)
from llama_index.retrievers.hebbgraph.prompts import (
    CITATION_CHAT_TEMPLATE,
    CITATION_QA_TEMPLATE,
    CITATION_REFINE_TEMPLATE,
    CitationFormatter,
)
from llama_index.retrievers.hebbgraph.store import HebbianVectorStore
from llama_index.retrievers.hebbgraph.writing import Written, write_documents, write_nodes

__all__ = ["HebbianGraphIndex"]

_OF_RETRIEVERS = frozenset(IndexedOptions.__annotations__) - {"embed_model"}
_OF_MERGING = frozenset({"auto_merge", "simple_ratio_thresh"})
#: The engines of chat modes that retrieve by themselves, and what their template is called.
_CHAT_ENGINES: dict[ChatMode, tuple[Any, str]] = {
    ChatMode.CONTEXT: (ContextChatEngine, "context_template"),
    ChatMode.CONDENSE_PLUS_CONTEXT: (CondensePlusContextChatEngine, "context_prompt"),
    ChatMode.BEST: (CondensePlusContextChatEngine, "context_prompt"),
}
_INSTEAD = {
    **INSTEAD,
    "storage_context": "the index keeps its nodes itself; location=... says where",
}


class HebbianGraphIndex(Closing, BaseIndex[HebbianStruct]):
    """An index class over a graph that learns; it needs no embedding model.

    As in every index of LlamaIndex, inserting only adds, and documents are updated, refreshed and
    deleted by their id; what has not changed is not written again.

    Parameters
    ----------
    nodes : sequence of BaseNode, optional
        What to insert. Of a hierarchy, the leaves are searched and the parents kept aside, for
        ``as_retriever(auto_merge=True)``.
    location : str or Path
        A directory, a database URL or ``":memory:"``. An index that is there is opened; nothing
        else needs to be persisted. ``storage_context.persist`` notes the place, for
        ``load_index_from_storage``; of an index in memory it is refused.
    namespace : str
        The tenant.
    embed_model : BaseEmbedding, optional
        Without it nothing is embedded, and it works.
    edges : sequence of str, optional
        Metadata fields whose values join nodes; see ``HebbianIndex.open``.
    transformations : sequence of TransformComponent, optional
        What cuts documents; left out, a :class:`HebbianNodeParser`. Nodes get ids that last.
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
        check_embed_model(embed_model)
        own = nodes_of(nodes or [])
        if index_struct is not None:  # load_index_from_storage
            location = place_of_struct(index_struct) if location == MEMORY else location
            namespace = index_struct.namespace
        elif storage_context is not None:
            check_names(["storage_context"], (), of=type(self).__name__, instead=_INSTEAD)
        struct = HebbianStruct.of(location, namespace)
        self.index = HebbianIndex.open(
            location,
            namespace=namespace,
            embedder=None if embed_model is None else LlamaIndexEmbedder(embed_model),
            edges=edges,
        )
        self._embed_model = embed_model
        self._cut = Cutting(transformations or ())
        self._parents = Parents(self.index, location)
        with self._closed_on_error():
            super().__init__(
                index_struct=replace(index_struct or struct, location=struct.location),
                objects=objects,
                storage_context=storage_context or HebbianStorageContext.from_defaults(),
                callback_manager=callback_manager,
                transformations=self._cut.transformations,
                show_progress=show_progress,
            )
            self._docstore = HebbianDocstore(self.index, self._parents.get)
            if everything := [*own, *(objects or ())]:
                self.insert_nodes(everything)

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
        """Make an index of documents, or add them to the one at ``location``.

        See :meth:`refresh_ref_docs` for documents that have changed.

        Parameters
        ----------
        documents : sequence of Document
            Their ids should last.
        storage_context : None
            The index keeps its nodes itself.
        show_progress, callback_manager, transformations
            As for the constructor.
        **kwargs
            As for the constructor: ``location``, ``namespace``, ``embed_model``, ``edges``.
        """
        known = {*signature(cls.__init__).parameters, "documents"} - {
            "storage_context",
            "index_struct",
        }
        given = [*kwargs, *(["storage_context"] if storage_context is not None else [])]
        check_names(given, known, of=cls.__name__, instead=_INSTEAD)
        nodes_of(documents, "documents")
        made = cls(
            transformations=transformations,
            callback_manager=callback_manager,
            show_progress=show_progress,
            **kwargs,
        )
        with made._closed_on_error():
            made._write(documents)
        return made

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.index!r})"

    # -- writing ----------------------------------------------------------------------

    def _build_index_from_nodes(
        self, nodes: Sequence[BaseNode], **build_kwargs: Any
    ) -> HebbianStruct:
        self._insert(nodes)
        return self.index_struct

    def _insert(self, nodes: Sequence[BaseNode], **insert_kwargs: Any) -> None:
        self._parents.put(nodes)
        write_nodes(self.index, nodes, show_progress=self._show_progress)

    def _write(self, documents: Sequence[Document], *, refresh: bool = False) -> Written:
        own = nodes_of(documents, "documents")
        done = write_documents(
            self.index, own, self._cut, refresh=refresh, show_progress=self._show_progress
        )
        self._parents.put(done.nodes, documents=[one.node_id for one in own] if refresh else ())
        return done

    def insert_nodes(self, nodes: Sequence[BaseNode], **insert_kwargs: Any) -> None:
        """Insert nodes; the same id replaces."""
        own = nodes_of(nodes)
        self._object_map |= {
            one.index_id: one.obj
            for one in own
            if isinstance(one, IndexNode) and one.obj is not None
        }
        self._insert(own)

    ainsert_nodes = in_thread(insert_nodes)  # type: ignore[arg-type]  # self

    def insert(self, document: Document, **insert_kwargs: Any) -> None:
        """Insert the nodes of a document; those that the index holds of it stay.

        See :meth:`update_ref_doc` for one that has changed.
        """
        self._write([document])

    ainsert = in_thread(insert)  # type: ignore[arg-type]  # self

    def update_ref_doc(self, document: Document, **update_kwargs: Any) -> None:
        """Put a document in the place of its former self."""
        self._write([document], refresh=True)

    aupdate_ref_doc = in_thread(update_ref_doc)  # type: ignore[arg-type]  # self

    def refresh_ref_docs(self, documents: Sequence[Document], **update_kwargs: Any) -> list[bool]:
        """Put documents in the place of their former selves; say which are new or changed."""
        changed = self._write(documents, refresh=True).changed
        return [document.id_ in changed for document in documents]

    arefresh_ref_docs = in_thread(refresh_ref_docs)  # type: ignore[arg-type]  # self

    def delete_ref_doc(
        self, ref_doc_id: str, delete_from_docstore: bool = False, **delete_kwargs: Any
    ) -> None:
        """Delete all nodes of a document; one that is not there is passed over."""
        self.index.delete(document_id=ref_doc_id)
        self._parents.delete(ref_doc_id)

    adelete_ref_doc = in_thread(delete_ref_doc)  # type: ignore[arg-type]  # self

    def _delete_node(self, node_id: str, **delete_kwargs: Any) -> None:
        self.index.delete([node_id])

    def delete_nodes(
        self, node_ids: list[str], delete_from_docstore: bool = False, **delete_kwargs: Any
    ) -> None:
        """Delete nodes by id; those that are not there are passed over."""
        self.index.delete(node_ids)

    adelete_nodes = in_thread(delete_nodes)  # type: ignore[arg-type]  # self

    # -- reading ----------------------------------------------------------------------

    @property
    def vector_store(self) -> HebbianVectorStore:
        """The index as a vector store, for what searches one: a ``VectorIndexAutoRetriever``."""
        return HebbianVectorStore(self.index, is_embedding_query=self._embed_model is not None)

    @property
    def ref_doc_info(self) -> dict[str, RefDocInfo]:
        """Which nodes each document has, and the metadata of its first."""
        found: dict[str, RefDocInfo] = {}
        for chunk in self.index.get(self.index.ids()):
            node = chunk_to_node(chunk)
            info = found.setdefault(
                node.ref_doc_id or node.node_id, RefDocInfo(metadata=node.metadata)
            )
            info.node_ids.append(node.node_id)
        return found

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
            Merge nodes into a parent of which enough children were found (LlamaIndex's
            ``AutoMergingRetriever``). For nodes of a hierarchy.
        simple_ratio_thresh : float
            More than this share of the children is enough.
        **kwargs
            As for :class:`HebbianRetriever`.
        """
        known = sorted(_OF_RETRIEVERS) + sorted(SearchOptions.names())
        check_names(kwargs, known, of="as_retriever", instead=_INSTEAD)
        if self._object_map:
            kwargs["object_map"] = {**self._object_map, **(kwargs.get("object_map") or {})}
        kwargs.setdefault("callback_manager", self._callback_manager)
        retriever = HebbianRetriever(self.index, embed_model=self._embed_model, **kwargs)
        if not auto_merge:
            return retriever
        kept = cast(Any, SimpleNamespace(docstore=self.docstore))
        return AutoMergingRetriever(
            cast(Any, retriever), kept, simple_ratio_thresh=simple_ratio_thresh
        )

    def as_query_engine(
        self, llm: LLMType | None = None, *, cite: bool = False, **kwargs: Any
    ) -> BaseQueryEngine:
        """Make a query engine.

        Parameters
        ----------
        llm : LLM, optional
            Left out, that of LlamaIndex's Settings.
        cite : bool
            Number the sources and have the model cite them, so that a :class:`CitationLearner`
            can learn: a :class:`CitationFormatter`, unless there is one among the
            postprocessors, and the citation templates.
        **kwargs
            As for :meth:`as_retriever` and ``RetrieverQueryEngine.from_args``.
        """
        make = RetrieverQueryEngine.from_args
        own, rest = _sorted_out(kwargs, make, of="as_query_engine")
        if cite:
            rest = _citing(rest, CITATION_QA_TEMPLATE, "text_qa_template")
            rest.setdefault("refine_template", CITATION_REFINE_TEMPLATE)
        return make(self.as_retriever(**own), llm=self._llm(llm), **rest)

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
            As for :meth:`as_retriever` and the engine of the mode. Its memory is the retriever's
            too, so that follow-ups are understood.
        """
        if chat_mode not in _CHAT_ENGINES:  # these ask a query engine, or nothing at all
            return super().as_chat_engine(
                chat_mode, llm, **{**kwargs, **({"cite": cite} if cite else {})}
            )
        engine, template = _CHAT_ENGINES[chat_mode]
        own, rest = _sorted_out(kwargs, engine.from_defaults, of="as_chat_engine")
        if cite:
            rest = _citing(rest, CITATION_CHAT_TEMPLATE, template)
        model = self._llm(llm)
        if rest.get("memory") is None:
            rest["memory"] = Memory.from_defaults(
                chat_history=rest.pop("chat_history", None) or [],
                token_limit=model.metadata.context_window - 256,
            )
        retriever = self.as_retriever(**{**own, "memory": rest["memory"]})
        made: BaseChatEngine = engine.from_defaults(retriever=retriever, llm=model, **rest)
        return made

    def _llm(self, llm: LLMType | None) -> LLM:
        return resolve_llm(llm, callback_manager=self._callback_manager) if llm else Settings.llm

    # -- life -------------------------------------------------------------------------

    def close(self) -> None:
        """Close the index once what was cited is learned; closing twice is fine."""
        finish_learning(CLOSING_SECONDS)
        self._parents.close()
        self.index.close()


def _sorted_out(
    given: Mapping[str, Any], make: Callable[..., Any], *, of: str
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what is for a retriever, and what is for an engine; some names are for both."""
    retrievers = {*_OF_RETRIEVERS, *_OF_MERGING, *SearchOptions.names()}
    engines = set(signature(make).parameters) - {"kwargs", "retriever", "query_engine", "llm"}
    check_names(given, sorted(retrievers | engines), of=of, instead=_INSTEAD)
    return (
        {name: value for name, value in given.items() if name in retrievers},
        {name: value for name, value in given.items() if name in engines},
    )


def _citing(options: Mapping[str, Any], template: Any, name: str) -> dict[str, Any]:
    """Add what makes a model cite; the formatter comes after all other postprocessors."""
    others = list(options.get("node_postprocessors") or ())
    if not any(isinstance(one, CitationFormatter) for one in others):
        others.append(CitationFormatter())
    return {name: template, **options, "node_postprocessors": others}


INDEX_STRUCT_TYPE_TO_INDEX_CLASS[HebbianStruct.get_type()] = HebbianGraphIndex
