"""A set small enough to work by hand: three letters, three questions."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from hebbgraph import HebbianIndex
from hebbgraph.records import Chunk
from hypothesis import settings

from hebbgraph_bench import Dataset, Query

# The same examples in every run; ``--hypothesis-profile=default`` draws others.
settings.register_profile("deterministic", derandomize=True, deadline=None)
settings.load_profile("deterministic")

CORPUS = [
    {"id": "a", "title": "Gull", "text": "A gull nests on the cliff above the harbour."},
    {"id": "b", "title": "Harbour", "text": "The harbour was built by Mira Voss.", "year": 1904},
    {"id": "c", "title": "Mira Voss", "text": "Mira Voss was an engineer born in Tarn."},
]
QUERIES = [
    {
        "id": "q1",
        "question": "Where does the gull nest?",
        "answers": ["the cliff"],
        "supporting_ids": ["a"],
    },
    {
        "id": "q2",
        "question": "Where was the builder of the harbour born?",
        "answers": ["Tarn"],
        "supporting_ids": ["b", "c"],
        "grades": {"a": 0, "b": 1, "c": 2},
        "type": "bridge",
        "group": "g",
    },
    {
        "id": "q3",
        "question": "Was the engineer a gull?",
        "answers": ["no"],
        "supporting_ids": ["c"],
    },
]


class HashEmbedder:
    """Vectors that depend on the words alone; counts how often it was called."""

    name = "words"

    def __init__(self) -> None:
        self.calls = 0

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        self.calls += 1
        vector = [0.0] * 64
        for word in text.lower().split():
            vector[hashlib.sha256(word.strip(".?").encode()).digest()[0] % 64] += 1.0
        return vector


@pytest.fixture
def embedder() -> HashEmbedder:
    return HashEmbedder()


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str, Any], Path]:
    """Write lines of JSON (a list), or text as it is, to a file below ``tmp_path``."""

    def write_file(name: str, content: Any) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not isinstance(content, str):
            content = "".join(json.dumps(row) + "\n" for row in content)
        path.write_text(content, encoding="utf-8")
        return path

    return write_file


@pytest.fixture
def own_folder(write: Callable[[str, Any], Path]) -> Path:
    write("harbour/queries.jsonl", QUERIES)
    return write("harbour/corpus.jsonl", CORPUS).parent


@pytest.fixture
def dataset() -> Dataset:
    return Dataset(
        "harbour",
        tuple(Chunk(id=row["id"], title=row["title"], text=row["text"]) for row in CORPUS),
        tuple(
            Query(
                row["id"],
                row["question"],
                dict.fromkeys(row["supporting_ids"], 1),
                tuple(row["answers"]),
            )
            for row in QUERIES
        ),
    )


@pytest.fixture
def open_index(tmp_path: Path) -> Iterator[Callable[..., HebbianIndex]]:
    """Open an index below ``tmp_path``; whatever is left open is closed."""
    with ExitStack() as stack:
        yield lambda **options: stack.enter_context(
            HebbianIndex.open(tmp_path / "index", **options)
        )
