"""One call of a HebbianRetriever, from its arguments and its request to documents."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any
from warnings import warn

from langchain_core.documents import Document

from hebbgraph import Hit, Recall
from hebbgraph.access import Fields
from hebbgraph.errors import FilterError, ParameterError
from langchain_hebbgraph.asking import Ask, check_names
from langchain_hebbgraph.documents import Filter, to_chunk, to_document
from langchain_hebbgraph.over_store import MARGIN, verified
from langchain_hebbgraph.request import Recalled, announce, configured, current_fields

if TYPE_CHECKING:
    from langchain_hebbgraph.retriever import HebbianRetriever

__all__ = ["AT_CALL", "Call"]

#: What a call may set.
AT_CALL = ("k", "filter", "score_threshold", "strategy", "score_key", "path_key")


class Call:
    """One call: what it asks, and how its hits become documents.

    Parameters
    ----------
    retriever : HebbianRetriever
    query : str
    manager : CallbackManagerForRetrieverRun or its async twin
    options : dict
        Of the call; ``_fields`` is what its request says.
    """

    def __init__(
        self, retriever: HebbianRetriever, query: str, manager: Any, options: dict[str, Any]
    ) -> None:
        fields = options.pop("_fields", None)
        self.fields: Fields = current_fields() if fields is None else fields
        self._retriever = retriever
        self._manager = manager
        options.pop("verbose", None)  # LangChain's own
        nested = options.pop("search_kwargs", None) or {}
        for where, given in (("invoke", options), ("search_kwargs", nested)):
            check_names(given, AT_CALL, where)
        parts = [configured(self.fields), nested, options]
        chosen = {name: getattr(retriever, name) for name in AT_CALL}
        for part in parts:
            chosen |= {name: value for name, value in part.items() if value is not None}
        self._score_key, self._path_key = chosen.pop("score_key"), chosen.pop("path_key")
        del chosen["filter"]
        filters = [retriever.filter, self._rule(), *(part.get("filter") for part in parts)]
        self.ask = Ask(
            question=query,
            filters=filters,
            steps=retriever.steps,
            recall_id=str(manager.run_id),
            **chosen,
        )
        beneath = retriever.beneath
        #: The store that is asked whether hits are still there.
        self.stored = beneath if beneath is not None and beneath.is_readable else None

    def recall(self, found: list[tuple[Document, float]] | None) -> Recall:
        """Ask the index of the request's namespace."""
        namespaces, beneath = self._retriever.namespaces, self._retriever.beneath
        assert namespaces is not None
        name = self._namespace()
        with namespaces.opened(name) as index:
            if index is None:
                warn(f"there is no namespace {name!r}, so nothing can be found", stacklevel=2)
                return Recall(id=self.ask.recall_id or "", namespace=name, question="")
            seeds = None if beneath is None or found is None else beneath.seeds(index, found)
            return self.ask.recall(index, seeds=seeds, margin=MARGIN if self.stored else 0)

    def finish(self, recall: Recall, originals: Mapping[str, Document] | None) -> list[Document]:
        """Tell learners of a recall, and return its documents."""
        pairs: list[tuple[Hit, Document | None]] = [(hit, None) for hit in recall]
        if originals is not None and self.stored is not None:
            pairs = verified(recall, originals, is_filtered=self.ask.is_filtered)[: self.ask.k]
            hits = (hit.model_copy(update={"rank": rank}) for rank, (hit, _) in enumerate(pairs, 1))
            recall = recall.model_copy(update={"hits": tuple(hits)})
        if self._retriever.namespaces is not None:
            announce(Recalled(recall, self._retriever.namespaces, self.fields), self._manager)
        return [self._document(hit, original) for hit, original in pairs]

    def _document(self, hit: Hit, original: Document | None) -> Document:
        document = to_document(hit if original is None else to_chunk(original, hit.id))
        if self._score_key is not None:
            document.metadata[self._score_key] = hit.score
        if self._path_key is not None:
            document.metadata[self._path_key] = hit.path_text
        return document

    def _rule(self) -> Filter:
        """Return the filter that ``filter_by`` makes of the request."""
        if (rule := self._retriever.filter_by) is None:
            return None
        made = _applied(rule, self.fields, "filter_by")
        if made is None:
            raise FilterError("filter_by returned None; return a filter, {} lets everything pass")
        return made  # type: ignore[no-any-return]

    def _namespace(self) -> str:
        if (rule := self._retriever.namespace_by) is None:
            return self._retriever.index.namespace
        name = _applied(rule, self.fields, "namespace_by")
        if not isinstance(name, str) or not name.strip():
            raise ParameterError(f"namespace_by returned {name!r:.80}; return a namespace's name")
        return name


def _applied(rule: Callable[[Fields], Any], fields: Fields, name: str) -> Any:
    try:
        return rule(fields)
    except KeyError as error:
        raise ParameterError(
            f"{name} finds no {error.args[0]!r:.80} in the request; set it in the run's context or "
            "in configurable"
        ) from error
