"""``hebbgraph build``: tables and documents to partitions, and what the command says."""

from __future__ import annotations

import importlib.util
import json
import re
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hebbgraph import HebbianIndex
from hebbgraph.cli import app
from hebbgraph.errors import IndexLockedError, MissingExtraError, ParameterError
from typer.testing import CliRunner

from hebbgraph_scale import fetch
from hebbgraph_scale.build import sources
from hebbgraph_scale.build.building import build
from hebbgraph_scale.build.engines import InProcessEngine, engine_named
from hebbgraph_scale.build.sources import partitions_of

_RECORDS = [
    {
        "id": f"r{number}",
        "title": f"Lantern Keeper {number % 4}",
        "text": f"The Salt Lantern burned {number} nights é. " * (1 + number % 3),
        "year": 1900 + number,
    }
    for number in range(40)
]


def _lines(path: Path, end: str = "\n") -> str:
    path.write_text("\n".join(map(json.dumps, _RECORDS)) + end, encoding="utf-8")
    return str(path)


@pytest.mark.parametrize("share", [1, 50, 333, 10_000])
@pytest.mark.parametrize("end", ["", "\n", "\n\n"])
def test_each_line_is_in_one_range(
    share: int, end: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(sources, "_LEAST", share)
    found = partitions_of([_lines(tmp_path / "a.jsonl", end)])
    read = [record for part in found for record in part.read()]
    assert [record["id"] for record in read] == [record["id"] for record in _RECORDS]
    assert read[3]["metadata"] == {"year": 1903}


def test_row_groups_are_divided(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sources, "_LEAST", 1000)
    pq.write_table(pa.Table.from_pylist(_RECORDS), tmp_path / "a.parquet", row_group_size=7)
    found = partitions_of([str(tmp_path / "a.parquet")])
    assert len(found) > 1
    read = [record for part in found for record in part.read()]
    assert [record["id"] for record in read] == [record["id"] for record in _RECORDS]


def test_a_url_is_opened_by_fsspec(tmp_path: Path):
    path = _lines(tmp_path / "a.jsonl")
    (part,) = partitions_of([f"file://{path}"])
    assert len(list(part.read())) == 40


def test_a_changed_file_is_read_again(tmp_path: Path):
    path = Path(_lines(tmp_path / "a.jsonl"))
    (before,) = partitions_of([str(path)])
    path.write_text(path.read_text() + json.dumps({"id": "more", "text": "More."}))
    (after,) = partitions_of([str(path)])
    assert before.identity() != after.identity()


def test_a_line_that_is_no_chunk(tmp_path: Path):
    path = tmp_path / "a.jsonl"
    deep = '{"text": "a", "b": ' + "[" * 100_000 + "]" * 100_000 + "}"
    path.write_text(f'{{"text": "Fine."}}\nnot JSON\n[1]\n{{"text": 5}}\n{deep}\n')
    with HebbianIndex.open(tmp_path / "index") as index:
        report = build(index.parts, partitions_of([str(path)]), InProcessEngine(), on_error="skip")
        assert [one.position for one in report.added.failed] == [1, 2, 3, 4]
        assert index.stats().chunks == 1


class _Named:
    model_name = "letters"

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [[1.0 + text.count(letter) for letter in "aeiou"] for text in texts]

    def embed_query(self, text: str) -> list[float]:
        return self.embed_documents([text])[0]


def test_workers_embed(tmp_path: Path):
    parts = partitions_of([_lines(tmp_path / "a.jsonl")])
    with HebbianIndex.open(tmp_path / "plain", embedder=_Named()) as plain:
        plain.add(sources._as_chunk(record) for record in _RECORDS)
        expected = [(hit.chunk.id, hit.score) for hit in plain.recall("salt", k=9).hits]
    with HebbianIndex.open(tmp_path / "index", embedder=_Named()) as index:
        build(index.parts, parts, InProcessEngine(), embedder=_Named)
        assert [(hit.chunk.id, hit.score) for hit in index.recall("salt", k=9).hits] == expected
        assert index.maintenance.doctor().ok


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"name": "threads"}, "'processes' or 'ray', got 'threads'"),
        ({"name": "processes", "workers": 0}, "workers is a positive int, got 0"),
        ({"name": "processes", "workers": True}, "workers is a positive int, got True"),
        ({"name": "processes", "address": "auto"}, "address goes with the engine 'ray'"),
        ({"name": "processes", "gpus": 2}, "gpus goes with the engine 'ray'"),
        ({"name": "ray", "gpus": -1}, "gpus is 0 or more, got -1"),
    ],
)
def test_options_that_no_engine_has(options: Any, says: str):
    with pytest.raises(ParameterError, match=re.escape(says)):
        engine_named(**options)


def test_the_command(tmp_path: Path):
    docs, db = tmp_path / "docs", str(tmp_path / "index")
    docs.mkdir()
    for number in range(3):
        (docs / f"{number}.md").write_text(f"# Keeper {number}\n\nKept the Salt Lantern.\n")
    (docs / "bad.pdf").write_bytes(b"no PDF")
    (docs / "two\nlines.md").write_text("# Keeper 9\n\nA name that no id can be.\n")
    table = _lines(tmp_path / "a.jsonl")
    command = ["build", table, str(docs), "--db", db, "--workers", "1", "--base", str(tmp_path)]
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 3, done.output
    assert "43 chunks added" in done.output
    refused = CliRunner().invoke(app, ["build", table, "--db", db, "--max-tokens", "100"])
    assert "are for documents" in str(refused.exception)
    told = " ".join(done.output.split())
    assert "bad.pdf: is damaged or not really .pdf" in told
    assert "its name holds unprintable characters" in told
    (docs / "1.md").write_text("# Keeper 1\n\nLeft for Saltmere.\n")
    again = CliRunner().invoke(app, [*command, "--json"])
    report = json.loads(again.stdout)["added"]
    assert (report["added"], report["unchanged"], report["deleted"]) == (1, 42, 1)
    with HebbianIndex.open(db) as index:
        assert index.document_fingerprints().keys() == {f"docs/{n}.md" for n in range(3)}
        assert index.maintenance.doctor().ok


def test_a_build_ends_by_publishing(tmp_path: Path):
    url = tmp_path / "bucket"
    lines = _lines(tmp_path / "a.jsonl")
    result = CliRunner().invoke(
        app,
        ["build", lines, "--db", str(tmp_path / "index"), "--workers", "1", "--publish", str(url)],
    )
    assert result.exit_code == 0, result.output
    with HebbianIndex.open(tmp_path / "index", cache_dir=tmp_path / "replica") as replica:
        assert fetch(replica, str(url)).name
        assert replica.stats().chunks == 40


def test_a_wrong_line_is_named_by_its_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sources, "_LEAST", 40)
    path = tmp_path / "a.jsonl"
    path.write_text('{"text": "one"}\n\n{"text": "three"}\n[4]\n{"text": "five"}\nsix\n')
    parts = partitions_of([str(path)])
    assert len(parts) > 1
    with HebbianIndex.open(tmp_path / "index") as index:
        added = build(index.parts, parts, InProcessEngine(), on_error="skip").added
    assert added.added == 3
    assert [failed.reason.partition(":")[0] for failed in added.failed] == [
        f"{path}, line 4",
        f"{path}, line 6",
    ]


def test_files_that_cannot_be_read_as_their_suffix_says(tmp_path: Path):
    (tmp_path / "a.parquet").write_bytes(b"PAR1 no table PAR1")
    with pytest.raises(ParameterError, match=r"a\.parquet is no Parquet file, or a damaged one"):
        partitions_of([str(tmp_path / "a.parquet")])
    with pytest.raises(ParameterError, match=r"nosuch://a\.jsonl: Protocol not known"):
        partitions_of(["nosuch://a.jsonl"])
    if importlib.util.find_spec("s3fs") is None:
        with pytest.raises(MissingExtraError, match="s3fs"):
            partitions_of(["s3://bucket/a.jsonl"])


@pytest.mark.parametrize("work", [None, "elsewhere"])
def test_of_two_builds_of_an_index_the_second_is_refused(work: str | None, tmp_path: Path):
    parts = partitions_of([_lines(tmp_path / "a.jsonl")])
    refused: list[str] = []

    def again(told: object) -> None:
        if not refused:
            with HebbianIndex.open(tmp_path / "index", cache_dir=tmp_path / "cache") as other:
                with pytest.raises(IndexLockedError, match="another build") as caught:
                    build(other.parts, parts, InProcessEngine(), work=work and tmp_path / work)
                refused.append(str(caught.value))

    with HebbianIndex.open(tmp_path / "index") as index:
        assert build(index.parts, parts, InProcessEngine(), on_progress=again).added.added == 40
    assert refused
    assert "'default'" in refused[0]
    assert not list(tmp_path.glob("index/build*"))


def test_two_builds_in_one_folder(tmp_path: Path):
    parts = partitions_of([_lines(tmp_path / "a.jsonl")])
    refused: list[str] = []

    def again(told: object) -> None:
        if not refused:
            with HebbianIndex.open(tmp_path / "other") as other:
                with pytest.raises(IndexLockedError, match="results hold texts") as caught:
                    build(other.parts, parts, InProcessEngine(), work=tmp_path / "work")
                refused.append(str(caught.value))

    with HebbianIndex.open(tmp_path / "index") as index:
        build(index.parts, parts, InProcessEngine(), work=tmp_path / "work", on_progress=again)
    assert refused


@pytest.mark.parametrize("name", ["thesis.md", "manifest.json"])
def test_a_folder_that_holds_other_files_is_left_alone(name: str, tmp_path: Path):
    parts = partitions_of([_lines(tmp_path / "a.jsonl")])
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / name).write_text('{"years": 4}')
    with HebbianIndex.open(tmp_path / "index") as index:
        with pytest.raises(ParameterError, match="files that no build made"):
            build(index.parts, parts, InProcessEngine(), work=mine)
        assert (mine / name).read_text() == '{"years": 4}'
        (mine / name).unlink()
        assert build(index.parts, parts, InProcessEngine(), work=mine).added.added == 40


def test_erasing_takes_what_killed_builds_left_elsewhere(tmp_path: Path):
    def killed(told: object) -> None:
        raise KeyboardInterrupt

    parts = partitions_of([_lines(tmp_path / "a.jsonl")])
    mine, taken = tmp_path / "mine", tmp_path / "taken"
    with HebbianIndex.open(tmp_path / "index") as index:
        for work in (mine, taken):
            with pytest.raises(KeyboardInterrupt):
                build(index.parts, parts, InProcessEngine(), work=work, on_progress=killed)
        shutil.rmtree(taken)
        with HebbianIndex.open(tmp_path / "other") as other, pytest.raises(KeyboardInterrupt):
            build(other.parts, parts, InProcessEngine(), work=taken, on_progress=killed)
        index.compact()
        assert not mine.exists()
        assert (taken / "manifest.json").exists()  # by now of another index
        assert build(index.parts, parts, InProcessEngine(), work=mine).added.unchanged == 40
    assert not list(tmp_path.glob("index/build*"))


def test_erasing_passes_over_a_folder_that_cannot_be_read(tmp_path: Path):
    def killed(told: object) -> None:
        raise KeyboardInterrupt

    parts = partitions_of([_lines(tmp_path / "a.jsonl")])
    broken, mine = tmp_path / "broken", tmp_path / "mine"
    with HebbianIndex.open(tmp_path / "index") as index:
        for work in (broken, mine):
            with pytest.raises(KeyboardInterrupt):
                build(index.parts, parts, InProcessEngine(), work=work, on_progress=killed)
        manifest = broken / "manifest.json"
        content = manifest.read_bytes()
        manifest.unlink()
        manifest.mkdir()  # reading it is an OSError
        index.compact()
        assert broken.exists()
        assert not mine.exists()
        manifest.rmdir()
        manifest.write_bytes(content)
        index.compact()  # it is looked for again
        assert not broken.exists()
    assert not list(tmp_path.glob("index/build*"))
