"""``hebbgraph bench`` and ``hebbgraph load``, as the script finds them."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
from hebbgraph import cli


class Outcome(NamedTuple):
    code: int
    out: str
    err: str


Run = Callable[..., Outcome]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run ``hebbgraph`` as its script does."""
    monkeypatch.setenv("COLUMNS", "200")

    def run_one(*arguments: object) -> Outcome:
        monkeypatch.setattr(sys, "argv", ["hebbgraph", *map(str, arguments)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as caught:
            cli.main()
        captured = capsys.readouterr()
        return Outcome(int(caught.value.code or 0), captured.out, captured.err)

    return run_one


def test_bench_on_a_set_of_three(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "harbour"
    folder.mkdir()
    corpus = [
        {"id": "a", "title": "Gull", "text": "A gull nests on the cliff above the harbour."},
        {"id": "b", "title": "Harbour", "text": "The harbour was built by Mira Voss."},
        {"id": "c", "title": "Mira Voss", "text": "Mira Voss was an engineer born in Tarn."},
    ]
    queries = [
        {"id": "q", "question": "Where was the builder of the harbour born?",
         "answers": ["Tarn"], "supporting_ids": ["b", "c"]},
    ]  # fmt: skip
    for name, rows in (("corpus", corpus), ("queries", queries)):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    figures = tmp_path / "figures.json"
    done = run("bench", folder, "--json", figures, "-k", 2)
    assert done.code == 0
    assert "harbour" in done.out
    assert json.loads(figures.read_text())
    assert run("bench", tmp_path / "nowhere").code == 1


def test_load_reports_what_it_did(run: Run, tmp_path: Path) -> None:
    done = run(
        "load", "--db", tmp_path / "index", "--processes", 1, "--writers", 1,
        "--seconds", 0.5, "--chunks", 20, "--json",
    )  # fmt: skip
    assert done.code == 0
    assert json.loads(done.out)["faults"] == []
