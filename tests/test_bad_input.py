"""Bad and strange input: a clear error, or the right answer; never half of something."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from dump import assert_sound
from ships import CORPUS

import hebbgraph.ingest.loading
from hebbgraph import (
    Chunk,
    HebbgraphError,
    HebbianIndex,
    SentenceTransformerEmbedder,
    Settings,
)
from hebbgraph.errors import InvalidChunkError, ParameterError

STRANGE = [
    "'", '"', "%", "_", "\\", "a'b\"c", "'; DROP TABLE chunk; --", "' OR '1'='1", "$chunk", "$$",
    "?", "{0}", "%s", "<script>alert(1)</script>", "<b>&amp;", "[a-z]*", "../..", "C:\\x", "NULL",
    "東京塔", "Москва", "עברית", "🦉", "İ", "ß", "e\u0301", "a b", "x" * 512, "-1", "1e999", "NaN",
    "$id", "a.b", "a[]", ".",
]  # fmt: skip


# -- ids, titles, keys, namespaces ------------------------------------------------------------


def test_strange_text_is_kept_found_and_deleted_everywhere(tmp_path: Path) -> None:
    chunks = [
        Chunk(
            id=text,
            title=text,
            text=f"Before {text} after.",
            document_id=text,
            metadata={f"key {text}": text, "value": text},
            tags=[text],
        )
        for text in STRANGE
    ]
    with HebbianIndex.open(tmp_path) as index:
        index.add(chunks)
        assert index.get(STRANGE) == chunks
        for text in STRANGE:
            assert index.ids({"value": text}) == [text]
            assert index.ids({"$id": text}) == index.ids({"$document_id": text}) == [text]
            assert index.recall(text, k=1, where={"value": text})[0].id == text
            assert text in index.ids({f"key {text}": {"$exists": True}})
            index.tags(text)
            assert index.recall(text, k=40)
        assert_sound(index)
        for n, text in enumerate(STRANGE):
            deleted = index.delete(text) if n % 2 else index.delete(document_id=text)
            assert deleted.deleted == 1
        assert index.ids() == []


def test_strange_namespaces_are_apart(tmp_path: Path) -> None:
    names = [*STRANGE, "A　b", "default", "Default", "con", "a" * 200, "a" * 201, "..", "é" * 300]
    for name in names:
        with HebbianIndex.open(tmp_path, namespace=name) as index:
            index.add([{"id": "x", "text": f"Of {name}"}])
    for name in names:
        with HebbianIndex.open(tmp_path, namespace=name) as index:
            assert index.get("x")[0].text == f"Of {name}"
            assert index.recall("of").namespace == name
    assert HebbianIndex.open(":memory:").namespaces() == ["default"]
    with HebbianIndex.open(tmp_path) as index:
        assert index.namespaces() == sorted(names)
    assert all(path.parent == tmp_path for path in tmp_path.rglob("*"))


@pytest.mark.parametrize("name", ["", " ", "a\nb", "a\0b", "\ud800", "x" * 513, 5, None, b"a"])
def test_impossible_namespaces(tmp_path: Path, name: Any) -> None:
    with pytest.raises(ParameterError):
        HebbianIndex.open(tmp_path / "index", namespace=name)
    assert not (tmp_path / "index").exists()


def test_ids_that_differ_by_what_a_database_cuts_off(ships: HebbianIndex) -> None:
    for id_ in ("moss\0", "moss\0x", "\ud800", "moss ", "Moss", "mo%", "mos_"):
        assert ships.get(id_) == []
        assert ships.delete(id_).deleted == 0
        assert ships.delete(document_id=id_).deleted == 0
        recall = ships.recall("slate", seeds=[(id_, 1.0), ("knots", 0.5)])
        assert recall.hits
    assert len(ships.ids()) == len(CORPUS)


# -- chunks ---------------------------------------------------------------------------------

_deep: Any = "deep"
for _ in range(100):
    _deep = [_deep]
_circular: list[Any] = []
_circular.append(_circular)


@pytest.mark.parametrize(
    "chunk",
    [
        None, 5, 5.5, b"bytes", ["text"], object, {}, {"id": "a"}, {"text": None}, {"text": 5},
        {"text": b"x"}, {"text": "x", "id": 5}, {"text": "x", "id": ""}, {"text": "x", "id": "a\n"},
        {"text": "x", "id": "a\0"}, {"text": "x", "id": "\ud800"}, {"text": "x", "id": "a" * 513},
        {"text": "x", "title": "t" * 4097}, {"text": "x", "title": None},
        {"text": "x" * 10_000_001},
        {"text": "x", "unknown": 1}, {"text": "x", "metadata": 5}, {"text": "x", "metadata": [1]},
        {"text": "x", "metadata": {"a": _deep}}, {"text": "x", "metadata": {"a": _circular}},
        {"text": "x", "metadata": {"a": float("inf")}}, {"text": "x", "metadata": {"a": object()}},
        {"text": "x", "metadata": {"a": "m" * 1_000_001}},
        {"text": "x", "metadata": {"a": b"\xff"}},
        {"text": "x", "metadata": {"a": lambda: 1}}, {"text": "x", "tags": "one"},
        {"text": "x", "tags": [5]}, {"text": "x", "tags": [" "]},
        {"text": "x", "tags": ["\0"]}, {"text": "x", "addresses": ["\ud800"]},
        {"text": "x", "tags": ["t" * 513]},
        {"text": "x", "tags": ["t"] * 257}, {"text": "x", "references": [None]},
        {"text": "x", "document_id": ""}, {"text": "x", "document_id": 5},
        {"text": " ", "title": ""},
    ],
    ids=lambda chunk: repr(chunk)[:40],
)  # fmt: skip
def test_chunks_that_cannot_be_stored(ships: HebbianIndex, chunk: Any) -> None:
    with pytest.raises(InvalidChunkError) as raised:
        ships.add([{"id": "good", "text": "A good chunk."}, chunk])
    assert len(str(raised.value)) < 400
    assert len(ships.ids()) == len(CORPUS)
    assert ships.doctor() == []


@pytest.mark.parametrize("fields", [{"metadata": None}, {"metadata": "x"}, {"size": 1}, {"id": ""}])
def test_a_chunk_is_refused_alike_as_a_dict(fields: dict[str, Any]) -> None:
    with pytest.raises(InvalidChunkError) as as_dict:
        Chunk.of({"text": "Ice", **fields})
    with pytest.raises(InvalidChunkError, match="chunk without id") as made:
        Chunk(text="Ice", **fields)
    assert str(made.value) == str(as_dict.value)


def test_metadata_that_are_no_edge_are_refused_before_anything_is_stored() -> None:
    chunks = [Chunk(id=str(n), text=f"Ship {n}", metadata={"by": [{}, "Jo"][:n]}) for n in range(9)]
    with HebbianIndex.open(":memory:", settings=Settings(edges=("by",))) as index:
        for workers in (0, 2):
            with pytest.raises(InvalidChunkError, match="chunk '1': metadata field 'by'"):
                index.add(chunks, workers=workers)
        assert index.ids() == []


def test_extreme_chunks_that_can_be_stored(tmp_path: Path) -> None:
    chunks = [
        Chunk(id="controls", text="ice\x00trade\x1b[2J \x92s\ud800 end"),
        Chunk(id="long word", text="a" * 300_000),
        Chunk(id="many words", text=" ".join(f"w{n}" for n in range(60_000))),
        Chunk(id="one word", text="rope " * 50_000),
        Chunk(id="no words", text="... !!! ???"),
        Chunk(id="title alone", text="", title="Auk"),
        Chunk(id="spaces", text="  \n\t\u3000 x"),
        Chunk(id="deep", text="x", metadata={"a": [[[[[[["b"]]]]]]], "c": {"d": {"e": {}}}}),
        Chunk(id="wide", text="x", metadata={f"k{n}": n for n in range(5000)}),
        Chunk(id="tags", text="x", tags=[f"Tag {n}" for n in range(256)]),
        Chunk(id="right to left", text="\u202eevil \u2066x\u2069", title="שלום"),
        Chunk(id="no title", text="x", title=" \u200b \u200b"),
        Chunk(id="山田　太郎, می\u200cخواهم, n°\u00a07, 👩\u200d🔬", text="x"),
    ]
    with HebbianIndex.open(tmp_path) as index:
        index.add(chunks)
        assert index.recall("w59999", k=1)[0].id == "many words"
        assert index.recall("rope", k=1)[0].id == "one word"
        assert index.recall("trade", k=1)[0].id == "controls"
        assert index.get("controls")[0].text == "ice trade [2J  s  end"
        assert index.get("no title")[0].title == ""  # or a list would show nothing
        assert index.ids({"k4999": 4999}) == ["wide"]
        assert_sound(index)


def test_of_equal_ids_in_one_call_the_last_counts(memory: HebbianIndex) -> None:
    memory.add([{"id": "a", "text": f"version {n}"} for n in range(5)])
    assert [chunk.text for chunk in memory.get(["a", "a"])] == ["version 4", "version 4"]
    assert memory.stats()["chunks"] == 1
    report = memory.add([{"id": "a", "text": "version 4"}, {"id": "a", "text": "version 4"}])
    assert (report.added, report.replaced) == (0, 0)
    assert_sound(memory)


# -- iterables that fail ------------------------------------------------------------------------


@pytest.mark.parametrize("good", [0, 3, 10, 20, 25])
@pytest.mark.parametrize(("how", "workers"), [("raises", None), ("invalid", None), ("invalid", 2)])
def test_iterable_that_fails_in_the_middle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, good: int, how: str, workers: int | None
) -> None:
    """Whole batches before are stored, nothing is half written, and the next call goes on."""
    monkeypatch.setattr(hebbgraph.ingest.loading, "_CHUNKS", 10)

    def chunks() -> Iterator[Any]:
        yield from ({"id": f"c{n:02}", "text": f"Auk {n} of Ida Moss"} for n in range(good))
        if how == "raises":
            raise ZeroDivisionError("the caller's own")
        yield {"id": "bad", "text": 5}

    with HebbianIndex.open(tmp_path) as index:
        with pytest.raises((ZeroDivisionError, InvalidChunkError)):
            index.add(chunks(), workers=workers)
        assert index.ids() == [f"c{n:02}" for n in range(good // 10 * 10)]
        index.recall("Auk of Ida Moss")
        index.add({"id": f"c{n:02}", "text": f"Auk {n} of Ida Moss"} for n in range(30))
        assert len(index.ids()) == 30
        assert_sound(index)


def test_endless_iterable_may_be_interrupted_by_progress(
    memory: HebbianIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hebbgraph.ingest.loading, "_CHUNKS", 10)

    def stop(done: int) -> None:
        if done >= 50:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        memory.add((f"Auk {n}" for n in itertools.count()), show_progress=stop)
    assert len(memory.ids()) == 50
    memory.add([])
    assert_sound(memory)


# -- arguments of other types -------------------------------------------------------------------

_CALLS: dict[str, Callable[[HebbianIndex], object]] = {
    "add(None)": lambda index: index.add(None),
    "add(5)": lambda index: index.add(5),
    "add(str)": lambda index: index.add("one text"),
    "add(dict)": lambda index: index.add({"text": "x"}),
    "add(workers)": lambda index: index.add(["x"], workers="2"),
    "refresh(None)": lambda index: index.refresh(None),
    "refresh(str)": lambda index: index.refresh("text"),
    "refresh without document": lambda index: index.refresh(["x"]),
    "get(None)": lambda index: index.get(None),
    "get(5)": lambda index: index.get(5),
    "get([[1]])": lambda index: index.get([[1]]),
    "delete()": lambda index: index.delete(),
    "delete(5)": lambda index: index.delete(5),
    "delete([None])": lambda index: index.delete([None]),
    "delete(where={})": lambda index: index.delete(where={}),
    "delete(filter as ids)": lambda index: index.delete({"kind": "a"}),
    "seeds beyond floats": lambda index: index.recall("x", seeds=[("a", 10**400)]),
    "delete(where=callable)": lambda index: index.delete(where=lambda chunk: True),
    "tags(5)": lambda index: index.tags(5),
    "neighbors(None)": lambda index: index.neighbors(None),
    "neighbors(no tag)": lambda index: index.neighbors("Nobody Knows"),
    "explain(str)": lambda index: index.explain("petrel", "petrel"),
    "explain(no chunk)": lambda index: index.explain(index.recall("Petrel"), "none"),
    "k=0": lambda index: index.recall("x", k=0),
    "k=-1": lambda index: index.recall("x", k=-1),
    "k=10_001": lambda index: index.recall("x", k=10_001),
    "k=1.5": lambda index: index.recall("x", k=1.5),
    "k=True": lambda index: index.recall("x", k=True),
    "k=None": lambda index: index.recall("x", k=None),
    "min_score=2": lambda index: index.recall("x", min_score=2),
    "min_score=NaN": lambda index: index.recall("x", min_score=float("nan")),
    "min_score=str": lambda index: index.recall("x", min_score="0.5"),
    "recall_id=5": lambda index: index.recall("x", recall_id=5),
    "recall_id long": lambda index: index.recall("x", recall_id="x" * 513),
    "seeds=5": lambda index: index.recall("x", seeds=5),
    "seeds=[5]": lambda index: index.recall("x", seeds=[5]),
    "seeds NaN": lambda index: index.recall("x", seeds=[("a", float("nan"))]),
    "seeds inf": lambda index: index.recall("x", seeds=[("a", float("inf"))]),
    "seeds str": lambda index: index.recall("x", seeds=[("a", "b")]),
    "vector=str": lambda index: index.recall("x", vector="abc"),
    "vector NaN": lambda index: index.recall("x", vector=[float("nan")]),
    "vector nested": lambda index: index.recall("x", vector=[[1.0]]),
    "vector empty": lambda index: index.recall("x", vector=[]),
    "strategy=5": lambda index: index.recall("x", strategy=5),
    "strategy unknown": lambda index: index.recall("x", strategy="guessing"),
    "steps=None": lambda index: index.recall("x", steps=None),
    "steps=[5]": lambda index: index.recall("x", steps=[5]),
    "question=None": lambda index: index.recall(None),
    "question=5": lambda index: index.recall(5),
    "question=bytes": lambda index: index.recall(b"x"),
    "question empty": lambda index: index.recall(""),
    "question blank": lambda index: index.recall(" \n\t"),
    "question surrogate": lambda index: index.recall("\ud800"),
    "settings unknown": lambda _: Settings(unknown=1),
    "settings language": lambda _: Settings(language="klingon"),
    "settings vectors": lambda _: Settings(vectors=2.0),
    "open(5)": lambda _: HebbianIndex.open(5),
    "open('')": lambda _: HebbianIndex.open(""),
    "embedder=str": lambda _: HebbianIndex.open(":memory:", embedder="all-MiniLM"),
    "embedder=class": lambda _: HebbianIndex.open(":memory:", embedder=SentenceTransformerEmbedder),
    "tagger=str": lambda _: HebbianIndex.open(":memory:", tagger="names"),
    "settings=dict": lambda _: HebbianIndex.open(":memory:", settings={"quorum": 2}),
}


@pytest.mark.parametrize("call", _CALLS.values(), ids=_CALLS)
def test_wrong_arguments_are_our_errors(
    ships: HebbianIndex, call: Callable[[HebbianIndex], object]
) -> None:
    with pytest.raises(HebbgraphError) as raised:
        call(ships)
    assert len(str(raised.value)) < 400
    assert len(ships.ids()) == len(CORPUS)


def test_closed_index_says_so(ships: HebbianIndex) -> None:
    ships.close()
    ships.close()
    for call in (ships.ids, ships.stats, lambda: ships.recall("x"), lambda: ships.add(["x"])):
        with pytest.raises(HebbgraphError, match="the index is closed; open it again"):
            call()


# -- the commonest messages, which docs/errors.md explains -----------------------------------------

MESSAGES: dict[str, tuple[Callable[[HebbianIndex], object], str]] = {
    "one text instead of a list": (
        lambda index: index.add("one text"),
        "chunks is a list of chunks, got one str",
    ),
    "a field of another type": (
        lambda index: index.add([{"id": "a", "text": 5}]),
        "chunk 'a': text: Input should be a valid string",
    ),
    "a filter with an unknown operator": (
        lambda index: index.ids({"year": {"$above": 1}}),
        "unknown operator '$above' for 'year'; known are $eq $ne $gt $gte $lt $lte $in $nin "
        "$exists $contains $any $all $text_match $text_match_insensitive $is_empty; "
        "a nested field is written 'year.name'",
    ),
    "no question": (lambda index: index.recall(""), "the question is empty; ask something"),
    "k out of range": (
        lambda index: index.recall("x", k=0),
        "k is a whole number from 1 to 10000, got 0",
    ),
    "delete without an argument": (
        lambda index: index.delete(),
        "delete takes ids, document_id= or a filter; got none of them",
    ),
    "a document without an id": (
        lambda index: index.refresh([{"id": "a", "text": "x"}]),
        "refresh replaces documents; chunk 'a' has none",
    ),
    "a tag that is not there": (
        lambda index: index.neighbors("kraken"),
        "no chunk holds the tag 'kraken'; tags(prefix) lists tags",
    ),
    "an unknown setting": (
        lambda _: Settings(vectors=2),
        "Settings.vectors: Input should be less than or equal to 1, got 2",
    ),
    "the name of an embedder": (
        lambda _: HebbianIndex.open(":memory:", embedder="all-MiniLM"),
        "embedder cannot be 'all-MiniLM'; write embedder=SentenceTransformerEmbedder(name)",
    ),
    "settings as a dict": (
        lambda _: HebbianIndex.open(":memory:", settings={"quorum": 2}),
        "settings cannot be {'quorum': 2}; write settings=Settings(quorum=2)",
    ),
    "a question in place of its recall": (
        lambda index: index.reinforce("Who built it?", ["petrel"]),
        "0 recalls 'Who built it?' are kept; the first argument is a Recall, or the id of one that "
        "keep(recall) has kept",
    ),
    "no index": (
        lambda _: HebbianIndex.open("/nowhere/at/all", read_only=True),
        "there is no index at /nowhere/at/all/default.sqlite3; check the path, or open it to write",
    ),
}


@pytest.mark.parametrize(("call", "message"), MESSAGES.values(), ids=MESSAGES)
def test_commonest_messages(
    ships: HebbianIndex, call: Callable[[HebbianIndex], object], message: str
) -> None:
    with pytest.raises(HebbgraphError) as raised:
        call(ships)
    assert str(raised.value) == message
