"""Little worlds for the LangChain adapter; models are fakes, and nothing leaves the machine."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from langchain_core.documents import Document
from langchain_hebbgraph import HebbianRetriever


@pytest.fixture
def ships() -> list[Document]:
    """Three documents with ids; the answer about the builder takes two of them."""
    return [
        Document(
            "The Petrel was built by Ida Moss in the yard at Dunmore.",
            id="petrel",
            metadata={"title": "Petrel", "year": 1871, "owner": "ann", "source": "ships.md"},
        ),
        Document(
            "Ida Moss was born in Tessel Bay and learned to draw from Jon Ash.",
            id="moss",
            metadata={"title": "Ida Moss", "year": 1840, "owner": "ben", "source": "people.md"},
        ),
        Document(
            "Bread rises when yeast turns sugar into gas.",
            id="bread",
            metadata={"title": "Bread", "owner": "ben"},
        ),
    ]


@pytest.fixture
def retriever(ships: list[Document]) -> Iterator[HebbianRetriever]:
    """A retriever over them, in memory."""
    with HebbianRetriever.from_documents(ships) as made:
        yield made
