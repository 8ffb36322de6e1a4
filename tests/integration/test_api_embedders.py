"""Embedders behind an API: what fails is told, what is paid for is kept."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from hebbgraph import EmbeddingError, HebbianIndex, ParameterError, Settings
from hebbgraph.embedders import ApiEmbedder

pytestmark = pytest.mark.every_database

CHUNKS: list[dict[str, Any]] = [
    {"id": f"c{n}", "text": f"Chunk number {n} of ten."} for n in range(10)
]


class Api:
    """Counts what it is paid for; fails at the calls it is told to."""

    model_name = "api"

    def __init__(self, **fail: BaseException) -> None:
        self.fail = {int(at.removeprefix("at")): error for at, error in fail.items()}
        self.calls = 0
        self.paid: list[str] = []

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        self.calls += 1
        if (error := self.fail.get(self.calls)) is not None:
            raise error
        self.paid += texts
        return [[1.0, float(len(text)), float(sum(map(ord, text)) % 97)] for text in texts]

    def embed_query(self, text: str) -> list[float]:
        return self.embed_documents([text])[0]


class Status(Exception):
    def __init__(self, status: int, **headers: str) -> None:
        super().__init__(f"HTTP {status}")
        self.response = SimpleNamespace(status_code=status, headers=headers)


def wrapped(api: Any, **options: Any) -> ApiEmbedder:
    return ApiEmbedder(api, **({"batch_size": 3, "wait_seconds": 0.0} | options))


def test_a_failed_batch_is_told_and_the_next_add_goes_on(tmp_path: Path) -> None:
    api = Api(at3=Status(400))
    with HebbianIndex.open(tmp_path / "i", embedder=wrapped(api)) as index:
        with pytest.raises(EmbeddingError, match=r"'api' failed.*400; 4 of 10 .*'c6'") as caught:
            index.add(CHUNKS)
        assert caught.value.chunks == ("c6", "c7", "c8", "c9")
        assert isinstance(caught.value.__cause__, Status)
        assert caught.value.__notes__ == ["6 chunks were committed"]
        assert index.ids() == [f"c{n}" for n in range(6)]
        assert len(index.recall("Which chunk?").hits) == 6
    told: list[tuple[int, int | None]] = []
    with HebbianIndex.open(tmp_path / "i", embedder=wrapped(api)) as index:
        report = index.add(CHUNKS, on_progress=lambda *done: told.append(done))
        assert (report.added, report.unchanged) == (4, 6)
        assert index.doctor().ok
    assert sorted(text for text in api.paid if "ten" in text) == [c["text"] for c in CHUNKS]
    assert told[-1] == (10, 10)
    assert len(told) == 3, "a call for each batch of the API, one for the batch of the index"


@pytest.mark.parametrize(
    "error",
    [TimeoutError("slow"), ConnectionResetError("gone"), Status(429), Status(503), Exception("?")],
)
def test_errors_that_may_pass_are_tried_again(error: Exception) -> None:
    api = Api(at2=error, at3=error)
    with HebbianIndex.open(":memory:", embedder=wrapped(api)) as index:
        assert index.add(CHUNKS).added == 10
    assert api.calls == 6


@pytest.mark.parametrize("error", [Status(400), Status(401), ValueError("too long"), KeyError("k")])
def test_errors_that_last_are_not(error: Exception) -> None:
    api = Api(at1=error)
    with HebbianIndex.open(":memory:", embedder=wrapped(api)) as index:
        with pytest.raises(EmbeddingError):
            index.add(CHUNKS)
        assert index.ids() == []
    assert api.calls == 1


def test_it_gives_up_and_waits_as_long_as_it_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []
    monkeypatch.setattr("hebbgraph.embedders.time.sleep", waits.append)
    errors: dict[str, BaseException] = {f"at{n}": Status(429) for n in range(1, 9)}
    errors["at2"] = Status(429, **{"retry-after": "7"})
    errors["at3"] = Status(429, **{"retry-after": "Wed, 21 Oct 2026 07:28:00 GMT"})
    api = Api(**errors)
    with pytest.raises(Status):
        wrapped(api, retries=3, wait_seconds=10.0).embed_query("why?")
    assert api.calls == 4
    first, second, third = waits
    assert 5 <= first <= 10
    assert second == 7
    assert 20 <= third <= 40


def test_a_call_that_stalls_counts_as_failed() -> None:
    free = threading.Event()

    class Stalls(Api):
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            if not self.calls:
                self.calls += 1
                free.wait()
            return super().embed_documents(texts)

    with HebbianIndex.open(":memory:", embedder=wrapped(Stalls(), timeout_seconds=0.05)) as index:
        assert index.add(CHUNKS).added == 10
    free.set()


@pytest.mark.parametrize("answer", [[], [[1.0, 2.0]], [[float("nan")] * 3] * 3, None, "vectors"])
def test_what_is_no_vector_fails_its_batch_alone(answer: Any) -> None:
    class Odd(Api):
        def embed_documents(self, texts: list[str]) -> Any:
            vectors = super().embed_documents(texts)
            return answer if self.calls == 2 else vectors

    with HebbianIndex.open(":memory:", embedder=wrapped(Odd())) as index:
        with pytest.raises(EmbeddingError, match="7 of 10"):
            index.add(CHUNKS)
        assert index.ids() == ["c0", "c1", "c2"]
        assert index.doctor().ok


def test_no_text_is_paid_for_twice() -> None:
    api = Api()
    with HebbianIndex.open(":memory:", embedder=api) as index:
        index.add([*CHUNKS, {"id": "copy", "text": CHUNKS[0]["text"]}])
        assert len(api.paid) == 10
        index.add([chunk | {"metadata": {"seen": True}} for chunk in CHUNKS])
        assert len(api.paid) == 10, "other metadata, the same vector"
        index.put_document("d", None, ["One.", "Two."])
        index.put_document("d", "later", [{"id": "new", "text": "Two."}, {"text": "Three."}])
        assert api.paid[10:] == ["One.", "Two.", "Three."]
        assert index.doctor().ok
        for _ in range(2):
            index.recall("One?")
        assert api.paid[13:] == ["One?"]


def test_a_document_is_written_as_a_whole_and_paid_for_once() -> None:
    api = Api(at4=Status(400))
    with HebbianIndex.open(":memory:", embedder=wrapped(api)) as index:
        with pytest.raises(EmbeddingError, match="1 of 10"):
            index.put_document("d", None, CHUNKS)
        assert index.ids() == []
        assert index.put_document("d", None, CHUNKS).added == 10
        assert index.doctor().ok
    assert len(api.paid) == 10


def test_reembedding_keeps_what_came_before_the_failure(tmp_path: Path) -> None:
    with HebbianIndex.open(tmp_path / "i", settings=Settings(batch_size=7)) as index:
        index.add(CHUNKS)
        api = Api(at4=Status(400))  # the first call asks for the dimension
        with pytest.raises(EmbeddingError, match="1 of 7"):
            index.reembed(wrapped(api))
        assert index.reembed(wrapped(api)) == 4
        assert index.doctor().ok
    assert len(api.paid) == 1 + 10


def test_a_question_that_cannot_be_embedded_is_a_clear_error() -> None:
    with HebbianIndex.open(":memory:", embedder=Api(at2=ConnectionError("refused"))) as index:
        index.add(CHUNKS)
        with pytest.raises(EmbeddingError, match="'api' failed: ConnectionError: refused"):
            index.recall("Why?")
        assert index.recall("Why?").vector is not None


def test_native_async_methods_run_on_the_caller_s_loop() -> None:
    loops: list[Any] = []

    class Native(Api):
        async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
            loops.append(asyncio.get_running_loop())
            await asyncio.sleep(0)
            return self.embed_documents(texts)

        async def aembed_query(self, text: str) -> list[float]:
            return (await self.aembed_documents([text]))[0]

    async def use(embedder: Any) -> None:
        async with await HebbianIndex.aopen(":memory:", embedder=embedder) as index:
            await index.aadd(CHUNKS)
            recall = await index.arecall("Chunk number 4", history=["Chunk number 5"])
            assert recall.vector is not None
        assert set(loops) == {asyncio.get_running_loop()}
        loops.clear()

    asyncio.run(use(Native()))
    asyncio.run(use(wrapped(Native())))
    with HebbianIndex.open(":memory:", embedder=Native()) as index:
        index.add(CHUNKS)
    assert loops == []


@pytest.mark.parametrize(
    "wrong", [{"batch_size": 0}, {"retries": -1}, {"wait_seconds": -1}, {"timeout_seconds": 0}]
)
def test_parameters_outside_their_range(wrong: dict[str, Any]) -> None:
    with pytest.raises(ParameterError, match=f"{next(iter(wrong))} must be"):
        ApiEmbedder(Api(), **wrong)
