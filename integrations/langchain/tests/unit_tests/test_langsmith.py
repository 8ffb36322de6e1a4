"""Feedback between LangSmith and a learner, with a client that keeps it in a list."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from hebbgraph import ParameterError
from langchain_core.runnables import RunnablePassthrough
from lc_helpers import RecordingIndex, ScriptedChat, citing

from langchain_hebbgraph import CitationLearner, HebbianRetriever, citation_prompt, format_documents
from langchain_hebbgraph.langsmith import LangSmithFeedback

QUERY = "Who built the Petrel?"
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


class Client:
    def __init__(self) -> None:
        self.kept: list[Any] = []
        self.created: list[tuple[Any, str, dict[str, Any]]] = []

    def say(
        self, run_id: uuid.UUID, score: float | None, minutes: int = 0, key: str = "user_score"
    ) -> None:
        at = NOON + timedelta(minutes=minutes)
        self.kept.append(SimpleNamespace(run_id=run_id, key=key, score=score, created_at=at))

    def list_feedback(self, *, run_ids: Any = None, feedback_key: Any = None) -> Any:
        return (one for one in self.kept if one.run_id in run_ids and one.key in feedback_key)

    def create_feedback(self, run_id: Any, key: str, **kwargs: Any) -> None:
        self.created.append((run_id, key, kwargs))


def test_in_and_out(index: RecordingIndex, chat: Callable[..., ScriptedChat]) -> None:
    client, run_id = Client(), uuid.uuid4()
    feedback = LangSmithFeedback(client)
    retriever = HebbianRetriever.from_index(index, k=3)
    chain = (
        {"context": retriever | format_documents, "question": RunnablePassthrough()}
        | citation_prompt()
        | chat(citing("petrel"))
    )
    learner = CitationLearner(on_answer=feedback.push)
    chain.invoke(QUERY, {"callbacks": [learner], "run_id": run_id})
    learner.flush()
    ((at, key, noted),) = client.created
    assert (at, key, noted["score"]) == (str(run_id), "hebbgraph", 1.0)
    assert noted["value"] == {"outcome": "learned", "cited": ["petrel"]}
    assert "'petrel'" in noted["comment"]

    client.say(run_id, 1.0)
    client.say(run_id, 0.0, minutes=5)
    client.say(run_id, None, minutes=6)
    client.say(run_id, 1.0, minutes=7, key="other")
    client.say(uuid.uuid4(), 1.0)
    for _ in range(2):
        assert feedback.pull(learner, [one.run_id for one in client.kept]) == 1
    assert index.lessons[-1].rejected == ["petrel"]
    assert len(index.lessons) == 2


def test_misuse() -> None:
    wrong: Any = "key"
    with pytest.raises(ParameterError, match=r"client is a langsmith.Client"):
        LangSmithFeedback(wrong)
    with pytest.raises(ParameterError, match="read its own feedback"):
        LangSmithFeedback(Client(), key="hebbgraph")
