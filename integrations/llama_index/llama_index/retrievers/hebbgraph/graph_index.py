"""HebbianGraphIndex: an index class of LlamaIndex over an index that learns."""

from __future__ import annotations

from collections.abc import Sequence
from inspect import signature
from pathlib import Path
from typing import Any, Self, Unpack

from llama_index.core import chat_engine as chats
from llama_index.core.base.base_query_engine import BaseQueryEngine
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.callbacks.base import CallbackManager
from llama_index.core.chat_engine.types import BaseChatEngine, ChatMode
from llama_index.core.data_structs.data_structs import IndexDict
from llama_index.core.indices.base import BaseIndex
from llama_index.core.ingestion.pipeline import run_transformations
from llama_index.core.llms.utils import LLMType
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.schema import BaseNode, Document, IndexNode, TransformComponent
from llama_index.core.storage.docstore.types import RefDocInfo
from llama_index.core.storage.storage_context import StorageContext

from hebbgraph import HebbianIndex
from hebbgraph.access import OpenOptions
from hebbgraph.errors import ParameterError
from hebbgraph.index.session import in_thread
from llama_index.retrievers.hebbgraph.citing import CHAT_TEMPLATE, QA_TEMPLATES, citing
from llama_index.retrievers.hebbgraph.nodes import (
    in_order,
    listed,
    node_id_of,
    to_node,
    write_nodes,
)
from llama_index.retrievers.hebbgraph.opening import Closing, check_names
from llama_index.retrievers.hebbgraph.retriever import HebbianRetriever, RetrieverOptions
from llama_index.retrievers.hebbgraph.store import HebbianVectorStore
from llama_index.retrievers.hebbgraph.transforms import HebbianNodeParser

__all__ = ["HebbianGraphIndex"]

_ENGINES: Any = (RetrieverQueryEngine.from_args, chats.ContextChatEngine.from_defaults,
                 chats.CondensePlusContextChatEngine.from_defaults,
                 chats.CondenseQuestionChatEngine.from_defaults)  # fmt: skip
#: LlamaIndex hands the arguments of its engines to ``as_retriever``, too.
_OF_ENGINES = {name for make in _ENGINES for name in signature(make).parameters} - {"kwargs"}


class HebbianGraphIndex(Closing, BaseIndex[IndexDict]):
    """Index documents so that answers teach which passages belong together.

    As in every index of LlamaIndex, documents are inserted, refreshed and deleted by their id.
    Where ids are random, since nobody gave one, the same text is the same node all the same. For
    everything else (``reinforce``, ``lessons``, ``stats``, …), ``index.index`` is the HebbianIndex.

    Parameters
    ----------
    nodes : sequence of BaseNode, optional
        Nodes to insert; without a path, into an index in memory.
    path, index, embed_model, **options
        As for :class:`HebbianVectorStore`. What is in an index already stays.
    transformations : sequence of TransformComponent, optional
        Split documents; by default a :class:`HebbianNodeParser`.
    insert_batch_size, use_async, callback_manager, show_progress
        As for every index. A batch is one transaction; ``use_async`` makes no difference.

    Examples
    --------
    >>> petrel = Document(id_="petrel.md", text="The Petrel was built by Ida Moss.")
    >>> index = HebbianGraphIndex.from_documents([petrel])
    >>> index.refresh_ref_docs([petrel, Document(id_="bread.md", text="Bread rises.")])
    [False, True]
    >>> index.as_retriever(similarity_top_k=1).retrieve("Who built the Petrel?")[0].text
    'The Petrel was built by Ida Moss.'
    """

    index_struct_cls = IndexDict

    def __init__(
        self,
        nodes: Sequence[BaseNode] | None = None,
        *,
        path: str | Path | None = None,
        index: HebbianIndex | None = None,
        embed_model: BaseEmbedding | None = None,
        transformations: Sequence[TransformComponent] | None = None,
        insert_batch_size: int = 2048,
        use_async: bool = False,
        callback_manager: CallbackManager | None = None,
        show_progress: bool = False,
        **options: Unpack[OpenOptions],
    ) -> None:
        if index is None and path is None and nodes is None:
            raise ParameterError("pass path='memory.hebb', or nodes=[] for an index in memory")
        given, self._batch_size = listed(nodes or []), insert_batch_size
        self._store = HebbianVectorStore(index, path=path, embed_model=embed_model, **options)
        self.index = self._store.index
        with self.closed_on_error():
            super().__init__(
                nodes=[],
                storage_context=StorageContext.from_defaults(vector_store=self._store),
                callback_manager=callback_manager,
                transformations=list(transformations or [HebbianNodeParser()]),
                show_progress=show_progress,
            )
            self.insert_nodes(given)

    @classmethod
    def from_documents(  # type: ignore[override]
        cls, documents: Sequence[Document], **kwargs: Any
    ) -> Self:
        """Make an index of documents, or add them to that at ``path``; the same change nothing."""
        index = cls(**{"nodes": [], **kwargs})
        with index.closed_on_error():
            index._insert(index._split(listed(documents, "documents")))
        return index

    def _build_index_from_nodes(self, nodes: Sequence[BaseNode], **build_kwargs: Any) -> IndexDict:
        return IndexDict()

    def _split(self, documents: Sequence[Document]) -> list[BaseNode]:
        steps, progress = self._transformations, self._show_progress
        return list(run_transformations(documents, steps, show_progress=progress))

    def _insert(self, nodes: Sequence[BaseNode], **insert_kwargs: Any) -> None:
        size, progress = self._batch_size, self._show_progress
        write_nodes(self.index, nodes, show_progress=progress, batch_size=size)

    def insert_nodes(self, nodes: Sequence[BaseNode], **insert_kwargs: Any) -> None:
        """Insert nodes; the same id replaces."""
        given = listed(nodes)
        self._object_map |= {n.index_id: n.obj for n in given if isinstance(n, IndexNode) and n.obj}
        self._insert(given)

    def update_ref_doc(self, document: Document, **update_kwargs: Any) -> None:
        """Replace a document by what it is now, in one transaction."""
        nodes = self._split(listed([document], "documents"))
        if not write_nodes(self.index, nodes, replace=True):
            self.delete_ref_doc(document.id_)

    def refresh_ref_docs(self, documents: Sequence[Document], **update_kwargs: Any) -> list[bool]:
        """Replace documents by what they are now; tell for each whether it is new or changed."""
        ids = [document.id_ for document in listed(documents, "documents")]
        known = dict[str | None, str | None]()
        for chunk in self.index.get(self.index.ids({"$document_id": {"$in": ids}})):
            node = to_node(chunk)
            known[chunk.document_id] = node.source_node.hash if node.source_node else node.hash
        changed = [known.get(document.id_) != document.hash for document in documents]
        for document, is_changed in zip(documents, changed, strict=True):
            if is_changed:
                self.update_ref_doc(document)
        return changed

    def delete_ref_doc(self, ref_doc_id: str, *args: Any, **delete_kwargs: Any) -> None:
        """Delete all nodes of a document; an unknown one is ignored."""
        self._store.delete(ref_doc_id)

    def _delete_node(self, node_id: str, **delete_kwargs: Any) -> None:
        self._store.delete_nodes([node_id])

    ainsert_nodes = in_thread(insert_nodes)
    ainsert = in_thread(BaseIndex.insert)
    aupdate_ref_doc = in_thread(update_ref_doc)
    arefresh_ref_docs = in_thread(refresh_ref_docs)
    adelete_ref_doc = in_thread(delete_ref_doc)
    adelete_nodes = in_thread(BaseIndex.delete_nodes)

    @property
    def ref_doc_info(self) -> dict[str, RefDocInfo]:
        """The node ids of each document, and the metadata of its first node, as they came."""
        found = dict[str, RefDocInfo]()
        for chunk in in_order(self.index):
            info = RefDocInfo(metadata=to_node(chunk).metadata)
            found.setdefault(chunk.document_id or chunk.id, info).node_ids.append(node_id_of(chunk))
        return found

    def as_retriever(  # type: ignore[override]
        self, **options: Unpack[RetrieverOptions]
    ) -> HebbianRetriever:
        """Make a retriever; options are those of :class:`HebbianRetriever`."""
        names = RetrieverOptions.__annotations__
        check_names(options, {*names, *_OF_ENGINES}, "as_retriever")
        given: Any = {name: value for name, value in options.items() if name in names}
        given["object_map"] = {**self._object_map, **(given.get("object_map") or {})}
        return HebbianRetriever(self.index, **{"callback_manager": self._callback_manager, **given})

    def as_query_engine(
        self, llm: LLMType | None = None, *, cite: bool = False, **kwargs: Any
    ) -> BaseQueryEngine:
        """Make a query engine; ``cite=True`` numbers the passages and asks for citations."""
        options = citing(kwargs, QA_TEMPLATES, apart=False) if cite else kwargs
        return super().as_query_engine(llm, **options)

    def as_chat_engine(
        self,
        chat_mode: ChatMode = ChatMode.BEST,
        llm: LLMType | None = None,
        *,
        cite: bool = False,
        **kwargs: Any,
    ) -> BaseChatEngine:
        """Make a chat engine; ``cite=True`` numbers the passages and asks for citations."""
        if cite:
            templates = dict.fromkeys(("context_template", "context_prompt"), CHAT_TEMPLATE)
            kwargs = citing(kwargs, {**QA_TEMPLATES, **templates}, apart=True)
        return super().as_chat_engine(chat_mode, llm, **kwargs)

    def close(self) -> None:
        """Close the index, unless it was opened elsewhere."""
        self._store.close()
