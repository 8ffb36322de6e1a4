"""Bio-RAG's search through the door of the index."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from hebbgraph import HebbianIndex
from hebbgraph.testing.array_view import ArrayView

from hebbgraph_papers.bio_rag.formulas import BreadthFirstParameters
from hebbgraph_papers.bio_rag.strategy import BreadthFirst, TagChunkGraph

CHUNKS = [
    {"id": "petrel", "title": "Petrel", "text": "The Petrel was built by Ida Moss in a yard."},
    {"id": "moss", "title": "Ida Moss", "text": "Ida Moss was born in Tessel Bay.", "metadata": {}},
    {"id": "bay", "title": "Tessel Bay", "text": "Tessel Bay lies in the north."},
    {"id": "north", "title": "Northern lights", "text": "They are seen above Tessel Bay."},
    {"id": "rope", "title": "Rope", "text": "Rope is made of hemp."},
]


@pytest.fixture
def index() -> Iterator[HebbianIndex]:
    with HebbianIndex.open(":memory:") as opened:
        opened.add(CHUNKS)
        yield opened


def test_what_is_reached_comes_back_with_the_way(index: HebbianIndex) -> None:
    recall = index.recall("Who built the Petrel?", k=5, strategy="breadth_first")
    found = {hit.chunk.id: hit for hit in recall.hits}
    assert recall.hits[0].chunk.id == "petrel"
    assert {"petrel", "moss", "bay"} <= set(found)
    assert "rope" not in found
    way = [(step.kind, step.value) for step in found["moss"].path]
    assert way[:2] == [("query", ""), ("tag", "petrel")]
    assert way[-1] == ("chunk", "moss")
    assert recall.strategy == "breadth_first"


def test_labels_are_matched_by_substring(index: HebbianIndex) -> None:
    recall = index.recall("nort", k=5, strategy="breadth_first")
    assert "north" in {hit.chunk.id for hit in recall.hits}
    assert not recall.cues


def test_without_a_label_nothing_is_searched(index: HebbianIndex) -> None:
    recall = index.recall("quantum chromodynamics", strategy="breadth_first")
    assert recall.hits == ()
    assert "no label" in recall.notes[0]


def test_a_filtered_chunk_is_on_no_way(index: HebbianIndex) -> None:
    where = {"$id": {"$nin": ["moss"]}}
    recall = index.recall("Who built the Petrel?", where=where, strategy="breadth_first")
    values = {step.value for hit in recall.hits for step in hit.path if step.kind == "chunk"}
    assert "moss" not in values
    asked = index.recall(
        "Who built the Petrel?", where=lambda chunk: chunk.id != "moss", strategy="breadth_first"
    )
    assert [hit.chunk.id for hit in asked.hits] == [hit.chunk.id for hit in recall.hits]


def test_mu_decides_between_similarity_and_graph() -> None:
    with HebbianIndex.open(":memory:") as index:
        index.add(CHUNKS)
        similar = BreadthFirst(index.parts, BreadthFirstParameters(mu=0.0))
        direct = index.recall("Tessel Bay", strategy=similar)
        scores = [hit.score for hit in direct.hits]
    assert scores == sorted(scores, reverse=True)
    assert direct.hits[0].chunk.id in {"bay", "moss", "north"}


def test_weights_of_the_walk() -> None:
    # Chunk 0 holds tags 0 (its title) and 1; chunk 1 holds 0 and 1; chunk 2 holds 1.
    view = ArrayView([[0, 1], [0, 1], [1]], titles=[{0}, set(), set()])
    graph = type(
        "Graph",
        (),
        {
            "phrases": range(2),
            "n_slots": 3,
            "df": view.df,
            "tags_of": view.tags_of,
            "chunks_of": view.chunks_of,
        },
    )()
    allowed = np.array([True, True, False])
    walk = TagChunkGraph(graph, allowed)
    rows = zip(*(column.tolist() for column in walk.neighbours(np.array([0, 1, 2]))), strict=True)
    assert [(o, t, round(w, 3)) for o, t, w in rows] == [
        (0, 1, 0.2),  # two chunks hold both tags
        (0, 2, 1.0),  # the title of chunk 0
        (0, 3, 0.5),  # a mention
        (1, 0, 0.2),
        (1, 2, 0.5),
        (1, 3, 0.5),  # chunk 2 takes no part
        (2, 0, 1.0),
        (2, 1, 0.5),
    ]
