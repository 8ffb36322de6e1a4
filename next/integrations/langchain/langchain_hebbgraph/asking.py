"""One question to an index, with all that restricts it; shared by retriever and vector store."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypedDict

from langchain_core.messages import BaseMessage

from hebbgraph import HebbianIndex, Recall, Settings, Strategy, Tagger
from hebbgraph.access import narrowed
from hebbgraph.errors import ParameterError
from hebbgraph.limits import MAX_K
from hebbgraph.recall.strategies import RankStep
from hebbgraph.text.query import usable_question
from langchain_hebbgraph.documents import Filter, chunk_filter

__all__ = ["DEFAULT_K", "Ask", "OpenOptions", "check_names", "is_empty", "warn_if_empty"]

#: LangChain's own.
DEFAULT_K = 4
_HINTS = dict.fromkeys(("top_k", "n_results", "similarity_top_k"), "write k=3, for example")
_HINTS |= dict.fromkeys(("embeddings", "embedder", "embedding_function"), "write embedding=")
_HINTS |= dict.fromkeys(("location", "persist_directory"), "write path=")


class OpenOptions(TypedDict, total=False):
    """What :meth:`hebbgraph.HebbianIndex.open` takes beside path and embedder."""

    namespace: str
    tagger: Tagger | None
    settings: Settings | None
    cache_dir: str | Path | None
    read_only: bool


@dataclass(frozen=True, kw_only=True)
class Ask:
    """A question; ``recall`` puts it to an index.

    Parameters
    ----------
    question : str
        An empty one finds nothing.
    k : int
    filters : sequence of dict or callable
        A document has to pass all of them.
    score_threshold : float, optional
    strategy : str or Strategy
    steps : sequence of RankStep
    recall_id : str, optional
        By default a new one.

    Raises
    ------
    ParameterError
        If the question is no str; chains often pass a dict or a message.
    """

    question: str
    k: int = DEFAULT_K
    filters: Sequence[Filter] = ()
    score_threshold: float | None = None
    strategy: str | Strategy = "spreading"
    steps: Sequence[RankStep] = ()
    recall_id: str | None = None

    def __post_init__(self) -> None:
        query: Any = self.question
        if isinstance(query, str):
            return
        hint = ""
        if isinstance(query, Mapping):
            name = next(iter(query), "question")
            hint = f"; take the question from it: itemgetter({name!r:.80}) | retriever"
        elif isinstance(query, BaseMessage):
            hint = "; pass its text, message.text"
        raise ParameterError(f"a query is a str, got {type(query).__name__}{hint}")

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to look for."""
        return not usable_question(self.question)[0].strip()

    @property
    def is_filtered(self) -> bool:
        """Whether a filter is in force."""
        return any(self.filters)

    def recall(
        self,
        index: HebbianIndex,
        *,
        seeds: Iterable[tuple[str, float]] | None = None,
        vector: Sequence[float] | None = None,
        margin: int = 0,
    ) -> Recall:
        """Ask an index for k hits, and some more in case that some are dropped."""
        k = min(self.k + margin, MAX_K) if margin else self.k
        where, cuts = narrowed(map(chunk_filter, self.filters), k)
        recall = index.recall(
            self.question,
            k,
            where=where,
            seeds=seeds,
            vector=vector,
            strategy=self.strategy,
            steps=(*cuts, *self.steps),
            min_score=self.score_threshold,
            recall_id=self.recall_id,
        )
        if not recall.hits:
            warn_if_empty(index)
        return recall


def is_empty(index: HebbianIndex) -> bool:
    """Return whether an index has no chunk."""
    # Hits are filled up to k, and seeds keep the embedder from being asked.
    return not index.recall("?", 1, seeds=())


def warn_if_empty(index: HebbianIndex) -> None:
    """Warn that nothing can be found in an index without chunks."""
    if is_empty(index):
        warnings.warn(
            f"{index!r} is empty, so nothing can be found; add documents first, or check path and "
            "namespace",
            UserWarning,
            stacklevel=2,
        )


def check_names(given: Iterable[str], known: Iterable[str], where: str) -> None:
    """Raise ParameterError for an argument that nobody would read."""
    for name in sorted(set(given) - set(known)):
        hint = _HINTS.get(name, f"known are {', '.join(sorted(known))}")
        raise ParameterError(f"{where} takes no {name!r}; {hint}")
