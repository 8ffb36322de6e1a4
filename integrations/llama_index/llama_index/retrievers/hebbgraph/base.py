"""HebbianRetriever: a hebbgraph index as a LlamaIndex retriever.

This module makes retrievers and writes their documents; :mod:`.recalling` answers questions.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Unpack

from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.indices.vector_store.base import VectorStoreIndex
from llama_index.core.indices.vector_store.retrievers import VectorIndexRetriever
from llama_index.core.node_parser import NodeParser
from llama_index.core.schema import BaseNode, Document, IndexNode, TransformComponent

from hebbgraph import AddReport, HebbianIndex, IndexPool, ParameterError, Settings
from hebbgraph.adapters.tenants import warn_if_new
from hebbgraph.calling import in_thread
from hebbgraph.ingest import OnError
from llama_index.retrievers.hebbgraph.embedding import LlamaIndexEmbedder
from llama_index.retrievers.hebbgraph.options import (
    CommonOptions,
    IndexedOptions,
    NodeOptions,
    check_nodes,
    checked,
)
from llama_index.retrievers.hebbgraph.parsing import Parsing, leaves
from llama_index.retrievers.hebbgraph.recalling import RecallingRetriever
from llama_index.retrievers.hebbgraph.texts import texts_of
from llama_index.retrievers.hebbgraph.wrapped import WrappedIndex
from llama_index.retrievers.hebbgraph.writing import Written, write_nodes

__all__ = ["HebbianRetriever"]

logger = logging.getLogger(__name__)

_NOT_OVER_STORES = dict.fromkeys(
    ("embed_model", "embedding", "embedder"), "the vector index embeds, nothing is embedded twice"
)


class HebbianRetriever(RecallingRetriever):
    """Retrieves the chunks that a question activates; a CitationLearner teaches its index.

    Parameters
    ----------
    index : HebbianIndex, optional
        An open index; many retrievers and threads can share one.
    location : str or Path, optional
        Instead of ``index``: a directory, a database URL or ``":memory:"`` to open with
        ``embed_model``. It closes with the retriever.
    namespace : str
        The tenant to open at ``location``.
    edges : sequence of str, optional
        With ``location``, metadata fields whose values join nodes; see ``HebbianIndex.open``.
    similarity_top_k : int
        How many nodes come back, if as many pass the filters.
    filters : MetadataFilters, optional
        All operators, nested as you like. A node that is filtered out neither comes back
        nor passes activation on.
    node_ids, doc_ids : list of str, optional
        Only these nodes; only nodes of these documents.
    embed_model : BaseEmbedding, optional
        Embeds questions, if the index was opened with a ``LlamaIndexEmbedder`` of this model. By
        default the index's own model does, also for ``QueryBundle.custom_embedding_strs`` (HyDE).
    memory : BaseMemory, optional
        The memory of the chat engine that asks. Follow-ups ("and in winter?") are understood from
        the user's messages in it, without a model. A :class:`RecallBundle` carries its own.
    mmr_threshold : float, in [0, 1], optional
        Choose nodes by maximal marginal relevance: the lower, the more they differ.
    include_path : bool
        Write into ``metadata["hebbgraph"]`` of each node how it was found: recall id, rank, path,
        cues and tags (``Recall.trail``). No model reads it.
    as_of : datetime, date or str, optional
        Search only what was valid at that moment. By default, a node that was superseded or has
        expired says so in ``metadata["hebbgraph"]["stale"]``.
    options : SearchOptions, optional
        Rarely needed: a strategy, another retriever for seeds, an access rule; see
        :class:`~llama_index.retrievers.hebbgraph.options.SearchOptions`.
    callback_manager, object_map, objects, verbose
        As for every LlamaIndex retriever.

    Notes
    -----
    ``similarity_top_k``, ``filters``, ``node_ids``, ``doc_ids``, ``mmr_threshold``,
    ``include_path``, ``as_of`` and ``options`` are plain attributes. A :class:`RecallBundle` sets
    k and filters for one question, :meth:`narrowed` adds filters within a block.
    Nodes are new copies; the score is in ``NodeWithScore.score`` only.

    Examples
    --------
    >>> from llama_index.core.schema import TextNode
    >>> nodes = [
    ...     TextNode(text="The Petrel was built by Ida Moss.", metadata={"title": "Petrel"}),
    ...     TextNode(text="Ida Moss was born in Tessel Bay.", metadata={"title": "Ida Moss"}),
    ... ]
    >>> retriever = HebbianRetriever.from_nodes(nodes, similarity_top_k=2)
    >>> results = retriever.retrieve("Where was the builder of the Petrel born?")
    >>> [result.metadata["title"] for result in results]
    ['Petrel', 'Ida Moss']
    """

    def __init__(
        self,
        index: HebbianIndex | None = None,
        *,
        location: str | Path | None = None,
        namespace: str = "default",
        edges: Sequence[str] | None = None,
        **options: Unpack[IndexedOptions],
    ) -> None:
        arguments = checked(options, IndexedOptions, of=HebbianRetriever.__init__)
        if location is not None:
            if index is not None:
                raise ParameterError("location and index are one argument; give it once")
            index = _opened(location, namespace, edges, arguments.get("embed_model"))
            warn_if_new(index)
        elif not isinstance(index, HebbianIndex):
            raise ParameterError(
                f"index is a HebbianIndex, got {index!r:.80}; open one with HebbianIndex.open(...) "
                "or location=..."
            )
        elif namespace != "default" or edges is not None:
            raise ParameterError("namespace and edges go with location: the index is open already")
        super().__init__(index, **arguments)
        self._owns_index = location is not None
        self._parse = Parsing()

    def __repr__(self) -> str:
        searched = self._pool if self._index is None else self._index
        return f"{type(self).__name__}({searched!r}, similarity_top_k={self.similarity_top_k})"

    # -- other constructors -------------------------------------------------------------

    @classmethod
    def from_index(cls, index: HebbianIndex, **options: Unpack[IndexedOptions]) -> HebbianRetriever:
        """Retrieve from an open index; ``options`` as for the constructor."""
        return cls(index, **options)

    @classmethod
    def from_pool(
        cls,
        pool: IndexPool,
        *,
        namespace: str | None = None,
        **options: Unpack[CommonOptions],
    ) -> HebbianRetriever:
        """Retrieve from many namespaces; each request names one.

        Parameters
        ----------
        pool : IndexPool
            Opens the namespaces on demand.
        namespace : str, optional
            For requests that name none, which are refused by default.
        **options
            As for the constructor.

        Examples
        --------
        ::

            with instrument_tags({"hebbgraph_namespace": "anna", "user_id": "anna"}):
                query_engine.query("Where does my boat lie?")
        """
        if not isinstance(pool, IndexPool):
            raise ParameterError(f"pool is an IndexPool, got {type(pool).__name__}")
        arguments = checked(options, CommonOptions, of=cls.from_pool)
        retriever = cls(pool[namespace or ""], **arguments)
        retriever._index, retriever._pool, retriever.namespace = None, pool, namespace
        return retriever

    @classmethod
    def from_nodes(
        cls,
        nodes: Sequence[BaseNode],
        *,
        location: str | Path = ":memory:",
        namespace: str = "default",
        embed_model: BaseEmbedding | None = None,
        edges: Sequence[str] | None = None,
        show_progress: bool = False,
        **options: Unpack[CommonOptions],
    ) -> HebbianRetriever:
        """Add nodes to an index and retrieve from it.

        All arguments are checked before anything is opened or embedded.

        Parameters
        ----------
        nodes : sequence of BaseNode
            With an ``embed_model``, embeddings that they carry are used.
        location : str or Path
            A directory, a database URL or ``":memory:"``. Nodes that the index holds unchanged
            cost nothing and keep what was learned about them.
        namespace, edges
            As for the constructor.
        embed_model : BaseEmbedding, optional
            Adds dense search. By default nothing is embedded.
        show_progress : bool
            Show progress bars.
        **options
            As for the constructor.
        """
        arguments = checked(
            {**options, "embed_model": embed_model}, CommonOptions, of=cls.from_nodes
        )
        nodes = check_nodes(nodes)
        objects = [node for node in nodes if isinstance(node, IndexNode) and node.obj is not None]
        index = _opened(location, namespace, edges, embed_model)
        retriever = cls(index, objects=objects or None, **arguments)
        retriever._owns_index = True
        with retriever._closed_on_error():
            retriever._write(nodes, show_progress=show_progress)
        return retriever

    @classmethod
    def from_documents(
        cls,
        documents: Sequence[Document],
        *,
        node_parser: NodeParser | None = None,
        transformations: Sequence[TransformComponent] | None = None,
        show_progress: bool = False,
        **options: Unpack[NodeOptions],
    ) -> HebbianRetriever:
        """Split documents into nodes, add these to an index and retrieve from it.

        Call :meth:`refresh` for documents that have changed.

        Parameters
        ----------
        documents : sequence of Document
            Give them lasting ids; see :class:`HebbianNodeParser`.
        node_parser : NodeParser, optional
            By default a :class:`HebbianNodeParser`. Nodes get lasting ids. Of a hierarchy, only
            the leaves are searched; :class:`HebbianGraphIndex` keeps their parents.
        transformations : sequence of TransformComponent, optional
            In place of a node parser.
        show_progress : bool
            Show progress bars.
        **options
            As for :meth:`from_nodes` and the constructor.
        """
        arguments = checked(options, NodeOptions, of=cls.from_documents)
        documents = check_nodes(documents, "documents")  # type: ignore[assignment]
        retriever = cls.from_nodes([], **arguments)
        retriever._parse = Parsing(transformations or ([node_parser] if node_parser else ()))
        with retriever._closed_on_error():
            retriever.add(documents, show_progress=show_progress)
        return retriever

    @classmethod
    def from_vector_store_index(
        cls,
        vector_index: VectorStoreIndex,
        *,
        nodes: Sequence[BaseNode] | None = None,
        location: str | Path = ":memory:",
        namespace: str = "default",
        keep_text: bool = True,
        **options: Unpack[CommonOptions],
    ) -> HebbianRetriever:
        """Retrieve over an existing vector index; nothing is embedded twice.

        Nodes added to or deleted from the retriever are added to or deleted from the vector index
        too.

        Parameters
        ----------
        vector_index : VectorStoreIndex
            Searches for seeds with its own embedding model.
        nodes : sequence of BaseNode, optional
            By default, those that the vector index lists. The index at ``location`` then holds
            exactly these; call :meth:`refresh` after changes.
        location, namespace
            As for :meth:`from_nodes`.
        keep_text : bool
            If false, the index at ``location`` stores no texts: they are read from the docstore of
            the vector index, or from its vector store. Nodes whose text neither has any longer do
            not come back.
        **options
            As for the constructor. ``filters`` hold in both indexes, so give only filters that the
            vector store supports.
        """
        arguments = checked(
            options, CommonOptions, of=cls.from_vector_store_index, **_NOT_OVER_STORES
        )
        search: Any = arguments.pop("options")
        wrapped = WrappedIndex(vector_index)
        vectors = wrapped.vectors(search.seed_vectors)
        index = HebbianIndex.open(
            location,
            namespace=namespace,
            settings=Settings(keep_text=keep_text),
            texts=None if keep_text else texts_of(vector_index),
        )
        # Unlike as_retriever(), this also finds nodes that are inserted later.
        source = VectorIndexRetriever(
            vector_index,
            similarity_top_k=search.seed_top_k,
            filters=arguments.get("filters"),
            object_map=vector_index._object_map,
        )
        retriever = cls(index, options=replace(search, source=source), **arguments)
        retriever._wrapped, retriever._owns_index = wrapped, True
        retriever._vectors, retriever._embed_model = vectors, vector_index._embed_model
        with retriever._closed_on_error():
            retriever.refresh(nodes=nodes)
        return retriever

    # -- writing ------------------------------------------------------------------------

    def add(
        self,
        documents: Sequence[BaseNode],
        *,
        on_error: OnError = "raise",
        strict: bool = False,
        show_progress: bool = False,
    ) -> AddReport:
        """Add documents; a node with the same id is replaced, and nothing is deleted.

        Call :meth:`refresh` for documents that have changed.

        Parameters
        ----------
        documents : sequence of Document or BaseNode
            Documents are split as in :meth:`from_documents`; other nodes are taken as they are.
        on_error, strict, show_progress
            As for ``HebbianIndex.add``.
        """
        return self._write(
            documents,
            parse=self._parse,
            on_error=on_error,
            strict=strict,
            show_progress=show_progress,
        ).report

    def delete(self, ids: Sequence[str] | None = None, *, document_id: str | None = None) -> int:
        """Delete nodes by id, or all nodes of a document; return how many were deleted."""
        if self._wrapped is not None:
            self._wrapped.delete(ids or (), document_id)
        return self.index.delete(ids, document_id=document_id)

    def refresh(
        self,
        documents: Sequence[BaseNode] | VectorStoreIndex | None = None,
        nodes: Sequence[BaseNode] | None = None,
        *,
        delete_missing: bool = False,
    ) -> AddReport:
        """Replace whole documents by what they are now; unchanged nodes are not written again.

        Parameters
        ----------
        documents : sequence of Document or BaseNode, optional
            Nodes must be all that their documents have. Leave it out over a vector index: the
            graph then holds exactly what that index holds.
        nodes : sequence of BaseNode, optional
            For a vector index that cannot list its nodes.
        delete_missing : bool
            Also delete all documents that are not among these.
        """
        wrapped = self._wrapped
        if isinstance(documents, VectorStoreIndex):
            wrapped = WrappedIndex(documents)
            documents = None
        if documents is not None:
            options = {"parse": self._parse, "delete_missing": delete_missing}
            return self._write(documents, refresh=True, **options).report
        if wrapped is None:
            raise ParameterError("refresh takes documents; only over a vector index it needs none")
        nodes = wrapped.nodes() if nodes is None else nodes
        return write_nodes(self.index, nodes, refresh=True, delete_missing=True).report

    def _write(self, nodes: Sequence[BaseNode], **options: Any) -> Written:
        written = write_nodes(self.index, nodes, wrapped=self._wrapped, **options)
        if parents := len(written.nodes) - len(leaves(written.nodes)):
            logger.info(
                "%d nodes are parents of others and are not searched; "
                "HebbianGraphIndex keeps them, and merges into them",
                parents,
            )
        return written

    aadd = in_thread(add)
    adelete = in_thread(delete)
    arefresh = in_thread(refresh)


def _opened(
    location: str | Path,
    namespace: str,
    edges: Sequence[str] | None,
    model: BaseEmbedding | None,
) -> HebbianIndex:
    embedder = None if model is None else LlamaIndexEmbedder(model)
    return HebbianIndex.open(location, namespace=namespace, embedder=embedder, edges=edges)
