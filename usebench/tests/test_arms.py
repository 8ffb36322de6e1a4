from __future__ import annotations

from collections.abc import Callable

import bm25s
import numpy as np
import pytest
from harbour import PASSAGES
from hypothesis import given, settings
from hypothesis import strategies as st

from usebench.arms.cache import MostCited, QueryCache, SharedVectors
from usebench.arms.expansion import DocumentExpansion, RelevanceModel
from usebench.arms.lessons import Arm
from usebench.arms.vectors import ErmVectors, LinearAdapter, MovedQuestions, Mover, Rocchio
from usebench.arms.weighted import WeightedSum
from usebench.drivers.memories import LangGraphStore
from usebench.drivers.static import Bm25, Dense, Fusion, Recent
from usebench.embedders import Lsa
from usebench.lexical import Postings
from usebench.records import Passage
from usebench.text import terms_of_all

ARMS: dict[str, Callable[[], Arm]] = {
    "cache": lambda: QueryCache(Bm25()),
    "most-cited": lambda: MostCited(Bm25()),
    "expansion": DocumentExpansion,
    "rm3": RelevanceModel,
    "erm": lambda: ErmVectors(Lsa()),
    "rocchio": lambda: MovedQuestions(Lsa(), lambda: Rocchio(threshold=0.1)),
    "adapter": lambda: MovedQuestions(Lsa(), LinearAdapter),
    "weighted+expansion+erm": lambda: WeightedSum(Lsa(), expand=True, move=True),
}
QUESTIONS = ("Which barque was wrecked?", "Who built boats?", "When is it high at the quay?")
LESSONS = st.lists(
    st.tuples(
        st.sampled_from(QUESTIONS),
        st.sampled_from([passage.id for passage in PASSAGES]),
        st.sampled_from(["ann", "bob"]),
    ),
    max_size=6,
)


def opened(name: str) -> Arm:
    arm = ARMS[name]()
    arm.reset()  # type: ignore[attr-defined]
    arm.add(PASSAGES)  # type: ignore[attr-defined]
    return arm


def answers(arm: Arm) -> list[list[str]]:
    return [arm.search(question, 3) for question in QUESTIONS]  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", ARMS)
def test_a_citation_brings_its_passage_up_for_the_same_question(name: str) -> None:
    arm = opened(name)
    for _ in range(3):
        arm.feedback(question="When is it high at the quay?", cited=["tide"], actor="ann")
        arm.feedback(question="Who lost a barque, and masts?", cited=["moss"], actor="ann")
    assert arm.search("Who lost a barque, and masts?", 3)[0] in ("moss", "petrel")  # type: ignore[attr-defined]
    if name not in ("most-cited", "adapter"):
        assert arm.search("Who lost a barque, and masts?", 3)[:2] != ["petrel", "tide"]  # type: ignore[attr-defined]
    assert arm.search("When is it high at the quay?", 3)[0] == "tide"  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", ARMS)
@settings(deadline=None, max_examples=5)
@given(lessons=LESSONS)
def test_forgetting_an_actor_leaves_what_the_others_taught(
    name: str, lessons: list[tuple[str, str, str]]
) -> None:
    both, alone, never = opened(name), opened(name), opened(name)
    for question, cited, actor in lessons:
        both.feedback(question=question, cited=[cited], actor=actor)
        if actor == "ann":
            alone.feedback(question=question, cited=[cited], actor=actor)
    both.forget("bob")
    assert answers(both) == answers(alone)
    both.forget()
    assert answers(both) == answers(never)


def test_a_cached_answer_comes_first_and_the_search_after_it() -> None:
    cache = opened("cache")
    cache.feedback(question="Which ship is gone?", cited=["petrel"])
    assert cache.search("Which ship is gone today?", 2)[0] == "petrel"  # type: ignore[attr-defined]
    assert cache.search("Who built boats?", 2) == ["moss"]  # type: ignore[attr-defined]


def test_a_cache_on_vectors_knows_a_question_by_its_vector() -> None:
    towards = {"up": np.array([1, 0]), "sky": np.array([0.8, 0.6]), "down": np.array([0, -1])}
    cache = QueryCache(
        Recent(),
        lambda: SharedVectors(lambda text: towards[text].astype(np.float32)),
        threshold=0.7,
    )
    cache.reset()
    cache.add(PASSAGES)
    cache.feedback(question="up", cited=["moss"])
    assert cache.search("sky", 1) == ["moss"]
    assert cache.search("down", 1) == ["tide"]


def test_erm_halves_the_way_between_a_passage_and_its_question() -> None:
    erm = ErmVectors(Lsa())
    erm.reset()
    erm.add(PASSAGES)
    question = erm.question("Who built boats?")
    row = erm.dense.ids.index("tide")
    before = erm.dense.vectors[row]
    erm.feedback(question="Who built boats?", cited=["tide"])
    middle = before + question
    expected = float(middle @ question / np.linalg.norm(middle))
    assert float(erm._means[row] @ question) == pytest.approx(expected, abs=1e-5)


@settings(deadline=None, max_examples=10)
@given(
    st.lists(st.lists(st.sampled_from(["boat", "quay", "storm", "yard"])), min_size=2, max_size=6)
)
def test_postings_score_as_bm25s_does(texts: list[list[str]]) -> None:
    if not any(texts):
        return
    library = bm25s.BM25(method="lucene", k1=1.2, b=0.75, backend="numpy", dtype="float64")
    library.index(texts, show_progress=False)
    index = Postings()
    for number, terms in enumerate(texts):
        half = len(terms) // 2  # in two steps: what was appended counts as if it had been there
        index.extend(str(number), terms[:half])
        index.extend(str(number), terms[half:])
    present = [term for term in ("boat", "yard") if any(term in terms for terms in texts)]
    theirs = library.get_scores(present) if present else np.zeros(len(texts))
    ours = index.scores(dict.fromkeys(present, 1.0))
    assert [ours.get(str(n), 0.0) for n in range(len(texts))] == pytest.approx(theirs.tolist())


def test_a_weighted_sum_that_takes_nothing_in_learns_nothing() -> None:
    arm = WeightedSum(Lsa(), weight=0.5)
    arm.reset()
    arm.add(PASSAGES)
    before = answers(arm)
    arm.feedback(question="When is it high at the quay?", cited=["moss"], actor="ann")
    assert (arm.learns, answers(arm)) == (False, before)
    assert before[1][0] == "moss"


def test_searches_agree_on_what_is_said_in_so_many_words() -> None:
    for search in (Bm25(), Dense(Lsa()), Fusion([Bm25, lambda: Dense(Lsa())])):
        search.reset()
        search.add(PASSAGES)
        assert search.search("Who built boats in the yard?", 1) == ["moss"]
        assert search.search("", 1) in ([], ["moss"])


def test_what_is_added_later_is_found_too() -> None:
    search = Bm25()
    search.add(PASSAGES[:1])
    search.add(PASSAGES[1:])
    assert search.search("three masts", 1) == ["petrel"]


def test_lsa_brings_words_together_that_occur_together() -> None:
    texts = [
        "cat purrs",
        "cat kitten",
        "kitten purrs",
        "quay tide",
        "tide water",
        "water quay",
    ] * 10
    lsa = Lsa(dimensions=2)
    lsa.prepare(texts)
    cat, purrs, tide = lsa.embed(["cat", "purrs", "tide"])
    assert cat @ purrs > 0.9
    assert abs(cat @ tide) < 0.1


def test_langgraphs_store_searches_by_the_vectors_that_it_is_given() -> None:
    pytest.importorskip("langgraph")
    store = LangGraphStore(Lsa())
    store.reset()
    store.add(PASSAGES)
    assert store.search("Who built boats in the yard?", 1) == ["moss"]


def test_terms_are_stemmed_and_without_stop_words() -> None:
    assert terms_of_all(["The boats were built.", ""]) == [["boat", "built"], []]
    assert Passage("a", "text").full_text == "text"


def towards(*values: float) -> np.ndarray:
    vector = np.array(values)
    return vector / np.linalg.norm(vector)


@pytest.mark.parametrize("mover", [Rocchio(), LinearAdapter(rate=0.05, steps=20)])
def test_a_question_moves_to_what_it_cited(mover: Mover) -> None:
    question, cited, other = towards(1, 0.2, 0), towards(0, 1, 0.2), towards(0.2, 0, 1)
    assert mover.moved(question) is question
    mover.teach(question, [cited])
    mover.teach(towards(0, 0.2, 1), [other])
    assert mover.moved(question) @ cited > question @ cited + 0.2
    assert np.linalg.norm(mover.moved(question)) == pytest.approx(1)


def test_rocchio_leaves_other_questions_alone() -> None:
    mover = Rocchio()
    mover.teach(towards(1, 0, 0), [towards(0, 1, 0)])
    assert mover.moved(towards(0, 0, 1)).tolist() == [0, 0, 1]
