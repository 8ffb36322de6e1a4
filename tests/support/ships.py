"""A little corpus with facts that take two chunks, and random chunks of the same world."""

from __future__ import annotations

import random
import re
from collections.abc import Iterable
from typing import Any

import numpy as np

from hebbgraph import Chunk

__all__ = ["CORPUS", "NAMES", "QUESTIONS", "ByNumber", "random_chunk", "random_chunks"]

CORPUS = [
    Chunk(
        id="petrel",
        title="Petrel (schooner)",
        text="The Petrel was a schooner built by Ida Moss for the ice trade.",
        metadata={"kind": "ship", "year": 1871, "flags": ["wood", "sail"]},
        document_id="ships",
    ),
    Chunk(
        id="heron",
        title="Heron (barque)",
        text="The Heron carried slate until Ida Moss sold it to Corin Vale.",
        metadata={"kind": "ship", "year": 1880, "flags": ["iron"]},
        document_id="ships",
    ),
    Chunk(
        id="moss",
        title="Ida Moss",
        text="Ida Moss was born in Tessel Bay and learned her craft from Corin Vale.",
        metadata={"kind": "person", "born": {"year": 1840, "place": "Tessel Bay"}},
        document_id="people",
    ),
    Chunk(
        id="vale",
        title="Corin Vale",
        text="Corin Vale kept the yard at Gannet Point and wrote about knots.",
        metadata={"kind": "person", "born": {"year": 1811, "place": "Gannet Point"}},
        document_id="people",
    ),
    Chunk(
        id="bay",
        title="Tessel Bay",
        text="Tessel Bay freezes in winter; its lighthouse burned in 1902.",
        metadata={"kind": "place", "draft": True},
        document_id="places",
    ),
    Chunk(
        id="point",
        title="Gannet Point",
        text="Gannet Point is a headland with a yard, a chapel and no road.",
        metadata={"kind": "place", "draft": False},
        document_id="places",
    ),
    Chunk(
        id="knots",
        text="A bowline holds under load and unties when the load is gone.",
        metadata={"kind": "note", "year": None},
    ),
    Chunk(id="bare", text="Slate splits along its cleavage when it is dry."),
]

#: Names that nest and overlap, so that tags of other chunks change with each of them.
NAMES = [
    "Ida Moss", "Moss", "Ida", "Grey Moss Hall", "Moss Hall", "Tessel Bay", "Tessel Bay Yard",
    "Bay Yard", "Yard", "Petrel", "New Petrel", "New York", "New York City", "York City",
    "City Hall", "東京大学", "大学", "Москва",
]  # fmt: skip
_FILLER = ["the", "keeper of", "new", "city", "moss", "bay", "東京大学の歴史", "rope", "in winter"]

QUESTIONS = [
    "Who built the Petrel at Tessel Bay Yard?",
    "Ida Moss and Grey Moss Hall",
    "keeper of New York City Hall in winter",
    "東京大学",
    "rope",
    "the of",
]


def random_chunk(rng: random.Random, id_: str) -> Chunk:
    """Return a chunk of few words, with names, given tags, links and metadata now and then."""
    words = (rng.choice([*NAMES, *_FILLER]) for _ in range(rng.randrange(1, 8)))
    options: dict[str, Any] = {}
    if rng.random() < 0.2:
        options["tags"] = [rng.choice(NAMES)]
    if rng.random() < 0.3:
        options["metadata"] = {"berth": rng.randrange(3), "flags": rng.sample("abc", 2)}
    if rng.random() < 0.2:
        options["references"] = ["log.md"]
    if rng.random() < 0.2:
        options["addresses"] = ["log.md#top"]
    return Chunk(
        id=id_,
        title=rng.choice(["", *NAMES]),
        text=f"{' '.join(words)} {rng.randrange(10**6)}",
        document_id=f"d{int(re.sub('[^0-9]', '', id_) or 0) % 5}",
        **options,
    )


def random_chunks(rng: random.Random, ids: Iterable[str]) -> list[Chunk]:
    """Return a chunk for each id."""
    return [random_chunk(rng, id_) for id_ in ids]


class ByNumber:
    """Vectors drawn from the last number in a text, so that each text has its own."""

    def __init__(self, dimension: int = 16, name: str = "by-number") -> None:
        self.name = name
        self.dimension = dimension

    def vector(self, text: str) -> list[float]:
        """Return the vector of a text or question."""
        numbers = re.findall(r"\d+", text) or ["0"]
        drawn = np.random.default_rng(int(numbers[-1])).normal(size=self.dimension)
        unit: list[float] = (drawn / np.linalg.norm(drawn)).tolist()
        return unit

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return a vector for each text."""
        return [self.vector(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        """Return the vector of a question."""
        return self.vector(text)
