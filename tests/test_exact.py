"""After any history, what is stored equals a build from scratch, in every database.

A history adds, replaces and deletes chunks in which names nest, overlap and are shared, so that
phrases become known and cease to be, and words become common. Limits are patched to be small, so
that a dozen chunks are many: blocks of four postings, words that are common from three chunks on.
With ``HEBBGRAPH_SOAK=1`` there are twenty times as many histories.
"""

from __future__ import annotations

import os
import random
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from itertools import chain, count
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np
import pytest
from dump import differences, fresh_build, tables
from hypothesis import given, settings
from hypothesis import strategies as st
from postgres import PostgresServer
from ships import NAMES as SHIP_NAMES
from ships import QUESTIONS, ByNumber, random_chunks

from hebbgraph import Chunk, HebbianIndex, Settings
from hebbgraph.errors import EmbeddingError
from hebbgraph.store.postings import Postings, add_postings, read_postings, remove_postings
from hebbgraph.store.sqlite import SQLiteDatabase
from hebbgraph.terms import Role, TermKind
from hebbgraph.text.candidates import proposals
from hebbgraph.text.context import text_words
from hebbgraph.text.shapes import languages_of
from hebbgraph.text.tokens import lexical_terms, tokenize

TIMES = 20 if os.environ.get("HEBBGRAPH_SOAK") == "1" else 1
NAMES = [
    "New York", "New York City", "York", "York City", "City Hall", "Hall", "Grey Moss Hall",
    "Ida Moss", "Moss", "Ida", "Petrel", "ERR-12", "東京大学", "大学", "Москва", "Άνδρος",
    "The Of", "القاهرة", "กรุงเทพ",
]  # fmt: skip
FILLER = [
    "the", "keeper of", "new", "city", "moss", "of", "in winter", "東京大学の歴史", "в Москве",
    "die Stadt", "ice, salt and slate.", "It was.", "err-12", "हिन्दी में",
]  # fmt: skip
#: It is written in syllables, the pairs of which are words, too.
VIETNAMESE = "Hà Nội là thủ đô của nước Việt Nam, và là thành phố lớn"
PLACES = ["log.md", "log.md#top", "./log.md#end", "https://Example.org/a/"]
IDS = [str(n) for n in range(10)]


def _few(values: st.SearchStrategy[Any], most: int = 1) -> st.SearchStrategy[list[Any]]:
    """Return a strategy of lists that are mostly empty."""
    return st.just([]) | st.just([]) | st.lists(values, max_size=most)


def _plain_chunks(words: st.SearchStrategy[str]) -> st.SearchStrategy[Chunk]:
    return st.builds(
        Chunk,
        id=st.sampled_from(IDS),
        title=st.just("") | words | st.just("York, the City"),
        text=st.lists(words, min_size=1, max_size=7).map(" ".join),
        tags=_few(words, 2),
        addresses=_few(st.sampled_from(PLACES[:2])),
        references=_few(st.sampled_from(PLACES[:2])),
    )


def _chunks(words: st.SearchStrategy[str]) -> st.SearchStrategy[Chunk]:
    fields: dict[str, st.SearchStrategy[Any]] = {
        "a": st.sampled_from([1, "x", ["x", 2.0]]),
        "subject": words,
        "size": st.sampled_from([{"m": 1.5}, [], None, True, "x" * 400, 2**60 + 1]),
    }
    return st.builds(
        Chunk,
        id=st.sampled_from(IDS),
        title=st.just("") | words,
        text=st.lists(words, min_size=1, max_size=7).map(" ".join) | st.just(VIETNAMESE),
        document_id=st.sampled_from(["ships", "towns", None]),
        tags=_few(words, 2),
        addresses=_few(st.sampled_from([*PLACES, "[[Petrel]]", "Grey Moss Hall"])),
        references=_few(st.sampled_from([*PLACES, "[[York]]"]), 2),
        metadata=st.just({}) | st.fixed_dictionaries({}, optional=fields),
    )


class Step(NamedTuple):
    """A call that writes: chunks to add, ids to delete, or documents to refresh."""

    added: tuple[Chunk, ...] = ()
    deleted: frozenset[str] = frozenset()
    refreshes: bool = False

    def on(self, index: HebbianIndex, live: dict[str, Chunk]) -> None:
        """Make the call, and change what should be there accordingly."""
        if self.deleted:
            gone = self.deleted & live.keys()
            assert index.delete(sorted(self.deleted)).deleted == len(gone)
            for id_ in gone:
                del live[id_]
        added = [chunk for chunk in self.added if chunk.document_id or not self.refreshes]
        if self.refreshes:
            documents = {chunk.document_id for chunk in added}
            for id_ in [id_ for id_, c in live.items() if c.document_id in documents]:
                del live[id_]
            index.refresh(added)
        else:
            index.add(added)
        live.update((chunk.id, chunk) for chunk in added)


@st.composite
def _histories(
    draw: st.DrawFn, chunks: Callable[[st.SearchStrategy[str]], st.SearchStrategy[Chunk]]
) -> list[Step]:
    """Draw calls about a few names, so that chunks have much in common."""
    few = draw(st.lists(st.sampled_from([*NAMES, *FILLER]), min_size=2, max_size=8, unique=True))
    step = st.builds(
        Step,
        added=st.lists(chunks(st.sampled_from(few)), max_size=6).map(tuple),
        deleted=st.just(frozenset()) | st.frozensets(st.sampled_from(IDS), max_size=4),
        refreshes=st.sampled_from([False, False, False, True]),
    )
    return draw(st.lists(step, min_size=1, max_size=6))


class Limits(NamedTuple):
    """Sizes from which on something is treated otherwise."""

    most_holders: int
    many: int
    portion: int

    @contextmanager
    def patched(self) -> Iterator[None]:
        """Run with these limits, and with blocks of few postings."""
        values = {
            "hebbgraph.ingest.writing.MOST_HOLDERS": self.most_holders,
            "hebbgraph.ingest.tagging.MOST_HOLDERS": self.most_holders,
            "hebbgraph.ingest.tagging._MANY": self.many,
            "hebbgraph.ingest.loading._PORTION": self.portion,
            "hebbgraph.store.postings._BLOCK": 4,
            "hebbgraph.store.postings._TAIL": 2,
        }
        with ExitStack() as stack:
            for name, value in values.items():
                stack.enter_context(patch(name, value))
            yield


_limits = st.builds(
    Limits,
    most_holders=st.sampled_from([2, 3, 1000]),
    many=st.sampled_from([1, 1000]),
    portion=st.sampled_from([3, 1000]),
)


def _check_history(
    path: str,
    history: list[Step],
    limits: Limits,
    check: Callable[[HebbianIndex, dict[str, Chunk]], None],
    namespace: str = "default",
) -> None:
    with (
        limits.patched(),
        HebbianIndex.open(path, namespace=namespace, settings=Settings(edges=("a",))) as index,
    ):
        live: dict[str, Chunk] = {}
        for step in history:
            step.on(index, live)
            check(index, live)


def _equals_a_fresh_build(index: HebbianIndex, live: dict[str, Chunk]) -> None:
    chunks = random.Random(len(live)).sample(list(live.values()), len(live))
    assert index.doctor() == []
    with fresh_build(index, chunks) as fresh:
        assert differences(index, fresh) == []
        common = "SELECT word FROM $common ORDER BY word"
        with index._database.read() as one, fresh._database.read() as other:
            assert one.rows(common) == other.rows(common)


@settings(max_examples=40 * TIMES, deadline=None)
@given(_histories(_chunks), _limits)
def test_history_equals_fresh_build_in_memory(history: list[Step], limits: Limits) -> None:
    _check_history(":memory:", history, limits, _equals_a_fresh_build)


@settings(max_examples=15 * TIMES, deadline=None)
@given(_histories(_chunks), _limits)
def test_history_equals_fresh_build_in_a_file(history: list[Step], limits: Limits) -> None:
    with tempfile.TemporaryDirectory() as folder:
        _check_history(folder, history, limits, _equals_a_fresh_build)


_number = count()


@settings(max_examples=12 * TIMES, deadline=None)
@given(history=_histories(_chunks), limits=_limits)
def test_history_equals_fresh_build_in_postgresql(
    server: PostgresServer, history: list[Step], limits: Limits
) -> None:
    namespace = f"history {next(_number)}"
    _check_history(server.url, history, limits, _equals_a_fresh_build, namespace)


@pytest.mark.parametrize("embedder", [None, ByNumber()])
def test_order_of_adding_does_not_matter(embedder: ByNumber | None) -> None:
    """Equal scores are common where names repeat, and are ordered by ids alone."""
    questions = [*QUESTIONS, *(f"Where is {name}?" for name in SHIP_NAMES), "Amber Vane"]
    for seed in range(5 * TIMES):
        rng = random.Random(seed)
        chunks = random_chunks(rng, map(str, range(28)))
        # Of passages with one title, the question names the first by id.
        chunks += [Chunk(id=id_, title="Amber Vane", text=f"rope {id_}") for id_ in "xy"]
        recalls = []
        for _ in range(2):
            with HebbianIndex.open(":memory:", embedder=embedder) as index:
                index.add(chunks)
                recalls.append([index.recall(question, k=7) for question in questions])
            rng.shuffle(chunks)
        for one, other in zip(*recalls, strict=True):
            assert [hit.id for hit in one] == [hit.id for hit in other], (seed, one.question)
            assert [hit.score for hit in one] == pytest.approx([hit.score for hit in other], 1e-9)


# -- blocks of postings -------------------------------------------------------------------------

_postings = st.tuples(st.integers(1, 3), st.integers(1, 30))
_changes = st.tuples(
    st.dictionaries(_postings, st.tuples(st.integers(1, 9), st.integers(0, 2)), max_size=25),
    st.sets(_postings, max_size=25),
)


@settings(max_examples=100 * TIMES, deadline=None)
@given(
    changes=st.lists(_changes, max_size=8),
    block=st.sampled_from([2, 4, 9]),
    tail=st.sampled_from([1, 2, 3]),
    portion=st.sampled_from([3, 1000]),
)
def test_blocks_of_postings_equal_a_dictionary(
    changes: list[Any], block: int, tail: int, portion: int
) -> None:
    model: dict[tuple[int, int], tuple[int, int]] = {}
    with (
        patch("hebbgraph.store.postings._PORTION", portion),
        patch("hebbgraph.store.postings._BLOCK", block),
        patch("hebbgraph.store.postings._TAIL", tail),
        closing(SQLiteDatabase(None, wait=1)) as database,
        database.write() as session,
    ):
        session.many("INSERT INTO $term(kind, key) VALUES (0, ?)", ["a", "b", "c"])
        for added, chosen in changes:
            removed = chosen & model.keys()
            remove_postings(session, *np.array(list(removed), np.int64).reshape(-1, 2).T)
            new = [(*posting, *value) for posting, value in added.items()]
            terms, *columns = np.array(new, np.int64).reshape(-1, 4).T
            add_postings(session, terms, Postings(*columns))
            model = {posting: v for posting, v in model.items() if posting not in removed} | added
            read = read_postings(session, [1, 2, 3])
            held = [
                (term, *entry)
                for term, postings in read.items()
                for entry in zip(*(column.tolist() for column in postings), strict=True)
            ]
            assert held == sorted((*posting, *value) for posting, value in model.items())
            sizes = session.rows("SELECT length(data) FROM $posting")
            assert all(0 < size <= 6 * max(block, tail) for (size,) in sizes)


# -- a second opinion: dictionaries, filled from scratch in the simplest way -------------------


class Model(NamedTuple):
    """What an index should hold; terms are (kind, key)."""

    postings: dict[tuple[tuple[int, str], str], tuple[int, int]]
    counts: dict[tuple[int, str], list[int]]


def _model(chunks: list[Chunk], most_holders: int) -> Model:
    """Return postings, and df, proposals, titles and given ones of each term."""
    postings: dict[tuple[tuple[int, str], str], tuple[int, int]] = {}
    counts: dict[tuple[int, str], list[int]] = {}
    tokens = {c.id: [tokenize(part) for part in (c.title, c.text) if part] for c in chunks}
    kinds = {}
    for chunk in chunks:
        text = f"{chunk.title}\n\n{chunk.text}"
        spoken = languages_of(chain.from_iterable(tokens[chunk.id]), text)
        kinds[chunk.id] = proposals(chunk.text, chunk.title, chunk.tags, spoken)
        words, length = text_words(tokens[chunk.id], text, "auto", spoken, chunk.tags)
        for word, n in words.items():
            # Up to 64 words, a length is its own code.
            postings[(TermKind.WORD, word), chunk.id] = n, length
    holders = Counter(key for (_, key), _ in postings)
    phrases: Counter[str] = Counter()
    titles: Counter[str] = Counter()
    given: Counter[str] = Counter()
    for found in kinds.values():
        phrases.update({key for kind, keys in found.items() if kind != "given" for key in keys})
        titles.update({*found.get("title", ()), *found.get("subject", ())})
        given.update(set(found.get("given", ())))
    matched = {
        key
        for key in phrases
        if titles[key] or phrases[key] > 1
        if any(holders[word] <= most_holders for word in lexical_terms(key.split(" ")))
    }
    for chunk in chunks:
        found = kinds[chunk.id]
        roles = dict.fromkeys(found.get("given", ()), Role.GIVEN)
        for part in tokens[chunk.id]:
            roles |= dict.fromkeys(_longest_matches(part, matched), Role.MENTION)
        roles |= dict.fromkeys([*found.get("title", ()), *found.get("subject", ())], Role.TITLE)
        for key, role in roles.items():
            postings[(TermKind.TAG, key), chunk.id] = 1, role
        for role, places in ((Role.MENTION, chunk.references), (Role.TITLE, chunk.addresses)):
            for place in places:
                postings[(TermKind.ADDRESS, place), chunk.id] = 1, role
                postings.setdefault(((TermKind.PAGE, place.partition("#")[0]), chunk.id), (1, role))
                if role == Role.TITLE:
                    postings[(TermKind.PAGE, place.partition("#")[0]), chunk.id] = 1, role
    for term, _ in postings:
        counts.setdefault(term, [0, 0, 0, 0])[0] += 1
    for column, counted in ((1, phrases), (2, titles), (3, given)):
        for key, n in counted.items():
            counts.setdefault((TermKind.TAG, key), [0, 0, 0, 0])[column] = n
    return Model(postings, counts)


def _longest_matches(tokens: list[str], phrases: set[str]) -> Iterator[str]:
    start = 0
    while start < len(tokens):
        for stop in range(len(tokens), start, -1):
            if (key := " ".join(tokens[start:stop])) in phrases:
                yield key
                start = stop
                break
        else:
            start += 1


@settings(max_examples=60 * TIMES, deadline=None)
@given(_histories(_plain_chunks), _limits)
def test_history_equals_a_model_of_dictionaries(history: list[Step], limits: Limits) -> None:
    def equals_model(index: HebbianIndex, live: dict[str, Chunk]) -> None:
        model, held = _model(list(live.values()), limits.most_holders), tables(index)
        assert held["postings"] == model.postings
        counts = {(kind, key): counts for kind, key, *counts, _ in held["terms"]}
        assert counts == model.counts

    _check_history(":memory:", history, limits, equals_model)


# -- processes that read texts ------------------------------------------------------------------


def test_reading_in_processes_equals_reading_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A batch is read while the one before is written, unless both have an id."""
    monkeypatch.setattr("hebbgraph.ingest.loading._CHUNKS", 5)
    rng = random.Random(5)
    texts = [Chunk(id=str(rng.randrange(30)), text=f"Ida {rng.randrange(3)}") for _ in range(120)]
    with HebbianIndex.open(tmp_path) as index, HebbianIndex.open(":memory:") as here:
        assert index.add(texts, workers=2) == here.add(texts)
        assert differences(index, here) == []
        new = [Chunk(id=f"new {n}", document_id="a", text=f"Moss {n}") for n in range(12)]
        assert index.refresh(new, workers=2) == here.refresh(new)
        assert differences(index, here) == []


class _FailsAt:
    """An embedder that fails with its n-th batch."""

    model_name = "fails"

    def __init__(self, number: int) -> None:
        self.left = number

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        self.left -= 1
        if not self.left:
            raise OSError("out of memory")
        return [[1.0, float(len(text))] for text in texts]

    def embed_query(self, text: str) -> list[float]:
        return [1.0, float(len(text))]


def test_batch_after_one_that_failed_is_not_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hebbgraph.ingest.loading._EMBEDDED", 5)
    with HebbianIndex.open(tmp_path, embedder=_FailsAt(4)) as index:  # one call checks word order
        with pytest.raises(EmbeddingError):
            index.add((Chunk(id=f"{n:02}", text=f"Ida {n}") for n in range(40)), workers=2)
        assert index.ids() == [f"{n:02}" for n in range(10)]
