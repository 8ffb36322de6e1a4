"""Middleware for ``langchain.agents.create_agent`` that shows passages and learns what is cited."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import Any

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.documents import Document
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage
from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.runnables.config import ensure_config, merge_configs

from hebbgraph.citations import CITATION_INSTRUCTION, NumberedPassages, Reply, read_answer
from hebbgraph.errors import MissingExtraError
from langchain_hebbgraph.learner import CitationLearner, put_last
from langchain_hebbgraph.prompts import numbered
from langchain_hebbgraph.request import Recalled

try:
    from langchain.agents.middleware import AgentMiddleware, ModelRequest
    from langchain.agents.middleware.types import ModelResponse
except ImportError as error:
    raise MissingExtraError(
        'CitingMiddleware needs LangChain\'s agents; pip install "langchain-hebbgraph[agents]"'
    ) from error

__all__ = ["CitingMiddleware"]


class _Listener(BaseCallbackHandler):
    """Hears the recalls of one retrieval."""

    def __init__(self) -> None:
        self.recalled: list[Recalled] = []

    def on_hebbian_recall(self, recalled: Recalled, **run: Any) -> None:
        self.recalled.append(recalled)


class CitingMiddleware(AgentMiddleware):
    """Shows an agent passages for each question, asks it to cite them, and learns from its answer.

    Before each call of the model, passages for the user's last question go to the end of the
    system prompt. ``message.response_metadata["sources"]`` of an answer lists them: key, id,
    document_id, title, and whether it was cited. When the agent has ended, the middleware's learner
    learns, unless a :class:`CitationLearner` listens to the run.

    Parameters
    ----------
    retriever : HebbianRetriever, or a Runnable around one
    learner : CitationLearner, optional
        By default a new one, :attr:`learner`.

    Examples
    --------
    ::

        agent = create_agent(model, middleware=[CitingMiddleware(retriever)])
        answer = agent.invoke({"messages": [("human", "Who built the Petrel?")]})["messages"][-1]
        answer.response_metadata["sources"]  # [{"key": "1", "id": "petrel", "cited": True, ...
    """

    def __init__(
        self, retriever: Runnable[str, list[Document]], *, learner: CitationLearner | None = None
    ) -> None:
        super().__init__()
        self.retriever = retriever
        self.learner = learner or CitationLearner(retriever)
        self._pending: OrderedDict[str, tuple[list[Recalled], Reply]] = OrderedDict()

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any]:
        """Show passages to the model, and mark in its answer which it cites."""
        if not (question := _question(request.messages)):
            return handler(request)
        listener, config = _listening()
        shown = numbered(self.retriever.invoke(question, config))
        request = _with_passages(request, shown)
        return self._marked(handler(request), request, shown, listener.recalled)

    async def awrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]],
    ) -> ModelResponse[Any]:
        """Async twin of :meth:`wrap_model_call`."""
        if not (question := _question(request.messages)):
            return await handler(request)
        listener, config = _listening()
        shown = numbered(await self.retriever.ainvoke(question, config))
        request = _with_passages(request, shown)
        return self._marked(await handler(request), request, shown, listener.recalled)

    def after_agent(self, state: Any, runtime: Any) -> None:
        """Learn from the answer that the agent returns; this does not block an event loop."""
        said = [message for message in state["messages"] if isinstance(message, AIMessage)]
        answer: Any = (said or state["messages"])[-1]
        recalled, reply = self._pending.pop(answer.id or "", ([], Reply(None)))
        callbacks: Any = ensure_config().get("callbacks")
        handlers = callbacks if isinstance(callbacks, list) else getattr(callbacks, "handlers", ())
        learners = [handler for handler in handlers if isinstance(handler, CitationLearner)]
        if recalled and not any(learner.is_about(recalled[0]) for learner in learners):
            recalls = [part.recall for part in recalled]
            options = {"request": recalled[0].fields, "names": [answer.id], "output": answer}
            self.learner.learn(reply.answer, recalls, prompt=reply.prompt, **options)

    def _marked(
        self,
        response: ModelResponse[Any],
        request: ModelRequest[Any],
        shown: NumberedPassages,
        recalled: list[Recalled],
    ) -> ModelResponse[Any]:
        """List the sources in the answer, and note it for when the agent has ended."""
        hits = {hit.id: hit for part in recalled for hit in part.recall}
        for at, message in enumerate(response.result):
            is_final = response.structured_response is not None  # given as a call of a tool
            if not isinstance(message, AIMessage) or (message.tool_calls and not is_final):
                continue
            cited = read_answer(message, shown.shown, hits.values()).cited
            fields = {"id", "document_id", "title"}
            sources = [
                {"key": key, "cited": id_ in cited, **hits[id_].model_dump(include=fields)}
                for key, id_ in shown.shown.keys.items()
                if id_ in hits
            ]
            metadata = {"sources": sources, **message.response_metadata}
            response.result[at] = message.model_copy(update={"response_metadata": metadata})
            prompt = [request.system_message, *request.messages]
            put_last(self._pending, message.id or "", (recalled, Reply(message, prompt)), 1_000)
        return response


def _with_passages(request: ModelRequest[Any], shown: NumberedPassages) -> ModelRequest[Any]:
    """Return a request with passages at the end of the system prompt."""
    if not shown.text:
        return request
    before = request.system_message
    parts = [str(before.text)] if before is not None else []
    text = "\n\n".join([*parts, CITATION_INSTRUCTION, shown.text])
    return request.override(system_message=SystemMessage(text))


def _question(messages: list[AnyMessage]) -> str:
    """Return the user's last question."""
    asked = (str(message.text) for message in messages[::-1] if isinstance(message, HumanMessage))
    return next(asked, "").strip()


def _listening() -> tuple[_Listener, RunnableConfig]:
    """Return a listener, and the configuration of a retrieval that it hears."""
    listener = _Listener()
    return listener, merge_configs(ensure_config(), {"callbacks": [listener]})
