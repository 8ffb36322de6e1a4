"""Metadata filters: what each operator holds for, and that they hold while spreading."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import pytest

from hebbgraph import (
    Chunk,
    FilterError,
    HebbianIndex,
    IndexLockedError,
    NamespaceNotFoundError,
    Recall,
    Settings,
)
from hebbgraph.filters import Condition, parse_filter
from hebbgraph.locks import LendableLock

pytestmark = pytest.mark.every_database


@pytest.fixture(scope="module")
def index(corpus: list[Chunk]) -> Iterator[HebbianIndex]:
    with HebbianIndex.open(":memory:") as index:
        index.add(corpus)
        yield index


ALL = {"petrel", "heron", "moss", "vale", "bay", "point", "knots", "bare"}


def _passing(index: HebbianIndex, where: Any) -> set[str]:
    return {hit.chunk.id for hit in index.recall("ship", k=100, where=where).hits}


@pytest.mark.parametrize(
    ("where", "why"),
    [
        ({"year": "1871"}, "'year' is compared with a value of type string, but its values"),
        ({"kind": "ship", "$or": [{"year": {"$gte": "1800"}}]}, "are of type number"),
        (
            {"year": {"$in": ["1871", "1880"]}},
            "'year' is compared with a value of type string",
        ),
        ({"yaer": 1871}, "no chunk has a field 'yaer'"),
        ({"year": 9999}, ""),
        ({"$not": {"kind": {"$exists": False}}, "year": {"$exists": True}, "kind": "person"}, ""),
    ],
)
def test_values_of_another_kind_are_told(
    corpus: list[Chunk], where: Any, why: str, caplog: pytest.LogCaptureFixture
) -> None:
    with HebbianIndex.open(":memory:") as index:
        index.add(corpus)
        recall = index.recall("ship", where=where)
        assert index.recall("ship", where=where).notes == recall.notes
    (note,) = [note for note in recall.notes if "no chunk passes the filter" in note]
    assert recall.hits == ()
    assert why in note if why else note == "no chunk passes the filter"
    assert why in caplog.text
    assert bool(caplog.text) is bool(why)


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ({}, ALL),
        ({"kind": "ship"}, {"petrel", "heron"}),
        ({"kind": {"$eq": "ship"}}, {"petrel", "heron"}),
        ({"kind": {"$ne": "ship"}}, ALL - {"petrel", "heron"}),
        ({"year": {"$gt": 1871}}, {"heron"}),
        ({"year": {"$gte": 1871}}, {"petrel", "heron"}),
        ({"year": {"$lt": 1880.0}}, {"petrel"}),
        ({"year": {"$lte": 1880, "$gt": 1871}}, {"heron"}),
        ({"kind": {"$gt": "person"}}, {"petrel", "heron", "place"} - {"place"} | {"bay", "point"}),
        ({"year": {"$gt": "1800"}}, set()),  # numbers and strings are not compared
        ({"kind": {"$in": ["note", "place"]}}, {"knots", "bay", "point"}),
        ({"kind": {"$in": []}}, set()),
        ({"kind": {"$nin": ["note", "place"]}}, {"petrel", "heron", "moss", "vale", "bare"}),
        ({"year": {"$exists": True}}, {"petrel", "heron", "knots"}),
        ({"year": {"$exists": False}}, ALL - {"petrel", "heron", "knots"}),
        ({"year": None}, {"knots"}),
        ({"flags": "wood"}, {"petrel"}),  # one element of the list
        ({"flags": ["wood", "sail"]}, {"petrel"}),  # the list itself
        ({"flags": ("wood", "sail")}, {"petrel"}),
        ({"flags": {"$ne": "wood"}}, ALL - {"petrel"}),  # none of them
        ({"flags": {"$contains": "iron"}}, {"heron"}),
        ({"born": {"$contains": ["year"]}}, set()),  # a list is no key of an object
        ({"kind": {"$in": ("note", None, 3, True)}}, {"knots"}),
        ({"flags": {"$any": ["iron", ["wood"], None]}}, {"heron"}),
        ({"kind": {"$contains": "erso"}}, {"moss", "vale"}),
        ({"born": {"$contains": "year"}}, {"moss", "vale"}),
        ({"flags": {"$any": ["iron", "sail"]}}, {"petrel", "heron"}),
        ({"flags": {"$all": ["wood", "sail"]}}, {"petrel"}),
        ({"flags": {"$all": ["wood", "iron"]}}, set()),
        ({"born.place": {"$text_match": "Bay"}}, {"moss"}),
        ({"born.place": {"$text_match": "bay"}}, set()),
        ({"born.place": {"$text_match_insensitive": "BAY"}}, {"moss"}),
        ({"year": {"$is_empty": True}}, ALL - {"petrel", "heron"}),
        ({"year": {"$is_empty": False}}, {"petrel", "heron"}),
        ({"born.year": {"$lt": 1840}}, {"vale"}),
        ({"born": {"year": 1811, "place": "Gannet Point"}}, {"vale"}),
        ({"draft": True}, {"bay"}),
        ({"draft": 1}, set()),  # in JSON, true is not 1
        ({"draft": False}, {"point"}),
        ({"draft": 0}, set()),
        ({"$id": "bare"}, {"bare"}),
        ({"$id": {"$in": ["bare", "moss"]}}, {"bare", "moss"}),
        ({"$document_id": "people"}, {"moss", "vale"}),
        ({"$document_id": {"$exists": False}}, {"knots", "bare"}),
        ({"kind": "place", "draft": False}, {"point"}),
        ({"$and": [{"kind": "place"}, {"draft": False}]}, {"point"}),
        ({"$or": [{"kind": "note"}, {"draft": True}]}, {"knots", "bay"}),
        ({"$not": {"kind": {"$exists": True}}}, {"bare"}),
        (
            {"$not": {"$or": [{"kind": "ship"}, {"kind": "place"}]}},
            {"moss", "vale", "knots", "bare"},
        ),
        ({"nowhere": "x"}, set()),
        (lambda chunk: chunk.metadata.get("kind") == "ship", {"petrel", "heron"}),
        (lambda chunk: False, set()),
    ],
)  # fmt: skip
def test_by_hand(index: HebbianIndex, where: Any, expected: set[str]) -> None:
    assert _passing(index, where) == expected
    assert index.ids(where) == sorted(expected)


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ({"year": {"$near": 5}}, r"unknown operator '\$near' for 'year'; known are \$eq"),
        ({"$nor": [{"a": 1}]}, r"unknown operator '\$nor'"),
        ({"$and": []}, r"\$and takes a list of filters"),
        ({"$or": {"a": 1}}, r"\$or takes a list of filters"),
        ({"$not": [{"a": 1}]}, "a filter must be a dict, got list"),
        ({"year": {"$gt": None}}, "number or a str, got None"),
        ({"year": {"$lt": True}}, "number or a str, got True"),
        ({"year": {"$in": "abc"}}, "a list of values fits 'year'"),
        ({"year": {"$exists": 1}}, "True or False"),
        ({"year": {"$is_empty": "x"}}, "True or False"),
        ({"year": {"$text_match": 5}}, "a str is looked for"),
        ({5: "x"}, "field names, got 5"),
        (
            {"year": functools.reduce(lambda deep, _: [deep], range(5000), 0)},
            "at most 32 levels deep",
        ),
        ([{"a": 1}], "a dict or a callable, got list"),
        ("kind = 'ship'", "a dict or a callable, got str"),
    ],
)
def test_a_filter_that_cannot_be_read(index: HebbianIndex, where: Any, message: str) -> None:
    before = index.stats()
    index.recall("ship", where={"5": "x"})  # of which no cache may remind it
    with pytest.raises(FilterError, match=message):
        index.recall("ship", where=where)
    assert index.stats() == before


def _nested(depth: int) -> dict[str, Any]:
    where: dict[str, Any] = {"kind": "ship"}
    for _ in range(depth):
        where = {"$not": where}
    return where


def test_a_long_list_of_ids_costs_a_lookup_a_chunk() -> None:
    class Unequal(str):
        """Notices when it is compared with others one by one."""

        __hash__ = str.__hash__

        def __eq__(self, other: object) -> bool:
            assert hash(self) == hash(other)
            return str.__eq__(self, other)

    wanted = [Unequal(f"chunk {number}") for number in range(0, 2000, 2)]
    holds = parse_filter({"$id": {"$in": wanted}})
    assert isinstance(holds, Condition)
    passed = [number for number in range(2000) if holds.predicate(f"chunk {number}")]
    assert passed == list(range(0, 2000, 2))


def test_nesting_is_bounded(index: HebbianIndex) -> None:
    assert _passing(index, _nested(20)) == {"petrel", "heron"}
    for depth in (50, 5_000, 100_000):
        with pytest.raises(FilterError, match="nest at most"):
            index.recall("ship", where=_nested(depth))
    circular: dict[str, Any] = {}
    circular["$not"] = circular
    with pytest.raises(FilterError, match="nest at most"):
        index.recall("ship", where=circular)
    with pytest.raises(FilterError, match="at most 1000 conditions"):
        index.recall("ship", where={"$or": [{"a": n} for n in range(2000)]})


@pytest.mark.parametrize(
    "text",
    [
        "x' OR '1'='1", '"; DROP TABLE chunks; --', "%", "_", "row:[0 TO 9]", "kind:ship",
        "*", "$where", "__class__.__init__", "a.b.c.", "\\", "\x00", "\ud800", "🐟" * 300,
    ],
)  # fmt: skip
def test_what_looks_like_an_injection_is_only_text(index: HebbianIndex, text: str) -> None:
    before = index.stats()
    assert _passing(index, {"$id": text}) == set()
    assert _passing(index, {"kind": {"$text_match": text}}) == set()
    if not text.startswith("$"):
        assert _passing(index, {text: "ship"}) == set()
        assert _passing(index, {text: {"$exists": False}}) == ALL
    assert index.stats() == before


@pytest.mark.parametrize("k", [1, 2, 3, 4, 8])
def test_k_chunks_come_back_when_k_pass(index: HebbianIndex, k: int) -> None:
    for where in (
        {"kind": {"$in": ["person", "place"]}},
        lambda chunk: chunk.metadata.get("kind") in ("person", "place"),
    ):
        hits = index.recall("Where does the word bowline come from?", k=k, where=where).hits
        assert len(hits) == min(k, 4)
        assert [hit.rank for hit in hits] == list(range(1, len(hits) + 1))
        assert [hit.score for hit in hits] == sorted((h.score for h in hits), reverse=True)


# -- in force while activation spreads ---------------------------------------------------

# "Dun Harrow" leads to "far" only over "bridge".
BRIDGE = [
    Chunk(id="near", title="Dun Harrow", text="Dun Harrow wrote to Ona Brisk each week."),
    Chunk(
        id="bridge",
        title="Ona Brisk",
        text="Ona Brisk kept the letters at Marrow Fell.",
        metadata={"secret": True},
    ),
    Chunk(id="far", title="Marrow Fell", text="A stone barn above the tree line."),
    Chunk(id="letters", text="Letters are best kept dry."),
]
ASK = "Who was Dun Harrow?"


@pytest.fixture(scope="module")
def bridged() -> Iterator[HebbianIndex]:
    with HebbianIndex.open(":memory:") as index:
        index.add(BRIDGE)
        yield index


def _nodes(recall: Recall) -> set[str]:
    return {step.value for hit in recall.hits for step in hit.path if step.kind == "chunk"}


def _open_eyes(chunk: Chunk) -> bool:
    return not chunk.metadata.get("secret")


WHERES = [{"$not": {"secret": True}}, {"secret": {"$exists": False}}, _open_eyes]


def test_the_bridge_bears_when_nothing_is_excluded(bridged: HebbianIndex) -> None:
    recall = bridged.recall(ASK, k=3)
    assert [hit.chunk.id for hit in recall.hits] == ["near", "bridge", "far"]
    far = recall.hit("far")
    assert far is not None
    assert [step.value for step in far.path] == [
        "", "dun harrow", "near", "ona brisk", "bridge", "marrow fell", "far",
    ]  # fmt: skip
    assert far.score > 0


@pytest.mark.parametrize("where", WHERES)
def test_an_excluded_chunk_neither_receives_nor_passes_activation(
    bridged: HebbianIndex, where: Any
) -> None:
    recall = bridged.recall(ASK, k=4, where=where)
    assert {hit.chunk.id for hit in recall.hits} == {"near", "far", "letters"}
    assert "bridge" not in _nodes(recall)
    far = recall.hit("far")
    assert far is not None
    assert far.score == 0
    assert [step.kind for step in far.path] == ["query", "chunk"]


@pytest.mark.parametrize("where", WHERES)
def test_an_excluded_seed_starts_nothing(bridged: HebbianIndex, where: Any) -> None:
    recall = bridged.recall("Ona Brisk and the letters", k=4, where=where)
    assert "bridge" not in _nodes(recall)
    far = recall.hit("far")
    assert far is not None
    assert far.score == 0


@pytest.mark.parametrize("strategy", ["spreading", "neighbourhood"])
@pytest.mark.parametrize("where", WHERES)
def test_no_path_names_an_excluded_chunk(bridged: HebbianIndex, where: Any, strategy: Any) -> None:
    for query in (ASK, "Ona Brisk", "Marrow Fell barn", "letters"):
        recall = bridged.recall(query, k=4, where=where, strategy=strategy)
        assert "bridge" not in _nodes(recall)
        assert "bridge" not in {hit.chunk.id for hit in recall.hits}


def test_a_filter_gives_what_an_index_without_the_excluded_gives(bridged: HebbianIndex) -> None:
    """The ranking and the paths; statistics (idf, BM25) still count the excluded."""
    with HebbianIndex.open(":memory:") as without:
        without.add([chunk for chunk in BRIDGE if chunk.id != "bridge"])
        expected = without.recall(ASK, k=4)
    for where in WHERES:
        recall = bridged.recall(ASK, k=4, where=where)
        assert [hit.chunk.id for hit in recall.hits] == [hit.chunk.id for hit in expected.hits]
        assert [hit.score > 0 for hit in recall.hits] == [hit.score > 0 for hit in expected.hits]


def test_a_callable_is_asked_in_rank_order_until_k_pass(bridged: HebbianIndex) -> None:
    ranked = [hit.chunk.id for hit in bridged.recall(ASK, k=4).hits]
    asked: list[str] = []

    def note(chunk: Chunk) -> bool:
        asked.append(chunk.id)
        return True

    recall = bridged.recall(ASK, k=2, where=note)
    assert [hit.chunk.id for hit in recall.hits] == ranked[:2]
    assert asked == ranked[:2]


def test_a_chain_of_refusals_is_followed_to_its_end() -> None:
    """Each refusal uncovers the next; what is left has lost all that they passed on."""
    names = ["Ashby", "Birch", "Cedar", "Dover", "Elm", "Fern", "Gorse", "Hazel", "Ivy", "Juno"]
    halls = [f"{name} Hall" for name in names]
    chunks = [
        Chunk(id=f"c{n}", title=hall, text=f"{hall} was sold to {halls[(n + 1) % len(halls)]}.")
        for n, hall in enumerate(halls)
    ]
    with HebbianIndex.open(":memory:") as index:
        index.add(chunks)
        recall = index.recall("Who bought Ashby Hall?", k=3, where=lambda c: c.id in ("c4", "c9"))
        assert {hit.chunk.id for hit in recall.hits} == {"c4", "c9"}
        assert _nodes(recall) <= {"c4", "c9"}


def test_an_error_of_the_callable_is_the_callers(bridged: HebbianIndex) -> None:
    def fail(chunk: Chunk) -> bool:
        raise LookupError(chunk.id)

    with pytest.raises(LookupError, match="near"):
        bridged.recall(ASK, where=fail)
    assert len(bridged.recall(ASK, k=4).hits) == 4


def test_masks_follow_what_is_added_and_deleted(make_index: Callable[..., HebbianIndex]) -> None:
    index = make_index()
    where = {"kind": "ship"}
    assert _passing(index, where) == {"petrel", "heron"}
    index.add([Chunk(id="tern", text="The Tern was a cutter.", metadata={"kind": "ship"})])
    assert _passing(index, where) == {"petrel", "heron", "tern"}
    index.add([Chunk(id="heron", text="The Heron sank.", metadata={"kind": "wreck"})])
    index.delete(["petrel"])
    assert _passing(index, where) == {"tern"}


def test_namespaces_do_not_mix(
    make_index: Callable[..., HebbianIndex], open_index: Callable[..., HebbianIndex]
) -> None:
    index = make_index()
    other = open_index(namespace="other")
    with pytest.raises(NamespaceNotFoundError):  # the first write makes it
        other.recall("Ida Moss", k=8)
    alone = index.recall(ASK, k=8, id="same").hits
    other.add(BRIDGE)
    assert _nodes(other.recall("Ida Moss and the Petrel", k=8)) <= {c.id for c in BRIDGE}
    assert other.recall("Ida Moss", k=8).cues == ()
    assert index.recall(ASK, k=8, id="same").hits == alone
    other.delete(["near"])
    assert index.delete(["bridge"]) == 0


# -- what explains a recall sees no more than the recall ------------------------------------


@pytest.mark.parametrize("by_id", [False, True])
@pytest.mark.parametrize(
    "where", [{"kind": {"$ne": "person"}}, lambda chunk: chunk.metadata.get("kind") != "person"]
)
def test_an_explanation_keeps_to_the_filter_of_the_recall(
    make_index: Callable[..., HebbianIndex], where: Any, by_id: bool
) -> None:
    index = make_index()
    recall = index.recall("Where was the builder of the Petrel born?", k=3, where=where)
    hidden = {"moss", "vale"}
    named = recall.id if by_id else recall
    for hit in recall.hits:
        told = index.explain(named, hit.chunk.id)
        assert not told.excluded
        assert not hidden & {step.value for step in told.path if step.kind == "chunk"}
    unseen = index.explain(named, "moss")
    assert unseen.excluded
    assert (unseen.score, unseen.activation, unseen.rank) == (0.0, 0.0, None)
    trace = index.trace(named)
    assert not hidden & {node.value for node in trace.nodes if node.kind == "chunk"}
    assert not index.explain(index.recall("Petrel"), "moss").excluded


def test_a_filter_that_waits_for_another_recall_ends() -> None:
    """The other recall would wait for the index, and the filter for it, without end."""
    settings = Settings(write_wait_seconds=0.2)
    with HebbianIndex.open(":memory:", settings=settings) as index, ThreadPoolExecutor(1) as other:
        index.add([{"id": "a", "text": "A heron."}])
        told: list[BaseException | None] = []

        def waits(chunk: Chunk) -> bool:
            asked = other.submit(index.recall, "heron")
            told.append(asked.exception())
            return True

        assert [hit.chunk.id for hit in index.recall("heron", where=waits).hits] == ["a"]
        assert [type(error) for error in told] == [IndexLockedError]
        assert [hit.chunk.id for hit in other.submit(index.recall, "heron").result().hits] == ["a"]


@pytest.mark.parametrize(
    "call",
    [
        lambda index, recall: index.add([{"id": "b", "text": "A moth."}]),
        lambda index, recall: index.delete(["a"]),
        lambda index, recall: index.reinforce(recall, cited=["a"]),
        lambda index, recall: index.forget(everything=True),
        lambda index, recall: index.stats(),
        lambda index, recall: index.explain(recall, "a"),
        lambda index, recall: index.compact(),
    ],
    ids=["add", "delete", "reinforce", "forget", "stats", "explain", "compact"],
)
def test_a_filter_that_waits_for_any_call_of_another_thread_ends(
    call: Callable[[HebbianIndex, Recall], object],
) -> None:
    settings = Settings(write_wait_seconds=0.1)
    with HebbianIndex.open(":memory:", settings=settings) as index, ThreadPoolExecutor(1) as other:
        index.add([{"id": "a", "text": "A heron."}])
        before = index.recall("heron")
        index.reinforce(before, cited=["a"])
        told: list[BaseException | None] = []

        def waits(chunk: Chunk) -> bool:
            told.append(other.submit(call, index, before).exception())
            return True

        index.recall("heron", where=waits)
        assert told
        assert all(error is None or isinstance(error, IndexLockedError) for error in told)
        other.submit(index.add, [{"id": "c", "text": "A heron, too."}]).result()
        assert "c" in {hit.chunk.id for hit in index.recall("heron").hits}


def test_two_filters_that_wait_for_each_other_end() -> None:
    settings = Settings(write_wait_seconds=0.1)
    with HebbianIndex.open(":memory:", settings=settings) as index, ThreadPoolExecutor(2) as pool:
        index.add([{"id": "a", "text": "A heron."}])
        both = threading.Barrier(2)

        def waits(chunk: Chunk) -> bool:
            with suppress(threading.BrokenBarrierError):
                both.wait(timeout=1.0)
            return True

        asked = [pool.submit(index.recall, "heron", where=waits) for _ in range(2)]
        ended = [type(one.exception()) for one in asked]
        assert IndexLockedError in ended
        assert type(None) in ended


def test_a_filter_may_ask_the_index_itself() -> None:
    with HebbianIndex.open(":memory:", settings=Settings(write_wait_seconds=0.0)) as index:
        index.add([{"id": "a", "text": "A heron."}, {"id": "b", "text": "A moth."}])
        known = index.recall("moth", where=lambda chunk: chunk.id in index.ids()).hits
        assert {hit.chunk.id for hit in known} == {"a", "b"}


@pytest.mark.sqlite_only
def test_a_step_that_a_filter_interrupts_anywhere_is_taken_anew(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A lock that is lent for too long ends a write's last step, wherever that is."""
    acquire = LendableLock._acquire
    for nth in range(12):
        with HebbianIndex.open(":memory:") as index:
            index.add([{"id": "a", "title": "Petrel", "text": "The Petrel, built by Ida Moss."}])
            turns = iter(range(100))

            def lent(lock: LendableLock, turns: Iterator[int] = turns, nth: int = nth) -> None:
                if next(turns) >= nth:
                    raise IndexLockedError("lent for too long")
                acquire(lock)

            with monkeypatch.context() as patch, suppress(IndexLockedError):
                patch.setattr(LendableLock, "_acquire", lent)
                index.add([{"id": "b", "title": "Ida Moss", "text": "Ida Moss, of Tessel Bay."}])
            assert {hit.chunk.id for hit in index.recall("Who built the Petrel?").hits} == {
                "a",
                "b",
            }
            assert index.stats().chunks == 2
            assert index.maintenance.doctor().ok
