"""hebbgraph and its nearest rivals as systems of usebench.

usebench lists them by the entry points of this distribution: ``usebench run SET --systems
bm25,hebbgraph,hebbgraph-minilm,linear-rag,synapse``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from usebench.embedders import Embedder, Lsa
from usebench.errors import MissingError
from usebench.protocol import Retriever
from usebench.records import Passage
from usebench.systems import System, systems

from hebbgraph import HebbianIndex, Recall, Settings
from hebbgraph_bench.embedding import CachedModel
from hebbgraph_bench.linear_rag import LinearRAG

__all__ = ["Hebbgraph", "Synapse", "chosen_systems", "hebbgraph_minilm", "linear_rag"]

_RIVALS: dict[str, Callable[[Embedder], Retriever]] = {"linear-rag": LinearRAG}


class Hebbgraph:
    """hebbgraph with its defaults; feedback reinforces the recall that it is about.

    Parameters
    ----------
    embedder : CachedModel, optional
    settings : Settings, optional
    """

    def __init__(
        self, embedder: CachedModel | None = None, settings: Settings | None = None
    ) -> None:
        self._embedder = embedder
        self._settings = settings
        self._index: HebbianIndex | None = None
        self._latest: tuple[int, Recall] | None = None

    @property
    def index(self) -> HebbianIndex:
        """The index, in memory."""
        if self._index is None:
            options: dict[str, Any] = {"embedder": self._embedder, "settings": self._settings}
            self._index = HebbianIndex.open(":memory:", **options)
        return self._index

    def reset(self) -> None:
        """Drop the index."""
        self.close()

    def close(self) -> None:
        """Close the index."""
        if self._index is not None:
            self._index.close()
        self._index = self._latest = None

    def add(self, passages: Sequence[Passage], /) -> None:
        """Index passages."""
        self.index.add({"id": p.id, "title": p.title, "text": p.text} for p in passages)

    def search(self, question: str, k: int, /) -> list[str]:
        """Recall."""
        recall = self.index.recall(question, k)
        self._latest = (k, recall)
        return [hit.id for hit in recall]

    def feedback(
        self,
        *,
        question: str,
        shown: Sequence[str],
        cited: Sequence[str],
        rejected: Sequence[str],
        actor: str | None,
        **details: Any,
    ) -> None:
        """Reinforce the recall of the question."""
        k, recall = self._latest or (10, None)
        if recall is None or recall.question != question:
            recall = self.index.recall(question, k)
        seen = [hit.id for hit in recall if hit.id in shown]
        self.index.reinforce(recall, cited, rejected, shown=seen, actor=actor)

    def forget(self, actor: str | None = None) -> None:
        """Forget an actor's lessons; all, if none is named."""
        if actor is None:
            self.index.forget(everything=True)
        else:
            self.index.forget(actor=actor)


class Synapse:
    """geny-memory-adaptor [1]_, which learns from what was used: the nearest rival.

    One SQLite file with BM25, hashed vectors, edges of nearest neighbours and of joint use, and a
    ranker that learns online. Passages have no tags and no links here, as for the others.

    References
    ----------
    .. [1] https://pypi.org/project/geny-memory-adaptor/
    """

    def __init__(self) -> None:
        try:
            from geny_memory_adaptor import SynapseMemory
        except ImportError as error:
            raise MissingError("Synapse needs: pip install geny-memory-adaptor") from error
        self._open: Any = SynapseMemory
        self._memory: Any = None
        self._latest = ("", "")

    def reset(self) -> None:
        """Open a new memory."""
        self.close()
        self._memory = self._open.open(":memory:")

    def close(self) -> None:
        """Close the memory."""
        if self._memory is not None:
            self._memory.close()
        self._memory = None

    def add(self, passages: Sequence[Passage], /) -> None:
        """Index passages."""
        rows = [{"node_id": p.id, "title": p.title, "text": p.text} for p in passages]
        self._memory.index_many(rows)

    def search(self, question: str, k: int, /) -> list[str]:
        """Search."""
        hits = self._memory.search(question, top_k=k, timeout=None)
        self._latest = (question, hits[0].query_token if hits else "")
        return [hit.id for hit in hits]

    def feedback(
        self, *, question: str, shown: Sequence[str], cited: Sequence[str], **details: Any
    ) -> None:
        """Say which passages were used, and which were shown and not used."""
        if self._latest[0] != question:
            self.search(question, 10)
        ignored = [id_ for id_ in shown if id_ not in cited]
        self._memory.feedback(self._latest[1], used_ids=list(cited), ignored_ids=ignored)


def chosen_systems(names: Sequence[str], model: CachedModel | None = None) -> list[System]:
    """Look systems up; those that use vectors use the model, else latent semantic analysis.

    ``hebbgraph`` uses no vectors, and ``hebbgraph+`` those of the model.
    """
    found = []
    for name in names:
        if name == "hebbgraph":
            found.append(System(name, Hebbgraph))
        elif name == "hebbgraph+":
            found.append(System(name, partial(Hebbgraph, model)))
        elif name in _RIVALS:
            make = _RIVALS[name]
            found.append(System(name, lambda make=make: make(model or Lsa())))  # type: ignore[misc]
        elif name == "synapse":
            found.append(System(name, Synapse))
        else:
            found += systems([name], model=None if model is None else lambda: model)
    return found


def hebbgraph_minilm() -> Hebbgraph:
    """Make hebbgraph with all-MiniLM-L6-v2."""
    return Hebbgraph(CachedModel("minilm"))


def linear_rag() -> LinearRAG:
    """Make LinearRAG with all-MiniLM-L6-v2."""
    return LinearRAG(CachedModel("minilm"))
