"""RecallingRetriever: answers questions from an index, and explains its answers."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Protocol, Self, runtime_checkable
from uuid import UUID

from hebbgraph import HebbianIndex, IndexPool, ParameterError, Recall
from hebbgraph.adapters.latest_recalls import Explaining, LatestRecalls
from hebbgraph.arguments import check_names
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
    HINTS,
    RECALL_OPTIONS,
    SearchOptions,
    check_query,
    check_search,
    check_search_type,
)
from langchain_hebbgraph.request import NAMESPACE, current_namespace, current_request, during
from langchain_hebbgraph.searching import Search, SearchType, add_to_graph
from langchain_hebbgraph.wrapped import Seeds, WrappedStore, vectors_of

__all__ = ["RecallListener", "RecallingRetriever", "announce", "turns_of"]

_DEFAULTS: dict[str, float] = {"lambda_mult": 0.5, "fetch_k": 20}
#: Arguments of a call that LangChain may add.
_IGNORED = frozenset({"verbose", "run_id"})


@runtime_checkable
class RecallListener(Protocol):
    """A callback handler that hears of every recall, such as :class:`CitationLearner`."""

    def on_hebbian_recall(
        self, index: HebbianIndex, recall: Recall, *, run_id: Any, parent_run_id: Any
    ) -> None:
        """Take note of a recall; its id is ``str(run_id)``."""
        ...


def announce(index: HebbianIndex, recall: Recall, manager: Any = None) -> None:
    """Report a recall to the callback handlers of a run; left out, of the current run."""
    if manager is None:
        config = var_child_runnable_config.get()
        manager = config.get("callbacks") if config else None
    for handler in getattr(manager, "handlers", ()):
        if isinstance(handler, RecallListener):
            handler.on_hebbian_recall(
                index, recall, run_id=UUID(recall.id), parent_run_id=manager.parent_run_id
            )


class RecallingRetriever(Closing, Explaining, BaseRetriever):
    """Base of :class:`HebbianRetriever`: searches an index, with seeds from a wrapped store."""

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
    """Rare options: strategy, a wrapped store, a pool."""

    naming_hint: ClassVar[str] = f'pass config={{"configurable": {{"{NAMESPACE}": "..."}}}}'

    _owns_index: bool = PrivateAttr(default=False)
    #: The wrapped store, its ``seed_vectors``, and what reads its vectors.
    _vectors: tuple[Any, Any, VectorSource | None] = PrivateAttr(default=(None, None, None))
    _latest: LatestRecalls[HebbianIndex] = PrivateAttr(default_factory=LatestRecalls)

    def close(self) -> None:
        """Close the index, if this retriever has opened it, once all citations are learned.

        An index that was passed in stays open.
        """
        if self._owns_index:
            finish_learning(CLOSING_SECONDS)
            self.index.close()

    # -- namespaces -------------------------------------------------------------------

    @property
    def pool(self) -> IndexPool | None:
        """The pool whose namespaces it searches, if ``from_pool`` made it."""
        return self.options.namespaces

    @property
    def namespace(self) -> str | None:
        """The namespace that it searches if a request names none."""
        return self.options.namespace if self.pool is not None else self.index.namespace

    def _home(self) -> tuple[HebbianIndex, IndexPool | None, str | None]:
        return self.index, self.pool, self.options.namespace

    def _requested_namespace(self) -> str | None:
        return current_namespace()

    # -- searching --------------------------------------------------------------------

    def invoke(
        self, input: str, config: RunnableConfig | None = None, **kwargs: Any
    ) -> list[Document]:
        """Return the documents for a question; the class says what else it takes."""
        with during(config):
            return super().invoke(input, config, **kwargs)

    async def ainvoke(
        self, input: str, config: RunnableConfig | None = None, **kwargs: Any
    ) -> list[Document]:
        """Async twin of :meth:`invoke`."""
        with during(config):
            return await super().ainvoke(input, config, **kwargs)

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, **options: Any
    ) -> list[Document]:
        return step(self._steps(query, run_manager, options))

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, **options: Any
    ) -> list[Document]:
        return await astep(self._steps(query, run_manager, options))

    def _steps(
        self, query: str, run_manager: Any, options: dict[str, Any]
    ) -> Steps[list[Document]]:
        arguments = self._arguments(options)
        search = self._search(query, run_manager.run_id, arguments)
        wrapped = self._wrapped
        if wrapped is not None:
            question = (query, search.options["history"])
            full = yield (
                partial(search.index.in_full, *question),
                partial(search.index.ain_full, *question),
            )
            search.seeds = yield from wrapped.search(full, run_manager)
            search.vectors = wrapped.vectors
            grow = partial(self._grow, search.seeds)
            yield grow, partial(asyncio.to_thread, grow)
        results = yield partial(search.run, wrapped), partial(search.arun, wrapped)
        announce(search.index, results.recall, run_manager)
        documents: list[Document] = results.documents(
            score_key=arguments["score_key"], include_path=arguments["include_path"]
        )
        self._latest.add(search.index, results.recall, documents)
        return documents

    def _arguments(self, options: dict[str, Any]) -> dict[str, Any]:
        """Return a call's options, and the retriever's fields in place of those left out."""
        names = sorted(options.keys() - _IGNORED)
        check_names(names, AT_CALL, of="a call of the retriever", instead=HINTS)
        passed = {name: value for name, value in options.items() if value is not None}
        check_search(passed)
        check_search_type(passed, passed.get("search_type", self.search_type))
        arguments = passed | {
            name: passed.get(name, getattr(self, name)) for name in FIELDS_AT_CALL
        }
        arguments |= {name: value for name, value in _DEFAULTS.items() if arguments[name] is None}
        arguments["history"] = turns_of(arguments["history"])
        return arguments

    def _search(self, query: str, run_id: UUID, arguments: dict[str, Any]) -> Search:
        index = self._index_of(arguments.get("namespace"))
        check_query(query)
        names = [*RECALL_OPTIONS, *(["strategy"] if "strategy" in arguments else [])]
        recall_options = {name: arguments[name] for name in names}
        return Search(
            index=index,
            query=query,
            k=arguments["k"],
            where=self._where(arguments.get("filter")),
            options={"id": str(run_id), **self.options.for_recall, **recall_options},
            search_type=arguments["search_type"],
            score_threshold=arguments["score_threshold"],
            lambda_mult=arguments["lambda_mult"],
            fetch_k=arguments["fetch_k"],
            grow=self.options.grow,
        )

    def _where(self, filter: Any) -> Any:
        """Join the retriever's filter, the call's, and the access rule's."""
        where = joined(chunk_filter(self.filter), chunk_filter(filter))
        rule = self.options.rule_for(current_request())
        check_filter(rule)
        return joined(where, chunk_filter(rule))

    # -- why --------------------------------------------------------------------------

    def _known(self, result: Document | str) -> tuple[str, Any, Mapping[str, Any]]:
        if not isinstance(result, Document | str):
            raise ParameterError(
                f"why takes a document that came back, or its id; got {result!r:.80}"
            )
        if isinstance(result, str):
            return result, None, {}
        return result.id or stable_id(result), result, result.metadata.get(TRAIL) or {}

    # -- a wrapped store --------------------------------------------------------------

    @property
    def _wrapped(self) -> WrappedStore | None:
        source, seed_vectors = self.options.seed_source, self.options.seed_vectors
        if source is None:
            return None
        if self._vectors[0] is not source or self._vectors[1] is not seed_vectors:
            vectors = vectors_of(source, seed_vectors, self.index)
            self._vectors = (source, seed_vectors, vectors)
        return WrappedStore(source, self.options.seed_k, self.options.seed_kwargs, self._vectors[2])

    def _grow(self, seeds: Seeds) -> None:
        """Add seeds that the index lacks."""
        if not self.options.grow:
            return
        known = self.index.holds(seeds.documents)
        unknown = [
            fields_of(document, id_)
            for id_, document in seeds.documents.items()
            if id_ not in known and (document.id or self.index.settings.keep_text)
        ]
        if unknown:
            add_to_graph(self.index, unknown)

    # -- tracing, copying, serialising ------------------------------------------------

    def _get_ls_params(self, **kwargs: Any) -> LangSmithRetrieverParams:
        params = super()._get_ls_params(**kwargs)
        params["ls_vector_store_provider"] = "hebbgraph"
        return params

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Self:
        """Copy the retriever; both share the index."""
        return self.model_copy()

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the location of the index and the retriever's fields."""
        if not self._has_location:
            raise ParameterError(
                "a retriever is pickled if its index is a directory, with no store or pool "
                f"beneath; this one searches {self.index!r}"
            )
        fields = {name: getattr(self, name) for name in self.model_fields_set - {"index"}}
        opening = {**self.lc_attributes, "embedding": self.index.parts.embedder}
        if opening["embedding"] is None:
            del opening["embedding"]
        return _reopened, (type(self), {**opening, **fields})

    @property
    def _has_location(self) -> bool:
        """Whether another process can open the same retriever."""
        is_wrapping = self.options.seed_source is not None or self.pool is not None
        return not is_wrapping and Path(self.index.parts.database.place).is_dir()

    @classmethod
    def is_lc_serializable(cls) -> bool:
        """Return True: ``dumps`` writes the location of the index, not its content."""
        return True

    @property
    def lc_attributes(self) -> dict[str, Any]:
        """The arguments with which ``loads`` opens the index."""
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
        """Write the constructor's arguments, if the index is a directory.

        An embedding that cannot be written is left out; pass it again when loading.
        """
        return super().to_json() if self._has_location else self.to_json_not_implemented()


def _reopened(kind: type[RecallingRetriever], arguments: dict[str, Any]) -> RecallingRetriever:
    return kind(**arguments)


def turns_of(history: Sequence[Any]) -> Sequence[Any]:
    """Return the texts of a history: strings as they are, and the user's messages."""
    if isinstance(history, str):
        return history  # the index refuses it, and says what it takes
    turns = []
    for turn in history:
        if isinstance(turn, tuple | dict):  # ("human", ...), {"role": "user", ...}
            (turn,) = convert_to_messages([turn])
        if isinstance(turn, HumanMessage):
            turns.append(str(turn.text))
        elif not isinstance(turn, BaseMessage):
            turns.append(turn)
    return turns
