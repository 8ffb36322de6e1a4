"""The command line: what scripts rely on."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import networkx as nx
import pytest

from hebbgraph import Chunk, HebbianIndex, LearningSettings, Settings, __version__, cli
from hebbgraph.errors import SettingsMismatchError
from hebbgraph.inspect.view import Inspection
from hebbgraph.labels import counted
from hebbgraph.recall.strategies import NO_KNOWLEDGE

QUESTION = "Where was the builder of the Petrel born?"

FILES = {
    "petrel.md": "# Petrel\n\nThe Petrel was a schooner built by Ida Moss for the ice trade.\n",
    "people/moss.txt": "Ida Moss was born in Tessel Bay and learned her craft from Corin Vale.\n",
    "people/vale.html": "<html><h1>Corin Vale</h1><p>Corin Vale kept a yard.</p></html>",
}


class Outcome(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


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
        code = caught.value.code
        return Outcome(int(code or 0), captured.out, captured.err)

    return run_one


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    pytest.importorskip("bs4", reason="needs the extra hebbgraph[documents]")
    for name, content in FILES.items():
        path = tmp_path / "notes" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
    return tmp_path / "notes"


@pytest.fixture
def db(tmp_path: Path) -> Path:
    return tmp_path / "memory.hebb"


@pytest.fixture
def indexed(run: Run, folder: Path, db: Path) -> Path:
    assert run("index", folder, "--db", db).code == 0
    return db


@pytest.mark.parametrize("command", ["query", "index", "serve", "feedback import"])
def test_each_command_takes_h(run: Run, command: str) -> None:
    shown = run(*command.split(), "-h")
    assert shown.code == 0
    assert f"hebbgraph {command}" in shown.out


def test_version_and_help(run: Run) -> None:
    assert run("--version").out.strip() == f"hebbgraph {__version__}"
    shown = run("--help").out
    assert all(
        command in shown for command in ("index", "query", "stats", "export", "bench", "load")
    )


@pytest.mark.parametrize(
    ("command", "default"),
    [("lessons", "[default: 50]"), ("query", "[default: how the index was built]"),
     ("export", "[default: by file suffix]"), ("feedback import", "[default: file name]")],
)  # fmt: skip
def test_help_tells_defaults(run: Run, command: str, default: str) -> None:
    assert default in " ".join(run(*command.split(), "--help").out.replace("│", " ").split())


@pytest.mark.parametrize(
    "arguments",
    [
        (), ("fly",), ("query", "x"), ("query", "x", "--db", "d", "-k", "0"),
        ("query", "x", "--db", "d", "-k", "many"), ("index", "--db", "d"),
        ("index", "x.md", "--db", "d", "--max-tokens", "15"),
    ],
)  # fmt: skip
def test_wrong_usage_is_2(run: Run, arguments: tuple[str, ...]) -> None:
    assert run(*arguments).code == 2


def test_an_unknown_strategy_is_told(run: Run, indexed: Path) -> None:
    asked = run("query", "x", "--db", indexed, "--strategy", "magic")
    assert asked.code == 2
    assert "spreading" in asked.err


def test_indexing_then_asking(run: Run, folder: Path, db: Path) -> None:
    first = run("index", folder, "--db", db)
    assert first.code == 0
    assert "3 documents indexed" in first.out
    asked = run("query", QUESTION, "--db", db, "-k", 2, "--explain")
    assert asked.code == 0
    assert "Ida Moss was born in Tessel Bay" in asked.out
    assert "question → " in asked.out
    assert "Traceback" not in first.err + asked.err


def test_hits_that_nothing_speaks_for_are_named(run: Run, folder: Path, db: Path) -> None:
    run("index", folder, "--db", db)
    none = run("query", "qwertz", "--db", db)
    assert none.err.splitlines() == [NO_KNOWLEDGE]
    assert none.out.startswith("recall ")  # and no hit that scores 0
    assert run("query", QUESTION, "--db", db).err == ""


def test_a_database_url_is_not_taken_for_a_directory(run: Run, tmp_path: Path) -> None:
    # Without its driver, without a server, or with the driver of another database:
    # told in one line, and never as a missing directory.
    for command in (("query", "x"), ("stats",), ("export", tmp_path / "graph.json")):
        done = run(*command, "--db", "nosuchdatabase://user@localhost:1/x")
        assert done.code == 1
        assert "there is no index at" not in done.err


def test_json_for_programs(run: Run, folder: Path, db: Path) -> None:
    report = run("index", folder, "--db", db, "--json").json
    assert len(report["indexed"]) == 3
    assert report["failed"] == []
    recall = run("query", QUESTION, "--db", db, "-k", 3, "--json").json
    assert [hit["rank"] for hit in recall["hits"]] == [1, 2, 3]
    assert any("Ida Moss was born" in hit["chunk"]["text"] for hit in recall["hits"])
    assert {step["kind"] for hit in recall["hits"] for step in hit["path"]} >= {"query", "chunk"}
    stats = run("stats", "--db", db, "--json").json
    assert stats["chunks"] == 3
    assert set(stats["degrees"]) == {"p0", "p50", "p90", "p99", "p100"}
    assert 0 <= stats["density"] <= 1
    told = [name for name, value in stats.items() if value not in ({}, [])]
    assert run("stats", "--db", db).out.count("\n") >= len(told)


def test_a_second_run_reads_only_what_changed(run: Run, folder: Path, db: Path) -> None:
    run("index", folder, "--db", db)
    again = run("index", folder, "--db", db, "--json").json
    assert (again["indexed"], len(again["skipped"]), again["removed"]) == ([], 3, [])
    path = folder / "petrel.md"
    path.write_text("# Petrel\n\nThe Petrel sank off Gannet Point.\n")
    os.utime(path, (1, 1))
    changed = run("index", folder, "--db", db, "--json").json
    assert (len(changed["indexed"]), len(changed["skipped"])) == (1, 2)
    recall = run("query", "What happened to the Petrel?", "--db", db, "-k", 1, "--json").json
    assert "sank" in recall["hits"][0]["chunk"]["text"]
    assert run("stats", "--db", db, "--json").json["chunks"] == 3


def test_texts_that_are_kept_elsewhere(run: Run, folder: Path, db: Path) -> None:
    texts = {"petrel": "Ida Moss built the Petrel.", "moss": "Ida Moss was born in Tessel Bay."}
    settings = Settings(keep_text=False)
    with HebbianIndex.open(db, settings=settings, texts=lambda ids: texts) as index:
        index.add([Chunk(id=id_, title=id_.title(), text=text) for id_, text in texts.items()])
    asked = run("query", QUESTION, "--db", db, "--json")
    assert {hit["chunk"]["text"] for hit in asked.json["hits"]} == {""}
    said = run("query", QUESTION, "--db", db)
    assert "Petrel" in said.out
    assert "texts are kept elsewhere" in said.err
    assert run("cite", asked.json["id"], "moss", "--db", db).code == 0
    assert run("stats", "--db", db).code == 0
    refused = run("index", folder, "--db", db)
    assert (refused.code, "its texts in another store" in refused.err) == (1, True)
    checked = run("doctor", "--db", db)
    assert (checked.code, "texts=" in checked.err) == (1, True)


def test_the_doctor_says_once_what_it_says_of_many(run: Run, db: Path) -> None:
    with HebbianIndex.open(db) as index:
        index.add(
            Chunk(id=f"{of}{n}", document_id=of, text=f"Note {n} of {of}.", addresses=(f"at-{n}",))
            for of in "ab"
            for n in range(3)
        )
    told = run("doctor", "--db", db).err
    assert "address 'at-0' is claimed by 'a', 'b' (and 2 more of this kind)" in told
    assert "at-1" not in told


def test_an_index_of_another_language_is_read(run: Run, db: Path) -> None:
    with HebbianIndex.open(db, settings=Settings(language="german")) as index:
        index.add(["Eulen jagen nachts."])
    assert "Eulen" in run("query", "Eule", "--db", db).out


def test_prune_removes_what_is_gone_and_only_when_told(run: Run, folder: Path, db: Path) -> None:
    run("index", folder, "--db", db)
    (folder / "people/moss.txt").unlink()
    kept = run("index", folder, "--db", db, "--json").json
    assert kept["removed"] == []
    assert run("stats", "--db", db, "--json").json["chunks"] == 3
    again = run("index", folder, "--db", db)
    assert "1 document of files that are gone can still be found" in again.err
    assert "--prune" in again.err
    pruned = run("index", folder, "--db", db, "--prune", "--json").json
    assert len(pruned["removed"]) == 1
    assert run("stats", "--db", db, "--json").json["chunks"] == 2


def test_unreadable_files_are_told_at_the_end_and_are_3(run: Run, folder: Path, db: Path) -> None:
    (folder / "broken.docx").write_bytes(b"this is no archive")
    (folder / "broken.pdf").write_bytes(b"%PDF-1.4 and nothing")
    done = run("index", folder, "--db", db)
    assert done.code == 3
    assert "3 documents indexed" in done.out
    assert "2 failed" in done.out
    assert "broken.docx" in done.err
    assert "broken.pdf" in done.err
    again = run("index", folder, "--db", db, "--json")
    assert again.code == 3
    assert len(again.json["skipped"]) == 3


def test_a_message_is_one_line_however_narrow_the_terminal(
    run: Run, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    (folder / "a-file-with-a-rather-long-name.docx").write_bytes(b"this is no archive")
    missing = tmp_path / "nowhere"
    assert run("query", "x", "--db", missing).err == (
        f"error there is no index at {missing}; create one: hebbgraph index PATH --db {missing}\n"
    )
    failed = run("index", folder, "--db", tmp_path / "db")
    assert f"failed {folder / 'a-file-with-a-rather-long-name.docx'}: is damaged" in failed.err
    assert len(failed.out.splitlines()) == 1
    backup = tmp_path / "a-directory-with-a-rather-long-name"
    backed_up = run("backup", backup, "--db", tmp_path / "db").out
    assert backed_up == f"backed up to {backup}; it opens like any index\n"


def test_only_the_most_frequent_suffixes_that_are_ignored_are_named(
    run: Run, folder: Path, db: Path
) -> None:
    for number in range(1, 31):
        (folder / f"log.{number}").touch()
    (folder / "other.1").touch()
    told = " ".join(run("index", folder, "--db", db).err.split())
    assert "ignored, by suffix: .1: 2, .10: 1," in told
    assert told.endswith("and 22 more")


def test_a_file_beyond_its_limits_is_told_at_the_end_and_is_3(
    run: Run, folder: Path, db: Path
) -> None:
    run("index", folder, "--db", db)
    (folder / "a-long-one.html").write_bytes(b"<![CDATA[" * 40_000)
    (folder / "good.html").write_text("<p>The Heron carried slate.")
    # The good one may be too slow for this as well, on a busy machine: it is not asked for.
    done = run("index", folder / "a-long-one.html", "--db", db, "--seconds-per-file", 0.1)
    assert (done.code, "1 failed" in done.out) == (3, True)
    assert "a-long-one.html: takes longer than 0.1 seconds to convert" in done.err
    told = run("index", folder / "a-long-one.html", "--db", db, "--seconds-per-file", 0.1, "--json")
    assert (told.code, len(told.json["failed"])) == (3, 1)
    assert run("index", folder / "good.html", "--db", db).code == 0
    refused = run("index", folder, "--db", db, "--megabytes-per-file", 1)
    assert (refused.code, "memory_bytes must be at least" in refused.err) == (1, True)


@pytest.mark.parametrize("command", [("query", "x"), ("stats",), ("export", "graph.json")])
def test_an_index_that_is_not_there_is_1_and_none_is_made(
    run: Run, db: Path, command: tuple[str, ...]
) -> None:
    done = run(*command, "--db", db)
    assert done.code == 1
    assert "there is no index at" in done.err
    assert "hebbgraph index PATH" in " ".join(done.err.split())
    assert not db.exists()
    db.mkdir()  # by a slip of the finger, or for what is still to come
    assert "there is no index at" in run(*command, "--db", db).err
    assert list(db.iterdir()) == []


def test_a_database_that_is_not_there_is_not_made(run: Run, tmp_path: Path) -> None:
    for db in (tmp_path / "nope.db", f"sqlite:///{tmp_path / 'nope.db'}"):
        done = run("query", "Who?", "--db", db)
        assert done.code == 1
        assert "there is no index at" in done.err
    assert not list(tmp_path.iterdir())
    assert "no index" not in run("query", "Who?", "--db", "no such://").err


def test_ids_and_names_of_files_are_no_markup_and_move_no_terminal(
    run: Run, folder: Path, db: Path, tmp_path: Path
) -> None:
    with HebbianIndex.open(db) as index:
        index.add([{"id": "[/dim][red]", "text": "The Petrel."}])
    asked = run("query", "Petrel", "--db", db)
    assert (asked.code, "[/dim][red]" in asked.out) == (0, True)
    missing = os.fsdecode(b"clear\x1b[2J\xff.md")
    (folder / "empty\x1b[2J.md").touch()
    told = run("index", folder, tmp_path / missing, "--db", db)
    assert told.code == 3
    assert "\x1b[2J" not in told.err
    assert "\\x1b[2J" in told.err
    assert "\\udcff" in told.err


def test_hits_of_different_colonies(run: Run, db: Path) -> None:
    chunks = [
        {"id": "a", "title": "Petrel", "text": "Ida Moss built the Petrel."},
        {"id": "b", "title": "Ida Moss", "text": "Ida Moss built boats."},
        {"id": "c", "title": "Hemp", "text": "Hemp makes rope."},
        {"id": "d", "title": "Rope", "text": "Rope is made of hemp."},
    ]
    with HebbianIndex.open(db) as index:
        index.add(chunks)
    question = "What did Ida Moss build, and who uses hemp?"
    asked = run("query", question, "--db", db, "-k", 2, "--per-colony", 1, "--json").json
    first, second = sorted(hit["chunk"]["id"] for hit in asked["hits"])
    assert (first in "ab", second in "cd") == (True, True)


def test_errors_are_told_in_words(run: Run, indexed: Path, tmp_path: Path) -> None:
    for arguments in (
        ("query", "  ", "--db", indexed),
        ("query", "x", "--db", indexed, "--where", '{"a": {"$near": 1}}'),
        ("query", "x", "--db", indexed, "--namespace", ""),
        ("stats", "--db", tmp_path / "notes"),
        ("stats", "--db", tmp_path / "notes" / "petrel.md"),
    ):
        done = run(*arguments)
        assert done.code == 1, arguments
        assert done.err.startswith("error ")
        assert "Traceback" not in done.err
    for where in ("{", "[1]", '[["a", "b"]]', "5", '"text"', "null"):
        assert run("query", "x", "--db", indexed, "--where", where).code == 2, where


def test_filters_and_namespaces(run: Run, folder: Path, indexed: Path) -> None:
    misspelt = run("query", "Petrel", "--db", indexed, "--namespace", "defualt")
    assert misspelt.code != 0
    assert "no namespace 'defualt', only 'default'" in misspelt.err
    moss = str(folder / "people/moss.txt")
    with HebbianIndex.open(indexed) as index:
        (document_id,) = [d for d in index.document_fingerprints() if d.endswith("moss.txt")]
    where = json.dumps({"$document_id": document_id})
    recall = run("query", "Petrel", "--db", indexed, "--where", where, "--json").json
    assert [hit["chunk"]["document_id"] for hit in recall["hits"]] == [document_id]
    assert Path(moss).name in document_id


def test_unlearned_is_said_on_standard_error(run: Run, indexed: Path) -> None:
    done = run("query", "qwertz", "--db", indexed, "--strategy", "neighbourhood", "--json")
    assert done.code == 0
    assert done.json["hits"] == []
    assert "not learned" in done.json["notes"][0]
    assert (
        "not learned" in run("query", "qwertz", "--db", indexed, "--strategy", "neighbourhood").err
    )


@pytest.mark.parametrize("kind", ["tags", "incidence"])
def test_export(run: Run, indexed: Path, tmp_path: Path, kind: str) -> None:
    xml, text = tmp_path / "graph.graphml", tmp_path / "graph.json"
    assert run("export", xml, "--db", indexed, "--kind", kind).code == 0
    assert run("export", text, "--db", indexed, "--kind", kind).code == 0
    from_xml = nx.read_graphml(xml)
    from_json = nx.node_link_graph(json.loads(text.read_text()), edges="edges")
    assert dict(from_xml.nodes(data=True)) == dict(from_json.nodes(data=True))
    assert nx.utils.edges_equal(from_xml.edges(data=True), from_json.edges(data=True))
    assert from_xml.number_of_nodes() > 0
    assert not list(tmp_path.glob(".*partial*"))
    refused = run("export", tmp_path / "graph.svg", "--db", indexed, "--kind", kind)
    assert (refused.code, "neither in .graphml nor in .json" in refused.err) == (2, True)
    assert not (tmp_path / "graph.svg").exists()


@pytest.mark.parametrize("command", ["bench", "load"])
def test_commands_of_the_benchmarks_say_what_to_install(
    run: Run, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.setattr("importlib.metadata.entry_points", lambda **_: ())
    done = run(command, "somewhere")
    assert done.code == 1
    assert 'pip install "hebbgraph[bench]"' in done.err


def test_a_text_cannot_play_with_the_terminal(run: Run, tmp_path: Path) -> None:
    """Neither as text nor as JSON: escapes, overrides and separators of lines stay inside."""
    evil = "Petrel \u202egnp.exe\u2028forged\u2066\u061cend"
    with HebbianIndex.open(tmp_path / "db") as index:
        index.add([{"id": "one", "text": evil, "title": "Petrel", "metadata": {"a": "\x9b\x1b"}}])
    shown = run("query", "Petrel", "--db", tmp_path / "db", "--explain")
    as_json = run("query", "Petrel", "--db", tmp_path / "db", "--json")
    missing = run("stats", "--db", f"{tmp_path}/\x1b[2J\u202e")
    for outcome in (shown, as_json, missing):
        for text in (outcome.out, outcome.err):
            assert not re.search("[\0-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066]", text)
    assert as_json.json["hits"][0]["chunk"]["text"] == evil
    assert "forged" in shown.out


def test_a_password_is_not_printed(run: Run, tmp_path: Path) -> None:
    for location in (
        "postgresql:/ida:knot-4711@host/boats",
        "postgresql://ida@host:port/boats?password=knot-4711",
        f"sqlite:///{tmp_path}/none?password=knot-4711",
    ):
        outcome = run("stats", "--db", location)
        assert outcome.code == 1
        assert "knot-4711" not in outcome.out + outcome.err


def test_a_file_that_cannot_be_written_is_told(run: Run, tmp_path: Path) -> None:
    HebbianIndex.open(tmp_path / "db").close()
    outcome = run("export", tmp_path / "nowhere" / "graph.json", "--db", tmp_path / "db")
    assert outcome.code == 1
    assert "nowhere" in outcome.err


def test_tags_are_corrected(run: Run, tmp_path: Path) -> None:
    db = tmp_path / "db"
    with HebbianIndex.open(db) as index:
        index.add([{"id": "a", "title": "Sea Cow", "text": "It grazes."}, "A Sea Cow rests."])
    assert run("tags", "show", "--db", db).out.split() == ["2", "sea", "cow"]
    assert run("tags", "show", "sea cow", "--db", db, "--json").json["nodes"][0]["weight"] == 2
    made = run("tags", "rename", "sea cow", "--into", "manatee", "--db", db, "--json").json
    assert (made["kind"], made["tags"], made["into"]) == ("rename", ["sea cow"], "manatee")
    assert (
        "split «manatee» into «dugong» in 1 chunk"
        in run(
            "tags", "split", "manatee", "a", "--into", "dugong", "--db", db, "--actor", "ann"
        ).out
    )
    assert "no chunk holds" in run("tags", "merge", "sea cow", "--into", "x-ray", "--db", db).err
    run("tags", "mute", "dugong", "--db", db)
    log = run("tags", "log", "--db", db, "--json").json
    assert [one["kind"] for one in log] == ["rename", "split", "mute"]
    assert "(by ann)" in run("tags", "log", "--db", db).out
    for one in log:
        assert run("tags", "undo", one["id"], "--db", db).code == 0
    assert run("tags", "undo", made["id"], "--db", db).code == 1
    assert "no corrections" in run("tags", "log", "--db", db).out


def test_lessons_are_listed_with_their_effect(run: Run, indexed: Path) -> None:
    asked = run("query", "Who built the Petrel?", "--db", indexed, "--json").json
    ids = [hit["chunk"]["id"] for hit in asked["hits"]]
    for actor in ("ida", "otto"):
        assert run("cite", asked["id"], ids[0], "--db", indexed, "--actor", actor).code == 0
    listed = run("lessons", "--db", indexed, "--json").json["lessons"]
    assert [(one["actor"], one["cited"], one["active"] > 0) for one in listed] == [
        ("ida", [ids[0]], True),
        ("otto", [ids[0]], True),
    ]
    for selection, expected in (
        (("--actor", "ida"), 1),
        (("--recall", asked["id"]), 2),
        (("--recall", "another"), 0),
        (("--since", "2100-01-01"), 0),
        (("--until", "2100-01-01"), 2),
    ):
        told = run("lessons", "--db", indexed, *selection)
        assert ("1 lesson\n" if expected == 1 else f"{expected} lessons\n") in told.out
        assert told.out.count(f"cited {ids[0]}  Petrel\n") == expected
        assert told.out.count(" in force, weight ") == expected
    assert run("stats", "--db", indexed, "--json").json["lessons"] == 2


def test_a_document_is_cited_by_its_name_if_the_recall_has_one_chunk_of_it(
    run: Run, indexed: Path
) -> None:
    asked = run("query", QUESTION, "--db", indexed, "--json").json
    of: dict[str, list[str]] = {}
    for hit in asked["hits"]:
        of.setdefault(hit["chunk"]["document_id"], []).append(hit["chunk"]["id"])
    name, ids = next((Path(name), ids) for name, ids in of.items() if len(ids) == 1)
    for called in (name.name, name.stem):
        told = run("cite", asked["id"], called, "--db", indexed, "--json")
        assert told.json["cited"] == ids, told.err
    unknown = run("cite", asked["id"], "no-such-name", "--db", indexed)
    assert (unknown.code, "no hit is called 'no-such-name', and" in unknown.err) == (1, True)


def test_an_unknown_kind_of_feedback_is_refused(run: Run, indexed: Path) -> None:
    asked = run("query", QUESTION, "--db", indexed, "--json").json
    cite = ("cite", asked["id"], asked["hits"][0]["chunk"]["id"], "--db", indexed, "--json")
    refused = run(*cite, "--kind", "foo")
    assert (refused.code, "none of cited, opened" in refused.err) == (2, True)
    assert run(*cite, "--kind", "Asked-again").json["kind"] == "asked again"


def test_links_and_moved_files_are_told(run: Run, indexed: Path, folder: Path) -> None:
    moved = folder.rename(folder.with_name("moved"))
    (moved / "loop").symlink_to(moved, target_is_directory=True)
    told = run("index", moved, "--db", indexed)
    assert "1 symbolic link skipped" in told.err
    assert "3 documents with the content of files read now, such as" in told.err
    assert "hebbgraph delete --document OLD, or OLD_FOLDER/" in told.err
    assert "0 removed" in run("index", moved, "--db", indexed, "--prune").out
    with HebbianIndex.open(indexed) as index:
        number = len(index.ids())
        below = index.ids({"$document_id": {"$text_match": f"{folder}/people/"}})
    gone = run("delete", "--document", f"{folder}/people/", "--db", indexed)
    assert (gone.code, gone.out) == (0, f"{counted(len(below), 'chunk')} deleted\n")
    gone = run("delete", "--document", f"{folder}/", "--db", indexed, "--erase")
    assert f"{number // 2 - len(below)} chunk" in gone.out
    assert "3 unchanged" in run("index", moved, "--db", indexed).out
    for nothing in (f"{folder}/", "no such folder/", f"{folder.name[:-1]}/"):
        gone = run("delete", "--document", nothing, "--db", indexed)
        assert (gone.code, gone.out) == (1, "0 chunks deleted\n")
        assert f"there is no document below {nothing!r}" in gone.err


def test_passages_are_called_as_a_query_prints_them(run: Run, db: Path, tmp_path: Path) -> None:
    with HebbianIndex.open(db) as index:
        index.add(
            [
                Chunk(
                    id=f"{name}-{at}",
                    document_id=str(tmp_path / name),
                    title="Fares",
                    text=text,
                    metadata={"headings": [heading], "position": at},
                )
                for name, at, heading, text in (
                    ("fares.md", 0, "In winter", "The ferry costs 4 crowns."),
                    ("fares.md", 1, "In summer", "The ferry costs 3 crowns."),
                    ("news.md", 0, "News", "Everybody pays five from now on."),
                )
            ]
        )
    asked = run("query", "What does the ferry cost in winter?", "--db", db, "-k", 2).out
    assert all(one in asked for one in ("Fares › In winter", "fares.md, passage 1"))
    recall = asked.split()[-1]
    for old in ("Fares › In winter", "fares.md, passage 1", "fares.md › In winter", "fares.md-0"):
        said = run("cite", recall, "--outdated", f"{old}=news.md", "--db", db, "--json")
        assert said.json["outdated"] == {"fares.md-0": "news.md-0"}, said.err
    for place in ("fares.md, passage 2", "fares.md › In summer"):
        assert [chunk["id"] for chunk in run("show", place, "--db", db, "--json").json] == [
            "fares.md-1"
        ]
    assert "has no passage" in run("show", "fares.md, passage 3", "--db", db).err
    for wrong, told in (
        ("Fares › In spring", "no hit is called 'Fares › In spring', and there is no document"),
        ("fares.md", "2 passages are called 'fares.md'; name one: 'fares.md, passage 1', 'fares."),
        ("fares.md › In spring", "has no passage that is called 'fares.md › In spring'"),
        ("fare.md", "no document 'fare.md'; there is"),
    ):
        refused = run("cite", recall, "--outdated", f"{wrong}=news.md", "--db", db)
        assert refused.code == 1
        assert told in " ".join(refused.err.split())


def test_forgetting_a_name_that_is_nearly_right_says_which_is(run: Run, indexed: Path) -> None:
    recall = run("query", QUESTION, "--db", indexed, "--json").json
    chunk = recall["hits"][0]["chunk"]["id"]
    run("cite", recall["id"], chunk, "--actor", "ida", "--db", indexed)
    assert "by 'idda'; did you mean 'ida'?" in run("forget", "--actor", "idda", "--db", indexed).err
    assert "this actor taught: --actor ida" in run("forget", "ida", "--db", indexed).err
    assert "1 feedback forgotten" in run("forget", "--actor", "ida", "--db", indexed).out


def test_questions_are_kept_for_the_report_if_a_file_of_settings_says_so(
    run: Run, indexed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = tmp_path / "settings.toml"
    settings.write_text("[learning]\nstore_queries = true\n", "utf-8")
    monkeypatch.setenv("HEBBGRAPH_SETTINGS", str(settings))
    recall = run("query", QUESTION, "--db", indexed, "--json").json
    assert run("cite", recall["id"], recall["hits"][1]["chunk"]["id"], "--db", indexed).code == 0
    assert QUESTION in run("lessons", "--db", indexed).out
    for command in ("query", "cite", "index"):
        assert "[learning] store_queries" in " ".join(run(command, "--help").out.split())


def test_lessons_are_reported_on(run: Run, indexed: Path, tmp_path: Path) -> None:
    told = run("lessons", "--db", indexed, "--report")
    assert "Nothing was learned here yet" in told.out
    settings = Settings(learning=LearningSettings(store_queries=True))
    with HebbianIndex.open(indexed, settings=settings) as index:
        for _ in range(20):
            recall = index.recall("Who built the Petrel?")
            index.reinforce(recall, cited=[recall.hits[-1].chunk.id], actor="ida")
    for name in ("report.html", "report.svg"):
        told = run("lessons", "--db", indexed, "--report", "--output", tmp_path / name)
        assert "10 later questions" in told.out
        assert f"drawn: {tmp_path / name}" in told.out
        assert "<svg" in (tmp_path / name).read_text(encoding="utf-8")
    report = run("lessons", "--db", indexed, "--report", "--questions", 4, "--json").json
    assert (report["asked"], report["lessons"]) == (4, 20)
    for wrong, expected in (
        (("--report", "--output", tmp_path / "report.png"), "ends in .html or .svg"),
        (("--output", tmp_path / "report.svg"), "add --report"),
        (("--questions", 4), "add --report"),
        (("--report", "--actor", "ida"), "replays the whole log"),
        (("--report", "--last", 3), "replays the whole log"),
        (("--report", "--output", tmp_path / "missing" / "report.svg"), "missing"),
    ):
        refused = run("lessons", "--db", indexed, *wrong)
        assert refused.code == 1
        assert expected in refused.err


def test_a_question_needs_no_quotes(run: Run, folder: Path, db: Path) -> None:
    run("index", folder, "--db", db)
    asked = [run("query", *words, "--db", db).out for words in (("Ida", "Moss"), ("Ida Moss",))]
    assert asked[0].rpartition("recall")[0] == asked[1].rpartition("recall")[0] != ""


def test_however_many_ids_are_wrong_documents_are_listed_once(
    run: Run, folder: Path, db: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("index", folder, "--db", db)
    listed, documents = [], Inspection.documents
    monkeypatch.setattr(
        Inspection, "documents", lambda *of, **more: listed.append(1) or documents(*of, **more)
    )
    done = run("delete", "a", "b", "moss.txt", "--db", db)
    assert done.err.count("there is no chunk") == 3
    assert "for the document: --document" in " ".join(done.err.split())
    assert len(listed) == 1


def test_chunks_and_documents_are_shown_and_deleted(
    run: Run, folder: Path, db: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEBBGRAPH_DB", str(db))  # in place of --db, for every command
    assert run("index", folder, "--base", folder).code == 0
    with HebbianIndex.open(db) as index:
        chunk = index.recall(QUESTION).hits[0].chunk
        name, number = str(chunk.document_id), len(index.ids())
        of_document = len(index.ids({"$document_id": chunk.document_id}))
    assert f"{name}, passage 1" in run("show", name).out
    assert run("show", chunk.id, "--json").json[0]["id"] == chunk.id
    gone = run("show", "no such name")
    assert (gone.code, "there is no document 'no such name'" in gone.err) == (1, True)
    assert run("delete").code == 2
    gone = run("delete", "no-such-id")
    assert (gone.code, gone.out) == (1, "0 chunks deleted\n")
    assert "no chunk 'no-such-id'" in gone.err
    assert "deleted" in run("delete", "--document", name).out
    with HebbianIndex.open(db) as index:
        assert len(index.ids()) == number - of_document


@pytest.mark.parametrize("name", ["/", "./", "{}/"])
def test_a_folder_with_all_documents_is_deleted_only_on_purpose(
    run: Run, folder: Path, indexed: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(folder)
    with HebbianIndex.open(indexed) as index:
        ids = index.ids()
    command = ("delete", ids[0], "--document", name.format(folder), "--db", indexed)
    refused = run(*command)
    assert (refused.code, refused.out) == (1, "")
    assert "all documents of the index (3) are below" in refused.err
    assert "--everything" in refused.err
    with HebbianIndex.open(indexed) as index:
        assert index.ids() == ids
    gone = run(*command, "--everything", "--erase")
    assert (gone.code, gone.out) == (0, f"{counted(len(ids), 'chunk')} deleted\n")


def test_a_document_goes_by_its_path_from_here_or_the_end_of_its_path(
    run: Run, folder: Path, db: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEBBGRAPH_DB", str(db))
    (folder / "old").mkdir()
    (folder / "old/vale.html").write_text("<p>An old page.</p>")
    run("index", folder)
    assert "craft from Corin Vale" in run("show", "moss.txt").out
    assert "craft from Corin Vale" in run("show", "people/moss.txt").out
    both = run("show", "vale.html")
    assert (both.code, "2 documents are called 'vale.html'" in both.err) == (1, True)
    near = run("delete", "--document", "petrol.md", "--document", "old/vale.html")
    assert (near.code, near.out) == (1, "1 chunk deleted\n")
    assert "petrel.md" in near.err
    assert "--document" in run("delete", "petrel.md").err  # a document where a chunk is wanted
    monkeypatch.chdir(folder / "people")
    assert run("delete", "--document", "../petrel.md").code == 0
    with HebbianIndex.open(db) as index:
        left = sorted(Path(name).name for name in index.document_fingerprints())
    assert left == ["moss.txt", "vale.html"]


def test_ids_of_nothing_are_1_and_no_message_speaks_python(run: Run, indexed: Path) -> None:
    found = run("query", QUESTION, "--db", indexed, "--json").json
    taught = run("cite", found["id"], found["hits"][0]["chunk"]["id"], "--db", indexed, "--json")
    feedback = taught.json["id"]
    for arguments, code, expected in (
        (("cite", "nope", "x"), 1, "no recall 'nope'"),
        (("forget", "nope"), 1, "no feedback 'nope'"),
        (("forget", "nope", "--dry-run"), 1, "no feedback 'nope'"),
        (("forget", "--actor", "nobody"), 1, "no feedback by 'nobody'; `hebbgraph lessons`"),
        (("forget", "--actor", "nobody", "--dry-run", "--json"), 1, "no feedback by 'nobody'"),
        (("forget", "--chunk", "x", "--until", "2020-01-01"), 1, "no feedback on chunk 'x' before"),
        (("query", QUESTION, "--strategy", "foo"), 2, "takes breadth_first, neighbourhood, neural"),
        (("forget",), 2, "--everything"),
        (("forget", "nope", "--everything"), 2, "--everything"),
    ):
        told = run(*arguments, "--db", indexed)
        assert (told.code, told.out) == (code, ""), arguments
        assert expected in told.err
        assert not re.search(r"keep_recalls|Settings|=True|\['", told.err)
    some = run("forget", "nope", feedback, "--db", indexed)
    assert (some.code, some.out) == (1, "1 feedback forgotten\n")


def test_standard_input_is_a_document(run: Run, db: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def pipe(data: bytes, *more: object) -> Outcome:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
        return run("index", "-", "--db", db, *more)

    first = "# Owls\n\nOwls of Tessel Bay sleep by day, café or not.".encode("latin-1")
    named = ("--name", "owls.md", "--encoding", "latin-1", "--json")
    assert pipe(first, *named).json["indexed"] == ["owls.md"]
    assert pipe(first, *named).json["skipped"] == ["owls.md"]
    assert "café" in run("show", "owls.md", "--db", db).out
    assert pipe(b"Gone.", "--name", "owls.md").code == 0
    assert "Gone." in run("show", "owls.md", "--db", db).out
    assert pipe(b"x").code == 2  # without a name
    assert pipe(b"x", "--name", "x.exe").code == 1
    assert pipe(b"", "--name", "x.md").code == 1
    assert pipe(b"x", db, "--name", "x.md").code == 2


def test_files_are_chosen_by_patterns(run: Run, tmp_path: Path, db: Path) -> None:
    for name in ("a.md", "b.txt", "drafts/c.md"):
        (tmp_path / "in" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "in" / name).write_bytes(f"Caf\xe9 {name}".encode("latin-1"))
    options = ("--base", tmp_path / "in", "--encoding", "latin-1", "--json", "--db", db)
    chosen = run("index", tmp_path / "in", "--include", "*.md", "--exclude", "drafts/*", *options)
    assert chosen.json["indexed"] == ["a.md"]
    assert set(run("index", tmp_path / "in", *options).json["indexed"]) == {"b.txt", "drafts/c.md"}
    with HebbianIndex.open(db) as index:
        assert {chunk.text[:4] for chunk in index.get(index.ids())} == {"Café"}


def test_a_folder_is_watched(tmp_path: Path, db: Path) -> None:
    folder = tmp_path / "watched"
    folder.mkdir()
    (folder / "a.md").write_text("# Owls\n\nOwls hunt.", "utf-8")
    command = [sys.executable, "-m", "hebbgraph", "index", str(folder), "--watch", "--db", str(db)]
    path = {"PYTHONPATH": os.pathsep.join(sys.path), "PYTHONUNBUFFERED": "1"}
    watching = subprocess.Popen(command, env=os.environ | path, stdout=subprocess.PIPE, text=True)
    try:
        assert watching.stdout is not None
        assert "1 document indexed" in watching.stdout.readline()
        (folder / "b.md").write_text("# Voles\n\nVoles hide.", "utf-8")
        assert "1 document indexed (1 chunk), 1 unchanged" in watching.stdout.readline()
    finally:
        watching.terminate()
        watching.communicate(timeout=30)


def test_one_file_of_settings_fits_every_command(
    run: Run, folder: Path, db: Path, tmp_path: Path
) -> None:
    file = tmp_path / "settings.toml"
    file.write_text('language = "german"\n')
    assert run("index", folder, "--db", db, "--settings", file).code == 0
    with HebbianIndex.open(db, settings="saved") as index:
        assert index.settings.language == "german"
    file.write_text("[learning]\nstore_queries = true\n")  # the rest is as it was built
    assert run("index", folder, "--db", db, "--settings", file).code == 0
    with HebbianIndex.open(db, settings={"learning": {"store_queries": True}}) as index:
        assert (index.settings.language, index.settings.learning.store_queries) == ("german", True)
    with pytest.raises(SettingsMismatchError):
        HebbianIndex.open(db, settings={"language": "english"})
    file.write_text("langauge = 3\n")
    refused = run("index", folder, "--db", db, "--settings", file)
    assert refused.code == 1
    assert "did you mean 'language'" in refused.err
