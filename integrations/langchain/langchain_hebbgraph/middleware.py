"""Middleware for ``langchain.agents.create_agent`` that shows sources and learns from citations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, cast

from hebbgraph.calling import Steps, astep, step, twins
from hebbgraph.citations import (
    CITATION_INSTRUCTION,
    Formatter,
    Rendered,
    parse_annotations,
    parse_citations,
    parse_structured,
)
from hebbgraph.text.query import usable_question
from langchain_core.callbacks import BaseCallbackManager
from langchain_core.documents import Document
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage
from langchain_core.runnables import Runnable
from langchain_core.runnables.config import ensure_config

from langchain_hebbgraph import sessions
from langchain_hebbgraph.answers import annotations_of
from langchain_hebbgraph.base import RecallingRetriever
from langchain_hebbgraph.conversion import to_source
from langchain_hebbgraph.learner import CitationLearner
from langchain_hebbgraph.options import retriever_in
from langchain_hebbgraph.prompts import NOTHING_FOUND
from langchain_hebbgraph.vectorstore import HebbianVectorStoreRetriever

try:
    from langchain.agents.middleware import AgentMiddleware, ModelRequest
    from langchain.agents.middleware.types import ModelCallResult, ModelResponse
except ImportError as error:
    raise ImportError(
        "CitingMiddleware needs LangChain's agents: pip install langchain-hebbgraph[agents]"
    ) from error

__all__ = ["CitingMiddleware"]

#: Earlier questions of the user that may complete a follow-up.
_MAX_EARLIER = 4


class CitingMiddleware(AgentMiddleware):
    """Give an agent sources for each question, ask it to cite them, and learn from its answer.

    Before each model call, it adds sources for the user's last question to the system prompt,
    under keys. It learns what the answer cites once the outermost run has ended, unless a
    :class:`CitationLearner` already listens to that run. Each answer lists its sources:
    ``message.response_metadata["sources"]`` has key, id, title, and whether it was cited.

    Parameters
    ----------
    retriever : HebbianRetriever, or another retriever over an index
        Perhaps with ``with_config``, ``bind`` or ``configurable_fields``.
    learner : CitationLearner, optional
        Left out, a new one: :attr:`learner`. It takes thumbs up and down by the id of the
        answer's message, and attributes lessons to the user that the run's configuration names.
    formatter : Formatter, optional
        Left out, numbered keys.
    instruction : str
        Asks the model to cite.
    name : str, optional
        The name in the agent. Left out, each middleware in a process has another one.

    Notes
    -----
    Several in one agent show their sources under different keys, and the learner of the first
    learns for all of them. The answer is what the run returns: if another middleware replaces it,
    as a guardrail does, the replacement teaches what it cites, or nothing, in whatever order the
    two are listed.

    Examples
    --------
    ::

        agent = create_agent(model, middleware=[CitingMiddleware(retriever)])
        answer = agent.invoke({"messages": [("human", "Who built the Petrel?")]})["messages"][-1]
        answer.response_metadata["sources"]  # [{"key": "1", "id": "petrel", "cited": True, ...
    """

    def __init__(
        self,
        retriever: Runnable[str, list[Document]],
        *,
        learner: CitationLearner | None = None,
        formatter: Formatter | None = None,
        instruction: str = CITATION_INSTRUCTION,
        name: str | None = None,
    ) -> None:
        super().__init__()
        self._name = name or _new_name(type(self).__name__)
        inner = retriever_in(retriever, "the middleware")
        self.retriever = retriever
        self._takes_turns = isinstance(inner, RecallingRetriever | HebbianVectorStoreRetriever)
        self.learner = learner or CitationLearner(getattr(inner, "index", None))
        self.formatter = formatter or Formatter()
        self.instruction = instruction
        self._watch = sessions.watch()

    @property
    def name(self) -> str:
        """The name in the agent."""
        return self._name

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelCallResult[Any]:
        """Show sources to the model, and mark in its answer which it cites."""
        return step(self._steps(request, handler))

    async def awrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]],
    ) -> ModelCallResult[Any]:
        """Async twin of :meth:`wrap_model_call`."""
        return await astep(self._steps(request, handler))

    def _steps(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Any]
    ) -> Steps[ModelResponse[Any]]:
        question, note, options = self._question(request.messages)
        if not question:
            answer: ModelResponse[Any] = yield (partial(handler, request),) * 2
            return answer
        self._listen()
        documents = yield twins(self.retriever, "invoke", question, **options)
        # Keys get a prefix if another middleware has shown sources, too.
        is_second = self.instruction in (request.system_prompt or "")
        formatter = replace(self.formatter, prefix="always") if is_second else self.formatter
        rendered = formatter.render(map(to_source, documents))
        parts = [] if is_second else [self.instruction]
        parts.append(rendered.text or NOTHING_FOUND)
        if note is not None:
            parts.append(f"Note on these sources: {note}.")
        shown = partial(handler, _with_system_text(request, "\n\n".join(parts)))
        return _marked((yield shown, shown), rendered)

    def _question(self, messages: Sequence[AnyMessage]) -> tuple[str, str | None, dict[str, Any]]:
        """Return the user's last question, a note on it, and earlier ones as retriever options."""
        texts = [str(message.text) for message in messages if isinstance(message, HumanMessage)]
        *earlier, last = texts or [""]
        question, note = usable_question(last)
        options = {"history": earlier[-_MAX_EARLIER:]} if self._takes_turns else {}
        return question.strip(), note, options

    def _listen(self) -> None:
        """Have the learner follow the whole run of this call, unless another one does."""
        manager = ensure_config().get("callbacks")
        if isinstance(manager, BaseCallbackManager) and not (
            sessions.has_learner() or any(isinstance(h, CitationLearner) for h in manager.handlers)
        ):
            self._watch.follow(manager.parent_run_id, self.learner)


_names: Counter[str] = Counter()


def _new_name(kind: str) -> str:
    _names[kind] += 1
    return kind if _names[kind] == 1 else f"{kind}-{_names[kind]}"


def _with_system_text(request: ModelRequest[Any], text: str) -> ModelRequest[Any]:
    """Add a text to the system prompt of a request."""
    message = getattr(request, "system_message", None)
    if message is not None and not isinstance(message.content, str):  # blocks, perhaps cached
        content = [*message.content, {"type": "text", "text": text}]
        return request.override(system_message=SystemMessage(content))
    before = f"{request.system_prompt}\n\n" if request.system_prompt else ""
    # All versions of LangChain's agents take system_prompt.
    return request.override(**cast("Any", {"system_prompt": f"{before}{text}"}))


def _marked(response: ModelResponse[Any], rendered: Rendered) -> ModelResponse[Any]:
    """List in each answer the sources that it was shown, and whether it cites them."""
    structured = response.structured_response
    for at, message in enumerate(response.result):
        # A structured answer may be the call of a tool that stands for its schema.
        if isinstance(message, AIMessage) and (structured is not None or not message.tool_calls):
            cited = {
                *parse_citations(str(message.text), rendered),
                *parse_structured(structured, rendered),
                *parse_annotations(annotations_of(message), rendered),
            }
            titles = {source.id: source.title for source in rendered.sources}
            sources = [
                {"key": key, "id": id_, "title": titles[id_], "cited": id_ in cited}
                for key, id_ in rendered.keys.items()
            ]
            others = message.response_metadata.get("sources") or []
            metadata = {**message.response_metadata, "sources": [*sources, *others]}
            response.result[at] = message.model_copy(update={"response_metadata": metadata})
    return response
