"""HebbianNodeParser and TagExtractor in and out of pipelines."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from llama_index.core import Document
from llama_index.core.ingestion import IngestionPipeline
from llama_index.core.schema import MetadataMode, TextNode
from llama_index.retrievers.hebbgraph import (
    HebbianGraphIndex,
    HebbianNodeParser,
    HebbianVectorStore,
    TagExtractor,
)
from llama_models import RuleLLM

from hebbgraph.errors import TaggingError
from hebbgraph.splitter import Splitter

PAGE = "# Ice\n\nIt floats.\n\n## Trade\n\nSee [salt](salt.md). It was shipped far."


def test_nodes_are_the_chunks_of_the_core() -> None:
    document = Document(id_="ice.md", text=PAGE, metadata={"file_path": "ice.md", "year": 1871})
    nodes: Any = HebbianNodeParser(chunk_tokens=(1, 16)).get_nodes_from_documents([document])
    chunks = Splitter(chunk_tokens=(1, 16)).split(PAGE, document_id="ice.md", address="ice.md")
    assert [node.node_id for node in nodes] == [chunk.id for chunk in chunks]
    assert [node.text for node in nodes] == [chunk.text for chunk in chunks]
    assert nodes[1].metadata["references"] == ["salt.md"]
    assert PAGE[nodes[1].start_char_idx : nodes[1].end_char_idx] == nodes[1].text
    assert nodes[0].next_node.node_id == nodes[1].node_id
    assert nodes[1].ref_doc_id == "ice.md"
    shown = nodes[1].get_content(MetadataMode.LLM)
    assert "year: 1871" in shown
    assert "headings" not in shown
    assert document.metadata == {"file_path": "ice.md", "year": 1871}


def test_an_edit_leaves_other_ids_as_they_are() -> None:
    parser = HebbianNodeParser(chunk_tokens=(1, 16))
    ids = [
        [node.node_id for node in parser.get_nodes_from_documents([Document(id_="a", text=text)])]
        for text in (PAGE, PAGE.replace("floats", "melts"))
    ]
    assert (ids[0][0] != ids[1][0], ids[0][1] == ids[1][1]) == (True, True)
    assert HebbianNodeParser().to_dict()["chunk_tokens"] == (200, 1200)


def tagging(prompt: str) -> str:
    numbers = re.findall(r'"number": (\d+)', prompt.rpartition("Give ")[0])
    found = [{"number": int(number), "tags": ["Ice trade", f"t{number}"]} for number in numbers]
    return json.dumps({"texts": found})


def test_tags_reach_the_index() -> None:
    nodes = [
        TextNode(text=f"Text {at}.", metadata={"tags": ["old"] if at else "one"}) for at in range(9)
    ]
    extractor = TagExtractor(llm=RuleLLM(rule=tagging))
    with HebbianVectorStore() as store:
        pipeline = IngestionPipeline(transformations=[extractor], vector_store=store)
        made = pipeline.run(nodes=nodes)
        assert made[0].metadata["tags"] == ["one", "Ice trade", "t1"]
        assert made[1].metadata["tags"] == ["old", "Ice trade", "t2"]
        assert "tags" not in made[1].get_content(MetadataMode.LLM)
        assert [tag.chunks for tag in store.index.tags("ice trade")] == [9]
    with HebbianGraphIndex(nodes[:2], tagger=extractor.tagger) as index:
        assert [tag.chunks for tag in index.index.tags("ice trade")] == [2]


def test_a_model_that_gives_no_tags() -> None:
    with pytest.raises(TaggingError, match="the model gave no proper tags"):
        TagExtractor(llm=RuleLLM(rule=lambda _: "Sorry."))([TextNode(text="Ice.")])
