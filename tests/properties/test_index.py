"""The graph is exact: whatever happened on the way, it equals one built from what remains."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from hebbgraph import Chunk, HebbianIndex, Settings
from hebbgraph.formulas.links import LinkParameters
from hebbgraph.formulas.spreading_parameters import SpreadingParameters
from hebbgraph.graph import tag_graph
from hebbgraph.store import texts as texts_module

pytestmark = pytest.mark.every_database

# Few words, so that phrases come, cover each other ("Ash Fenn" in "Ash Fenn Mill", "Fenn
# Mill" across both), overlap, and go again.
NAMES = [
    "Ash Fenn", "Ash Fenn Mill", "Fenn Mill", "Mill", "Gull Rock", "Gull", "ERR-12",
    "東京塔", "東京", "Ida Moss",
]  # fmt: skip
TITLES = [
    "",
    "",
    "Ash Fenn",
    "Fenn Mill (barn)",
    "Gull Rock, north",
    "ash fenn mill",
    "東京塔",
    "The",
]
GIVEN = ["fenn mill", "Gull Rock", "never in a text"]
IDS = [f"c{n}" for n in range(7)]
# Of addresses some are claimed by several chunks, some by none; some are names in words.
ADDRESSES = ["a.md", "a.md#mill", "https://E.org/x/", "[[Gull Rock]]", "ash_fenn.mill", "<1@x>"]
LINKS = [*ADDRESSES, "a.md#gone", "http://e.org/x#y", "[[gull rock#north]]", "lost.md"]

texts = st.lists(
    st.sampled_from([*NAMES, "met", "the", "and then", ".", "gull rock", "fenn"]), max_size=7
).map(" ".join)
chunks = st.builds(
    Chunk,
    id=st.sampled_from(IDS),
    title=st.sampled_from(TITLES),
    text=texts,
    tags=st.lists(st.sampled_from(GIVEN), max_size=1).map(tuple),
    addresses=st.lists(st.sampled_from(ADDRESSES), max_size=2).map(tuple),
    references=st.lists(st.sampled_from(LINKS), max_size=3).map(tuple),
    document_id=st.sampled_from([None, "d1", "d2"]),
    context=st.one_of(st.sampled_from([None, ""]), texts),
).filter(lambda chunk: bool(chunk.text or chunk.title))
batches = st.lists(chunks, max_size=5, unique_by=lambda chunk: chunk.id)
steps = st.one_of(
    st.tuples(st.just("add"), batches),
    st.tuples(st.just("add"), batches),
    st.tuples(st.just("add"), batches),
    st.tuples(st.just("delete"), st.lists(st.sampled_from(IDS), max_size=3)),
    st.tuples(st.just("delete document"), st.sampled_from(["d1", "d2"])),
    st.tuples(st.just("put document"), batches),
    st.tuples(st.just("compact"), st.none()),
    st.tuples(st.just("reopen"), st.none()),
    st.tuples(st.just("recall"), st.sampled_from(NAMES)),
)

Content = Callable[[HebbianIndex], Any]
LINKED = LinkParameters()


def _apply(index: HebbianIndex, held: dict[str, Chunk], verb: str, value: Any) -> dict[str, Chunk]:
    """Do one step, to the index and to a dict."""
    if verb == "add":
        index.add(value)
        return held | {chunk.id: chunk for chunk in value}
    if verb == "delete":
        assert index.delete(value) == len(held.keys() & set(value))
        return {id_: chunk for id_, chunk in held.items() if id_ not in value}
    if verb == "delete document":
        index.delete(document_id=value)
        return {id_: chunk for id_, chunk in held.items() if chunk.document_id != value}
    if verb == "put document":
        index.put_document("d1", "fingerprint", value)
        kept = {id_: chunk for id_, chunk in held.items() if chunk.document_id != "d1"}
        return kept | {c.id: c.model_copy(update={"document_id": "d1"}) for c in value}
    if verb == "compact":
        index.compact()
    elif verb == "recall":
        index.recall(value)
    return held


def _ranked(index: HebbianIndex, query: str) -> list[tuple[str, float]]:
    return [(hit.chunk.id, hit.score) for hit in index.recall(query, k=10).hits]


def _check_same(
    index: HebbianIndex, held: dict[str, Chunk], content: Content, links: LinkParameters = LINKED
) -> None:
    settings = Settings(batch_size=3, recall=SpreadingParameters(links=links))
    with HebbianIndex.open(":memory:", settings=settings) as fresh:
        fresh.add(list(held.values()))
        expected = content(fresh)
        found = content(index)
        assert found == expected
        assert found.matched == found.vocabulary
        assert found.postings.keys() == held.keys()
        index.compact()  # BM25 counts deleted chunks until then
        assert content(index) == expected
        for query in ("Who met Ash Fenn at Gull Rock?", "fenn mill 東京塔", "ERR-12 Ida Moss"):
            got, want = _ranked(index, query), _ranked(fresh, query)
            assert [id_ for id_, _ in got] == [id_ for id_, _ in want]
            assert [s for _, s in got] == pytest.approx([s for _, s in want], abs=1e-9)


@pytest.mark.server_in_soak
@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.lists(steps, min_size=2, max_size=9))
def test_any_order_and_batching_gives_the_same_graph(
    content: Content, sequence: list[tuple[str, Any]]
) -> None:
    held: dict[str, Chunk] = {}
    with HebbianIndex.open(":memory:") as index:
        for verb, value in sequence:
            held = _apply(index, held, verb, value)
        event(f"tags: {len(content(index).df) > 3}")
        _check_same(index, held, content)


@settings(
    max_examples=6, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.lists(steps, min_size=3, max_size=7))
def test_so_it_does_on_disk_with_reopening(
    content: Content, sequence: list[tuple[str, Any]]
) -> None:
    held: dict[str, Chunk] = {}
    with tempfile.TemporaryDirectory() as place:
        index = HebbianIndex.open(Path(place) / "index")
        try:
            for verb, value in sequence:
                held = _apply(index, held, verb, value)
                if verb == "reopen":
                    index.close()
                    index = HebbianIndex.open(Path(place) / "index")
            _check_same(index, held, content)
        finally:
            index.close()


@pytest.mark.server_in_soak
@settings(
    max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.lists(steps, min_size=2, max_size=8))
def test_so_it_does_when_every_step_folds(
    content: Content, sequence: list[tuple[str, Any]]
) -> None:
    held: dict[str, Chunk] = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tag_graph, "_FOLD_MIN", 0)
        with HebbianIndex.open(":memory:") as index:
            for verb, value in sequence:
                held = _apply(index, held, verb, value)
            _check_same(index, held, content)


class _Elsewhere(dict[str, str]):
    """A store of texts that learns of a step before the index does."""

    def __call__(self, ids: Sequence[str], /) -> dict[str, str]:
        return {id_: self[id_] for id_ in ids if id_ in self}

    def foresee(self, verb: str, value: Any) -> None:
        if verb in ("add", "put document"):
            self.update((chunk.id, chunk.text) for chunk in value)


@settings(
    max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.lists(steps, min_size=3, max_size=8), st.booleans())
def test_so_it_does_with_texts_kept_elsewhere(
    content: Content, sequence: list[tuple[str, Any]], remembers: bool
) -> None:
    held = {chunk.id: chunk for chunk in BYSTANDERS}
    store = _Elsewhere()
    options: dict[str, Any] = {"settings": Settings(keep_text=False), "texts": store}
    with tempfile.TemporaryDirectory() as place, pytest.MonkeyPatch.context() as patch:
        if not remembers:  # every text is asked for
            patch.setattr(texts_module, "_MOST_REMEMBERED", 0)
        index = HebbianIndex.open(Path(place) / "index", **options)
        try:
            for verb, value in [("add", BYSTANDERS), *sequence]:
                store.foresee(verb, value)
                held = _apply(index, held, verb, value)
                if verb == "reopen":
                    index.close()
                    index = HebbianIndex.open(Path(place) / "index", **options)
            # A recall asks the store for hits only, so it knows no sentences around links.
            _check_same(index, held, content, LinkParameters(sentence=0.0))
            assert index.get(held) == list(held.values())
        finally:
            index.close()


# Many bystanders, so that a phrase that enters is looked up instead of matched everywhere.
BYSTANDERS = [Chunk(id=f"b{n}", text=f"Bystander number {n} saw nothing.") for n in range(40)]


@pytest.mark.server_in_soak
@settings(
    max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.lists(steps, min_size=2, max_size=8))
def test_so_it_does_in_a_corpus_where_new_phrases_are_looked_up(
    content: Content, sequence: list[tuple[str, Any]]
) -> None:
    held = {chunk.id: chunk for chunk in BYSTANDERS}
    with HebbianIndex.open(":memory:") as index:
        index.add(BYSTANDERS)
        for verb, value in sequence:
            held = _apply(index, held, verb, value)
        _check_same(index, held, content)


def test_a_phrase_reaches_older_chunks_and_leaves_them_worked_by_hand(content: Content) -> None:
    """One chunk mentions "Fenn Mill"; titles come and go around it."""
    text = "In spring Ash Fenn Mill burned."
    with HebbianIndex.open(":memory:") as index:
        index.add([*BYSTANDERS, Chunk(id="old", text=text)])

        def tags() -> dict[str, bool]:
            return content(index).postings["old"]

        assert tags() == {}
        index.add([Chunk(id="short", title="Fenn Mill", text="x")])
        assert tags() == {"fenn mill": False}
        index.add([Chunk(id="long", title="Ash Fenn Mill (barn)", text="x")])
        assert tags() == {"ash fenn mill": False}  # it covers the shorter one
        index.add([Chunk(id="left", title="Ash Fenn", text="x")])
        assert tags() == {"ash fenn mill": False}
        index.delete(["long"])
        assert tags() == {"ash fenn": False}  # leftmost first, so "Fenn Mill" is broken up
        index.delete(["left"])
        assert tags() == {"fenn mill": False}
        index.add([Chunk(id="short", title="Another", text="x")])  # replaced
        assert tags() == {}
        index.add([Chunk(id="twin", text="Ash Fenn Mill stood here.")])
        assert tags() == {"ash fenn mill": False}  # a candidate of two chunks
        index.delete(["twin"])
        assert tags() == {}


def test_the_order_of_chunks_and_batches_is_irrelevant(
    corpus: list[Chunk], content: Content
) -> None:
    found = []
    for order, size in ((corpus, 100), (corpus[::-1], 1), (corpus[3:] + corpus[:3], 3)):
        with HebbianIndex.open(":memory:", settings=Settings(batch_size=size)) as index:
            index.add(order)
            index.compact()
            hits = index.recall("Where was the builder of the Petrel born?", k=8).hits
            ways = [(hit.chunk.id, [step.value for step in hit.path]) for hit in hits]
            found.append((content(index), ways))
    assert found[0] == found[1] == found[2]


def test_adding_the_same_again_changes_nothing(corpus: list[Chunk], content: Content) -> None:
    with HebbianIndex.open(":memory:") as index:
        index.add(corpus)
        before = (content(index), index.stats())
        report = index.add(corpus)
        assert (report.unchanged, report.added, report.replaced) == (8, 0, 0)
        assert (content(index), index.stats()) == before


@pytest.mark.sqlite_only
def test_a_recall_changes_nothing(
    make_index: Callable[..., HebbianIndex], tmp_path: Path, content: Content
) -> None:
    index = make_index()
    before = content(index)
    truth = (tmp_path / "index" / "truth.sqlite3").read_bytes()
    generation = index.stats().generation
    for _ in range(3):
        index.recall("Where was the builder of the Petrel born?")
    assert content(index) == before
    assert index.stats().generation == generation
    assert (tmp_path / "index" / "truth.sqlite3").read_bytes() == truth
