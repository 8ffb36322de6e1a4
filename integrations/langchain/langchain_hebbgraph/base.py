"""What a HebbianRetriever does when it is asked, and what it says about its answers."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Protocol, Self, runtime_checkable
from uuid import UUID

from hebbgraph import HebbianIndex, IndexPool, ParameterError, Recall
from hebbgraph.adapters.latest_recalls import Explaining, LatestRecalls
from hebbgraph.arguments import agreed_namespace, check_names
from hebbgraph.calling import Closing, Steps, astep, step
from hebbgraph.citations import CLOSING_SECONDS, finish_learning
from hebbgraph.filters import joined
from hebbgraph.protocols import VectorSource
from langchain_core.callbacks import (
    AsyncCallbackManagerForRetrieverRun,
    CallbackManagerForRetrieverRun,
)
from langchain_core.documents import Document
from langchain_core.load.serializable import Serializable
from langchain_core.messages import BaseMessage, HumanMessage, convert_to_messages
from langchain_core.retrievers import BaseRetriever, LangSmithRetrieverParams
from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import var_child_runnable_config
from pydantic import Field, PrivateAttr, SkipValidation

from langchain_hebbgraph.conversion import (
    TRAIL,
    check_filter,
    chunk_filter,
    fields_of,
    stable_id,
)
from langchain_hebbgraph.options import (
    AT_CALL,
    FIELDS_AT_CALL,
    INSTEAD,
    OF_RECALL,
    SearchOptions,
    check_query,
    check_read,
    check_search,
)
from langchain_hebbgraph.recalling import Answer, Asked, SearchType, aanswer, answer, follow
from langchain_hebbgraph.requested import NAMESPACE, asked_namespace, asked_request, within
from langchain_hebbgraph.seed_vectors import vectors_of
from langchain_hebbgraph.wrapped import Found, Wrapped

__all__ = ["RecallListener", "RecallingRetriever", "announce", "turns_of"]

_DEFAULTS: dict[str, float] = {"lambda_mult": 0.5, "fetch_k": 20}
_PASSED_OVER = frozenset({"verbose", "run_id"})


@runtime_checkable
class RecallListener(Protocol):
    """A callback handler that is told of every recall; :class:`CitationLearner` is one."""

    def on_hebbian_recall(
        self, index: HebbianIndex, recall: Recall, *, run_id: Any, parent_run_id: Any
    ) -> None:
        """Take note of a recall; its id is ``str(run_id)``."""
        ...


def announce(index: HebbianIndex, recall: Recall, manager: Any = None) -> None:
    """Tell the callback handlers of a run of a recall; left out, of the run of the present code."""
    if manager is None:
        config = var_child_runnable_config.get()
        manager = config.get("callbacks") if config else None
    for handler in getattr(manager, "handlers", ()):
        if isinstance(handler, RecallListener):
            handler.on_hebbian_recall(
                index, recall, run_id=UUID(recall.id), parent_run_id=manager.parent_run_id
            )


class RecallingRetriever(Closing, Explaining, BaseRetriever):
    """Asks an index, and a store beneath it for seeds; :class:`HebbianRetriever` is one."""

    index: HebbianIndex = Field(exclude=True)
    k: int = 10
    filter: Any = None
    history: Sequence[Any] = ()
    as_of: Any = None
    """A datetime, date or ISO 8601 text: only what held then (``docs/time.md``)."""
    search_type: SearchType = "similarity"
    """As of any vector store: ``"mmr"`` returns documents that differ from each other, and
    ``"similarity_score_threshold"`` only those that reach ``score_threshold``."""
    score_threshold: float | None = None
    lambda_mult: float | None = None
    """With MMR: 1 looks at the score alone, 0 at nothing but difference; 0.5 if left out."""
    fetch_k: int | None = None
    """With MMR: of how many hits the k are chosen; 20 if left out."""
    score_key: str | None = None
    include_path: bool = False
    options: SkipValidation[SearchOptions] = Field(default_factory=SearchOptions, exclude=True)
    """What few need: strategy, a store beneath, a pool."""

    _owns_index: bool = PrivateAttr(default=False)
    _reads: tuple[Any, Any, VectorSource | None] = PrivateAttr(default=(None, None, None))
    _latest: LatestRecalls[HebbianIndex] = PrivateAttr(default_factory=LatestRecalls)

    # -- life -------------------------------------------------------------------------

    def close(self) -> None:
        """Close the index, if this retriever has opened it, once what was cited is learned.

        An index that was handed in stays open.
        """
        if self._owns_index:
            finish_learning(CLOSING_SECONDS)
            self.index.close()

    # -- why --------------------------------------------------------------------------

    def _known(self, result: Document | str) -> tuple[str, Any, Mapping[str, Any]]:
        if not isinstance(result, Document | str):
            raise ParameterError(
                f"why takes a document that came back, or its id; got {result!r:.80}"
            )
        if isinstance(result, str):
            return result, None, {}
        return result.id or stable_id(result), result, result.metadata.get(TRAIL) or {}

    def _whose(self, namespace: str | None) -> str | None:
        if self.options.namespaces is None:
            return self.index.namespace
        return agreed_namespace(namespace, asked_namespace()) or self.options.namespace

    @property
    def pool(self) -> IndexPool | None:
        """The pool whose namespaces it searches, if it was made by ``from_pool``."""
        return self.options.namespaces

    @property
    def namespace(self) -> str | None:
        """The namespace that it searches, where a request names none."""
        return self.options.namespace if self.pool is not None else self.index.namespace

    # -- searching --------------------------------------------------------------------

    def invoke(
        self, input: str, config: RunnableConfig | None = None, **kwargs: Any
    ) -> list[Document]:
        """Return the documents for a question; see the class for what else it takes."""
        with within(config):
            return super().invoke(input, config, **kwargs)

    async def ainvoke(
        self, input: str, config: RunnableConfig | None = None, **kwargs: Any
    ) -> list[Document]:
        """Async twin of :meth:`invoke`."""
        with within(config):
            return await super().ainvoke(input, config, **kwargs)

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, **options: Any
    ) -> list[Document]:
        return step(self._steps(query, run_manager, options))

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, **options: Any
    ) -> list[Document]:
        return await astep(self._steps(query, run_manager, options))

    def _steps(self, query: str, run_manager: Any, options: dict[str, Any]) -> Steps[Any]:
        asked, wrapped = self._asked(query, run_manager.run_id, options), self._wrapped
        if wrapped is not None:
            about = (query, asked.options["history"])
            full = yield partial(asked.index.in_full, *about), partial(asked.index.ain_full, *about)
            asked.found = yield from wrapped.search(full, run_manager)
            asked.vectors = wrapped.vectors
            grown = partial(self._grow, asked.found)
            yield grown, partial(asyncio.to_thread, grown)
        given = (asked, wrapped)
        found = yield partial(answer, *given), partial(aanswer, *given)
        return self._finish(asked, found, run_manager)

    def _asked(self, query: str, run_id: UUID, options: dict[str, Any]) -> Asked:
        check_names(
            sorted(options.keys() - _PASSED_OVER),
            AT_CALL,
            of="a call of the retriever",
            instead=INSTEAD,
        )
        given = {name: value for name, value in options.items() if value is not None}
        check_search(given)
        check_read(given, given.get("search_type", self.search_type))
        index = self._index_of(given.pop("namespace", None))
        own = {name: given.get(name, getattr(self, name)) for name in FIELDS_AT_CALL}
        own |= {name: value for name, value in _DEFAULTS.items() if own[name] is None}
        own["history"] = turns_of(own["history"])
        check_query(query)
        of_recall = {name: own.pop(name) for name in OF_RECALL}
        if "strategy" in given:
            of_recall["strategy"] = given["strategy"]
        return Asked(
            index=index,
            query=query,
            where=self._where(given.get("filter")),
            options={"id": str(run_id), **self.options.for_recall, **of_recall},
            follow=self.options.grow,
            **own,
        )

    def _where(self, given: Any) -> Any:
        """Return what a document has to pass: own filter, the call's, and that of the request."""
        where = joined(chunk_filter(self.filter), chunk_filter(given))
        of_request = self.options.rule_for(asked_request())
        check_filter(of_request)
        return joined(where, chunk_filter(of_request))

    def _index_of(self, namespace: str | None) -> HebbianIndex:
        """Return the index of the namespace that a request names."""
        wanted = agreed_namespace(namespace, asked_namespace()) or self.options.namespace
        if self.options.namespaces is not None:
            if wanted is None:
                raise ParameterError(
                    "the request names no namespace; pass "
                    f'config={{"configurable": {{"{NAMESPACE}": "..."}}}}'
                )
            return self.options.namespaces[wanted]
        if wanted is not None and wanted != self.index.namespace:
            raise ParameterError(
                f"the request is about namespace {wanted!r}, and this retriever searches "
                f"{self.index.namespace!r} alone; make it by from_pool(IndexPool(location))"
            )
        return self.index

    def _finish(
        self,
        asked: Asked,
        found: Answer,
        run_manager: CallbackManagerForRetrieverRun | AsyncCallbackManagerForRetrieverRun,
    ) -> list[Document]:
        announce(asked.index, found.recall, run_manager)
        documents = found.documents(asked)
        self._latest.add(asked.index, found.recall, documents)
        return documents

    # -- a store beneath --------------------------------------------------------------

    @property
    def _wrapped(self) -> Wrapped | None:
        source, way = self.options.seed_source, self.options.seed_vectors
        if source is None:
            return None
        if self._reads[0] is not source or self._reads[1] is not way:
            self._reads = (source, way, vectors_of(source, way, self.index))
        return Wrapped(source, self.options.seed_k, self.options.seed_kwargs, self._reads[2])

    def _grow(self, found: Found) -> None:
        """Add what the index lacks of what a search brought up."""
        if not self.options.grow:
            return
        held = self.index.holds(found.documents)
        unknown = [
            fields_of(one, id_)
            for id_, one in found.documents.items()
            if id_ not in held and (one.id or self.index.settings.keep_text)
        ]
        if unknown:
            follow(self.index, unknown)

    # -- as others see it -------------------------------------------------------------

    def _get_ls_params(self, **kwargs: Any) -> LangSmithRetrieverParams:
        params = super()._get_ls_params(**kwargs)
        params["ls_vector_store_provider"] = "hebbgraph"
        return params

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Self:
        """Copy the retriever; the index is one, and shared."""
        return self.model_copy()

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle where the index lies, and how it is asked; another process opens it again."""
        if not self._lies_somewhere:
            raise ParameterError(
                "a retriever is pickled if its index is a directory, with no store or pool "
                f"beneath; this one searches {self.index!r}"
            )
        own = {name: getattr(self, name) for name in self.model_fields_set - {"index"}}
        opening = {**self.lc_attributes, "embedding": self.index.parts.embedder}
        if opening["embedding"] is None:
            del opening["embedding"]
        return _reopened, (type(self), {**opening, **own})

    @property
    def _lies_somewhere(self) -> bool:
        over = self.options.seed_source is not None or self.options.namespaces is not None
        return not over and Path(self.index.parts.database.place).is_dir()

    @classmethod
    def is_lc_serializable(cls) -> bool:
        """Say that ``dumps`` can write it: where the index lies, not what is in it."""
        return True

    @property
    def lc_attributes(self) -> dict[str, Any]:
        """What ``loads`` opens the index with."""
        parts = self.index.parts
        opening: dict[str, Any] = {
            "location": str(Path(parts.database.place).resolve()),
            "open_options": {"namespace": self.index.namespace, "settings": "saved"},
        }
        if isinstance(parts.embedder, Serializable) and parts.embedder.is_lc_serializable():
            opening["embedding"] = parts.embedder
        if isinstance(self.options.strategy, str) and self.options != SearchOptions():
            opening["options"] = {"strategy": self.options.strategy}
        return opening

    def to_json(self) -> Any:
        """Write the constructor's arguments; of an index that is no directory, say that it cannot.

        An embedding that cannot be written is left out; hand it to the index again.
        """
        return super().to_json() if self._lies_somewhere else self.to_json_not_implemented()


def _reopened(kind: type[RecallingRetriever], arguments: dict[str, Any]) -> RecallingRetriever:
    return kind(**arguments)


def turns_of(history: Sequence[Any]) -> Sequence[Any]:
    """Return texts as they are, and of messages the text of the user's."""
    if isinstance(history, str):
        return history  # refused by the index, which says what it takes
    turns = []
    for turn in history:
        if isinstance(turn, tuple | dict):  # ("human", ...), {"role": "user", ...}
            (turn,) = convert_to_messages([turn])
        if isinstance(turn, HumanMessage):
            turns.append(str(turn.text))
        elif not isinstance(turn, BaseMessage):
            turns.append(turn)
    return turns
