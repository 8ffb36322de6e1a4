from __future__ import annotations

import pickle

import pytest
from hebbgraph import Chunk, ParameterError
from langchain_core.documents import Document

from langchain_hebbgraph import (
    HebbianRetriever,
    HebbianTextSplitter,
    HebbianVectorStore,
    TagTransformer,
)

BOOK = """# The north

Tessel Bay lies in the far north.

## Ships

The Petrel was built by Ida Moss.

### Masts

She has two masts.

## Bread

Bread rises when yeast turns sugar into gas.
"""


async def test_tags_are_written_beside_those_given() -> None:
    document = Document("Ida Moss built the Petrel.", id="p", metadata={"tags": ["ship"], "n": 1})
    before = document.model_copy(deep=True)
    (tagged,) = TagTransformer().transform_documents([document])
    assert tagged.metadata["tags"][0] == "ship"
    assert "ida moss" in tagged.metadata["tags"]
    assert (tagged.id, tagged.metadata["n"], tagged.page_content) == ("p", 1, document.page_content)
    assert document == before
    assert await TagTransformer().atransform_documents([document]) == [tagged]
    assert TagTransformer().transform_documents([tagged]) == [tagged]


def test_tags_of_a_model() -> None:
    def model(chunk: Chunk) -> list[str]:
        return [f"{chunk.title} {len(chunk.text)}", "ship", "ship"]

    transformer = TagTransformer(model, tags_key="concepts", max_tags=2)
    (tagged,) = transformer.transform_documents([Document("abc", metadata={"title": "T"})])
    assert tagged.metadata == {"title": "T", "concepts": ["T 3", "ship"]}


def test_the_index_takes_the_tags() -> None:
    store = HebbianVectorStore()
    tagged = TagTransformer(lambda chunk: ["seafaring"]).transform_documents(
        [Document("She sank.", id="a"), Document("It sailed.", id="b")]
    )
    store.add_documents(list(tagged))
    assert [cue.tag for cue in store.index.recall("seafaring").cues] == ["seafaring"]


def test_splitting_keeps_headings_and_the_metadata() -> None:
    splitter = HebbianTextSplitter(chunk_tokens=(1, 20))
    pieces = splitter.split_documents([Document(BOOK, metadata={"source": "north.md", "n": 7})])
    assert [piece.metadata["title"] for piece in pieces] == ["The north"] * 4
    assert [piece.metadata["headings"] for piece in pieces] == [
        [],
        ["Ships"],
        ["Ships", "Masts"],
        ["Bread"],
    ]
    assert pieces[2].page_content == "Ships > Masts\n\nShe has two masts."
    assert pieces[2].metadata["tags"] == ["Masts"]
    assert all(piece.metadata["n"] == 7 for piece in pieces)
    assert all(piece.metadata["source"] == "north.md" for piece in pieces)
    assert [piece.metadata["position"] for piece in pieces] == [0, 1, 2, 3]


def test_ids_survive_edits_elsewhere() -> None:
    splitter = HebbianTextSplitter(chunk_tokens=(1, 20))

    def ids(text: str) -> list[str | None]:
        found = splitter.transform_documents([Document(text, metadata={"source": "north.md"})])
        return [piece.id for piece in found]

    before = ids(BOOK)
    after = ids(BOOK.replace("two masts", "three masts"))
    assert len(set(before)) == 4
    assert before[:2] + before[3:] == after[:2] + after[3:]
    assert before[2] != after[2]
    assert ids(BOOK) == before


def test_other_ways_in() -> None:
    splitter = HebbianTextSplitter(chunk_tokens=(1, 20))
    assert len(splitter.split_text(BOOK)) == 4
    pieces = splitter.create_documents(["One.", "Two."], [{"n": 1}, {"n": 2}])
    assert [(piece.page_content, piece.metadata["n"]) for piece in pieces] == [
        ("One.", 1),
        ("Two.", 2),
    ]
    assert splitter.create_documents([]) == []
    assert splitter.split_text("") == []
    with pytest.raises(ParameterError):
        HebbianTextSplitter(chunk_tokens=(9, 3))


def test_transformers_can_be_sent_to_workers() -> None:
    for transformer in (TagTransformer(), HebbianTextSplitter()):
        again = pickle.loads(pickle.dumps(transformer))
        documents = [Document(BOOK, id="x")]
        assert again.transform_documents(documents) == transformer.transform_documents(documents)


def test_links_between_split_documents_are_followed() -> None:
    pages = [
        Document(
            "# Guide\n\nFrost heaves; [see](more.md#salt).", metadata={"source": "d/guide.md"}
        ),
        Document("# Winter\n\nNo.\n\n## Salt\n\nUse little.", metadata={"source": "d/more.md"}),
    ]
    pieces = HebbianTextSplitter(chunk_tokens=(1, 16)).split_documents(pages)
    assert pieces[0].metadata["references"] == ["d/more#salt"]
    assert pieces[2].metadata["addresses"] == ["d/more.md", "d/more", "d/more#salt"]
    retriever = HebbianRetriever.from_documents(pieces, k=2)
    assert "Use little" in retriever.invoke("When does frost heave?")[1].page_content


def test_without_a_source_there_is_no_address() -> None:
    (piece,) = HebbianTextSplitter().create_documents(["See [this](b.md)."])
    assert piece.metadata["references"] == ["b"]
    assert "addresses" not in piece.metadata


def test_sources_are_read_as_what_they_are() -> None:
    script = "# Install the yard\nset -e\n\nif true; then\n    make boat\nfi\n"
    splitter = HebbianTextSplitter(chunk_tokens=(1, 400))
    (piece,) = splitter.split_documents([Document(script, metadata={"source": "yard/install.sh"})])
    assert piece.metadata["title"] == "install.sh"
    assert piece.metadata["headings"] == []
    assert "\n    make boat\n" in piece.page_content


def test_a_text_longer_than_a_chunk_may_be_is_split() -> None:
    text = "Ida Moss built the Petrel in the yard at Dunmore, and sailed it north. " * 150_000
    splitter = HebbianTextSplitter(chunk_tokens=(50_000, 100_000))
    assert len(splitter.split_text(text)) > 20
