"""Whether a recall knows how sure it is: questions about the corpus, and about others."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from hebbgraph import Chunk, HebbianIndex, Recall, Settings
from hebbgraph.formulas.confidence import NOTHING_KNOWN
from hebbgraph.recall.strategies import NO_KNOWLEDGE

CHUNKS = [
    Chunk(
        id="moss", text="Ida Moss built the schooner Petrel for the ice trade.", metadata={"n": 1}
    ),
    Chunk(
        id="slate", text="Barques carried slate from the quarry to the harbour.", metadata={"n": 2}
    ),
    Chunk(id="hemp", text="Hemp makes strong rope; rope walks stood along the harbour."),
    Chunk(id="bread", text="Leave the dough to rest overnight, then bake the bread."),
    Chunk(id="tide", text="Spring tides flood the lower quay twice a month."),
    Chunk(id="gull", text="Gulls nest on the cliffs and follow the herring boats."),
    Chunk(id="lamp", text="The keeper trims the lamp and winds the clockwork at dusk."),
    Chunk(id="salt", text="Salt pans were raked in summer and the salt sold inland."),
]
KNOWN = "Which schooner did Ida Moss build for the ice trade?"
OTHER = "How do I renew a passport in Portugal?"
FAINT = "When do spring blossoms open?"


@pytest.fixture
def index() -> Any:
    with HebbianIndex.open(":memory:") as opened:
        opened.add(CHUNKS)
        yield opened


def sure(index: HebbianIndex, question: str, **options: Any) -> float:
    found = index.recall(question, **options).confidence
    assert found is not None
    return found


def test_a_question_about_other_matters_is_told(index: HebbianIndex) -> None:
    other, known = index.recall(OTHER), index.recall(KNOWN)
    assert other.nothing_known
    assert NO_KNOWLEDGE in other.notes
    assert sure(index, OTHER) < NOTHING_KNOWN
    assert all(hit.score < NOTHING_KNOWN for hit in other.hits)
    assert not known.nothing_known
    assert NO_KNOWLEDGE not in known.notes
    assert sure(index, KNOWN) > 0.9
    assert known.hits[0].score > 0.8


@pytest.mark.parametrize("n_words", [20, 200, 2000])
def test_a_long_chunk_that_alone_holds_what_is_asked_for_is_known(
    index: HebbianIndex, n_words: int
) -> None:
    others = " ".join(f"ballast{n}" for n in range(n_words))
    index.add([Chunk(id="long", text=f"Code QX37 was signed by Petrosyan. {others}")])
    assert sure(index, "QX37") > 0.8
    assert sure(index, "Who signed the code QX37?") > 0.8
    assert sure(index, "Who is Petrosyan?", where={"n": {"$lt": 3}}) < NOTHING_KNOWN
    assert sure(index, "Who signed the code QX38 in Lisbon?") < NOTHING_KNOWN


@pytest.mark.parametrize("where", [{"n": 2}, {"n": 9}])
def test_with_the_answer_filtered_out_it_falls(
    index: HebbianIndex, where: dict[str, object]
) -> None:
    assert sure(index, KNOWN, where=where) < NOTHING_KNOWN < sure(index, KNOWN, where={"n": 1})


@pytest.mark.parametrize(
    ("options", "note"),
    [
        ({"where": {"n": 8}}, "no chunk passes the filter"),
        ({"where": {"lang": "xx"}}, "no chunk passes the filter: no chunk has a field 'lang'"),
        ({"where": {"$colony": 77}}, "no chunk passes the filter"),
        ({"as_of": "1900"}, "no chunk was valid at the time of as_of"),
    ],
)
def test_that_a_filter_leaves_nothing_is_not_laid_to_the_question(options: Any, note: str) -> None:
    with HebbianIndex.open(":memory:") as index:
        index.add(
            [
                Chunk(
                    text="Ida Moss built the schooner Petrel.", valid_from="1950", metadata={"n": 1}
                )
            ]
        )
        recall = index.recall("Who built the Petrel?", **options)
    assert (recall.hits, recall.notes[-1:]) == ((), (note,))
    assert NO_KNOWLEDGE not in recall.notes


def test_an_index_of_nothing_knows_nothing() -> None:
    with HebbianIndex.open(":memory:") as index:
        assert index.recall(KNOWN).nothing_known


def test_it_is_the_same_in_whatever_order_chunks_arrive(index: HebbianIndex) -> None:
    shuffled = random.Random(7).sample(CHUNKS, len(CHUNKS))
    with HebbianIndex.open(":memory:") as other:
        for chunk in shuffled:
            other.add([chunk])
        for question in (KNOWN, OTHER, FAINT):
            assert sure(other, question) == pytest.approx(sure(index, question), abs=1e-9)


def test_what_was_deleted_is_not_known(index: HebbianIndex) -> None:
    index.delete(["moss"])
    assert index.recall(KNOWN).nothing_known
    index.compact()
    with HebbianIndex.open(":memory:") as never:
        never.add(chunk for chunk in CHUNKS if chunk.id != "moss")
        for question in (KNOWN, OTHER, FAINT):
            assert sure(index, question) == pytest.approx(sure(never, question), abs=1e-6)


def test_what_was_deleted_no_longer_tells_how_near_chunks_are_in_general() -> None:
    class Drawn:
        model_name = "drawn"

        def embed_query(self, text: str) -> list[float]:
            drawn = np.random.default_rng(sum(text.encode())).random(8)
            return list(drawn / np.linalg.norm(drawn))

        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return [self.embed_query(text) for text in texts]

    class Few:
        """A search that names some, so that not all cosines are known."""

        def __init__(self, vectors: NDArray[np.float32]) -> None:
            self.size = len(vectors)

        def __len__(self) -> int:
            return self.size

        def extend(self, vectors: NDArray[np.float32]) -> None:
            self.size += len(vectors)

        def candidates(
            self, query: NDArray[np.float32], limit: int, allowed: NDArray[np.bool_], cosines: Any
        ) -> NDArray[np.int64]:
            return np.flatnonzero(allowed)[-limit:]

    chunks = [Chunk(id=f"{n:04}", text=f"tide {n}") for n in range(1300)]
    gone = {chunk.id for chunk in chunks[:900:3]}
    options: Any = {"embedder": Drawn(), "settings": Settings(vector_search=Few)}
    with (
        HebbianIndex.open(":memory:", **options) as one,
        HebbianIndex.open(":memory:", **options) as other,
    ):
        one.add(chunks)
        other.add([chunk for chunk in chunks if chunk.id not in gone])
        before = sure(one, "quay")
        one.delete(sorted(gone))
        assert before != sure(one, "quay") == sure(other, "quay")


def test_citing_teaches_that_a_rewording_is_known(index: HebbianIndex) -> None:
    question = "Who launched the vessel of the frozen cargo?"
    before = index.recall(question)
    assert before.nothing_known
    for _ in range(3):
        index.reinforce(index.recall(question, k=len(CHUNKS)), cited=["moss"])
    after = index.recall(question)
    assert after.hits[0].chunk.id == "moss"
    assert sure(index, question) > NOTHING_KNOWN
    assert not after.nothing_known
    assert sure(index, OTHER) < NOTHING_KNOWN


@pytest.mark.parametrize("trusted", [True, False])
def test_what_people_reject_is_not_known(index: HebbianIndex, trusted: bool) -> None:
    unlearned = sure(index, KNOWN)
    for actor in ("ada", "bo", "cleo"):
        recall = index.recall(KNOWN)
        index.reinforce(recall, rejected=["moss"], actor=actor, trusted=trusted)
    rejected = index.recall(KNOWN)
    assert rejected.nothing_known
    assert rejected.confidence == pytest.approx(rejected.hits[0].score)
    index.forget(everything=True)
    assert sure(index, KNOWN) == unlearned


def test_where_others_are_cited_a_rejection_leaves_it_known(index: HebbianIndex) -> None:
    recall = index.recall(KNOWN, k=len(CHUNKS))
    index.reinforce(recall, cited=["slate"], rejected=["moss"], trusted=True)
    corrected = index.recall(KNOWN)
    assert (corrected.hits[0].chunk.id, corrected.nothing_known) == ("slate", False)
    assert sure(index, KNOWN) >= corrected.hits[0].score > 0.9


def test_other_strategies_have_none(index: HebbianIndex) -> None:
    recall = index.recall(OTHER, strategy="neighbourhood")
    assert recall.confidence is None
    assert not recall.nothing_known
    assert NO_KNOWLEDGE not in recall.notes


@pytest.mark.parametrize("question", [KNOWN, OTHER])
def test_it_survives_json(index: HebbianIndex, question: str) -> None:
    recall = index.recall(question)
    again = Recall.model_validate_json(recall.model_dump_json())
    assert (again.confidence, again.nothing_known) == (recall.confidence, recall.nothing_known)


def test_a_vector_far_from_all_is_no_sign_of_knowledge() -> None:
    class Axes:
        """One axis a matter, and a share that all texts have in common."""

        model_name = "axes"

        def embed_query(self, text: str) -> list[float]:
            said = text.lower()
            return [1.0, *(2.0 * any(w in said for w in ws.split()) for ws in AXES)]

        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return [self.embed_query(text) for text in texts]

    AXES = ("ship schooner vessel", "bread dough loaf", "gull bird", "salt", "passport")
    with HebbianIndex.open(":memory:", embedder=Axes()) as index:
        index.add(CHUNKS)
        assert sure(index, "Who has a vessel?") > sure(index, "Who has a passport?")
        assert index.recall("Who has a passport?").nothing_known
