from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import usebench
from usebench.cli import main
from usebench.errors import MissingError, ParameterError
from usebench.sets.plain import write_set
from usebench.systems import available, systems

ROOT = Path(__file__).parents[1]


@pytest.fixture
def harbour_folder(tmp_path: Path) -> Path:
    corpus = [
        {"id": "moss", "title": "Ida Moss", "text": "She built boats in a small yard."},
        {"id": "petrel", "title": "Petrel", "text": "A barque, lost in a storm."},
    ]
    queries = [
        {"id": str(n), "question": question, "supporting_ids": [gold]}
        for n, (question, gold) in enumerate(
            [("Who built boats?", "moss"), ("Who sank?", "petrel"), ("Who went down?", "petrel")]
            * 3
        )
    ]
    write_set(tmp_path / "harbour", corpus, queries, order="shuffled")
    return tmp_path / "harbour"


def test_tables_tell_the_metric_that_was_asked_for(
    harbour_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "result.json"
    run = ["run", str(harbour_folder), "--systems", "bm25,expansion", "--json", str(out)]
    assert main([*run, "--metric", "nDCG@10", "--no-unlearning"]) == 0
    assert "nDCG@10, asked before taught" in capsys.readouterr().out
    (result,) = json.loads(out.read_text("utf-8"))["sets"]
    learned = result["systems"][1]["runs"]["right"]
    mean = sum(learned["values"]) / len(learned["values"])
    assert mean == pytest.approx(learned["means"]["nDCG@10"]["all"], abs=1e-5)


def test_one_command_measures_the_readmes_toy_and_prints_what_the_json_holds(
    harbour_folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text("utf-8"), re.DOTALL)
    (tmp_path / "toy.py").write_text(code, "utf-8")
    monkeypatch.chdir(tmp_path)
    names = "bm25,dense,fusion,cache,expansion,rm3,erm,rocchio,toy:Toy"
    arguments = ["run", str(harbour_folder), "--systems", names, "--json", "result.json"]
    assert main([*arguments, "--feedback", "right", "wrong", "partial", "hostile"]) == 0
    printed = capsys.readouterr().out
    figures = json.loads((tmp_path / "result.json").read_text("utf-8"))
    assert figures["versions"]["usebench"] == usebench.__version__
    (result,) = figures["sets"]
    toy = result["systems"][-1]
    assert (toy["name"], toy["unlearning"]) == ("toy:Toy", None)
    assert toy["runs"]["right"]["means"]["R@2"]["all"] == 1.0
    for title in ("asked before taught", "Regret", "by who says what", "Unlearning", "Cost"):
        assert title in printed
    assert main(["show", "result.json"]) == 0
    assert capsys.readouterr().out == printed
    command = [sys.executable, "-m", "usebench.cli", "show", "result.json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as cut:
        assert cut.stdout is not None
        assert cut.stderr is not None
        cut.stdout.close()  # a pager that was left
        assert cut.stderr.read() == b""


def test_sets_and_systems_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sets"]) == 0
    assert "### FeedbackQA" in capsys.readouterr().out
    states = available()
    assert states["bm25"] == ""
    assert "git clone" in states["hela-mem"] or states["hela-mem"] == ""


def test_mistakes_are_told_in_a_line(
    harbour_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", str(harbour_folder), "--systems", "nothing"]) == 2
    assert "no system is called 'nothing'" in capsys.readouterr().err
    assert main(["run", str(harbour_folder / "gone")]) == 2
    assert "expected this file" in capsys.readouterr().err
    assert main(["show", str(harbour_folder / "gone")]) == 2
    assert "expected a result" in capsys.readouterr().err
    with pytest.raises(ParameterError, match="names nothing that can be imported"):
        systems(["json:Nothing"])


OWN = """
class Searches:
    def add(self, passages): ...
    def search(self, question, k): return []

class Listens(Searches):
    def reset(self): ...
    def feedback(self, question, cited): ...

class Learns(Listens):
    def feedback(self, cited, **said): ...
"""


def test_a_retriever_of_ones_own_is_refused_before_anything_runs_if_a_call_would_fail(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "of_ones_own.py").write_text(OWN, "utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(
        ParameterError, match=r"Searches: .*; add reset, feedback, with an empty body"
    ):
        systems(["of_ones_own:Searches"])
    with pytest.raises(ParameterError, match=r"'shown'; end its parameters with \*\*details"):
        systems(["of_ones_own:Listens"])
    assert [one.name for one in systems(["of_ones_own:Learns"])] == ["of_ones_own:Learns"]


def test_a_rival_that_is_missing_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HELA_MEM", "/nowhere")
    with pytest.raises(MissingError, match="git clone"):
        systems(["hela-mem"])


def test_nothing_of_hebbgraph_is_imported() -> None:
    code = (
        "import sys, usebench.cli, usebench.drivers.memories;"
        "print([n for n in sys.modules if n.startswith(('hebbgraph', 'langchain', 'torch'))])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
