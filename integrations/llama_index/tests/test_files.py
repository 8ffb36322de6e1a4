"""What documents are read as, by their suffix, and how the framework's own settings count."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from llama_index.core import Document, MockEmbedding, Settings
from llama_index.core.node_parser import SentenceSplitter
from llama_index.core.vector_stores.utils import node_to_metadata_dict

from hebbgraph import SettingsMismatchError
from hebbgraph.limits import MAX_TEXT
from llama_index.retrievers.hebbgraph import (
    HebbianGraphIndex,
    HebbianNodeParser,
    HebbianRetriever,
    HebbianVectorStore,
)

SCRIPT = "# Install the yard\nset -e\n\nif true; then\n    make boat\nfi\n"
MODULE = "# The yard\n\n\ndef build(name):\n    # Moss built it\n    return name\n"
RST = "Fees\n====\n\nTen crowns.\n\n.. code-block:: python\n\n   def fee():\n       return 10\n"
NOTEBOOK = json.dumps(
    {
        "cells": [
            {"cell_type": "markdown", "source": ["# Tides\n", "\n", "They rise."]},
            {"cell_type": "code", "source": "# no heading\nprint(1)", "outputs": ["noise"]},
        ],
        "metadata": {"kernelspec": {"language": "python"}},
    }
)


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    yield
    Settings._node_parser = None


@pytest.mark.parametrize(
    ("name", "text", "title", "keeps"),
    [
        ("install.sh", SCRIPT, "install.sh", "\n    make boat\n"),
        ("yard.py", MODULE, "yard.py", "\n    # Moss built it\n    return name"),
        ("fees.rst", RST, "Fees", "\n   def fee():\n       return 10"),
        ("tides.ipynb", NOTEBOOK, "Tides", "# no heading\nprint(1)"),
    ],
)
def test_files_are_read_as_what_they_are(name: str, text: str, title: str, keeps: str) -> None:
    nodes = HebbianNodeParser(chunk_tokens=(1, 400))([Document(text=text, id_=name)])
    assert {node.metadata["title"] for node in nodes} == {title}
    assert keeps in "\n\n".join(node.get_content() for node in nodes)
    assert not any("heading" in node.metadata.get("hebbgraph_tags", "") for node in nodes)
    assert "noise" not in "".join(node.get_content() for node in nodes)


def test_a_text_longer_than_a_chunk_may_be_is_split() -> None:
    line = "Ida Moss built the Petrel in the yard at Dunmore, and sailed it north. "
    for text in (line * 290_000, line * 150_000 + "\x00"):
        assert len(text) > MAX_TEXT
        nodes = HebbianNodeParser(chunk_tokens=(50_000, 100_000))(
            [Document(text=text, id_="long.txt")]
        )
        assert sum(len(node.get_content()) for node in nodes) > 0.99 * len(text)
        assert max(len(node.get_content()) for node in nodes) < 500_000


def test_settings_of_the_framework_are_respected() -> None:
    document = Document(text="One two three four. " * 200, id_="numbers.md")
    Settings.node_parser = SentenceSplitter(chunk_size=40, chunk_overlap=0)
    with HebbianRetriever.from_documents([document]) as cut_small:
        small = cut_small.index.stats().chunks
    Settings.node_parser = SentenceSplitter()  # as everything that asks for it leaves it
    with HebbianGraphIndex.from_documents([document]) as own:
        assert small > 5 * own.index.stats().chunks
    # Our own parser takes the size: as many nodes hold as much text as the framework's.
    assert HebbianNodeParser().chunk_tokens == (512, 1024)
    Settings.chunk_size = 64
    parser = HebbianNodeParser()
    Settings.node_parser = SentenceSplitter()
    assert parser.chunk_tokens == (64, 64)
    lengths = [len(node.get_content()) for node in parser([document])]
    assert min(lengths) >= 128
    assert max(lengths) <= 256


def test_nodes_go_into_stores_that_take_no_lists() -> None:
    text = "# Petrel\n\nSee [moss](moss.md).\n\n## Builder\n\nIda Moss built it."
    parser = HebbianNodeParser(chunk_tokens=(1, 16), tagger=lambda chunk: ["ship", "yard"])
    for node in parser([Document(text=text, id_="docs/petrel.md")]):
        flat = node_to_metadata_dict(node, remove_text=True, flat_metadata=True)  # as Chroma does
        assert "ship\nyard" in flat["hebbgraph_tags"]
        with HebbianRetriever.from_nodes([node]) as retriever:
            (chunk,) = retriever.index.get([node.node_id])
            assert {"ship", "yard"} <= set(chunk.tags)


def test_a_model_of_another_dimension_fails_at_open(tmp_path: object) -> None:
    def opened(dimension: int) -> HebbianVectorStore:
        return HebbianVectorStore.open(str(tmp_path), embed_model=MockEmbedding(dimension))

    store = opened(3)
    store.add(HebbianNodeParser()([Document(text="Owls hunt at night.", id_="owl")]))
    store.index.close()
    with pytest.raises(SettingsMismatchError, match=r"vectors of 3 numbers, and .* makes 4"):
        opened(4)
    opened(3).index.close()
