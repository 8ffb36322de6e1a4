"""Namespaces of one location, held open within a bound."""

from __future__ import annotations

import asyncio
import inspect
import threading
from pathlib import Path
from typing import Any

import pytest

from hebbgraph import (
    ClosedIndexError,
    HebbianIndex,
    IndexPool,
    NotFoundError,
    ParameterError,
    Settings,
)
from hebbgraph.citations import Exchange, Learner, Recalled, Reply
from hebbgraph.hebbian_index import MovedMethod
from hebbgraph.pool import PooledIndex


def test_a_pool_is_asked_by_name_alone(tmp_path: Path) -> None:
    with IndexPool(tmp_path) as pool:
        for wrong in (lambda: "a" in pool, lambda: list(pool)):  # they would never end
            with pytest.raises(TypeError):
                wrong()


def test_a_namespace_is_named_by_a_str_and_listed(tmp_path: Path) -> None:
    place = tmp_path / "new"
    with IndexPool(place) as pool:
        assert pool.namespaces() == []
        assert not place.exists()
        for wrong in (3, None, b"anna"):
            with pytest.raises(ParameterError, match=r"named by a str, got .*pool\[str"):
                pool[wrong]  # type: ignore[index]
        for tenant in ("bert", "anna"):
            pool[tenant].add(["A note."])
        assert pool.namespaces() == ["anna", "bert"]
        assert len(pool) == 2


def test_tenants_stay_apart_and_few_stay_open(tmp_path: Path) -> None:
    tenants = [f"tenant-{n}" for n in range(5)]
    with IndexPool(tmp_path, max_open=2) as pool:
        for tenant in tenants:
            pool[tenant].add([{"id": "note", "text": f"The code of {tenant} is red."}])
            assert len(pool) <= 2
        for tenant in tenants:
            (hit,) = pool[tenant].recall("What is the code?").hits
            assert hit.chunk.text == f"The code of {tenant} is red."
        assert len(pool) == 2
        with pool.lend("tenant-4") as first, pool.lend("tenant-4") as again:
            assert first is again


def test_the_least_recently_used_closes(tmp_path: Path) -> None:
    with IndexPool(tmp_path, max_open=2) as pool:
        with pool.lend("a") as a, pool.lend("b") as b:
            pass
        with pool.lend("a"), pool.lend("c"):
            pass
        assert a.stats().chunks == 0
        with pytest.raises(ClosedIndexError):
            b.stats()


def test_what_is_in_use_stays_open_beyond_the_bound(tmp_path: Path) -> None:
    with IndexPool(tmp_path, max_open=1) as pool:
        with pool.lend("a") as a, pool.lend("b") as b:
            assert len(pool) == 2
            pool.close()
            assert (a.stats().chunks, b.stats().chunks) == (0, 0)
            with pytest.raises(ClosedIndexError, match="make another one"):
                pool["a"].stats()
        with pytest.raises(ClosedIndexError):
            a.stats()
        assert len(pool) == 0


def test_threads_share_a_pool(tmp_path: Path) -> None:
    errors: list[BaseException] = []

    def work(number: int) -> None:
        try:
            for turn in range(3):
                index = pool[f"tenant-{(number + turn) % 3}"]
                index.add([{"id": f"{number}-{turn}", "text": f"note {number} {turn}"}])
        except BaseException as error:
            errors.append(error)

    with IndexPool(tmp_path, max_open=1) as pool:
        threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
        for one in threads:
            one.start()
        for one in threads:
            one.join()
        assert errors == []
        assert sum(pool[f"tenant-{n}"].stats().chunks for n in range(3)) == 12


def test_a_learner_teaches_an_index_that_has_closed_since(tmp_path: Path) -> None:
    with IndexPool(tmp_path, max_open=1) as pool:
        pool["a"].add([{"id": "owl", "text": "Owls hunt at night."}, "Bread rises."])
        recall = pool["a"].recall("When do owls hunt?")
        learner = Learner()
        pool["b"].make_namespace()  # closes a
        said = Reply(prompt="[1] Owls hunt at night.\n\nWhen?", text="At night [1].")
        exchange = Exchange(recalls=[Recalled(pool["a"], recall)], replies=[said], ids=["r"])
        assert learner.learn(exchange).feedback[0].cited == ("owl",)
        pool["b"].stats()
        assert learner.feedback("r", False)


def test_what_an_index_can_a_pooled_one_can(tmp_path: Path) -> None:
    with IndexPool(tmp_path, settings=Settings(batch_size=7)) as pool:
        index = pool["a"]
        assert isinstance(index, HebbianIndex)
        assert (index.namespace, index.settings.batch_size) == ("a", 7)

        async def run() -> Any:
            await index.aadd(["Owls hunt."])
            return await index.arecall("What do owls do?")

        assert len(asyncio.run(run()).hits) == 1
        with index:
            pass
        assert index.stats().chunks == 1
        assert repr(index).startswith("PooledIndex(")
    inherited = {
        name
        for name, value in inspect.getmembers(PooledIndex)
        if not (name.startswith("_") or name in vars(PooledIndex) or isinstance(value, MovedMethod))
    }
    assert inherited == {"open", "aopen", "restore", "arestore"}


def test_an_index_that_cannot_be_opened_is_not_held(tmp_path: Path) -> None:
    with IndexPool(tmp_path) as pool:
        for _ in range(2):
            with pytest.raises(ParameterError, match="printable"):
                pool["a\nb"].stats()
        assert len(pool) == 0


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"location": ":memory:"}, "gone when it closes"),
        ({"max_open": 0}, "at least 1, got 0"),
        ({"max_open": "3"}, "at least 1, got '3'"),
        ({"embeder": 1}, "did you mean 'embedder'"),
        ({"namespace": "a"}, r'pool\["tenant"\]'),
    ],
)
def test_misuse(tmp_path: Path, given: dict[str, Any], says: str) -> None:
    with pytest.raises(ParameterError, match=says):
        IndexPool(**{"location": tmp_path, **given})


def test_recalls_are_kept_though_the_index_has_closed_since(tmp_path: Path) -> None:
    with IndexPool(tmp_path / "index", max_open=1) as pool:
        for name in ("anna", "bert"):
            pool[name].add([f"A note of {name}."])
        pool["anna"].keep_recalls()
        pool["bert"].recall("Whose note?")  # anna's closes
        recall = pool["anna"].recall("Whose note?")
        pool["bert"].recall("Whose note?")
        lesson = pool["anna"].reinforce(recall.id, [recall.hits[0].chunk.id])
        assert lesson.recall_id == recall.id
        with pytest.raises(NotFoundError):
            pool["bert"].reinforce(recall.id, [recall.hits[0].chunk.id])
