from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import llama_index.core
import pytest
from fakes import CHUNKS
from llama_index.core import Settings
from llama_index.core.llms import MockLLM
from llama_index.core.schema import NodeRelationship, RelatedNodeInfo, TextNode

import hebbgraph
from hebbgraph import HebbianIndex, Recall
from llama_index.retrievers.hebbgraph import HebbianRetriever

# Older versions download what lies in their own wheel.
_BUNDLED = Path(llama_index.core.__file__ or "").parent / "_static" / "nltk_cache"
os.environ.setdefault("NLTK_DATA", str(_BUNDLED))


@pytest.fixture(autouse=True)
def _no_defaults() -> Iterator[None]:
    """Without this, LlamaIndex reaches for OpenAI."""
    Settings.llm = MockLLM()
    yield
    Settings.llm = None


@pytest.fixture
def nodes() -> list[TextNode]:
    made = []
    for id_, (title, text) in CHUNKS.items():
        source = RelatedNodeInfo(node_id=f"{id_}.md")
        made.append(
            TextNode(
                id_=id_,
                text=text,
                metadata={"title": title, "letters": len(text)},
                excluded_llm_metadata_keys=["letters"],
                relationships={NodeRelationship.SOURCE: source},
            )
        )
    return made


class RecordingIndex(HebbianIndex):
    """Learns, and notes what it is taught."""

    def reinforce(
        self,
        recall: Recall | str,
        cited: Any,
        rejected: Any = None,
        shown: Any = None,
        actor: str | None = None,
        trusted: bool = False,
        kind: str = "cited",
    ) -> Any:
        assert isinstance(recall, Recall)
        feedback = super().reinforce(
            recall,
            cited,
            rejected=rejected,
            shown=shown,
            actor=actor,
            trusted=trusted,
            kind=kind,
        )
        taught = {
            "id": feedback.id,
            "query": recall.query,
            "recall": recall.id,
            "cited": list(cited),
            "rejected": list(rejected or ()),
            "shown": list(shown),
            "actor": actor,
            "trusted": trusted,
            "kind": kind,
            "thread": threading.current_thread().name,
        }
        self.lessons.append(taught)
        return feedback

    @property
    def lessons(self) -> list[dict[str, Any]]:
        return self.__dict__.setdefault("taught", [])

    def cited(self) -> list[tuple[str, list[str]]]:
        return sorted((lesson["query"].strip(), lesson["cited"]) for lesson in self.lessons)


@pytest.fixture
def index(nodes: list[TextNode]) -> Iterator[RecordingIndex]:
    learning = hebbgraph.LearningSettings(families=())
    settings = hebbgraph.Settings(learning=learning)  # keeps rankings as they are
    with RecordingIndex.open(":memory:", settings=settings) as opened:
        opened.keep_recalls()
        HebbianRetriever(opened).add(nodes)
        yield opened


@pytest.fixture
def retriever(index: RecordingIndex) -> HebbianRetriever:
    return HebbianRetriever(index, similarity_top_k=4)
