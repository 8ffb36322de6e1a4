"""Documents that say when they hold, and requests that name a moment."""

import pytest
from hebbgraph import InvalidChunkError, ParameterError, Settings
from langchain_core.documents import Document

from langchain_hebbgraph import HebbianRetriever, HebbianVectorStore

NAMES = Settings(keep_versions=True, time_fields=("published", "expires", "replaces"))


def fares(field: str) -> list[Document]:
    return [
        Document(f"The ferry fare is {price} crowns.", id="fare", metadata={field: since})
        for price, since in (("four", "2021-05-01"), ("five", "2024-05-01"))
    ]


FIELDS = ("valid_from", "valid_until", "supersedes")


@pytest.mark.parametrize(
    ("settings", "field"),
    [(Settings(keep_versions=True, time_fields=FIELDS), "valid_from"), (NAMES, "published")],
)
def test_as_of(settings: Settings, field: str) -> None:
    with HebbianRetriever.from_documents(
        [], location=":memory:", open_options={"settings": settings}
    ) as retriever:
        for document in fares(field):
            retriever.add([document])
        now = retriever.invoke("What is the ferry fare?")
        assert [("five" in one.page_content, "hebbgraph" in one.metadata) for one in now] == [
            (True, False),
            (False, True),
        ]
        assert now[1].metadata["hebbgraph"]["stale"]["replaced_by"] == ["fare"]
        (then,) = retriever.invoke("What is the ferry fare?", as_of="2022")
        assert "four" in then.page_content
        store = HebbianVectorStore(index=retriever.index)
        assert "four" in store.similarity_search("ferry fare", as_of="2022")[0].page_content
        with pytest.raises(ParameterError, match="as_of: 'soon' is no time"):
            retriever.invoke("What is the ferry fare?", as_of="soon")


def test_what_is_no_time_is_named() -> None:
    with pytest.raises(InvalidChunkError, match=r"valid_from: .*'soon' is no time.*time_fields"):
        HebbianRetriever.from_documents(
            [Document("x", metadata={"valid_from": "soon"})],
            open_options={"settings": Settings(time_fields=FIELDS)},
        )


def test_columns_of_these_names_mean_nothing_by_themselves() -> None:
    rows = [
        Document("The ferry fare is four crowns.", id="a", metadata={"supersedes": ["b"]}),
        Document("The ferry fare is five crowns.", id="b", metadata={"valid_until": "2001-01-01"}),
    ]
    with HebbianRetriever.from_documents(rows, k=2) as retriever:
        found = retriever.invoke("What is the ferry fare of five crowns?")
        assert [one.id for one in found] == ["b", "a"]
        assert not any("hebbgraph" in one.metadata for one in found)
        assert found[0].metadata["valid_until"] == "2001-01-01"
