"""Node parser and tag extractor: pure, deterministic, picklable."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pytest
from fakes import RuleLLM
from llama_index.core import Document, MockEmbedding
from llama_index.core.extractors import BaseExtractor
from llama_index.core.ingestion.pipeline import get_transformation_hash
from llama_index.core.node_parser import (
    HierarchicalNodeParser,
    MarkdownNodeParser,
    NodeParser,
    SentenceSplitter,
    SentenceWindowNodeParser,
)
from llama_index.core.schema import (
    BaseNode,
    MetadataMode,
    NodeRelationship,
    TextNode,
    TransformComponent,
)

from hebbgraph import Chunk, HebbianIndex
from llama_index.retrievers.hebbgraph import HebbianNodeParser, HebbianRetriever, TagExtractor
from llama_index.retrievers.hebbgraph.embedding import LlamaIndexEmbedder
from llama_index.retrievers.hebbgraph.tags import DEFAULT_TAG_PROMPT

TEXT = """\
# Petrel

The Petrel is a lugger of twelve metres. She was launched in Tessel Bay.

## Builder

Ida Moss built her in the winter of 1889. Ida Moss died in 1911.

## Voyages

She carried salt. She carried salt again, and once a bishop.
"""


def shouting(chunk: Chunk) -> Iterable[str]:
    return [chunk.text.split()[0].upper(), "shared tag"]


class Counting:
    """A tagger with a setting."""

    def __init__(self, n: int) -> None:
        self.n = n

    def __call__(self, chunk: Chunk) -> list[str]:
        return [f"tag {number}" for number in range(self.n)]


def documents() -> list[Document]:
    return [Document(id_="petrel.md", text=TEXT, metadata={"file": "petrel.md"})]


PARSERS: dict[str, NodeParser | None] = {
    "own": None,
    "sentences": SentenceSplitter(chunk_size=40, chunk_overlap=0),
    "markdown": MarkdownNodeParser(),
    "window": SentenceWindowNodeParser.from_defaults(window_size=1),
    "hierarchical": HierarchicalNodeParser.from_defaults(chunk_sizes=[128, 32], chunk_overlap=0),
}


@pytest.fixture(params=PARSERS)
def parser(request: pytest.FixtureRequest) -> HebbianNodeParser:
    return HebbianNodeParser(parser=PARSERS[request.param], tagger=shouting, chunk_tokens=(1, 24))


def test_is_a_node_parser(parser: HebbianNodeParser) -> None:
    assert isinstance(parser, NodeParser)


def test_ids_last_and_relationships_hold(parser: HebbianNodeParser) -> None:
    given = documents()
    once, again = parser(given), parser(documents())
    assert given == documents()
    ids = [node.node_id for node in once]
    assert len(ids) == len(set(ids)) >= 3
    assert ids == [node.node_id for node in again]
    known = {*ids, "petrel.md"}
    for node in once:
        assert len(node.node_id) == 32
        assert node.ref_doc_id in known
        for related in node.relationships.values():
            for one in related if isinstance(related, list) else [related]:
                assert one.node_id in known


def test_tags_are_kept_from_models(parser: HebbianNodeParser) -> None:
    for node in parser(documents()):
        assert "shared tag" in node.metadata["hebbgraph_tags"]
        for mode in (MetadataMode.EMBED, MetadataMode.LLM):
            assert "shared tag" not in node.get_content(mode)
        assert node.metadata["file"] == "petrel.md"
    assert documents()[0].excluded_llm_metadata_keys == []


async def test_async_twin_and_pickle(parser: HebbianNodeParser) -> None:
    expected = [node.model_dump() for node in parser(documents())]
    sent = pickle.loads(pickle.dumps(parser))
    assert [node.model_dump() for node in await sent.acall(documents())] == expected
    key = get_transformation_hash(documents(), parser)
    assert key == get_transformation_hash(documents(), copy.deepcopy(parser))


def test_an_embedder_can_be_sent_to_a_process_of_a_build() -> None:
    embedder = LlamaIndexEmbedder(MockEmbedding(embed_dim=2))
    for sent in (pickle.loads(pickle.dumps(embedder)), copy.deepcopy(embedder)):
        assert (sent.model_name, sent.dimension) == (embedder.model_name, 2)
        assert sent.embed_documents(["owl"]) == [embedder.embed_query("Where?")]


def test_an_edit_elsewhere_keeps_ids() -> None:
    parser = HebbianNodeParser(chunk_tokens=(1, 24))
    before = {node.text: node.node_id for node in parser(documents())}
    edited = TEXT.replace("carried salt again", "carried coal")
    after = {node.text: node.node_id for node in parser([Document(id_="petrel.md", text=edited)])}
    same = before.keys() & after.keys()
    assert len(same) == len(before) - 1
    assert all(before[text] == after[text] for text in same)


def test_repeated_text_gets_ids_of_its_own() -> None:
    twice = Document(id_="d", text="# A\n\nSame.\n\n# A\n\nSame.\n")
    nodes = HebbianNodeParser(chunk_tokens=(1, 16))([twice])
    assert len({node.node_id for node in nodes}) == len(nodes)


def test_own_parser_keeps_titles_headings_and_neighbours() -> None:
    nodes = HebbianNodeParser(chunk_tokens=(1, 24))(documents())
    assert {node.metadata["title"] for node in nodes} == {"Petrel"}
    builder = next(node for node in nodes if "1889" in node.text)
    assert "Builder" in builder.metadata["hebbgraph_tags"]
    assert builder.relationships[NodeRelationship.NEXT].node_id in {n.node_id for n in nodes}
    titled = Document(text="Just text.", metadata={"title": "Given"})
    assert HebbianNodeParser()([titled])[0].metadata["title"] == "Given"


def test_from_documents_is_found() -> None:
    retriever = HebbianRetriever.from_documents(documents(), similarity_top_k=1)
    assert "1889" in retriever.retrieve("Who built the Petrel?")[0].text
    coarse = HebbianRetriever.from_documents(
        documents(), node_parser=SentenceSplitter(chunk_size=1000), similarity_top_k=1
    )
    assert "bishop" in coarse.retrieve("Petrel")[0].text


# -- tags ---------------------------------------------------------------------------


def test_extractor_is_pure(nodes: list[TextNode]) -> None:
    before = copy.deepcopy(nodes)
    tagged = TagExtractor()(nodes)
    assert nodes == before
    assert isinstance(TagExtractor(), BaseExtractor)
    assert "tessel bay" in tagged[1].metadata["hebbgraph_tags"]
    assert tagged[1].text_template == nodes[1].text_template
    assert tagged[1].get_content(MetadataMode.LLM) == nodes[1].get_content(MetadataMode.LLM)
    assert tagged[1].get_content(MetadataMode.EMBED) == nodes[1].get_content(MetadataMode.EMBED)
    again = TagExtractor()(tagged)
    assert [node.model_dump() for node in again] == [node.model_dump() for node in tagged]


async def test_extractor_takes_any_tagger(nodes: list[TextNode]) -> None:
    async def slow(chunk: Chunk) -> list[str]:
        return [chunk.title]

    assert (await TagExtractor(tagger=slow).acall(nodes))[0].metadata["hebbgraph_tags"] == "Petrel"
    found = await TagExtractor(tagger=Counting(20), max_tags=5).acall(nodes)
    assert found[0].metadata["hebbgraph_tags"].split("\n") == [
        f"tag {number}" for number in range(5)
    ]


def test_extractor_asks_a_model(nodes: list[TextNode]) -> None:
    def rule(prompt: str) -> str:
        assert "Petrel" in prompt
        return "- Ida Moss\n2. lugger\n\n* Ida Moss\n" + "x" * 500

    extractor = TagExtractor(llm=RuleLLM(rule=rule))
    assert extractor(nodes[:1])[0].metadata["hebbgraph_tags"] == "Ida Moss\nlugger"
    with pytest.raises(AssertionError):
        TagExtractor(llm=RuleLLM(rule=rule))(nodes[5:6])
    if "raise_on_error" in BaseExtractor.model_fields:
        kept = TagExtractor(llm=RuleLLM(rule=rule), raise_on_error=False)(nodes[5:6])
        assert "hebbgraph_tags" not in kept[0].metadata


def test_cache_keys_know_the_tagger(nodes: list[TextNode]) -> None:
    def key(tagger: Any) -> str:
        return get_transformation_hash(nodes, TagExtractor(tagger=tagger))

    assert key(Counting(2)) == key(Counting(2))
    assert len({key(Counting(2)), key(Counting(3)), key(shouting), key(None)}) == 4


def test_tags_reach_the_graph(nodes: list[TextNode]) -> None:
    with HebbianIndex.open(":memory:") as index:
        HebbianRetriever(index).add(TagExtractor(tagger=shouting)(nodes))
        tags = index.inspect.to_networkx("tags")
    assert tags.nodes["shared tag"]["df"] == len(nodes)


def test_links_between_parsed_documents_are_followed() -> None:
    pages = [
        Document(text="# Guide\n\nFrost heaves; [see](more.md#salt).", id_="d/guide.md"),
        Document(
            text="# Winter\n\nNo.\n\n## Salt\n\nUse little.",
            id_="4f1c",
            metadata={"file_path": "d/more.md"},
        ),
    ]
    nodes = HebbianNodeParser(chunk_tokens=(1, 16))(pages)
    assert nodes[0].metadata["hebbgraph_references"] == "d/more#salt"
    assert nodes[2].metadata["hebbgraph_addresses"].split() == [
        "d/more.md",
        "d/more",
        "d/more#salt",
    ]
    assert "hebbgraph_references" in nodes[0].excluded_llm_metadata_keys
    found = HebbianRetriever.from_nodes(nodes, similarity_top_k=2).retrieve(
        "When does frost heave?"
    )
    assert "Use little" in found[1].text


# -- formats, and places in the document ------------------------------------------------

HARBOUR = """\
Harbour
=======

.. _fees:

Fees
----

Mooring costs four crowns; see :ref:`lights`.

.. _lights:

Lights
------

The *red* light is on the left.
"""


def test_rst_is_read_as_rst() -> None:
    for document in (
        Document(text=HARBOUR, id_="docs/harbour.rst"),
        Document(text=HARBOUR, id_="4f1c", metadata={"file_path": "docs/harbour.rst"}),
    ):
        *_, fees, lights = HebbianNodeParser(chunk_tokens=(1, 24))([document])
        assert fees.metadata["title"] == "Harbour"
        assert "label:fees" in fees.metadata["hebbgraph_addresses"]
        assert fees.metadata["hebbgraph_tags"] == "Fees"
        assert "label:lights" in fees.metadata["hebbgraph_references"]
        assert "label:lights" in lights.metadata["hebbgraph_addresses"]
        assert "----" not in fees.text


def test_nodes_know_where_they_stand_in_their_document() -> None:
    pages = [
        Document(
            id_="a.md", text="# Petrel\n\nA small ship.\n\n## Builder\n\nIda Moss built it.\n"
        ),
        Document(id_="harbour.rst", text=HARBOUR),
        Document(id_="b.md", text="Builder\n\n" + "The ship was old. " * 40 + "\n\nShe sank.\n"),
    ]
    for page in pages:
        nodes = HebbianNodeParser(chunk_tokens=(1, 32))([page])
        ends = [0]
        for node in nodes:
            assert node.start_char_idx is not None
            there = page.text[node.start_char_idx : node.end_char_idx]
            assert there.split()[-1] == node.text.split()[-1]
            assert there.split()[0] in node.text
            assert node.start_char_idx >= ends[-1]
            ends.append(node.end_char_idx)
        assert not page.text[ends[-1] :].strip()


@pytest.mark.parametrize(
    "said",
    [
        '["Ida Moss", "lugger"]',
        'Sure!\n```json\n{"names": [{"name": "Ida Moss"}, {"name": "lugger"}]}\n```',
        "Here are the names:\n\n1. **Ida Moss** - who built it\n2. lugger: a kind of ship",
        "Names: Ida Moss, lugger, Neptune",
        "- Ida Moss\n- lugger\n\nI hope this helps! Let me know if you need anything else.",
    ],
)
def test_tags_are_read_from_any_answer(said: str, nodes: list[TextNode]) -> None:
    extractor = TagExtractor(llm=RuleLLM(rule=lambda prompt: said))
    assert extractor(nodes[:1])[0].metadata["hebbgraph_tags"] == "Ida Moss\nlugger"


@pytest.mark.parametrize(
    "said",
    ["I'm sorry, but I cannot do that.", "None", "", "{}", "As an AI model, I see no names."],
)
def test_an_apology_is_no_tag(said: str, nodes: list[TextNode]) -> None:
    for prompt in (DEFAULT_TAG_PROMPT, "Which topics? {text} {max_tags}"):
        extractor = TagExtractor(llm=RuleLLM(rule=lambda _: said), prompt=prompt)
        assert "hebbgraph_tags" not in extractor(nodes[:1])[0].metadata


class OneByOne(TransformComponent):
    """Yields its nodes."""

    def __call__(self, nodes: Sequence[BaseNode], **kwargs: Any) -> Iterator[BaseNode]:
        yield from SentenceSplitter()(nodes)


def test_a_transformation_may_be_a_generator() -> None:
    with HebbianRetriever.from_documents(documents(), transformations=[OneByOne()]) as retriever:
        (result,) = retriever.retrieve("Who built the Petrel?")
    assert "Ida Moss built her" in result.text
