"""An index over shards holds and ranks what one index does, whatever happened on the way."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from serving import Served

from hebbgraph import Chunk, HebbianIndex, Settings, ShardedIndex

SOAK = bool(os.environ.get("HEBBGRAPH_SOAK"))
NAMES = ["Ash Fenn", "Ash Fenn Mill", "Fenn Mill", "Gull Rock", "Gull", "Ida Moss", "Tessel Bay"]
IDS = [f"c{n}" for n in range(9)]
QUESTIONS = (
    "Who met Ash Fenn at Gull Rock?",
    "Did Ida Moss own Fenn Mill?",
    "What lies in Tessel Bay, gull or mill?",
)

texts = st.lists(
    st.sampled_from([*NAMES, "met", "the", "and then", ".", "gull rock", "fenn", "rope"]),
    min_size=1,
    max_size=9,
).map(" ".join)
chunks = st.builds(
    Chunk,
    id=st.sampled_from(IDS),
    title=st.sampled_from(["", "", *NAMES[:4]]),
    text=texts,
    document_id=st.sampled_from([None, "d1", "d2", "d3"]),
    references=st.sampled_from([(), (), ("a.md",)]),
    addresses=st.sampled_from([(), (), (), ("a.md",)]),
)
batches = st.lists(chunks, min_size=1, max_size=6, unique_by=lambda chunk: chunk.id)
questions = st.integers(0, len(QUESTIONS) - 1)
steps = st.one_of(
    st.tuples(st.just("add"), batches),
    st.tuples(st.just("add"), batches),
    st.tuples(st.just("delete"), st.lists(st.sampled_from(IDS), max_size=3)),
    st.tuples(st.just("delete document"), st.sampled_from(["d1", "d2"])),
    st.tuples(st.just("put document"), batches),
    st.tuples(st.just("cite"), st.tuples(questions, st.integers(0, 8))),
    st.tuples(st.just("cite"), st.tuples(questions, st.integers(0, 8))),
    st.tuples(st.just("forget"), st.sampled_from(["ida", "corin"])),
    st.tuples(st.just("grow"), st.none()),
    st.tuples(st.just("reopen"), st.none()),
    st.tuples(st.just("compact"), st.none()),
)


class Letters:
    """Vectors from the letters of a text."""

    name = "letters"

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        return [1.0 + text.lower().count(letter) for letter in "aeioumnrst"]


class _Both:
    """One index and a sharded one, to which the same happens.

    With ``serve``, which starts a server over a directory and returns its URL, every other shard is
    served.
    """

    def __init__(
        self,
        folder: Path,
        shards: int,
        options: dict[str, Any],
        serve: Callable[[Path], str] | None = None,
    ) -> None:
        self.options = options
        self.plan = folder / "many" / "shards.toml"
        self.plan.parent.mkdir()
        self.plan.touch()
        self.n_shards = 0
        self._serve = serve
        for _ in range(shards):
            self._list_another()
        self.one = HebbianIndex.open(folder / "one", **options)
        self.many = ShardedIndex.open(self.plan, **options)
        self.counts_deleted = False

    def _list_another(self) -> None:
        name = f"shard-{self.n_shards}"
        where = f'path = "{name}"'
        if self._serve is not None and self.n_shards % 2 == 0:
            where = f'url = "{self._serve(self.plan.parent / name)}"'
        self.plan.write_text(f'{self.plan.read_text()}\n[[shard]]\nname = "{name}"\n{where}\n')
        self.n_shards += 1

    def apply(self, verb: str, value: Any) -> None:
        if verb == "add":
            first, second = self.one.add(value), self.many.add(value)
            assert (first.added, first.replaced) == (second.added, second.replaced)
        elif verb == "delete":
            assert self.one.delete(value) == self.many.delete(value)
        elif verb == "delete document":
            assert self.one.delete(document_id=value) == self.many.delete(document_id=value)
        elif verb == "put document":
            first = self.one.put_document("d1", "print", value)
            second = self.many.put_document("d1", "print", value)
            assert (first.added, first.deleted) == (second.added, second.deleted)
        elif verb == "cite":
            self._cite(*value)
        elif verb == "forget":
            assert self.one.forget(actor=value) == self.many.forget(actor=value)
        elif verb == "compact":
            self.compact()
        else:
            self.many.close()
            if verb == "grow":
                self._list_another()
            self.many = ShardedIndex.open(self.plan, **self.options)
            if verb == "grow":
                self.many.rebalance()
                assert self.many.rebalance() == 0

        self.counts_deleted |= verb not in ("cite", "forget", "compact")

    def compact(self) -> None:
        if self.counts_deleted:  # BM25 does, until then
            self.one.compact()
            self.many.compact()
            self.counts_deleted = False

    def _cite(self, question: int, position: int) -> None:
        self.compact()
        for index in (self.one, self.many):
            recall = index.recall(QUESTIONS[question])
            if recall.hits:
                cited = recall.hits[position % len(recall.hits)].chunk.id
                index.reinforce(recall, [cited], actor=("ida", "corin")[position % 2])

    def check(self, content: Callable[[HebbianIndex], Any]) -> None:
        assert content(self.many) == content(self.one)
        self.compact()
        assert content(self.many) == content(self.one)
        for question in QUESTIONS:
            expected, found = self.one.recall(question), self.many.recall(question)
            assert [hit.chunk for hit in found.hits] == [hit.chunk for hit in expected.hits]
            assert [hit.score for hit in found.hits] == pytest.approx(
                [hit.score for hit in expected.hits], abs=1e-9
            )
            assert found.cues == expected.cues
            assert not found.partial


@settings(
    max_examples=100 if SOAK else 8,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    phases=[Phase.explicit, Phase.generate],  # a history takes too long to shrink
)
@given(
    sequence=st.lists(steps, min_size=3, max_size=9),
    shards=st.sampled_from([2, 3]),
    with_vectors=st.booleans(),
)
def test_shards_equal_one_index(
    content: Callable[[HebbianIndex], Any],
    sequence: list[tuple[str, Any]],
    shards: int,
    with_vectors: bool,
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        _compare(_Both(Path(folder), shards, _options(with_vectors)), sequence, content)


@settings(
    max_examples=60 if SOAK else 5,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    phases=[Phase.explicit, Phase.generate],
)
@given(
    sequence=st.lists(steps, min_size=3, max_size=7),
    shards=st.sampled_from([2, 3]),
    with_vectors=st.booleans(),
)
def test_served_shards_equal_one_index(
    content: Callable[[HebbianIndex], Any],
    sequence: list[tuple[str, Any]],
    shards: int,
    with_vectors: bool,
) -> None:
    pytest.importorskip("fastapi", reason="the extra server is not installed")
    with tempfile.TemporaryDirectory() as folder, ExitStack() as serving:

        def serve(directory: Path) -> str:
            from hebbgraph.server import create_app
            from hebbgraph.shards.kept import KeptShard

            kept = KeptShard(directory)
            serving.callback(kept.close)
            served = Served(create_app(kept))
            serving.callback(served.stop)
            return f"http://127.0.0.1:{served.port}"

        both = _Both(Path(folder), shards, _options(with_vectors), serve)
        _compare(both, sequence, content)


def _options(with_vectors: bool) -> dict[str, Any]:
    more = {"embedder": Letters()} if with_vectors else {}
    return {"settings": Settings(batch_size=4), **more}


def _compare(
    both: _Both, sequence: list[tuple[str, Any]], content: Callable[[HebbianIndex], Any]
) -> None:
    try:
        for verb, value in sequence:
            both.apply(verb, value)
        both.check(content)
    finally:
        both.many.close()
        both.one.close()
