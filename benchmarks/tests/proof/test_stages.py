"""The long run: it goes on where it ended, notices what changed, and writes the page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hebbgraph.records import Chunk

from hebbgraph_bench import Dataset
from hebbgraph_bench.proof.__main__ import main
from hebbgraph_bench.proof.sets import retitled
from hebbgraph_bench.proof.stages import code_digest

CORPUS = [
    {"id": "a", "title": "Gull", "text": "A gull nests on the cliff above the harbour."},
    {"id": "b", "title": "Harbour", "text": "The harbour was built by Mira Voss."},
    {"id": "c", "title": "Mira Voss", "text": "Mira Voss was an engineer born in Tarn."},
    {"id": "d", "title": "Tarn", "text": "Tarn is a village by a lake, known for wool."},
    {"id": "e", "title": "Wool", "text": "Wool is spun in the mill of Tarn."},
]
QUERIES = [
    {"id": "1", "question": "Where was the builder of the harbour born?", "answers": ["Tarn"],
     "supporting_ids": ["b", "c"], "split": "log"},
    {"id": "2", "question": "What is the builder of the harbour known as?", "answers": ["engineer"],
     "supporting_ids": ["b", "c"], "split": "unseen"},
    {"id": "3", "question": "What is spun in the village by a lake?", "answers": ["wool"],
     "supporting_ids": ["d", "e"], "split": "unseen"},
]  # fmt: skip
PAGE = "Before.\n<!-- proof: {name} -->\nformer\n<!-- end -->\nAfter.\n"
WANTED = ("retrieval/2wiki_hr/*/none", "use/*/split/none", "poison/2wiki_hr")


class Run(NamedTuple):
    """A run that ended: where everything lies, and what it was called with."""

    folder: Path
    places: list[str]

    @property
    def kept(self) -> dict[str, str]:
        return {path.stem: path.read_text() for path in (self.folder / "results").iterdir()}

    def figures(self, stage: str) -> dict[str, Any]:
        figures: dict[str, Any] = json.loads(self.kept[stage])["figures"]
        return figures


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("proof")
    for name in ("2wiki_hr", "musique_lag"):
        a_set = folder / "shared" / "published" / name
        a_set.mkdir(parents=True)
        for file, rows in (("corpus", CORPUS), ("queries", QUERIES)):
            text = "".join(json.dumps(row) + "\n" for row in rows)
            (a_set / f"{file}.jsonl").write_text(text)
    page = folder / "proof.md"
    page.write_text(PAGE.format(name="2wiki_hr") + PAGE.format(name="titles"))
    places = [f"--{name}={folder / name}" for name in ("shared", "results", "cache")]
    assert main([*WANTED, *places, f"--page={page}"]) == 0
    return Run(folder, places)


def test_each_stage_is_kept_once(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    before = run.kept
    assert len(before) == 3 + 1 + 2 + 6
    assert main([*WANTED, *run.places]) == 0
    assert capsys.readouterr().err.count(": kept") == len(before)
    assert run.kept == before


def test_a_second_measurement_comes_out_the_same(
    run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    some = [WANTED[1], "poison/2wiki_hr/PoisonedRAG", "retrieval/2wiki_hr/shuffled/none"]
    assert main([*some, *run.places, "--again"]) == 0
    assert capsys.readouterr().err.count("the same figures") == len(some)


def test_a_set_that_changed_makes_its_stages_stale(
    run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    corpus = run.folder / "shared" / "published" / "2wiki_hr" / "corpus.jsonl"
    text = corpus.read_text()
    corpus.write_text(text.replace("wool", "yarn"))
    assert main([*WANTED[:2], *run.places, "--list"]) == 0
    corpus.write_text(text)
    listed = capsys.readouterr().err
    assert (listed.count("stale"), listed.count("kept")) == (3, 1)


def test_the_page_has_the_tables_between_its_markers(run: Run) -> None:
    page = (run.folder / "proof.md").read_text()
    assert "former" not in page
    assert page.startswith("Before.\n<!-- proof: 2wiki_hr -->\n\n| system |")
    assert "| **ours, no model** |" in page
    assert page.endswith("\n<!-- end -->\nAfter.\n")


def test_every_recall_is_as_before_once_an_attack_is_taken_back(run: Run) -> None:
    for stage in run.kept:
        if stage.startswith("poison"):
            figures = run.figures(stage)
            same = "same after compact" if "poisoned texts" in figures else "same after forget"
            assert figures[same] == figures["recalls"] == 3
    documents = run.figures("poison-2wiki_hr-PoisonedRAG")
    assert documents["poisoned texts"] == 15
    assert documents["during"]["found"] == 1.0
    assert documents["deleted"]["found"] == 0.0


def test_the_split_of_a_set_says_what_is_past(run: Run) -> None:
    figures = run.figures("use-musique_lag-split-none")
    assert figures["lessons"] == 1
    asked = {name: part["questions"] for name, part in figures["parts"].items()}
    assert asked == {"all": 2, "shares": 1, "rest": 1}
    ours = figures["parts"]["shares"]["systems"]["hebbgraph"]
    assert ours["taught"] - ours["untaught"] == pytest.approx(ours["by use"]["mean"], abs=1e-5)


@pytest.mark.parametrize("name", ["nothing/like/it", "use/*/split/none"])
def test_mistakes_are_told(run: Run, tmp_path: Path, name: str) -> None:
    page = tmp_path / "unknown.md"
    page.write_text(PAGE.format(name="no such table"))
    assert main([name, *run.places, f"--page={page}"]) == 1


@pytest.mark.parametrize(
    ("more", "stale"),
    [('"""Another docstring."""', False), ("# A comment.", False), ("X = 1", True)],
)
def test_only_code_makes_a_stage_stale(tmp_path: Path, more: str, stale: bool) -> None:
    one, other = tmp_path / "1" / "core.py", tmp_path / "2" / "core.py"
    for path, text in ((one, '"""A docstring."""\nY = 2\n'), (other, f"{more}\nY = 2\n")):
        path.parent.mkdir()
        path.write_text(text)
    assert (code_digest([one]) != code_digest([other])) == stale


def test_titles_go_to_other_passages() -> None:
    corpus = tuple(Chunk(id=row["id"], title=row["title"], text=row["text"]) for row in CORPUS)
    shuffled = retitled(Dataset("harbour", corpus, ()), seed=3).corpus
    assert sorted(chunk.title for chunk in shuffled) == sorted(row["title"] for row in CORPUS)
    assert all(one.title != other.title for one, other in zip(corpus, shuffled, strict=True))
    assert [chunk.text for chunk in shuffled] == [chunk.text for chunk in corpus]
