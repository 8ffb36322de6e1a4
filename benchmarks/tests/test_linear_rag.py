"""LinearRAG on a bridge that can be followed by hand."""

from __future__ import annotations

import re

import numpy as np
from hebbgraph.records import Chunk

from hebbgraph_bench.linear_rag import LinearRAG, LinearRAGSettings

CHUNKS = [
    Chunk(id="harbour", title="Harbour", text="The Harbour was built by Mira Voss."),
    Chunk(id="voss", title="Mira Voss", text="Mira Voss came from Tarn."),
    Chunk(id="kelp", title="Kelp", text="Kelp grows where it is cold."),
    Chunk(id="gulls", title="Gulls", text="Gulls nest where it is high."),
]


class Words:
    """Vectors of hashed words."""

    name = "words"

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        vector = np.zeros(64)
        for word in re.findall(r"\w+", text.lower()):
            vector[sum(map(ord, word)) % 64] += 1
        return [float(value) for value in vector]


def names(text: str) -> list[tuple[str, str]]:
    sentences = re.split(r"(?<=\.)\s|\n", text)
    known = re.compile(r"Harbour|Mira Voss|Tarn|Kelp|Gulls")
    return [(one, name) for one in sentences for name in known.findall(one)]


def test_it_follows_a_sentence_to_the_next_entity() -> None:
    system = LinearRAG(Words(), settings=LinearRAGSettings(threshold=0.05), entities=names)
    system.index(CHUNKS)
    found = [hit.id for hit in system.retrieve("Who built the Harbour?", 4)]
    assert found[:2] == ["harbour", "voss"]
    system.close()


def test_without_an_entity_it_searches_by_vectors() -> None:
    system = LinearRAG(Words(), entities=names)
    system.index(CHUNKS)
    assert system.retrieve("where is it cold", 1)[0].id == "kelp"
    system.close()


def test_each_set_of_its_authors_has_its_settings() -> None:
    assert LinearRAGSettings.for_set("musique_dev498").sentences == 4
    assert LinearRAGSettings.for_set("2wiki_hr") == LinearRAGSettings()
