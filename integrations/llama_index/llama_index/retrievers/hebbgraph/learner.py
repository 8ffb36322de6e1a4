"""CitationLearner: listens to LlamaIndex's instrumentation, and teaches what answers cite."""

from __future__ import annotations

import threading
from collections import OrderedDict, deque
from typing import Any, Self

from llama_index.core.instrumentation import get_dispatcher

from hebbgraph import HebbianIndex, Recall
from hebbgraph.access import Actor, Namespaces, Tenant, actor_of
from hebbgraph.citations import Learner, Reply
from hebbgraph.errors import ParameterError
from llama_index.retrievers.hebbgraph.tracing import Follower, Trace, passages_of

__all__ = ["CitationLearner"]

#: Conversations that are remembered, and the latest recalls of each.
_CONVERSATIONS, _EARLIER = 1_000, 8
_REGISTERING = threading.Lock()


class CitationLearner(Learner):
    """Teaches an index which chunks answers cite, in the background.

    It listens to all engines, agents and workflows of the process within ``with
    CitationLearner(index):``, or from ``install()`` to ``close()``. Keys are read from the prompts.
    The instrument tag ``answer_id`` names an answer for ``verdict``; in requests of one
    ``thread_id``, an answer may cite what an earlier turn found.

    Parameters
    ----------
    source : HebbianRetriever, HebbianGraphIndex, HebbianVectorStore or HebbianIndex
        Whose index learns. Recalls of another index are left to a learner of its own.
    actor : str or callable, optional
        Who says what answers cite; by default the instrument tag ``user_id``.
    **options
        As for :class:`hebbgraph.citations.Learner`, which also has ``verdict``, ``counts``, ….

    Examples
    --------
    >>> from llama_index.core.schema import TextNode
    >>> from llama_index.retrievers.hebbgraph import HebbianRetriever
    >>> with HebbianRetriever.from_nodes([TextNode(text="Owls hunt voles.")]) as retriever:
    ...     with CitationLearner(retriever) as learner:
    ...         # query_engine.query(question)
    ...         learner.counts
    {}
    """

    def __init__(self, source: Any, *, actor: Actor = None, **options: Any) -> None:
        index = getattr(source, "index", source)
        if not isinstance(index, HebbianIndex):
            raise ParameterError(
                f"a learner takes a retriever, an index or a store, got {type(source).__name__}"
            )
        self._own, self._actor, self._namespaces = index, actor, Namespaces(index)
        self._follower = Follower(self._is_own, self._read)
        self._earlier: OrderedDict[str, deque[Recall]] = OrderedDict()
        options["actor"] = actor if isinstance(actor, str) else None
        super().__init__(
            lambda name: Tenant(self._namespaces, name), namespace=index.namespace, **options
        )

    def install(self) -> Self:
        """Listen from now on; installing twice is fine."""
        self._register([self._follower])
        return self

    def close(self, timeout: float | None = None) -> bool:
        """Stop listening, and wait until all is learned, before the index is closed."""
        self._register([])
        is_done = super().close(timeout)
        self._namespaces.close()
        return is_done

    __enter__ = install

    def _register(self, own: list[Any]) -> None:
        """Replace this learner's handlers, in new lists, since other threads iterate over these."""
        root = get_dispatcher()
        with _REGISTERING:
            for name in ("event_handlers", "span_handlers"):
                others = [other for other in getattr(root, name) if other is not self._follower]
                setattr(root, name, own + others)  # of two learners of an index, the latest learns

    def _is_own(self, index: HebbianIndex) -> bool:
        return index is self._own or index._path == self._own._path != ":memory:"

    def _read(self, trace: Trace) -> None:
        """Learn from all that happened below an outermost span."""
        for event in trace.recalls:
            event.learner = event.learner or self
        recalls = [event.recall for event in trace.recalls if event.learner is self]
        fields = {**(trace.recalls[0].fields if recalls else {}), **trace.tags}
        if (thread := fields.get("thread_id")) is not None:
            known = self._earlier.setdefault(str(thread), deque(maxlen=_EARLIER))
            self._earlier.move_to_end(str(thread))
            if len(self._earlier) > _CONVERSATIONS:
                self._earlier.popitem(last=False)
            known.extend(recalls)
            recalls = recalls if trace.recalls else list(known)
        if not recalls or (not trace.calls and trace.is_retrieval):
            return
        passages = passages_of(trace.sources, recalls)
        replies = [Reply(answer, prompts, passages) for answer, prompts in trace.calls]
        actor, name = actor_of(self._actor, fields), fields.get("answer_id")
        named = None if name is None else str(name)  # without a name there is nothing to keep
        self.learn(recalls, replies, output=trace.output, answer_id=named, actor=actor)
