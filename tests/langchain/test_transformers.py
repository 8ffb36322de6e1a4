"""The splitter and the tagger as document transformers."""

from __future__ import annotations

from pathlib import Path

import pytest
from langchain_core.documents import Document
from langchain_core.language_models import FakeListChatModel, FakeListLLM
from langchain_hebbgraph import HebbianRetriever, HebbianTextSplitter, TagTransformer
from langchain_hebbgraph.documents import to_chunk

from hebbgraph.errors import ParameterError, TaggingError
from hebbgraph.splitter import Splitter

TEXT = "# Ice\n\nIt floats.\n\n## Trade\n\nSee [salt](salt.md). It was shipped far."


def test_pieces_are_the_chunks_of_the_core() -> None:
    metadata = {"source": "docs/ice.md", "lang": "en"}
    splitter = HebbianTextSplitter(chunk_tokens=(1, 16))
    pieces = splitter.split_documents([Document(TEXT, metadata=metadata)])
    chunks = Splitter(chunk_tokens=(1, 16)).split(
        TEXT, document_id="docs/ice.md", address="docs/ice.md", metadata=metadata
    )
    names = ("id", "text", "title", "document_id", "addresses", "references")
    made = [[getattr(to_chunk(piece), name) for name in names] for piece in pieces]
    assert made == [[getattr(chunk, name) for name in names] for chunk in chunks]
    assert [piece.metadata["headings"] for piece in pieces] == [["Ice"], ["Ice", "Trade"]]
    assert all(piece.metadata["lang"] == "en" for piece in pieces)
    assert metadata == {"source": "docs/ice.md", "lang": "en"}


def test_links_between_pieces_are_followed(tmp_path: Path) -> None:
    salt = "# Salt\n\nBrine is boiled in pans."
    documents = [
        Document(text, metadata={"source": source})
        for source, text in (("docs/ice.md", TEXT), ("docs/salt.md", salt))
    ]
    pieces = HebbianTextSplitter().transform_documents(documents)
    with HebbianRetriever.from_documents(pieces) as retriever:
        found = retriever.invoke("Where was ice shipped?")
        assert [d.metadata["source"] for d in found] == ["docs/ice.md", "docs/salt.md"]


def test_texts_are_split_as_well() -> None:
    splitter = HebbianTextSplitter(chunk_tokens=(1, 16))
    assert splitter.split_text(TEXT) == [d.page_content for d in splitter.create_documents([TEXT])]
    (piece, *_) = splitter.create_documents([TEXT], [{"title": "Cold", "addresses": ["x"]}])
    assert (piece.metadata["title"], piece.metadata["addresses"]) == ("Cold: Ice", ["x"])
    with pytest.raises(ParameterError, match="chunk_tokens is"):
        HebbianTextSplitter(chunk_tokens=(9, 3))


def answer(*tags: list[str]) -> str:
    texts = [f'{{"number": {n}, "tags": {t}}}' for n, t in enumerate(tags, 1)]
    return f'{{"texts": [{", ".join(texts)}]}}'.replace("'", '"')


def test_a_chat_models_tags_go_into_metadata() -> None:
    model = FakeListChatModel(responses=[answer(["Ida Moss", "Petrel"], ["bread"])])
    given = [
        Document("Ida Moss built the Petrel.", metadata={"tags": ["ships", "Petrel"]}),
        Document(" "),
        Document("Bread rises."),
    ]
    tagged = TagTransformer(model).transform_documents(given)
    assert [d.metadata["tags"] for d in tagged] == [["ships", "Petrel", "Ida Moss"], [], ["bread"]]
    assert given[2].metadata == {}
    with HebbianRetriever.from_documents(tagged) as retriever:
        assert retriever.index.get([retriever.index.ids()[0]])[0].tags


async def test_it_is_the_tagger_of_an_index_too() -> None:
    model = FakeListLLM(responses=[answer(["harbour"]), answer(["harbour"])])
    tagger = TagTransformer(model, tags=3, domain="ports").tagger
    with HebbianRetriever(path=":memory:", tagger=tagger) as retriever:
        retriever.add_documents([Document("Cranes.")])
        retriever.add_documents([Document("Docks.")])
        assert [tag.tag for tag in retriever.index.tags("harb")] == ["harbour"]
    twice = FakeListChatModel(responses=["no JSON", "nothing"])
    with pytest.raises(TaggingError, match="asked twice"):
        await TagTransformer(twice).atransform_documents([Document("Cranes.")])
