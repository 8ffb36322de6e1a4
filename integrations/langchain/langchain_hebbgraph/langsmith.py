"""LangSmith's feedback: its thumbs teach an index, and what was learned is noted at its runs."""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Protocol

from hebbgraph import FeedbackError, NotFoundError, ParameterError
from hebbgraph.citations import Outcome

from langchain_hebbgraph.learner import CitationLearner

__all__ = ["LangSmithFeedback"]

#: LangSmith takes so many ids in one request.
_PAGE = 100


class _Client(Protocol):
    def list_feedback(
        self, *, run_ids: Sequence[Any] | None = None, feedback_key: Sequence[str] | None = None
    ) -> Iterator[Any]: ...

    def create_feedback(self, run_id: Any, key: str, **kwargs: Any) -> Any: ...


class LangSmithFeedback:
    """Carries feedback between LangSmith and a learner; a run has the same id in both.

    Parameters
    ----------
    client : langsmith.Client
    key : str
        The feedback of your users in LangSmith that :meth:`pull` reads.
    threshold : float
        From this score on, it is a thumb up.
    noted_as : str
        The feedback that :meth:`push` writes.

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
                f"key and noted_as differ, or it would read what it writes: {key!r}"
            )
        self.client = client
        self.key = key
        self.threshold = threshold
        self.noted_as = noted_as

    def pull(self, learner: CitationLearner, run_ids: Iterable[uuid.UUID | str]) -> int:
        """Teach what users said of these runs in LangSmith; return how many verdicts counted.

        The latest score of a run holds. Runs that the learner does not know, or whose answers
        cited nothing, are passed over. Doing it again changes nothing.
        """
        wanted = list(run_ids)
        latest: dict[Any, Any] = {}
        for at in range(0, len(wanted), _PAGE):
            page = wanted[at : at + _PAGE]
            for one in self.client.list_feedback(run_ids=page, feedback_key=[self.key]):
                if isinstance(one.score, int | float):
                    held = latest.get(one.run_id)
                    if held is None or one.created_at >= held.created_at:
                        latest[one.run_id] = one
        counted = 0
        for run_id, one in latest.items():
            with contextlib.suppress(NotFoundError, FeedbackError):
                counted += bool(learner.feedback(run_id, bool(one.score >= self.threshold)))
        return counted

    def push(self, outcome: Outcome) -> None:
        """Note at an answer's run what it taught, or why nothing: for ``on_answer``."""
        if outcome.names:
            self.client.create_feedback(
                outcome.names[0],
                self.noted_as,
                score=float(bool(outcome.feedback)),
                value={"outcome": outcome.code, "cited": list(outcome.cited)},
                comment=str(outcome),
            )
