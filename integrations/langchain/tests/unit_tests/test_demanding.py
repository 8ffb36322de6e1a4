"""What demanding use of LangChain asks for: agents, pickles, takeovers, ensembles, filters."""

from __future__ import annotations

import multiprocessing
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hebbgraph import HebbianIndex, ParameterError, RankStep, Recall
from langchain.agents import create_agent
from langchain_classic.retrievers import EnsembleRetriever
from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableLambda, RunnablePassthrough
from langchain_core.structured_query import Comparator
from lc_helpers import ScriptedChat, citing, prompt_of

from langchain_hebbgraph import (
    CitationLearner,
    CitingMiddleware,
    HebbianRetriever,
    HebbianVectorStore,
    citation_prompt,
    format_documents,
)
from langchain_hebbgraph.options import SearchOptions

Chat = Callable[..., ScriptedChat]
QUERY = "Who built the Petrel?"


class Loud(DeterministicFakeEmbedding):
    """Counts the passages that it embeds."""

    embedded: list[str] = []  # noqa: RUF012 -- a field of the model

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        self.embedded.extend(texts)
        return super().embed_documents(texts)


# -- two middlewares ----------------------------------------------------------------


@pytest.mark.parametrize("is_async", [False, True])
async def test_two_middlewares_in_one_agent(
    documents: list[Document], chat: Chat, is_async: bool
) -> None:
    about_ships = HebbianRetriever.from_documents(documents[:2], k=2)
    about_others = HebbianRetriever.from_documents(documents[2:], k=6)
    first, second = CitingMiddleware(about_ships), CitingMiddleware(about_others)
    wanted = [documents[0].id, documents[2].id]

    def reply(messages: list[BaseMessage]) -> AIMessage:
        keys = [_key(prompt_of(messages), one.page_content) for one in (documents[0], documents[2])]
        return AIMessage(f"So it is [{keys[0]}] and so [{keys[1]}].")

    model = chat(reply)
    agent = create_agent(model, middleware=[first, second])
    asked: Any = {"messages": [HumanMessage(QUERY)]}
    state = await agent.ainvoke(asked) if is_async else agent.invoke(asked)
    first.learner.flush()
    second.learner.flush()
    sources = state["messages"][-1].response_metadata["sources"]
    assert sorted(one["id"] for one in sources if one["cited"]) == sorted(wanted)
    assert len({one["key"] for one in sources}) == len(sources)
    for index, id_ in zip((about_ships.index, about_others.index), wanted, strict=True):
        assert [lesson.cited for lesson in index.lessons()] == [(id_,)]
    assert prompt_of(model.seen[0]).count("Answer from the sources.") == 1


def _key(prompt: str, text: str) -> str:
    return prompt[: prompt.index(text)].rpartition("[")[2].partition("]")[0]


# -- pickling -----------------------------------------------------------------------


def _ask(pickled: bytes) -> list[str]:
    with pickle.loads(pickled) as retriever:
        return [document.id for document in retriever.invoke(QUERY)]


def test_a_retriever_that_knows_its_location_is_pickled(
    documents: list[Document], tmp_path: Path
) -> None:
    model = DeterministicFakeEmbedding(size=8)
    with HebbianRetriever.from_documents(
        documents, model, location=tmp_path / "ships", k=2, open_options={"namespace": "anna"}
    ) as retriever:
        pickled = pickle.dumps(retriever)
        found = [document.id for document in retriever.invoke(QUERY)]
    assert _ask(pickled) == found
    with multiprocessing.get_context("spawn").Pool(1) as processes:
        assert processes.apply(_ask, (pickled,)) == found
    with pytest.raises(ParameterError, match="pickled if its index is a directory"):
        pickle.dumps(HebbianRetriever.from_documents(documents))


# -- taking vectors over ------------------------------------------------------------


@pytest.mark.parametrize("is_async", [False, True])
async def test_vectors_are_taken_over(is_async: bool) -> None:
    faiss = pytest.importorskip("faiss")
    numpy = pytest.importorskip("numpy")
    texts = ["Ida Moss built the Petrel.", "Bread rises.", "Owls hunt at night."]
    model = Loud(size=8)
    rows = numpy.array([model.embed_query(text) for text in texts], "float32")
    held = faiss.IndexFlatL2(8)
    held.add(rows)
    pairs = [(text, held.reconstruct(at).tolist()) for at, text in enumerate(texts)]
    store, metadatas = HebbianVectorStore(model), [{"title": "Petrel"}, {}, {}]
    ids = ["a", "b", "c"]
    if is_async:
        assert await store.aadd_embeddings(pairs, metadatas, ids=ids) == ids
    else:
        assert store.add_embeddings(pairs, metadatas, ids=ids) == ids
    assert model.embedded == []
    found = store.similarity_search_by_vector(rows[2].tolist(), k=1)
    assert [one.id for one in found] == ["c"]
    with pytest.raises(ParameterError, match="this store has no embedding"):
        HebbianVectorStore().add_embeddings(pairs)
    wrong = [("Herons wade.", [0.5] * 4)]
    for taken in (store, HebbianVectorStore(model)):  # with and without vectors of the model
        with pytest.raises(ParameterError, match="4 numbers, and those of the embedder have 8"):
            taken.add_embeddings(wrong)
        assert len(taken.index.ids()) == (3 if taken is store else 0)


# -- ensembles, and indexes with equal ids ------------------------------------------


class Words(BaseRetriever):
    """What BM25 finds."""

    documents: list[Document]

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun
    ) -> list[Document]:
        return self.documents


def chain_of(retriever: Any, model: Any) -> Any:
    return (
        {"context": retriever | format_documents, "question": RunnablePassthrough()}
        | citation_prompt()
        | model
    )


@pytest.mark.parametrize("is_async", [False, True])
async def test_what_words_alone_found(
    documents: list[Document], chat: Chat, is_async: bool
) -> None:
    retriever = HebbianRetriever.from_documents(documents, k=1, filter={"$id": documents[0].id})
    held = documents[2].model_copy()
    stranger = Document("Only the other retriever knows of the Heron.")
    learner = CitationLearner(retriever)
    for extra in (held, stranger):
        both = EnsembleRetriever(
            retrievers=[Words(documents=[extra]), retriever], weights=[0.5, 0.5]
        )

        def reply(messages: list[BaseMessage], extra: Document = extra) -> AIMessage:
            return AIMessage(f"So it is [{_key(prompt_of(messages), extra.page_content)}].")

        chain, config = chain_of(both, chat(reply)), {"callbacks": [learner]}
        await chain.ainvoke(QUERY, config) if is_async else chain.invoke(QUERY, config)
        learner.flush()
    known, unknown = learner.lessons
    assert known.cited == (held.id,)
    assert known.feedback[0].cited == (held.id,)
    assert unknown.code == "foreign"
    assert "another retriever's" in str(unknown)


def test_equal_ids_in_two_indexes_are_told_apart(chat: Chat) -> None:
    texts = ["Ida Moss built the Petrel in Dunmore.", "The Petrel was broken up at Tessel Bay."]
    retrievers = [HebbianRetriever.from_texts([text], ids=["1"]) for text in texts]
    both = RunnableLambda(lambda query: [one for r in retrievers for one in r.invoke(query)])

    def reply(messages: list[BaseMessage]) -> AIMessage:
        return AIMessage(f"There [{_key(prompt_of(messages), texts[1])}].")

    learner = CitationLearner()
    chain_of(both, chat(reply)).invoke(QUERY, {"callbacks": [learner]})
    learner.flush()
    assert [len(list(one.index.lessons())) for one in retrievers] == [0, 1]
    assert retrievers[1].index.lessons()[0].cited == ("1",)


# -- lifetimes ----------------------------------------------------------------------


def test_closing_before_flushing_loses_nothing(
    documents: list[Document], chat: Chat, tmp_path: Path
) -> None:
    retriever = HebbianRetriever.from_documents(documents, location=tmp_path, k=3)
    learner = CitationLearner(retriever)
    chain = chain_of(retriever, chat(citing("petrel")))
    for number in range(20):
        chain.invoke(f"{QUERY} {number}", {"callbacks": [learner]})
    retriever.close()
    assert learner.counts == {"learned": 20}
    with HebbianIndex.open(tmp_path) as index:
        assert len(index.lessons()) == 20


# -- arguments ----------------------------------------------------------------------


def test_turns_as_pairs(documents: list[Document]) -> None:
    turns: list[Any] = [("human", "What does the mooring cost?"), ("ai", "Nine crowns.")]
    with HebbianRetriever.from_documents(documents, history=turns) as retriever:
        assert retriever.invoke("And in winter?")
        assert retriever.invoke("And in winter?", history=[("user", "Who is Ida Moss?")])


def test_what_only_mmr_reads_is_refused_without_it(documents: list[Document]) -> None:
    store = HebbianVectorStore.from_documents(documents)
    for name, value in (("lambda_mult", 0.3), ("fetch_k", 30)):
        with pytest.raises(ParameterError, match=f"{name} goes with search_type"):
            HebbianRetriever.from_documents(documents, **{name: value})
        with pytest.raises(ParameterError, match=f"{name} goes with search_type"):
            store.as_retriever(search_kwargs={name: value})
        assert store.as_retriever(search_type="mmr", search_kwargs={name: value}).invoke(QUERY)


#: LangChain's comparators, what they mean, and how a filter says it.
COMPARATORS: dict[Comparator, tuple[str, Callable[[Any, Any], bool]]] = {
    Comparator.EQ: ("$eq", lambda have, want: have == want),
    Comparator.NE: ("$ne", lambda have, want: have != want),
    Comparator.GT: ("$gt", lambda have, want: have > want),
    Comparator.GTE: ("$gte", lambda have, want: have >= want),
    Comparator.LT: ("$lt", lambda have, want: have < want),
    Comparator.LTE: ("$lte", lambda have, want: have <= want),
    Comparator.IN: ("$in", lambda have, want: have in want),
    Comparator.NIN: ("$nin", lambda have, want: have not in want),
    Comparator.CONTAIN: ("$contains", lambda have, want: want in have),
}


@pytest.mark.parametrize("comparator", COMPARATORS)
def test_filters_mean_what_langchains_comparators_mean(comparator: Comparator) -> None:
    years = [1871, 1890, 1902, 1933]
    words = ["harbour", "bay", "quay", "bay of salt"]
    documents = [
        Document(f"Petrel {year}", id=str(year), metadata={"year": year, "place": place})
        for year, place in zip(years, words, strict=True)
    ]
    name, means = COMPARATORS[comparator]
    listed = comparator in (Comparator.IN, Comparator.NIN)
    field, want = ("place", "bay") if comparator == Comparator.CONTAIN else ("year", 1890)
    operand: Any = [want, 1933] if listed else want
    expected = {one.id for one in documents if means(one.metadata[field], operand)}
    with HebbianRetriever.from_documents(documents, filter={field: {name: operand}}) as retriever:
        assert {one.id for one in retriever.invoke("Petrel")} == expected
        inverse = {"$not": {field: {name: operand}}}
    with HebbianRetriever.from_documents(documents, filter=inverse) as retriever:
        assert {one.id for one in retriever.invoke("Petrel")} == {
            one.id for one in documents
        } - expected


def test_rank_steps_are_passed_on(documents: list[Document]) -> None:
    class Noting(RankStep):
        def finish(self, recall: Recall, k: int) -> Recall:
            seen.append(recall.query)
            return recall

    seen: list[str] = []
    options = SearchOptions(steps=[Noting()], per_colony=2)
    with HebbianRetriever.from_documents(documents, options=options) as retriever:
        retriever.invoke(QUERY)
    assert seen == [QUERY]
    with pytest.raises(ParameterError, match="steps is a list"):
        SearchOptions(steps=["last"])  # type: ignore[list-item]
