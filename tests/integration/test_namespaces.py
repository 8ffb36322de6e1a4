"""A namespace is made by the first write; what is read of a misspelt one is an error."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hebbgraph import (
    HebbianIndex,
    IndexPool,
    NamespaceNotFoundError,
    NotFoundError,
    Settings,
    SettingsMismatchError,
)

NOTE = {"id": "a", "title": "Petrel", "text": "Ida Moss built the Petrel."}

READS: dict[str, Callable[[HebbianIndex], Any]] = {
    "recall": lambda index: index.recall("Who built the Petrel?"),
    "get": lambda index: index.get(["a"]),
    "holds": lambda index: index.holds(["a"]),
    "ids": lambda index: index.ids(),
    "tags": lambda index: index.tags.find(),
    "stats": lambda index: index.stats(),
    "lessons": lambda index: index.lessons(),
    "learned": lambda index: index.learned(),
    "colonies": lambda index: index.inspect.colonies(),
    "delete": lambda index: index.delete(["a"]),
    "forget": lambda index: index.forget(everything=True),
    "retag": lambda index: index.maintenance.retag(),
    "doctor": lambda index: index.maintenance.doctor(),
}


@pytest.fixture
def location(tmp_path: Path) -> Path:
    with IndexPool(tmp_path) as pool:
        for tenant in ("acme", "bob"):
            pool[tenant].add([NOTE])
    return tmp_path


@pytest.mark.parametrize("read", READS.values(), ids=READS)
def test_what_is_asked_of_a_misspelt_namespace_is_an_error_and_makes_none(
    location: Path, read: Callable[[HebbianIndex], Any]
) -> None:
    before = sorted(location.rglob("*"))
    with IndexPool(location) as pool:
        with pytest.raises(NamespaceNotFoundError, match=r"no namespace 'acmee'\. The first"):
            read(pool["acmee"])
        assert pool.namespaces() == ["acme", "bob"]
    with (
        HebbianIndex.open(location, namespace="acmee") as index,
        pytest.raises(NamespaceNotFoundError) as raised,
    ):
        read(index)
    assert raised.value.existing == ("acme", "bob")
    with IndexPool(location) as pool:
        assert pool.namespaces() == ["acme", "bob"]
    assert sorted(location.rglob("*")) == before


def test_the_first_write_makes_a_namespace(location: Path) -> None:
    with HebbianIndex.open(location, namespace="cleo") as index:
        index.add([NOTE])
        assert index.namespaces() == ["acme", "bob", "cleo"]
        assert [hit.chunk.id for hit in index.recall("Who built the Petrel?").hits] == ["a"]
    with HebbianIndex.open(location, namespace="dora") as index:
        index.put_document("d", None, [NOTE])
        assert index.ids() == ["a"]


def test_a_batch_that_is_refused_makes_none(location: Path) -> None:
    with HebbianIndex.open(location, namespace="cleo") as index:
        with pytest.raises(ValueError, match="text"):
            index.add([{"id": "x", "text": 5}])
        assert index.namespaces() == ["acme", "bob"]


@pytest.mark.parametrize("where", ["memory", "directory", "pool"])
def test_a_new_index_is_empty_and_no_error(where: str, tmp_path: Path) -> None:
    with IndexPool(tmp_path) as pool:
        index = {
            "memory": lambda: HebbianIndex.open(":memory:"),
            "directory": lambda: HebbianIndex.open(tmp_path / "new"),
            "pool": lambda: pool["acme"],
        }[where]()
        with index:
            assert index.recall("Who built the Petrel?").hits == ()
            assert index.ids() == []
            assert index.stats().chunks == 0
            assert index.namespaces() == []
            index.add([NOTE])
            assert index.recall("Who built the Petrel?").hits


@pytest.mark.parametrize("read", READS.values(), ids=READS)
def test_whatever_a_new_index_is_asked_it_is_empty(read: Callable[[HebbianIndex], Any]) -> None:
    with HebbianIndex.open(":memory:") as index:
        read(index)
        assert index.namespaces() == [] or read is READS["retag"]


def test_another_process_makes_it_while_it_is_open(tmp_path: Path) -> None:
    write = (
        "import sys; from hebbgraph import *;"
        "index = HebbianIndex.open(sys.argv[1], settings=Settings(language=sys.argv[2]));"
        "index.add([{'id': 'a', 'text': 'Owls hunt.'}]); index.close()"
    )
    with (
        HebbianIndex.open(tmp_path) as same,
        HebbianIndex.open(tmp_path, settings=Settings(language="german")) as other,
    ):
        assert same.ids() == other.ids() == []
        subprocess.run([sys.executable, "-c", write, str(tmp_path), "english"], check=True)
        assert same.ids() == ["a"]
        with pytest.raises(SettingsMismatchError, match="language"):
            other.recall("Do owls hunt?")
        with pytest.raises(SettingsMismatchError, match="language"):
            other.add([NOTE])


def test_the_error_names_what_its_maker_lets_the_caller_see() -> None:
    error = NamespaceNotFoundError.of("acmee", ["acme"])
    assert isinstance(error, NotFoundError)
    assert str(error) == "there is no namespace 'acmee', only 'acme'. The first write makes one"
    assert str(NamespaceNotFoundError.of("acmee")).startswith("there is no namespace 'acmee'. ")
    many = str(NamespaceNotFoundError.of("t", [f"tenant{n:03}" for n in range(200)]))
    assert "and 190 more" in many
