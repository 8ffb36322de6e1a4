"""RecallingRetriever: answers questions from an index, and explains its answers."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from functools import partial, reduce
from pathlib import Path
from typing import Any, ClassVar, Self
from uuid import UUID

from hebbgraph import HebbgraphError, HebbianIndex, Hit, IndexPool, ParameterError, Recall
from hebbgraph.adapters.latest_recalls import Explaining, LatestRecalls
from hebbgraph.adapters.questions import Found, Question
from hebbgraph.arguments import check_names
from hebbgraph.calling import Steps, astep, in_thread, step, twins
from hebbgraph.filters import joined
from hebbgraph.protocols import VectorSource
from langchain_core.callbacks import (
    AsyncCallbackManagerForRetrieverRun,
    CallbackManagerForRetrieverRun,
)
from langchain_core.documents import Document
from langchain_core.load.serializable import Serializable
from langchain_core.messages import BaseMessage, HumanMessage, convert_to_messages
from langchain_core.retrievers import LangSmithRetrieverParams
from langchain_core.runnables.config import var_child_runnable_config
from pydantic import Field, PrivateAttr, SkipValidation

from langchain_hebbgraph.conversion import (
    TRAIL,
    check_filter,
    chunk_filter,
    fields_of,
    stable_id,
    to_document,
)
from langchain_hebbgraph.options import (
    AT_CALL,
    CONFIGURABLE,
    FETCH_K,
    FIELDS_AT_CALL,
    HINTS,
    RECALL_OPTIONS,
    SearchOptions,
    SearchType,
    check_query,
    check_search,
    diversity_of,
)
from langchain_hebbgraph.request import (
    NAMESPACE,
    RequestRetriever,
    configured,
    current_namespace,
    current_request,
)
from langchain_hebbgraph.wrapped import (
    Seeds,
    WrappedStore,
    differs,
    updated_fields,
    vectors_of,
)

__all__ = ["RecallingRetriever", "announce", "turns_of"]

logger = logging.getLogger(__name__)

#: Arguments of a call that LangChain may add.
_IGNORED = frozenset({"verbose", "run_id"})


def announce(index: HebbianIndex, recall: Recall, manager: Any = None) -> None:
    """Report a recall to the callback handlers of a run; left out, of the current run.

    Those that hear of recalls have a method ``on_hebbian_recall``, as a :class:`CitationLearner`
    has; the id of the recall is ``str(run_id)``.
    """
    if manager is None:
        config = var_child_runnable_config.get()
        manager = config.get("callbacks") if config else None
    for handler in getattr(manager, "handlers", ()):
        if hear := getattr(handler, "on_hebbian_recall", None):
            hear(index, recall, run_id=UUID(recall.id), parent_run_id=manager.parent_run_id)


class RecallingRetriever(Explaining, RequestRetriever):
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

    # -- namespaces -------------------------------------------------------------------

    @property
    def namespace(self) -> str | None:
        """The namespace that it searches if a request names none."""
        return self.options.namespace if self.pool is not None else self.index.namespace

    def _home(self) -> tuple[HebbianIndex, IndexPool | None, str | None]:
        return self.index, self.options.namespaces, self.options.namespace

    def _requested_namespace(self) -> str | None:
        return current_namespace()

    # -- searching --------------------------------------------------------------------

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
        question = self._question(query, run_manager.run_id, arguments)
        wrapped, seeds = self._wrapped, None
        if wrapped is not None:
            full = yield twins(question.index, "in_full", query, question.options["history"])
            seeds = yield from wrapped.search(full, run_manager)
            question.options |= seeds.options
        asked = (question, arguments, wrapped, seeds)
        answer, in_background = partial(self._answer, *asked), in_thread(self._answer)
        recall, documents = yield answer, partial(in_background, *asked)
        announce(question.index, recall, run_manager)
        self._latest.add(question.index, recall, documents)
        result: list[Document] = documents
        return result

    def _arguments(self, options: dict[str, Any]) -> dict[str, Any]:
        """Return a call's options, and those of its configuration or the retriever's fields."""
        names = sorted(options.keys() - _IGNORED)
        check_names(names, AT_CALL, of="a call of the retriever", instead=HINTS)
        passed = {name: value for name, value in options.items() if value is not None}
        passed = configured(CONFIGURABLE) | passed
        check_search({"score_threshold": self.score_threshold} | passed, self.search_type)
        return {name: getattr(self, name) for name in FIELDS_AT_CALL} | passed

    def _question(self, query: str, run_id: UUID, arguments: dict[str, Any]) -> Question:
        index = self._index_of(arguments.get("namespace"))
        check_query(query)
        options = {"id": str(run_id), **self.options.for_recall}
        options |= {name: arguments[name] for name in RECALL_OPTIONS if name in arguments}
        options["history"] = turns_of(options["history"])
        if threshold := arguments["score_threshold"]:
            options["min_score"] = max(threshold, options["min_score"] or 0.0)
        rule = self.options.rule_for(current_request())
        check_filter(rule)
        in_config = configured(("filter",)).get("filter")
        check_filter(in_config)
        filters = (self.filter, in_config, arguments.get("filter"), rule)
        is_mmr = arguments["search_type"] == "mmr"
        return Question(
            index=index,
            text=query,
            k=arguments["k"],
            where=reduce(joined, map(chunk_filter, filters)),
            diversity=diversity_of(arguments["lambda_mult"]) if is_mmr else None,
            n_candidates=arguments["fetch_k"] or FETCH_K,
            options=options,
        )

    def _answer(
        self,
        question: Question,
        arguments: dict[str, Any],
        wrapped: WrappedStore | None,
        seeds: Seeds | None,
    ) -> tuple[Recall, list[Document]]:
        """Ask the index; leave out what the store has deleted, and show what it has changed."""
        if wrapped is None or seeds is None:
            found, changed = question.ask(), {}
        else:
            self._grow([fields_of(document, id_) for id_, document in self._unknown(seeds)])
            found = self._ask_stored(question, wrapped, seeds)
            changed = {
                hit.chunk.id: found.current[hit.chunk.id]
                for hit in found.hits
                if hit.chunk.id in found.current and differs(hit.chunk, found.current[hit.chunk.id])
            }
            chunks = {hit.chunk.id: hit.chunk for hit in found.hits}
            self._grow([updated_fields(chunks[id_], new) for id_, new in changed.items()])
        key, has_path = arguments["score_key"], arguments["include_path"]
        return found.recall, [
            _document(hit, changed.get(hit.chunk.id), key, found.recall if has_path else None)
            for hit in found.hits
        ]

    # -- why --------------------------------------------------------------------------

    def _known(self, result: Document) -> tuple[str, Any, Mapping[str, Any]]:
        if not isinstance(result, Document):
            raise ParameterError(
                f"why takes a document that came back, or its id; got {result!r:.80}"
            )
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

    def _ask_stored(
        self, question: Question, wrapped: WrappedStore, seeds: Seeds
    ) -> Found[Document]:
        witness = next((id_ for id_, document in seeds.documents.items() if document.id), None)
        has_ids = witness is not None or not seeds.documents
        return question.ask_stored(
            seeds.documents,
            lambda ids: wrapped.try_read(ids) if has_ids else None,
            witness=witness,
        )

    def _unknown(self, seeds: Seeds) -> list[tuple[str, Document]]:
        """Return the seeds that the index lacks and can take."""
        known = self.index.holds(seeds.documents)
        has_text = self.index.settings.keep_text
        return [
            (id_, document)
            for id_, document in seeds.documents.items()
            if id_ not in known and (document.id or has_text)
        ]

    def _grow(self, chunks: Sequence[dict[str, Any]]) -> None:
        """Add what a search found; an error is logged, as the question can be answered."""
        if not (self.options.grow and chunks):
            return
        try:
            self.index.add(chunks, on_error="skip")
        except HebbgraphError as error:
            logger.warning("%d documents were not added to the graph: %s", len(chunks), error)

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
        arguments = {name: getattr(self, name) for name in self.model_fields_set - {"index"}}
        if (embedder := self.index.parts.embedder) is not None:
            arguments["embedding"] = embedder
        return partial(type(self), **{**self.lc_attributes, **arguments}), ()

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


def _document(
    hit: Hit, current: Document | None, score_key: str | None, recall: Recall | None
) -> Document:
    """Return the document of a hit as the store has it now, with its path if a recall is given."""
    document = to_document(hit.chunk)
    if current is not None:
        document.page_content = current.page_content
        document.metadata.update(current.metadata)
    if score_key is not None:
        document.metadata[score_key] = hit.score
    if recall is not None:
        document.metadata[TRAIL] = recall.trail(hit.chunk.id)
    elif hit.stale is not None:
        document.metadata[TRAIL] = hit.stale_mark
    return document


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
