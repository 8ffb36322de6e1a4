"""Published memories for agents; each needs its package or clone.

None learns a ranking from citations, so they ignore feedback. An
:class:`~usebench.embedders.Embedder` replaces their models, and nothing is sent to a service.
"""

from __future__ import annotations

import importlib
import os
import sys
import tempfile
from collections.abc import Sequence
from typing import Any

from usebench.drivers.static import Static
from usebench.embedders import Embedder
from usebench.errors import MissingError
from usebench.records import Passage

__all__ = ["HelaMem", "LangGraphStore", "Mem0"]


class _Embedding(Static):
    """Base of memories that embed."""

    def __init__(self, embedder: Embedder) -> None:
        self.embedder = embedder

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Embed as lists, which every framework accepts."""
        vectors: list[list[float]] = self.embedder.embed(list(texts)).tolist()
        return vectors

    def prepared(self, passages: Sequence[Passage]) -> list[str]:
        """Return the texts of passages, after the embedder has read them."""
        texts = [passage.full_text for passage in passages]
        self.embedder.prepare(texts)
        return texts

    def parts(self) -> Sequence[Any]:
        """Return what calls a model."""
        return [self.embedder]


class LangGraphStore(_Embedding):
    """LangGraph's ``InMemoryStore``, which LangMem's memory tools search.

    LangMem's ``create_search_memory_tool`` calls ``store.search`` with the query and nothing else,
    so this is what it retrieves. LangMem would first let a model rewrite the memories.

    Raises
    ------
    MissingError
        If langgraph is not installed.
    """

    def __init__(self, embedder: Embedder) -> None:
        super().__init__(embedder)
        try:
            from langgraph.store.memory import InMemoryStore
        except ImportError as error:
            raise MissingError(
                'LangMem\'s store is missing; run: pip install "usebench[langgraph]"'
            ) from error
        self._make = InMemoryStore
        self._store: Any = None

    def reset(self) -> None:
        """Open a new store."""
        self._store = None

    def add(self, passages: Sequence[Passage], /) -> None:
        """Put each passage under its id."""
        texts = self.prepared(passages)
        if self._store is None:
            dims = len(self.embed(texts[:1])[0])
            self._store = self._make(index={"dims": dims, "embed": self.embed, "fields": ["text"]})
        for passage, text in zip(passages, texts, strict=True):
            self._store.put(("passages",), passage.id, {"text": text})

    def search(self, question: str, k: int, /) -> list[str]:
        """Search."""
        hits = self._store.search(("passages",), query=question, limit=k)
        return [item.key for item in hits]


class Mem0(_Embedding):
    """mem0 with ``infer=False``: no model rewrites the passages.

    Raises
    ------
    MissingError
        If mem0ai is not installed.
    """

    def __init__(self, embedder: Embedder) -> None:
        super().__init__(embedder)
        os.environ.setdefault("MEM0_TELEMETRY", "False")
        try:
            self._mem0: Any = importlib.import_module("mem0")
        except ImportError as error:
            raise MissingError('mem0 is missing; run: pip install "usebench[mem0]"') from error
        self._memory: Any = None
        self._folder: tempfile.TemporaryDirectory[str] | None = None

    def reset(self) -> None:
        """Drop the collection."""
        self.close()

    def add(self, passages: Sequence[Passage], /) -> None:
        """Add each passage under one user."""
        texts = self.prepared(passages)
        if self._memory is None:
            self._open(len(self.embed(texts[:1])[0]))
        for passage, text in zip(passages, texts, strict=True):
            self._memory.add(
                text, user_id="usebench", metadata={"passage": passage.id}, infer=False
            )

    def _open(self, dims: int) -> None:
        self._folder = tempfile.TemporaryDirectory(
            prefix="usebench-mem0-", ignore_cleanup_errors=True
        )
        os.environ["MEM0_DIR"] = self._folder.name
        store = {"path": f"{self._folder.name}/qdrant", "embedding_model_dims": dims}
        self._memory = self._mem0.Memory.from_config(
            {
                "vector_store": {"provider": "qdrant", "config": store},
                "llm": {"provider": "openai", "config": {"api_key": "none is used"}},
                "embedder": {"provider": "openai", "config": {"api_key": "none is used"}},
                "history_db_path": f"{self._folder.name}/history.db",
            }
        )
        self._memory.embedding_model = self

    def search(self, question: str, k: int, /) -> list[str]:
        """Search."""
        hits = self._memory.search(question, filters={"user_id": "usebench"}, top_k=k)["results"]
        return [hit["metadata"]["passage"] for hit in hits]

    def close(self) -> None:
        """Delete what was stored."""
        self._memory = None
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None


class HelaMem(_Embedding):
    """HeLa-Mem's graph [1]_: passages that are retrieved together are wired together.

    It runs from a clone of its repository, named by the environment variable ``HELA_MEM``, without
    the keywords that it asks a model for (as its switch ``HELA_MEM_USE_KEYWORD_MATCH=0`` does). It
    learns from searches, not from feedback, so asking changes it.

    Raises
    ------
    MissingError
        If ``HELA_MEM`` names no clone.

    References
    ----------
    .. [1] HeLa-Mem (2026), arXiv:2604.16839, github.com/ReinerBRO/HeLa-Mem.
    """

    def __init__(self, embedder: Embedder) -> None:
        super().__init__(embedder)
        clone = os.environ.get("HELA_MEM", "")
        if not os.path.isdir(os.path.join(clone, "hela_mem")):
            raise MissingError(
                "HeLa-Mem runs from a clone: git clone github.com/ReinerBRO/HeLa-Mem, pip install"
                f" openai, and set HELA_MEM to its folder (now {clone!r})"
            )
        if clone not in sys.path:
            sys.path.append(clone)
        self._module: Any = importlib.import_module("hela_mem.hebbian_memory")
        self.reset()

    def reset(self) -> None:
        """Start with an empty graph."""
        self._module.llm_extract_keywords = lambda text: set()
        self._module.get_embedding = lambda text: self.embedder.embed([text])[0]
        self._graph = self._module.HebbianMemoryGraph(os.path.join(os.sep, "no", "such", "file"))

    def add(self, passages: Sequence[Passage], /) -> None:
        """Add each passage as a memory, in order: neighbours in time are wired."""
        texts = self.prepared(passages)
        for passage, text, vector in zip(passages, texts, self.embedder.embed(texts), strict=True):
            self._graph.add_memory(text, embedding=vector, metadata={"passage": passage.id})

    def search(self, question: str, k: int, /) -> list[str]:
        """Retrieve half of the hits by similarity, and half by spreading."""
        added = k // 2
        hits = self._graph.retrieve(question, top_k=k - added, override_max_flipped=added)
        return [hit["node"]["metadata"]["passage"] for hit in hits][:k]
