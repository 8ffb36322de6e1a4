"""A server is measured from outside: a little of each."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("fastapi", reason="the extra server is not installed")

from hebbgraph import HebbianIndex

from hebbgraph_bench.serving.__main__ import main
from hebbgraph_bench.serving.clients import measure_clients
from hebbgraph_bench.serving.overhead import measure_overhead
from hebbgraph_bench.serving.views import measure_views

QUESTIONS = ["Who built the Petrel?", "Where was Ida Moss born?"]


@pytest.fixture
def db(tmp_path: Path) -> Path:
    with HebbianIndex.open(tmp_path / "index") as index:
        index.add(
            [
                {"title": "Petrel", "text": "The Petrel was built by Ida Moss."},
                {"title": "Ida Moss", "text": "Ida Moss was born in Tessel Bay."},
            ]
        )
    return tmp_path / "index"


def test_served_and_local_recalls_are_compared(db: Path) -> None:
    rows = {row[0]: row[1:] for row in measure_overhead(db, QUESTIONS).rows}
    assert set(rows) == {"local", "served", "difference"}
    assert all(float(cell) > 0 for name in ("local", "served") for cell in rows[name])


def test_clients_ask_while_chunks_are_added(db: Path) -> None:
    told = dict(measure_clients(db, QUESTIONS, clients=2, seconds=1.0).rows)
    assert told["errors"] == "0"
    assert int(told["recalls"].replace(",", "")) > 0
    with HebbianIndex.open(db) as index:
        assert len(index.ids()) - 2 == int(told["chunks added meanwhile"].replace(",", ""))


def test_all_views_are_asked_for(db: Path) -> None:
    rows = measure_views(db, QUESTIONS, lessons=1).rows
    assert {row[0].partition(",")[0] for row in rows} == {"ask", "replay", "map"}
    assert {row[1] for row in rows} == {"2"}


def test_the_command_line_measures_a_set(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "boats"
    folder.mkdir()
    chunk = {"id": "p", "title": "Petrel", "text": "The Petrel was built by Ida Moss in May."}
    asked = {"id": "q", "question": QUESTIONS[0], "answers": ["Ida"], "supporting_ids": ["p"]}
    (folder / "corpus.jsonl").write_text(json.dumps(chunk))
    (folder / "queries.jsonl").write_text(json.dumps(asked))
    main(["overhead", str(folder)])
    assert "difference" in capsys.readouterr().out
