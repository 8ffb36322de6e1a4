"""Embedders and taggers that fail, and questions that are odd, huge or expensive."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from dump import assert_sound
from ships import CORPUS, ByNumber

import hebbgraph.ingest.loading
from hebbgraph import Chunk, HebbianIndex, Settings
from hebbgraph.errors import EmbeddingError, ParameterError, TaggingError


class _Embedder:
    name = "odd"

    def __init__(self, passages: Callable[[list[str]], Any]) -> None:
        self.passages = passages
        self.question: Callable[[str], Any] = lambda _: [1.0, 0.0]

    def embed_documents(self, texts: list[str]) -> Any:
        return self.passages(texts)

    def embed_query(self, text: str) -> Any:
        return self.question(text)


def _good(texts: list[str]) -> list[list[float]]:
    return [[1.0, float(len(text))] for text in texts]


def _raises(_: object) -> Any:
    raise RuntimeError("out of\nmemory " + "x" * 5000)


_BAD_VECTORS: dict[str, Callable[[list[str]], Any]] = {
    "raises": _raises,
    "none": lambda _: None,
    "too few": lambda texts: _good(texts)[:-1],
    "too many": lambda texts: [*_good(texts), [1.0, 2.0]],
    "empty": lambda texts: [[] for _ in texts],
    "nan": lambda texts: [[float("nan"), 1.0] for _ in texts],
    "inf": lambda texts: [[float("inf"), 1.0] for _ in texts],
    "ragged": lambda texts: [[1.0] * (n + 1) for n, _ in enumerate(texts)],
    "words": lambda texts: [["a", "b"] for _ in texts],
    "cube": lambda texts: np.zeros((len(texts), 2, 2)),
    "generator": lambda texts: (None for _ in texts),
}


@pytest.mark.parametrize("passages", _BAD_VECTORS.values(), ids=_BAD_VECTORS)
def test_bad_vectors_store_nothing(passages: Callable[[list[str]], Any]) -> None:
    embedder = _Embedder(passages)
    with HebbianIndex.open(":memory:", embedder=embedder) as index:
        with pytest.raises(EmbeddingError, match="the embedder 'odd' failed") as raised:
            index.add(CORPUS)
        assert len(str(raised.value)) < 400
        assert index.ids() == []
        embedder.passages = _good
        index.add(CORPUS)
        assert_sound(index)


@pytest.mark.parametrize("question", _BAD_VECTORS.values(), ids=_BAD_VECTORS)
def test_bad_vector_of_a_question(question: Callable[[Any], Any]) -> None:
    embedder = _Embedder(_good)
    with HebbianIndex.open(":memory:", embedder=embedder) as index:
        index.add(CORPUS)
        embedder.question = lambda text: question([text, text])
        with pytest.raises((EmbeddingError, ParameterError)):
            index.recall("Who built the Petrel?")


def test_vectors_of_another_length_or_model() -> None:
    embedder = _Embedder(_good)
    with HebbianIndex.open(":memory:", embedder=embedder) as index:
        index.add(CORPUS)
        embedder.passages = lambda texts: [[1.0, 2.0, 3.0] for _ in texts]
        with pytest.raises(EmbeddingError, match="vectors of 2 numbers, the embedder returned 3"):
            index.add(["Another."])
        embedder.question = lambda _: [1.0, 2.0, 3.0]
        with pytest.raises(ParameterError, match="vectors of 2 numbers, the question's has 3"):
            index.recall("Petrel")
        with pytest.raises(ParameterError, match="vectors of 2 numbers, the question's has 1"):
            index.recall("Petrel", vector=[1.0])
        embedder.name = "other"
        for call in (lambda: index.add(["Another."]), lambda: index.recall("Petrel")):
            with pytest.raises(ParameterError, match="holds vectors of 'odd'"):
                call()
        assert index.stats()["vectors"] == len(CORPUS)
        assert index.doctor() == []


def test_vectors_without_length_are_far_from_everything() -> None:
    embedder = _Embedder(lambda texts: [[0.0, 0.0]] * len(texts))
    with HebbianIndex.open(":memory:", embedder=embedder) as index:
        index.add(CORPUS)
        assert index.recall("Who built the Petrel?")[0].id == "petrel"
        embedder.question = lambda _: [0.0, 0.0]
        assert index.recall("Who built the Petrel?")[0].id == "petrel"


def _reads_known(texts: list[str]) -> Any:
    known = {chunk.text for chunk in CORPUS}
    return _good(texts) if all(text.split("\n")[-1] in known for text in texts) else _raises(texts)


@pytest.mark.parametrize(
    ("passages", "share"),
    [
        (lambda texts: [[text.count("a"), text.count("o")] for text in texts], 0.25),
        (lambda texts: [[0.0, 0.0]] * len(texts), 0.25),  # LSA of other words
        (lambda texts: [[ord(text[0]), 100.0] for text in texts], 0.55),
        (_reads_known, 0.55),
    ],
    ids=["counts", "nothing", "first letter", "table"],
)
def test_embedder_blind_to_word_order_starts_from_a_small_share(
    tmp_path: Path, passages: Callable[[list[str]], Any], share: float
) -> None:
    calls = []

    def counted(texts: list[str]) -> Any:
        calls.append(texts)
        return passages(texts)

    with HebbianIndex.open(tmp_path, embedder=_Embedder(counted)) as index:
        index.add(CORPUS)
        assert index.recall("Petrel").shares == (share, 1.0)
        index.rebuild()
        calls.clear()
        index.add([Chunk(id="knot", text=CORPUS[0].text)])
        assert len(calls) == 1  # the embedder is known by now
    with HebbianIndex.open(tmp_path, settings=Settings(vectors=0.4)) as index:
        assert index.recall("Petrel", vector=[1.0, 0.0]).shares == (0.4, 1.0)
    with HebbianIndex.open(tmp_path) as index:
        assert index.recall("Petrel", vector=[1.0, 0.0]).shares == (share, 1.0)


class _Narrow(_Embedder):
    """Reads sixteen tokens of a text, and says so, as models of sentence-transformers do."""

    def __init__(self) -> None:
        super().__init__(self._embed)
        self.max_seq_length = 16
        self.seen: list[str] = []

    def _embed(self, texts: list[str]) -> Any:
        self.seen += [text for text in texts if "dog" not in text]
        return [[text.count("owl"), text.count("bee"), 0.01] for text in texts]


def test_what_is_longer_than_a_model_reads_is_embedded_in_parts() -> None:
    model = _Narrow()
    model.question = lambda _: [0.0, 1.0, 0.0]
    long = "An owl hunts. " * 15 + "A bee stings. " * 15
    with HebbianIndex.open(":memory:", embedder=model) as index:
        index.add([Chunk(id="long", text=long), Chunk(id="an owl", text="An owl and a cow.")])
        assert "".join(model.seen[:-1]) == long
        assert len(model.seen) > 4
        assert max(map(len, model.seen)) < 80
        assert index.recall("zzz")[0].id == "long"  # for the bees at its end


def test_embedder_that_fails_later_keeps_batches_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hebbgraph.ingest.loading, "_EMBEDDED", 10)
    calls = []

    def fourth_fails(texts: list[str]) -> Any:
        calls.append(len(texts))
        return _good(texts) if len(calls) < 4 else _raises(texts)

    embedder = _Embedder(fourth_fails)  # the second call checks whether it sees word order
    with HebbianIndex.open(":memory:", embedder=embedder) as index:
        with pytest.raises(EmbeddingError):
            index.add(f"Auk {n}" for n in range(50))
        assert len(index.ids()) == 20
        embedder.passages = _good
        index.add(f"Auk {n}" for n in range(50))
        assert index.stats()["vectors"] == 50
        assert_sound(index)


class _Tagger:
    def __init__(self, tags: Callable[[list[Chunk]], Any]) -> None:
        self.tags = tags

    def __call__(self, chunks: list[Chunk]) -> Iterable[Iterable[str]]:
        found: Iterable[Iterable[str]] = self.tags(chunks)
        return found


_BAD_TAGS: dict[str, Callable[[list[Chunk]], Any]] = {
    "raises": _raises,
    "none": lambda _: None,
    "too few": lambda chunks: [[]] * (len(chunks) - 1),
    "none each": lambda chunks: [None] * len(chunks),
    "numbers": lambda chunks: [5] * len(chunks),
}


@pytest.mark.parametrize("tags", _BAD_TAGS.values(), ids=_BAD_TAGS)
def test_bad_tags_store_nothing(tags: Callable[[list[Chunk]], Any]) -> None:
    tagger = _Tagger(tags)
    with HebbianIndex.open(":memory:", tagger=tagger) as index:
        with pytest.raises(TaggingError) as raised:
            index.add(CORPUS)
        assert len(str(raised.value)) < 600
        assert index.ids() == []
        tagger.tags = lambda chunks: [["Harbour"]] * len(chunks)
        index.add(CORPUS)
        assert index.tags("harbour")[0].chunks == len(CORPUS)
        assert index.doctor() == []


@pytest.mark.parametrize(
    "tag", ["", " ", "\0", "\ud800", "x" * 100_000, "the of", "!?", "'; --", "a\nb", "\u202e"]
)
def test_strange_tags_of_a_tagger_harm_nothing(tmp_path: Path, tag: str) -> None:
    with HebbianIndex.open(
        tmp_path, tagger=_Tagger(lambda c: [[tag, "Harbour"]] * len(c))
    ) as index:
        index.add(CORPUS)
        assert index.tags("harbour")[0].chunks == len(CORPUS)
        assert index.recall("Petrel")[0].id == "petrel"
        assert index.doctor() == []
        index.rebuild()
        assert index.doctor() == []


def test_explain_knows_the_tags_that_a_tagger_named() -> None:
    tagger = _Tagger(lambda chunks: [["Harbour"]] * len(chunks))
    tagger.tag_question = lambda _: ["Harbour", "Petrel"]  # type: ignore[attr-defined]
    with HebbianIndex.open(":memory:", tagger=tagger) as index:
        index.add(CORPUS)
        recall = index.recall("Which vessel is it about?", k=3)
        explained = [index.explain(recall, hit.id) for hit in recall]
        assert [(hit.rank, hit.score) for hit in explained] == [
            (hit.rank, hit.score) for hit in recall
        ]


@pytest.mark.parametrize("answer", [_raises, lambda _: None, lambda _: [5], lambda _: ["\ud800"]])
def test_tagger_that_fails_on_questions_leaves_a_note_or_is_named(answer: Any) -> None:
    tagger = _Tagger(lambda chunks: [["Harbour"]] * len(chunks))
    tagger.tag_question = answer  # type: ignore[attr-defined]
    with HebbianIndex.open(":memory:", tagger=tagger) as index:
        index.add(CORPUS)
        try:
            assert index.recall("Who built the Petrel?")[0].id == "petrel"
        except TaggingError as error:
            assert len(str(error)) < 600


# -- questions ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "question",
    ["the of and is", "?!...", "\0\x01", "\ud800 x", "🦉", "東京", "a" * 8_000_000,
     "auk " * 2_000_000,
     "\n" * 9000 + "x", "x\u200b\u202e", "'; DROP TABLE chunk; --", "<script>", "%s {0} $chunk ?",
     "-1 1e999 NaN", "İ ß ﬁ", " ".join(f"w{n}" for n in range(5000))],
    ids=lambda question: repr(question)[:30],
)  # fmt: skip
def test_odd_questions_fill_up_to_k(question: str) -> None:
    with HebbianIndex.open(":memory:", embedder=ByNumber()) as index:
        index.add(CORPUS)
        recall = index.recall(question, k=5)
        assert len(recall) == 5
        assert len(recall.question) <= 8192
        assert index.explain(recall, "petrel").id == "petrel"
        scores = [hit.score for hit in recall]
        assert scores == sorted(scores, reverse=True)
        assert all(0.0 <= score <= 1.0 for score in scores)


def _steps(call: Callable[[], object]) -> int:
    """Count the lines that a call runs, as a measure of work that no other load changes."""
    count = 0

    def trace(*_: object) -> Any:
        nonlocal count
        count += 1
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        call()
    finally:
        sys.settrace(before)
    return count


@pytest.fixture(scope="module")
def titles() -> Iterable[HebbianIndex]:
    """An index of two thousand titles and numbers."""
    with HebbianIndex.open(":memory:") as index:
        index.add(
            {"id": f"c{n}", "title": f"Heron {n}", "text": "It lies at Tessel Bay.",
             "metadata": {"n": n, "s": f"s{n}"}}
            for n in range(2000)
        )  # fmt: skip
        index.recall("bay")
        yield index


def test_a_question_of_many_titles_costs_in_proportion(titles: HebbianIndex) -> None:
    def ask(n: int) -> int:
        return _steps(lambda: titles.recall(" ".join(f"Heron {i}" for i in range(n)), k=10))

    few, many = ask(20), ask(200)
    assert many < 15 * few


@pytest.mark.parametrize("operator", ["$in", "$nin", "$any", "$all"])
@pytest.mark.parametrize("kind", [int, "s{}".format])
def test_long_lists_in_filters_cost_in_proportion(
    titles: HebbianIndex, operator: str, kind: Callable[[int], object]
) -> None:
    field = "n" if kind is int else "s"
    size = 100_000 if operator != "$all" else 1000

    def ask(n: int) -> int:
        values = [kind(10**6 + i) for i in range(n)]
        return _steps(lambda: titles.recall("bay", where={field: {operator: values}}))

    few, many = ask(size // 10), ask(size)
    assert many < 15 * few
