"""Exchanges feedback with LangSmith: its scores teach, and its runs show what was learned."""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Protocol

from hebbgraph import FeedbackError, NotFoundError, ParameterError
from hebbgraph.citations import Outcome

from langchain_hebbgraph.learner import CitationLearner

__all__ = ["LangSmithFeedback"]

#: The most ids that LangSmith takes in one request.
_PAGE = 100


class _Client(Protocol):
    def list_feedback(
        self, *, run_ids: Sequence[Any] | None = None, feedback_key: Sequence[str] | None = None
    ) -> Iterator[Any]: ...

    def create_feedback(self, run_id: Any, key: str, **kwargs: Any) -> Any: ...


class LangSmithFeedback:
    """Exchanges feedback between LangSmith and a learner; a run has the same id in both.

    Parameters
    ----------
    client : langsmith.Client
    key : str
        The key of the users' feedback in LangSmith, which :meth:`pull` reads.
    threshold : float
        The least score of a thumb up.
    noted_as : str
        The key of the feedback that :meth:`push` writes.

    Examples
    --------
    ::

        feedback = LangSmithFeedback(Client())
        learner = CitationLearner(index, on_answer=feedback.push)  # out
        feedback.pull(learner, run_ids)  # in, now and then
    """

    def __init__(
        self,
        client: _Client,
        *,
        key: str = "user_score",
        threshold: float = 0.5,
        noted_as: str = "hebbgraph",
    ) -> None:
        if not all(hasattr(client, name) for name in ("list_feedback", "create_feedback")):
            raise ParameterError(f"client is a langsmith.Client, got {client!r:.80}")
        if key == noted_as:
            raise ParameterError(
                f"key and noted_as must differ, or it would read its own feedback: {key!r}"
            )
        self.client = client
        self.key = key
        self.threshold = threshold
        self.noted_as = noted_as

    def pull(self, learner: CitationLearner, run_ids: Iterable[uuid.UUID | str]) -> int:
        """Teach the users' feedback on these runs in LangSmith; return how many verdicts counted.

        The latest score of a run holds. Runs that the learner does not know, and answers that
        cited nothing, are ignored. Pulling again changes nothing.
        """
        ids = list(run_ids)
        scored = [
            feedback
            for at in range(0, len(ids), _PAGE)
            for feedback in self.client.list_feedback(
                run_ids=ids[at : at + _PAGE], feedback_key=[self.key]
            )
            if isinstance(feedback.score, int | float)
        ]
        latest = {one.run_id: one for one in sorted(scored, key=lambda one: one.created_at)}
        count = 0
        for run_id, feedback in latest.items():
            with contextlib.suppress(NotFoundError, FeedbackError):
                count += bool(learner.feedback(run_id, bool(feedback.score >= self.threshold)))
        return count

    def push(self, outcome: Outcome) -> None:
        """Write to an answer's run what it taught, or why nothing: for ``on_answer``."""
        if outcome.names:
            self.client.create_feedback(
                outcome.names[0],
                self.noted_as,
                score=float(bool(outcome.feedback)),
                value={"outcome": outcome.code, "cited": list(outcome.cited)},
                comment=str(outcome),
            )
