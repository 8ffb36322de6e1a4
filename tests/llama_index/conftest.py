"""Little worlds for the LlamaIndex adapter; models are fakes, and nothing leaves the machine."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from llama_index.core.llms import MockLLM
from llama_index.core.schema import TextNode
from llama_index.core.settings import Settings
from llama_index.retrievers.hebbgraph import CitationLearner, HebbianGraphIndex
from llama_models import CORPUS


@pytest.fixture(autouse=True)
def no_model() -> Iterator[None]:
    """No test reaches for a real model."""
    before, Settings.llm = Settings._llm, MockLLM()
    yield
    Settings._llm = before


@pytest.fixture
def nodes() -> list[TextNode]:
    """The little corpus."""
    return [
        TextNode(id_=id_, text=text, metadata={"title": title, "place": id_[0]})
        for id_, (title, text) in CORPUS.items()
    ]


@pytest.fixture
def index(nodes: list[TextNode]) -> Iterator[HebbianGraphIndex]:
    """An index of it, in memory."""
    with HebbianGraphIndex(nodes) as made:
        yield made


@pytest.fixture
def learner(index: HebbianGraphIndex) -> Iterator[CitationLearner]:
    """A learner that listens."""
    with CitationLearner(index, on_sigterm=False) as made:
        yield made
