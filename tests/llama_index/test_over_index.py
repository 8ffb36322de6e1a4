"""Above a vector index that people have: seeds from it, copies of nodes, and what is true."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from llama_index.core import Document, StorageContext, VectorStoreIndex, load_index_from_storage
from llama_index.core.schema import BaseNode, TextNode
from llama_index.core.vector_stores.types import (
    BasePydanticVectorStore,
    MetadataFilter,
    MetadataFilters,
    VectorStoreQuery,
    VectorStoreQueryResult,
)
from llama_index.retrievers.hebbgraph import (
    CitationLearner,
    HebbianGraphIndex,
    HebbianRetriever,
    HebbianVectorStore,
)
from llama_models import RuleLLM, WordEmbedding
from pydantic import Field

from hebbgraph.errors import ParameterError

PAY = "The salary table of the Petrel crew."
MENU = "The menu of the galley."


def node(text: str, id_: str, owner: str = "ann") -> TextNode:
    return TextNode(text=text, id_=id_, metadata={"owner": owner})


def owned(owner: str) -> MetadataFilters:
    return MetadataFilters(filters=[MetadataFilter(key="owner", value=owner)])


@pytest.fixture(params=["docstore", "store with texts"])
def vectors(request: pytest.FixtureRequest) -> VectorStoreIndex:
    """LlamaIndex's default store has no texts; they are in the docstore. Others have them."""
    nodes, model = [node(PAY, "pay"), node(MENU, "menu")], WordEmbedding()
    if request.param == "docstore":
        return VectorStoreIndex(nodes, embed_model=model)
    storage = StorageContext.from_defaults(vector_store=HebbianVectorStore(embed_model=model))
    return VectorStoreIndex(nodes, storage_context=storage, embed_model=model)


@pytest.fixture
def over(vectors: VectorStoreIndex) -> Iterator[HebbianRetriever]:
    with HebbianRetriever(path=":memory:", vector_index=vectors) as made:
        yield made


def ids(retriever: HebbianRetriever, question: str = "salary table of the Petrel") -> list[str]:
    return sorted(result.node.node_id for result in retriever.retrieve(question))


def test_nodes_are_copied_when_the_index_is_new(over: HebbianRetriever) -> None:
    assert over.index.ids() == ["menu", "pay"]
    assert over.index.stats()["vectors"] == 0  # nothing is embedded a second time
    assert over.retrieve("salary table")[0].node.node_id == "pay"
    assert over.retrieve("") == []


async def test_edits_are_seen_at_once_and_wholly_at_refresh(
    vectors: VectorStoreIndex, caplog: pytest.LogCaptureFixture
) -> None:
    with (
        HebbianRetriever(path=":memory:", vector_index=vectors) as over,
        HebbianRetriever(over.index, vector_index=vectors, filters=owned("ann")) as of_ann,
    ):
        vectors.delete_nodes(["pay"])
        vectors.insert_nodes([node(PAY, "pay", "boss")])
        (pay,) = [r for r in await over.aretrieve("salary table") if r.node.node_id == "pay"]
        assert pay.node.metadata == {"owner": "boss"}
        assert ids(of_ann) == ["menu"]  # ann lost access
        assert "call refresh()" in caplog.text
        report = over.refresh()
        assert (report.replaced, report.unchanged) == (1, 1)
        assert ids(of_ann) == ["menu"]


def test_what_is_gone_never_comes_back(over: HebbianRetriever, vectors: VectorStoreIndex) -> None:
    vectors.delete_nodes(["pay"])
    assert ids(over) == ["menu"]
    report = over.refresh()
    assert (report.deleted, over.index.ids()) == (1, ["menu"])


def test_an_edited_text_comes_back_new_and_can_be_taught(
    over: HebbianRetriever, vectors: VectorStoreIndex
) -> None:
    vectors.delete_nodes(["pay"])
    vectors.insert_nodes([node("The salary table of the Gull crew.", "pay")])
    recall = over.recall("salary table")
    assert recall["pay"].text == "The salary table of the Gull crew."
    lesson = over.index.reinforce(recall, cited=["pay"])
    assert over.refresh().replaced == 1
    assert over.index.lessons()[0].id == lesson.id
    assert not over.index.lessons()[0].note  # it is about the text that was shown


def test_documents_with_random_ids_and_after_a_restart(tmp_path: Path) -> None:
    texts = [PAY, MENU, "Owls hunt voles."]
    made = VectorStoreIndex.from_documents([Document(text=t) for t in texts],
                                           embed_model=WordEmbedding())  # fmt: skip
    made.storage_context.persist(str(tmp_path / "store"))
    for _ in range(2):
        storage = StorageContext.from_defaults(persist_dir=str(tmp_path / "store"))
        loaded: Any = load_index_from_storage(storage, embed_model=WordEmbedding())
        with HebbianRetriever(path=tmp_path / "memory", vector_index=loaded) as over:
            assert over.retrieve("salary table")[0].text == PAY
            report = over.refresh()
            assert (report.unchanged, report.added, report.deleted) == (3, 0, 0)


def test_an_engine_above_it_learns(vectors: VectorStoreIndex) -> None:
    def cite(prompt: str) -> str:
        keys = [line[1:].split("]")[0] for line in prompt.split("\n") if line.startswith("[")]
        shown = prompt.split("Passages:")[1]
        return f"So much [{keys[0] if shown.index(PAY) < shown.index(MENU) else keys[1]}]."

    with HebbianGraphIndex(nodes=[]) as index:
        engine = index.as_query_engine(RuleLLM(rule=cite), cite=True, vector_index=vectors)
        with CitationLearner(index, on_sigterm=False) as learner:
            engine.query("Who is paid what?")
            learner.flush()
            assert learner.counts == {"learned": 1}
        assert [*index.index.lessons()[0].cited] == ["pay"]


class SearchAlone(BasePydanticVectorStore):
    """A store that can neither list its nodes nor be asked for one."""

    stores_text: bool = True
    held: list[TextNode] = Field(default_factory=list)

    @property
    def client(self) -> Any:
        return None

    def add(self, nodes: Any, **kwargs: Any) -> list[str]:
        self.held.extend(nodes)
        return [node.node_id for node in nodes]

    def delete(self, ref_doc_id: str, **kwargs: Any) -> None:
        raise NotImplementedError

    def query(self, query: VectorStoreQuery, **kwargs: Any) -> VectorStoreQueryResult:
        nodes: list[BaseNode] = [*self.held][: query.similarity_top_k]
        names = [node.node_id for node in nodes]
        return VectorStoreQueryResult(nodes=nodes, similarities=[0.9, 0.1], ids=names)


def test_a_store_with_search_alone_takes_nodes() -> None:
    nodes = [node(PAY, "pay"), node(MENU, "menu")]
    storage = StorageContext.from_defaults(vector_store=SearchAlone())
    vectors = VectorStoreIndex(nodes, storage_context=storage, embed_model=WordEmbedding())
    with HebbianRetriever(path=":memory:", vector_index=vectors) as over:
        assert over.index.ids() == []
        with pytest.raises(ParameterError, match=r"cannot be listed; call refresh\(nodes"):
            over.refresh()
        assert over.refresh(nodes).added == 2
        assert over.retrieve("zzz")[0].node.node_id == "pay"  # by seeds alone
    with HebbianRetriever.from_nodes(nodes, vector_index=vectors) as over:
        assert over.index.ids() == ["menu", "pay"]


def test_misuse_is_named(vectors: VectorStoreIndex, tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="would mix tenants"):
        HebbianRetriever(path=tmp_path, vector_index=vectors, namespace_by=lambda said: "a")
    wrong: Any = "vectors"
    with pytest.raises(ParameterError, match="vector_index is a VectorStoreIndex, got str"):
        HebbianRetriever(path=tmp_path, vector_index=wrong)
    with HebbianRetriever(path=tmp_path) as plain, pytest.raises(ParameterError, match="no vector"):
        plain.refresh()
