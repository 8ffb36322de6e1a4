"""What cannot be kept or asked is told by one tree of errors, and nothing changes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from hebbgraph import (
    Chunk,
    ClosedIndexError,
    HebbgraphError,
    HebbianIndex,
    InvalidChunkError,
    NotFoundError,
    ParameterError,
    Recall,
    Settings,
)

pytestmark = pytest.mark.every_database

QUESTION = "Where was the builder of the Petrel born?"


@pytest.fixture(scope="module")
def index(corpus: list[Chunk]) -> Iterator[HebbianIndex]:
    with HebbianIndex.open(":memory:", settings=Settings(batch_size=2)) as index:
        index.add(corpus)
        yield index


@pytest.fixture
def unchanged(index: HebbianIndex) -> Iterator[HebbianIndex]:
    """The index; afterwards it must be as it was."""
    before = (index.stats(), index.recall(QUESTION, k=8, id="same").hits)
    yield index
    assert (index.stats(), index.recall(QUESTION, k=8, id="same").hits) == before


def _deep(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize("options", [{"k": 0}, {"strategy": "best"}, {"where": 5}])
@pytest.mark.parametrize("query", ["Petrel", "word " * 200_000])
def test_no_model_is_asked_about_what_is_refused(query: str, options: dict[str, Any]) -> None:
    asked: list[str] = []

    class Embedder:
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return [[1.0] for _ in texts]

        def embed_query(self, text: str) -> list[float]:
            asked.append(text)
            return [1.0]

    def cues(query: str) -> list[str]:
        asked.append(query)
        return []

    with HebbianIndex.open(":memory:", embedder=Embedder(), cue_model=cues) as index:
        index.add(["The Petrel."])
        with pytest.raises(HebbgraphError):
            index.recall(query, **options)
    assert asked == []


# -- asking ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("", "the query is empty"),
        (" \t\n\u3000", "the query is empty"),
        (" \ud800", "the query is empty"),
        (b"Petrel", "a query is a str, got bytes"),
        (None, "a query is a str, got NoneType"),
        (["Petrel"], "a query is a str, got list"),
    ],
)
def test_queries_that_cannot_be_asked(unchanged: HebbianIndex, query: Any, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        unchanged.recall(query)


def test_a_text_is_as_long_as_it_is_read(unchanged: HebbianIndex) -> None:
    with pytest.raises(InvalidChunkError, match="600000 characters, which are read as 10800000"):
        unchanged.add([{"id": "long", "text": "\ufdfa" * 600_000}])
    assert unchanged.add(["\ufdfa" * 600_000], on_error="skip").failed[0].position == 0


@pytest.mark.parametrize("text", ["", " \t\n", "\x00\x01", "\u200b\ufeff\u3000"])
@pytest.mark.parametrize("title", ["", " ", "\u200b"])
def test_a_chunk_without_text_and_title(unchanged: HebbianIndex, text: str, title: str) -> None:
    empty = {"id": "page 7", "text": text, "title": title, "tags": ["tag"]}
    with pytest.raises(InvalidChunkError, match=r"'page 7': it has neither text nor title.*on 1 "):
        unchanged.add([QUESTION, empty])
    with pytest.raises(InvalidChunkError, match="chunk without id"):
        unchanged.put_document("scan.pdf", None, [{"text": text}])
    report = unchanged.add([{"text": text}, empty], on_error="skip")
    assert [(one.position, one.id) for one in report.failed] == [(0, None), (1, "page 7")]


def test_a_long_question_is_cut_and_says_so(unchanged: HebbianIndex) -> None:
    log = "ERROR in worker.py: timed out. " * 3_000
    for long in (f"{QUESTION}\n{log}", f"{log}\n{QUESTION}", f"{log}{QUESTION}\ud83d"):
        recall = unchanged.recall(long, history=["\ud83d And before?"])
        assert len(recall.query) <= 8192
        assert "its first and last 4,096 were searched for" in " ".join(recall.notes)
        assert recall.hits[0].chunk.id in {hit.chunk.id for hit in unchanged.recall(QUESTION).hits}
        assert Recall.model_validate_json(recall.model_dump_json()) == recall
    assert unchanged.in_full(log, [])


@pytest.mark.parametrize("k", [0, -1, 10_001, 10**30, True, False, 2.0, "3", None, math.inf])
def test_k_out_of_range(unchanged: HebbianIndex, k: Any) -> None:
    with pytest.raises(ParameterError, match="k is a whole number from 1 to 10000"):
        unchanged.recall(QUESTION, k=k)


@pytest.mark.parametrize(
    "options",
    [{"strategy": "magic"}, {"strategy": None}, {"strategy": []}, {"id": 5}, {"id": "\ud800"}],
)
def test_other_arguments_of_recall(unchanged: HebbianIndex, options: dict[str, Any]) -> None:
    with pytest.raises(ParameterError):
        unchanged.recall(QUESTION, **options)


@pytest.mark.parametrize("strategy", ["spreading", "neighbourhood"])
def test_an_empty_index_answers_with_nothing(strategy: Any) -> None:
    with HebbianIndex.open(":memory:") as empty:
        recall = empty.recall(QUESTION, strategy=strategy, where={"a": 1})
        assert recall.hits == recall.cues == ()
        assert recall.nothing_known == (strategy == "spreading")
        assert len(recall.notes) == 1
        assert empty.recall(QUESTION, strategy=strategy, where=lambda chunk: True).hits == ()
        assert empty.add([]).added == 0
        assert empty.delete(["x"]) == 0
        assert empty.recall(QUESTION, strategy=strategy).hits == ()


@pytest.mark.parametrize("query", ["who was it?", "the of and", "?!…", "\x00\x07", "🙂", "1984"])
def test_a_query_of_no_content_still_gives_k(unchanged: HebbianIndex, query: str) -> None:
    recall = unchanged.recall(query, k=5)
    assert len(recall.hits) == 5
    assert recall.cues == ()
    told = "nothing known" if recall.hits[0].score == 0 else "no tag"
    assert told in recall.notes[0]


def test_unknown_words_find_by_direct_search_and_are_told(unchanged: HebbianIndex) -> None:
    recall = unchanged.recall("Does qwertz split along its cleavage?", k=2)
    assert recall.hits[0].chunk.id == "bare"
    assert recall.hits[0].score > 0
    assert recall.cues == ()
    assert (
        "no tag of the index is named in the query; paths start from what direct search finds"
        in recall.notes
    )
    learned = unchanged.recall("Does qwertz split?", strategy="neighbourhood")
    assert learned.hits == ()
    assert learned.notes == ("not learned: the index knows none of the query's concepts",)


def test_hits_of_a_question_that_was_answered_before_are_not_called_direct_search() -> None:
    question, note = "Which stone splits when struck?", "no tag of the index is named in the query"
    with HebbianIndex.open(":memory:") as index:
        index.add([{"id": "mica", "text": "it flakes"}, {"id": "flint", "text": "a stone splits"}])
        recall = index.recall(question)
        assert note in recall.notes[0]
        index.reinforce(recall, cited=["mica"])
        again = index.recall(question)
        assert again.hits[0].chunk.id == "mica"
        assert not any(note in text for text in again.notes)


def test_the_longest_query_is_answered(unchanged: HebbianIndex) -> None:
    filler = " ".join(f"w{n}" for n in range(9_000))
    recall = unchanged.recall(f"{QUESTION} {filler}"[:65_536], k=3)
    assert [cue.tag for cue in recall.cues] == ["petrel"]
    assert recall.hits[0].chunk.id == "petrel"


@pytest.mark.parametrize("chunk_id", ["nobody", "\ud800", "a\nb", 5, None])
def test_explaining_what_is_not_there(unchanged: HebbianIndex, chunk_id: Any) -> None:
    recall = unchanged.recall(QUESTION)
    with pytest.raises((NotFoundError, ParameterError)):
        unchanged.explain(recall, chunk_id)


@pytest.mark.parametrize("recall_id", ["nothing", "\ud800", 5, None])
def test_explaining_a_recall_that_is_not_there(unchanged: HebbianIndex, recall_id: Any) -> None:
    with pytest.raises((NotFoundError, ParameterError)):
        unchanged.explain(recall_id, "petrel")


def test_the_kind_of_export(unchanged: HebbianIndex) -> None:
    with pytest.raises(ParameterError, match="'tags', 'incidence' or 'colonies'"):
        unchanged.to_networkx("chunks")  # type: ignore[arg-type]


# -- adding ------------------------------------------------------------------------------

INVALID: list[tuple[Any, str]] = [
    (None, "a chunk must be a Chunk, a dict or a str, got NoneType"),
    (b"bytes", "got bytes"),
    (5, "got int"),
    ({"text": None}, "text: .*valid string"),
    ({"text": 5}, "text: .*valid string"),
    ({"text": b"x"}, "text"),
    ({}, "text: Field required"),
    ({"text": "x", "colour": "red"}, "colour: Extra inputs"),
    ({"text": "half \ud800"}, "surrogate U\\+D800 at position 5"),
    ({"text": "bell\x07"}, "control character U\\+0007 at position 4"),
    ({"text": "nul\x00"}, "U\\+0000"),
    ({"text": "x", "title": "\udfff"}, "title"),
    ({"text": "x", "title": "a\x1b"}, "control character"),
    ({"text": "x", "title": "t" * 5000}, "title"),
    ({"text": "x", "tags": ["ok", "\ud800"]}, "tags"),
    ({"text": "x", "tags": [" "]}, "visible characters"),
    ({"text": "x", "tags": [5]}, "tags"),
    ({"text": "x", "id": 5}, "id: .*valid string"),
    ({"text": "x", "id": "i" * 513}, "at most 512 characters"),
    ({"text": "x", "id": "i" * 10**6}, "at most 512 characters"),
    ({"text": "x", "id": "a\nb"}, "printable"),
    ({"text": "x", "id": "\ud800"}, "id"),
    ({"text": "x", "document_id": "d" * 513}, "document_id"),
    ({"text": "x", "document_id": "\x00"}, "printable"),
    ({"text": "x", "metadata": {"b": b"x"}}, "metadata: b is of type bytes, which JSON cannot say"),
    ({"text": "x", "metadata": {"o": object()}}, "o is of type object, which JSON cannot say"),
    ({"text": "x", "metadata": {"s": {b"x"}}}, "which JSON cannot say"),
    ({"text": "x", "metadata": {"n": [math.inf]}}, "metadata"),
    ({"text": "x", "metadata": {"deep": _deep(1_000)}}, "metadata"),
    ({"text": "x", "metadata": {"deep": _deep(100_000)}}, "metadata"),
    ({"text": "x", "metadata": {"s": "\ud800"}}, "metadata"),
    ({"text": "x", "metadata": {"\udfff": 1}}, "metadata"),
    ({"text": "x", "metadata": {"big": 10**5000}}, "metadata"),
    ({"text": "x", "metadata": ["list"]}, "metadata"),
    ({"text": "x", "addresses": "a.md"}, "addresses: a list of str, got 'a.md'; put it in a list"),
    ({"text": "x", "supersedes": "b"}, "supersedes: a list of str, got 'b'; put it in a list"),
    ({"id": "", "text": "x"}, "id: an id is not empty; leave it out"),
    ({"text": "x", "document_id": ""}, "document_id: an id is not empty"),
    ({"text": "x", "addresses": [5]}, "addresses"),
    ({"text": "x", "addresses": ["a.md", " "]}, "visible characters"),
    ({"text": "x", "addresses": ["a" * 2049]}, "at most 2048 characters, got 2049"),
    ({"text": "x", "addresses": [f"a{n}" for n in range(257)]}, "257 of them, at most 256"),
    ({"text": "x", "references": ["\ud800"]}, "references"),
    ({"text": "x", "references": ["a\x00b"]}, "visible characters"),
    ({"text": "x", "references": [f"{n}" for n in range(100_000)]}, "100000 .*at most 4096"),
]


@pytest.mark.parametrize(("chunk", "message"), INVALID)
def test_a_chunk_that_cannot_be_kept_keeps_out_the_whole_list(
    unchanged: HebbianIndex, chunk: Any, message: str
) -> None:
    # Batches hold two: the good ones would be committed if they were not checked first.
    good = [f"Good chunk {n}." for n in range(5)]
    with pytest.raises(InvalidChunkError, match=message) as caught:
        unchanged.add([*good, chunk], strict=True)
    assert len(str(caught.value)) < 500


def test_what_json_cannot_say_is_kept_as_it_can() -> None:
    with HebbianIndex.open(":memory:") as index:
        odd: dict[Any, Any] = {"s": {2, 1}, "n": math.nan, 1: "one"}
        index.add([{"id": "a", "text": "x", "metadata": odd}])
        (kept,) = index.get(["a"])
        assert kept.metadata == {"s": [1, 2], "1": "one"}


@pytest.mark.parametrize("chunk", [{"text": "x", "metadata": {"n": math.inf}}, 5])
def test_of_an_iterator_earlier_batches_stay_and_are_told(chunk: Any) -> None:
    with HebbianIndex.open(":memory:", settings=Settings(batch_size=2)) as index:
        with pytest.raises(InvalidChunkError) as caught:
            index.add(iter(["one", "two", "three", chunk, "five"]))
        assert caught.value.__notes__ == ["2 chunks of earlier batches were committed"]
        assert index.stats().chunks == 2


@pytest.mark.parametrize("chunks", [None, 5, "text", b"text", {"text": "x"}, Chunk(text="x")])
def test_add_takes_an_iterable_of_chunks(unchanged: HebbianIndex, chunks: Any) -> None:
    with pytest.raises(ParameterError, match="iterable of chunks"):
        unchanged.add(chunks)


def test_an_id_twice_in_one_batch(unchanged: HebbianIndex) -> None:
    with pytest.raises(InvalidChunkError, match=r"'a' occurs twice .* different content"):
        unchanged.add([{"id": "a", "text": "one"}, {"id": "a", "text": "two"}])


def test_the_same_chunk_twice_in_one_batch_is_one_chunk() -> None:
    with HebbianIndex.open(":memory:") as index:
        report = index.add(["same", "same", {"id": "a", "text": "x"}, {"id": "a", "text": "x"}])
        assert (report.added, index.stats().chunks) == (2, 2)
        assert index.add(["same"]).unchanged == 1


def test_a_tagger_that_fails_writes_nothing(corpus: list[Chunk]) -> None:
    def fail(chunk: Chunk) -> list[str]:
        raise RuntimeError("model is down")

    with HebbianIndex.open(":memory:", tagger=fail) as index:
        with pytest.raises(RuntimeError, match="model is down"):
            index.add(corpus)
        assert index.stats().chunks == 0


@pytest.mark.parametrize("document_id", ["", 5, None, "\ud800", "a\nb", "d" * 513])
def test_a_document_id_that_cannot_be_kept(unchanged: HebbianIndex, document_id: Any) -> None:
    with pytest.raises(ParameterError, match="document id"):
        unchanged.put_document(document_id, None, ["text"])


@pytest.mark.parametrize(
    "arguments",
    [
        {}, {"ids": 5}, {"ids": [5]}, {"ids": [None]}, {"ids": ["ok", "\ud800"]},
        {"document_id": 5}, {"document_id": "\ud800"},
    ],
)  # fmt: skip
def test_what_cannot_be_deleted(unchanged: HebbianIndex, arguments: dict[str, Any]) -> None:
    with pytest.raises(ParameterError):
        unchanged.delete(**arguments)


def test_deleting_what_is_not_there(unchanged: HebbianIndex) -> None:
    generation = unchanged.stats().generation
    assert unchanged.delete([]) == 0
    assert unchanged.delete(["nobody", "'; DROP TABLE chunks; --"]) == 0
    assert unchanged.delete(f"n{i}" for i in range(2_000)) == 0
    assert unchanged.stats().generation == generation


@pytest.mark.parametrize(
    "values",
    [
        {"batch_size": 0}, {"batch_size": "many"}, {"write_wait_seconds": -1},
        {"keep_recalls": -1}, {"language": "klingon"}, {"colour": "red"},
    ],
)  # fmt: skip
def test_settings_out_of_range(values: dict[str, Any]) -> None:
    with pytest.raises(ParameterError, match=next(iter(values))):
        Settings(**values)


# -- odd, and fine -------------------------------------------------------------------------

FINE = [
    Chunk(id="arabic", title="ميناء الصدف", text="بني ميناء الصدف قرب جبل النورس سنة ١٩٠٢."),
    Chunk(id="hebrew", title="נמל השחף", text="נמל השחף נבנה ליד \u200fגבעת הרוח."),
    Chunk(id="emoji", title="🐟 market", text="The 🐟 market opens at 5 👩‍👩‍👧‍👦🏴󠁧󠁢󠁳󠁣󠁴󠁿."),
    Chunk(id="combining", title="Ze\u0301lande", text="a\u0300" * 300),
    Chunk(id="i" * 512, title="t" * 4096, text="Long id and long title."),
    Chunk(id="x' OR '1'='1", text="'; DROP TABLE chunks; -- %_ ?"),
    Chunk(id="控え", title="灯台", text="灯台は岬に立っている。"),
    Chunk(id="lines", text="tabs\tand\r\nlines\x0band\x0cpages\x85"),
    Chunk(id="nested", text="x", metadata={"deep": _deep(100), "empty": {}}),
    Chunk(id="title", text="", title="A title alone"),
    Chunk(id="private", text="\ue000 \ufffd \uffff \U0010ffff"),
    Chunk(id="one word", text="a" * 100_000),
]


def test_odd_chunks_are_kept_as_they_are(
    make_index: Callable[..., HebbianIndex],
    open_index: Callable[..., HebbianIndex],
    assert_like_rebuilt: Callable[[HebbianIndex], None],
) -> None:
    index = make_index(FINE)
    assert_like_rebuilt(index)
    index.close()
    index = open_index()
    held = {hit.chunk.id: hit.chunk for hit in index.recall("anything", k=100).hits}
    assert held == {chunk.id: chunk for chunk in FINE}
    for chunk in FINE:
        recall = index.recall(chunk.title or chunk.text[:60] or "x", k=len(FINE))
        assert recall.hit(chunk.id) is not None
        assert index.explain(recall, chunk.id).chunk_id == chunk.id
    assert index.delete([chunk.id for chunk in FINE]) == len(FINE)
    assert index.stats().chunks == 0


def test_a_chunk_of_a_megabyte(assert_like_rebuilt: Callable[[HebbianIndex], None]) -> None:
    text = " ".join(f"Captain Brill{n % 977} met the pilot." for n in range(32_000))
    assert len(text) > 1_000_000
    with HebbianIndex.open(":memory:") as index:
        index.add(
            [{"id": "large", "text": text}, {"id": "small", "title": "Captain Brill5", "text": "x"}]
        )
        assert "captain brill5" in index.explain(index.recall("pilot"), "large").tags
        assert index.recall("pilot", k=1).hits[0].chunk.id == "large"
        assert_like_rebuilt(index)


# -- a closed index -------------------------------------------------------------------------


def test_a_closed_index_says_so(make_index: Callable[..., HebbianIndex]) -> None:
    index = make_index()
    recall = index.recall(QUESTION)
    index.close()
    index.close()
    calls: list[Callable[[], Any]] = [
        lambda: index.add(["x"]),
        lambda: index.put_document("d", None, ["x"]),
        lambda: index.document_fingerprints(),
        lambda: index.delete(["petrel"]),
        lambda: index.recall(QUESTION),
        lambda: index.find_recall(recall.id),
        lambda: index.explain(recall, "petrel"),
        lambda: index.get(["petrel"]),
        lambda: index.stats(),
        lambda: index.to_networkx(),
        lambda: index.compact(),
    ]
    for call in calls:
        with pytest.raises(ClosedIndexError, match="is closed; open it again"):
            call()


def test_every_error_is_of_one_tree_and_a_builtin() -> None:
    import hebbgraph

    errors = [
        value
        for name in hebbgraph.__all__
        if isinstance(value := getattr(hebbgraph, name), type) and issubclass(value, Exception)
    ]
    assert len(errors) > 10
    for error in errors:
        assert issubclass(error, HebbgraphError)
        if error is not HebbgraphError:
            builtins = (ValueError, LookupError, ImportError, RuntimeError, OSError)
            assert issubclass(error, builtins), error
