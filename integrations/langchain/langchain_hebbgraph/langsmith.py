"""Exchanges feedback with LangSmith: its scores teach, and its runs show what was learned."""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Iterable
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any

from hebbgraph import FeedbackError, NotFoundError, ParameterError
from hebbgraph.citations import Outcome

from langchain_hebbgraph.learner import CitationLearner

if TYPE_CHECKING:
    from langsmith import Client

__all__ = ["LangSmithFeedback"]

#: The most ids that LangSmith takes in one request.
_PAGE = 100


@dataclass(eq=False, repr=False)
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

    client: Client
    _: KW_ONLY
    key: str = "user_score"
    threshold: float = 0.5
    noted_as: str = "hebbgraph"

    def __post_init__(self) -> None:
        if not all(hasattr(self.client, name) for name in ("list_feedback", "create_feedback")):
            raise ParameterError(f"client is a langsmith.Client, got {self.client!r:.80}")
        if self.key == self.noted_as:
            raise ParameterError(
                f"key and noted_as must differ, or it would read its own feedback: {self.key!r}"
            )

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
        scored.sort(key=lambda feedback: feedback.created_at)
        latest: dict[Any, Any] = {feedback.run_id: feedback.score for feedback in scored}
        count = 0
        for run_id, score in latest.items():
            with contextlib.suppress(NotFoundError, FeedbackError):
                count += bool(learner.feedback(run_id, bool(score >= self.threshold)))
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
