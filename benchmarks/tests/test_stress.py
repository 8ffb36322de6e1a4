"""A little load, and faults that its report must tell."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hebbgraph import HebbianIndex

from hebbgraph_bench.stress import run_load
from hebbgraph_bench.stress.account import Account, Journal
from hebbgraph_bench.stress.checks import faults_of_answers, faults_of_content, faults_of_doctor
from hebbgraph_bench.stress.embedder import HashEmbedder


@pytest.mark.parametrize("kills_per_minute", [0.0, 60.0])
def test_a_little_load(tmp_path: Path, kills_per_minute: float) -> None:
    report = run_load(
        tmp_path / "index",
        processes=2,
        writers=1,
        seconds=3.0,
        chunks=40,
        kills_per_minute=kills_per_minute,
    )
    assert report.ok, (report.errors, report.faults)
    assert bool(report.kills) is bool(kills_per_minute)
    assert report.chunks > 0
    if not kills_per_minute:
        assert report.operations["add"].count > 0
        assert report.operations["recall"].count > 0


def test_an_account_outlives_its_process(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    journal = Journal(3, path)
    for event in (
        {"life": 1},
        {"begun": ["a", "b"]},
        {"held": {"a": "A", "b": "B"}},
        {"begun": ["a"]},
        {"gone": ["a"]},
        {"feeding": 1},
        {"fed": ["f"]},
        {"feeding": 1},
        {"begun": ["c", "b"]},
    ):
        journal.tell(**event)
    journal.close()
    with path.open("ab") as file:
        file.write(b'{"held": {"c": ')  # killed while it wrote
    again = Journal(3, path)
    again.tell(life=1)
    again.close()
    account = Account.read(3, path)
    assert account == again.account
    assert account == Account(
        3, lives=2, held={"b": "B"}, unsure={"b", "c"}, feedbacks={"f"}, unsure_feedbacks=1
    )


def test_a_load_tells_which_vectors_are_not_exact(
    open_index: Callable[..., HebbianIndex], monkeypatch: pytest.MonkeyPatch
) -> None:
    index = open_index(embedder=HashEmbedder())
    index.add([{"id": f"c{n}", "text": f"Ida met Wren in {n}."} for n in range(60)])

    def opened(*, with_embedder: bool) -> HebbianIndex:
        return open_index(embedder=HashEmbedder() if with_embedder else None)

    assert [*faults_of_answers(index), *faults_of_doctor(opened)] == []
    table = index.parts.derived.vectors
    assert table is not None
    parts = index.parts.derived._parts
    assert parts is not None
    parts.vectors = table.kept(table.rows[:50])
    assert list(faults_of_answers(index)) == [
        "10 of 60 chunks have no vector",
        "dense search answers 50 of 50 questions unlike a rebuild",
    ]


def test_a_load_tells_what_is_not_exact(tmp_path: Path) -> None:
    index = HebbianIndex.open(tmp_path / "index")
    index.add([{"id": "kept", "text": "One."}, {"id": "changed", "text": "Two."}, "more"])
    recall = index.recall("One Two", k=3)
    index.reinforce(recall, ["kept"])
    account = Account(0, held={"kept": "One.", "changed": "2", "lost": "Three."})
    account.feedbacks = {"nobody knows it"}
    faults = list(faults_of_content(index, {}, [account]))
    index.close()
    assert [fault.split(",")[0] for fault in faults] == [
        "1 chunks are lost",
        "1 chunks ought to be gone",
        "1 chunks have another text",
        "1 feedbacks are lost",
    ]
