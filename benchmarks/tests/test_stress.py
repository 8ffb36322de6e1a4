"""A little load, and faults that its report must tell."""

from __future__ import annotations

from pathlib import Path

from hebbgraph import HebbianIndex

from hebbgraph_bench.stress import run, run_load
from hebbgraph_bench.stress.worker import Account


def test_a_little_load(tmp_path: Path) -> None:
    report = run_load(tmp_path / "index", processes=2, writers=1, seconds=1.0, chunks=40)
    assert report.ok, (report.errors, report.faults)
    assert report.operations["add"].count > 0
    assert report.operations["recall"].count > 0
    assert report.chunks > 0


def test_a_load_tells_what_is_not_exact(tmp_path: Path) -> None:
    index = HebbianIndex.open(tmp_path / "index")
    index.add([{"id": "kept", "text": "One."}, {"id": "changed", "text": "Two."}, "more"])
    recall = index.recall("One Two", k=3)
    index.reinforce(recall, ["kept"])
    account = Account(0, held={"kept": "One.", "changed": "2", "lost": "Three."})
    account.feedbacks = {"nobody knows it"}
    faults = list(run._faults(index, {}, [account]))
    index.close()
    assert [fault.split(",")[0] for fault in faults] == [
        "1 chunks are lost",
        "1 chunks ought to be gone",
        "1 chunks have another text",
        "1 feedbacks are lost",
    ]
