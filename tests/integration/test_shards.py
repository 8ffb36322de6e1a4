"""Shards as their users meet them: opened, lost, found again, added, refused."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sqlite3
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from typer.testing import CliRunner

from hebbgraph import (
    Chunk,
    DamagedIndexError,
    HebbianIndex,
    NotAnIndexError,
    ParameterError,
    ReadOnlyIndexError,
    Settings,
    ShardDownError,
    ShardedIndex,
)
from hebbgraph.cli import app
from hebbgraph.derived.steps import Steps
from hebbgraph.shards import shard as shard_module
from hebbgraph.shards.plan import ShardPlan, home_of
from hebbgraph.store.truth import Truth

QUESTION = "Where was the builder of the Petrel born?"


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    return tmp_path / "many" / "shards.toml"


@pytest.fixture
def many(plan: Path, corpus: list[Chunk]) -> Iterator[ShardedIndex]:
    with ShardedIndex.create(plan, 3) as index:
        index.add(corpus)
        yield index


@pytest.fixture
def one(tmp_path: Path, corpus: list[Chunk]) -> Iterator[HebbianIndex]:
    with HebbianIndex.open(tmp_path / "one") as index:
        index.add(corpus)
        yield index


@pytest.fixture
def tried_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shard_module, "_TRY_AGAIN_SECONDS", 0.0)


def _ranked(index: HebbianIndex, **options: object) -> list[tuple[str, float]]:
    recall = index.recall(QUESTION, **options)  # type: ignore[arg-type]
    return [(hit.chunk.id, round(hit.score, 9)) for hit in recall.hits]


def _largest(index: ShardedIndex) -> Path:
    return max(index.shards(), key=lambda shard: shard.chunks or 0).path


def test_documents_stay_together_in_several_shards(many: ShardedIndex, corpus: list[Chunk]) -> None:
    chunks = [shard.chunks or 0 for shard in many.shards()]
    assert sum(chunks) == len(corpus)
    assert sum(map(bool, chunks)) > 1
    rows = many.parts.truth.rows_of(chunk.id for chunk in corpus)
    for document in {chunk.document_id for chunk in corpus if chunk.document_id}:
        own = [chunk.id for chunk in corpus if chunk.document_id == document]
        assert len({rows[id_] >> 40 for id_ in own}) == 1


def test_opened_again_nothing_is_tagged_anew(
    many: ShardedIndex, one: HebbianIndex, plan: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    many.close()
    monkeypatch.setattr("hebbgraph.derived.steps.Steps.settle", None)
    with HebbianIndex.open(plan) as again:
        assert _ranked(again) == _ranked(one)
        assert again.repairs == ()


def test_filters_corrections_and_explanations_are_those_of_one_index(
    many: ShardedIndex, one: HebbianIndex
) -> None:
    for index in (many, one):
        index.correct_tags("merge", ["corin vale"], into="ida moss")
    assert _ranked(many) == _ranked(one)
    where = {"kind": {"$in": ["ship", "person"]}}
    assert _ranked(many, where=where) == _ranked(one, where=where)
    assert many.ids(where) == one.ids(where)
    assert many.tags() == one.tags()
    found, expected = (
        index.explain(index.recall(QUESTION, id="r"), "moss") for index in (many, one)
    )
    assert found.causes == expected.causes
    assert many.doctor().ok


def test_a_shard_that_is_lost_is_told_and_taken_up_again(
    many: ShardedIndex, tried_at_once: None, corpus: list[Chunk]
) -> None:
    before = _ranked(many)
    lost = _largest(many)
    lost.rename(lost.with_name("away"))
    recall = many.recall(QUESTION)
    assert recall.partial
    assert any(repr(lost.name) in note for note in recall.notes)
    held = {hit.chunk.id for hit in many.recall(QUESTION, k=100).hits}
    assert {hit.chunk.id for hit in recall.hits} <= held < {chunk.id for chunk in corpus}
    with pytest.raises(ShardDownError, match=lost.name):
        many.add(["A new text could be a new version of what is lost."])
    lost.with_name("away").rename(lost)
    assert _ranked(many) == before
    assert not many.recall(QUESTION).partial


def test_a_shard_that_missed_new_phrases_is_matched_again_after_all_were_closed(
    tmp_path: Path, tried_at_once: None
) -> None:
    plan = tmp_path / "shards.toml"
    with ShardedIndex.create(plan, 2) as index:
        text = "Some say the zephyr engine number {} is loud."
        index.add({"id": f"m{n}", "text": text.format(n)} for n in range(8))
    number = next(n for n in range(20) if home_of(f"t{n}", ShardPlan.read(plan).places) == 0)
    with ShardedIndex.open(plan) as index, ShardedIndex.open(plan) as other:
        before = index.tags("zephyr")
        other.add([{"id": f"t{number}", "title": "Zephyr Engine", "text": "It turns."}])
        (tmp_path / "shard-1").rename(tmp_path / "away")
        assert index.recall("zephyr engine").partial  # and knows the phrase by now
        index.close()
        (tmp_path / "away").rename(tmp_path / "shard-1")
        with ShardedIndex.open(plan) as again:
            assert before == []
            assert [(one.tag, one.chunks) for one in again.tags("zephyr")] == [("zephyr engine", 9)]


def test_an_index_is_opened_while_somebody_writes_to_a_shard(
    many: ShardedIndex, plan: Path
) -> None:
    many.close()
    database = next((plan.parent / "shard-2").glob("*.sqlite3"))
    with contextlib.closing(sqlite3.connect(database, isolation_level=None)) as writer:
        writer.execute("BEGIN IMMEDIATE")
        with ShardedIndex.open(plan, settings=Settings(write_wait_seconds=0.1)) as index:
            assert not index.recall(QUESTION).partial


def test_a_shard_that_is_back_is_tried_by_one_thread(
    many: ShardedIndex, tried_at_once: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    lost = _largest(many)
    lost.rename(lost.with_name("away"))
    assert many.recall(QUESTION).partial
    lost.with_name("away").rename(lost)
    plain, tried = shard_module.Shard._asked, []

    def slow(self: shard_module.Shard) -> object:
        if self.is_up:
            return plain(self)
        tried.append(self.name)
        asked = threading.Thread(target=many.shards)
        asked.start()
        asked.join(timeout=20)
        assert not asked.is_alive()  # it waits for nobody
        return plain(self)

    monkeypatch.setattr(shard_module.Shard, "_asked", slow)
    assert all(shard.problem is None for shard in many.shards())
    assert tried == [lost.name]


def test_opened_without_a_shard_the_others_answer(
    many: ShardedIndex, plan: Path, tried_at_once: None
) -> None:
    before = _ranked(many)
    lost = _largest(many)
    many.close()
    lost.rename(lost.with_name("away"))
    with ShardedIndex.open(plan) as index:
        assert index.recall(QUESTION).partial
        assert [shard.chunks for shard in index.shards() if shard.problem] == [None]
        assert not lost.exists()  # it is not made anew, empty
        lost.with_name("away").rename(lost)
        assert _ranked(index) == before


def test_another_database_is_not_that_shard(many: ShardedIndex, plan: Path) -> None:
    lost = _largest(many)
    many.close()
    lost.rename(lost.with_name("away"))
    HebbianIndex.open(lost).close()
    with ShardedIndex.open(plan) as index:
        assert "another database" in "".join(index.recall(QUESTION).notes)


def test_two_processes_see_each_other(many: ShardedIndex, one: HebbianIndex, plan: Path) -> None:
    with ShardedIndex.open(plan) as other:
        for index in (other, one):
            index.add([{"id": "new", "title": "Lighthouse", "text": "Ida Moss lit Tessel Bay."}])
        assert _ranked(many) == _ranked(other) == _ranked(one)


def test_a_new_shard_takes_its_share(
    many: ShardedIndex, one: HebbianIndex, plan: Path, corpus: list[Chunk]
) -> None:
    many.close()
    plan.write_text(plan.read_text() + '[[shard]]\nname = "new-one"\npath = "new"\n')
    with ShardedIndex.open(plan) as index:
        index.add([{"id": f"n{at}", "text": f"Note {at} of Ida Moss."} for at in range(30)])
        one.add([{"id": f"n{at}", "text": f"Note {at} of Ida Moss."} for at in range(30)])
        index.rebalance()
        assert all(shard.chunks for shard in index.shards()[-1:])
        assert sum(shard.chunks or 0 for shard in index.shards()) == len(corpus) + 30
        index.compact()
        assert _ranked(index) == _ranked(one)
        assert index.rebalance() == 0


def _grown(plan: Path) -> ShardedIndex:
    with ShardedIndex.open(plan) as index:
        index.add([{"id": f"n{at}", "text": f"Note {at} of Ida Moss."} for at in range(30)])
    plan.write_text(plan.read_text() + '[[shard]]\nname = "new-one"\npath = "new"\n')
    return ShardedIndex.open(plan)


def _found(index: HebbianIndex, question: str) -> list[str]:
    """Return the hits that were found; others only fill up."""
    hits = index.recall(question, k=100).hits
    return sorted(hit.chunk.id for hit in hits if hit.score > 0)


def test_while_documents_move_nobody_misses_or_sees_one_twice(
    many: ShardedIndex, plan: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    many.close()
    monkeypatch.setattr("hebbgraph.shards.moving._CHUNKS", 2)
    with _grown(plan) as index:
        asked = "Which notes are of Ida Moss?"
        everything = _found(index, asked)
        assert len(everything) > 30
        seen: list[list[str]] = []
        done = threading.Event()

        def ask() -> None:
            while not done.is_set():
                seen.append(_found(index, asked))

        reader = threading.Thread(target=ask)
        reader.start()
        try:
            assert index.rebalance() > 4
        finally:
            done.set()
            reader.join()
        assert seen
        assert all(ids == everything for ids in seen)


@pytest.mark.parametrize("then", ["change", "delete"])
def test_a_move_that_was_killed_is_finished_by_the_next(
    many: ShardedIndex, plan: Path, monkeypatch: pytest.MonkeyPatch, then: str
) -> None:
    many.close()
    plain = Truth.apply

    def apply(self: Truth, *args: Any, **options: Any) -> Any:
        if options.get("delete_ids"):
            raise KeyboardInterrupt
        return plain(self, *args, **options)

    with _grown(plan) as index:
        everything = index.ids()
        with monkeypatch.context() as patched:
            patched.setattr(Truth, "apply", apply)
            with pytest.raises(KeyboardInterrupt):
                index.rebalance()
        held = index.parts.truth.each(lambda truth: truth.rows_of(everything))
        twice = next(id_ for id_ in everything if sum(id_ in rows for rows in held) > 1)
        if then == "delete":
            assert index.delete([twice]) == 1
            everything.remove(twice)
        else:
            report = index.add([{"id": twice, "text": "Changed before the move was finished."}])
            assert (report.added, report.replaced) == (0, 1)
        assert index.rebalance() > 0
        found = [one.text for one in index.get([twice])]
        assert found == ([] if then == "delete" else ["Changed before the move was finished."])
        hits = index.recall(QUESTION, k=100).hits
        assert sorted(hit.chunk.id for hit in hits) == everything
        assert sum(shard.chunks or 0 for shard in index.shards()) == len(everything)


def test_what_another_process_writes_while_a_chunk_moves_is_kept(
    many: ShardedIndex, plan: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    many.close()
    plain = Truth.apply
    moving: list[str] = []

    def apply(self: Truth, *args: Any, **options: Any) -> Any:
        standing = options.get("standing")
        if standing and len(standing.ids) > 1 and not moving:  # copied, and not deleted yet
            moving.extend(sorted(standing.ids))
            changed, gone = moving[0], moving[-1]
            other.add([{"id": changed, "text": "Written by another process."}])
            other.delete([gone])
        return plain(self, *args, **options)

    with _grown(plan) as index, ShardedIndex.open(plan) as other:
        everything = index.ids()
        monkeypatch.setattr(Truth, "apply", apply)
        index.rebalance()
        assert moving
        assert index.get([moving[0]])[0].text == "Written by another process."
        assert index.ids() == [id_ for id_ in everything if id_ != moving[-1]]
        assert sum(shard.chunks or 0 for shard in index.shards()) == len(everything) - 1


def test_an_index_becomes_the_first_shard(one: HebbianIndex, tmp_path: Path, plan: Path) -> None:
    expected = _ranked(one)
    one.close()
    with ShardedIndex.create(plan, [tmp_path / "one", "second"]) as index:
        assert _ranked(index) == expected
    with pytest.raises(ParameterError, match="first shard only"):
        ShardedIndex.create(tmp_path / "shards.toml", ["third", tmp_path / "one"])


def test_one_directory_is_not_two_shards(plan: Path) -> None:
    (plan.parent / "a").mkdir(parents=True)
    (plan.parent / "b").symlink_to(plan.parent / "a")
    first = '[[shard]]\nname = "a"\npath = "a"\n'
    plan.write_text(first + '[[shard]]\nname = "b"\npath = "b"\n')
    with pytest.raises(ParameterError, match="one database can be one shard only"):
        ShardedIndex.open(plan)
    plan.write_text(first)
    with ShardedIndex.open(plan) as index:
        index.add(["The Petrel was built by Ida Moss."])
        assert [shard.chunks for shard in index.shards()] == [1]
        assert len(index.recall(QUESTION).hits) == 1


def test_old_versions_stay_with_their_chunk(tmp_path: Path) -> None:
    settings = Settings(keep_versions=True)
    with (
        HebbianIndex.open(tmp_path / "one", settings=settings) as one,
        ShardedIndex.create(tmp_path / "shards.toml", 2, settings=settings) as many,
    ):
        for index in (one, many):
            for mayor, year in (("Ida Moss", 1901), ("Corin Vale", 1905)):
                text = f"The mayor of Tessel Bay is {mayor}."
                index.add([{"id": "mayor", "text": text, "valid_from": f"{year}-01-01"}])
        asked = "Who is mayor of Tessel Bay?"
        found, expected = (
            [(hit.chunk.text, hit.stale is None) for hit in index.recall(asked).hits]
            for index in (many, one)
        )
        assert found == expected
        assert len(found) == 2


def test_old_versions_move_with_their_chunk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hebbgraph.shards.moving._CHUNKS", 2)
    settings = Settings(keep_versions=True)
    plan = tmp_path / "shards.toml"
    with ShardedIndex.create(plan, 1, settings=settings) as index:
        for year in range(1906, 1900, -1):  # so that versions lie behind their chunk
            index.add(
                {
                    "id": f"mayor {n}",
                    "text": f"In {year} it was {n}.",
                    "valid_from": f"{year}-01-01",
                }
                for n in range(3)
            )
        everything = index.ids()
    plan.write_text(plan.read_text() + '[[shard]]\nname = "new-one"\npath = "new"\n')
    with ShardedIndex.open(plan, settings=settings) as index:
        assert index.rebalance() % 6 == 0
        assert index.ids() == everything
        assert all((shard.chunks or 0) % 6 == 0 for shard in index.shards())
        assert index.rebalance() == 0


def test_namespaces_have_shards_of_their_own(tmp_path: Path) -> None:
    plan = tmp_path / "shards.toml"
    plan.write_text(
        '[[shard]]\nname = "all"\npath = "all"\n'
        '[[shard]]\nname = "acme"\npath = "acme"\nnamespaces = ["acme"]\n'
    )
    for namespace, shard in (("acme", "acme"), ("other", "all")):
        with ShardedIndex.open(plan, namespace=namespace) as index:
            index.add([f"A note of {namespace}."])
            assert [one.name for one in index.shards()] == [shard]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "one \\[\\[shard\\]\\]"),
        ("nonsense", "no TOML"),
        ('[[shard]]\nname = "a"\n', "name and path"),
        ('[[shard]]\nname = "a"\npath = "a"\ncolour = 1\n', "name and path"),
        ('[[shard]]\nname = "a"\npath = "https://elsewhere"\n', "write url instead"),
        ('[[shard]]\nname = "a"\npath = "a"\n' * 2, "same name"),
        ('[[shard]]\nname = "a"\npath = "a"\nnamespaces = "x"\n', "list of str"),
    ],
)
def test_a_plan_that_says_something_else_is_refused(tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "shards.toml").write_text(text)
    with pytest.raises(ParameterError, match=says):
        HebbianIndex.open(tmp_path / "shards.toml")


@pytest.mark.parametrize(
    ("shards", "says"),
    [(["a/x", "b/x"], "same name"), ("shard", "how many, or a list"), ([], "one \\[\\[shard")],
)
def test_a_plan_that_cannot_be_is_not_written(tmp_path: Path, shards: Any, says: str) -> None:
    with pytest.raises(ParameterError, match=says):
        ShardedIndex.create(tmp_path / "shards.toml", shards)
    assert not list(tmp_path.iterdir())
    with ShardedIndex.create(tmp_path / "shards.toml", ['quo"te', "🛶 é\\"]) as index:
        assert [shard.name for shard in index.shards()] == ['quo"te', "🛶 é\\"]


def test_what_shards_cannot_do_is_refused(many: ShardedIndex, plan: Path, tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="one by one"):
        many.backup(tmp_path / "copy")
    with pytest.raises(ParameterError, match="one directory"):
        many.add(["A text."], workers=2)
    with pytest.raises(ParameterError, match="there already"):
        ShardedIndex.create(plan, 2)
    with pytest.raises(ParameterError, match="opened by its shards"):
        ShardedIndex.open(tmp_path / "single")
    with pytest.raises(NotAnIndexError):
        HebbianIndex.open(tmp_path / "none.toml")
    many.close()
    plan.write_text(plan.read_text().replace("shard-0", "renamed"))
    with pytest.raises(ParameterError, match="keep names and order"):
        ShardedIndex.open(plan)


def test_damage_of_one_lexical_index_is_mended(
    many: ShardedIndex, one: HebbianIndex, plan: Path
) -> None:
    place = _largest(many)
    many.close()
    file = max(place.glob("derived/*/lexical/*.idx"), key=lambda path: path.stat().st_size)
    file.write_bytes(bytes(file.stat().st_size))
    with HebbianIndex.open(plan) as index:
        assert _ranked(index) == _ranked(one)


Check = Callable[[HebbianIndex], None]


def test_the_doctor_compares_shards_with_a_rebuild(
    many: ShardedIndex, tried_at_once: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:  # older mentions of a new phrase are not looked up
        patched.setattr(Steps, "rematch", lambda *_: None)
        many.add([{"id": "new", "title": "Tessel", "text": "An island."}])
        many.add([{"id": "bay", "title": "born", "text": "A play."}])
    report = many.doctor()
    assert any(found.problem.startswith("tags of row") for found in report.findings)
    assert all(found.repaired for found in many.doctor(repair=True).findings)
    assert many.doctor().ok
    lost = _largest(many)
    lost.rename(lost.with_name("away"))
    report = many.doctor()
    assert [found.part for found in report.findings] == ["database"]
    assert "graph and vectors were not compared, since a shard is down" in report.notes


def test_a_lost_snapshot_is_built_anew(
    many: ShardedIndex, one: HebbianIndex, plan: Path, assert_like_rebuilt: Check
) -> None:
    many.close()
    for file in plan.parent.glob("coordinator/derived/*/shards.json"):
        file.unlink()
    with HebbianIndex.open(plan) as index:
        assert _ranked(index) == _ranked(one)
        assert_like_rebuilt(index)


def test_a_damaged_coordinator_is_an_error(many: ShardedIndex, plan: Path) -> None:
    many.close()
    (plan.parent / "coordinator" / "truth.sqlite3").write_bytes(b"no database at all" * 100)
    with pytest.raises(DamagedIndexError):
        HebbianIndex.open(plan)


def test_a_lost_coordinator_is_told(tmp_path: Path) -> None:
    plan = tmp_path / "shards.toml"
    with ShardedIndex.create(plan, 2) as index:
        index.add([f"Boat {n} has a mast." for n in range(6)])
        recall = index.recall("Which boat has a mast?", k=2)
        index.reinforce(recall, cited=[recall.hits[0].chunk.id])
    (tmp_path / "coordinator").rename(tmp_path / "away")
    with ShardedIndex.open(plan) as index:
        recall = index.recall("Which boat has a mast?")
        assert recall.partial
        assert any("coordinator that is not there" in note for note in recall.notes)
        with pytest.raises(ShardDownError):
            index.add(["Another boat."])
    shutil.rmtree(tmp_path / "coordinator")
    (tmp_path / "away").rename(tmp_path / "coordinator")
    with ShardedIndex.open(plan) as index:
        assert not index.recall("Which boat has a mast?").partial
        assert len(index.lessons()) == 1


def test_a_shard_that_is_listed_no_more_is_told(tmp_path: Path) -> None:
    plan = tmp_path / "shards.toml"
    ShardedIndex.create(plan, 3).close()
    plan.write_text(plan.read_text().rpartition("[[shard]]")[0])
    with pytest.raises(ParameterError, match="'shard-2' is listed no more"):
        ShardedIndex.open(plan)


def test_nothing_takes_a_lost_shard_for_deleted_chunks(tmp_path: Path) -> None:
    plan = tmp_path / "shards.toml"
    with ShardedIndex.create(plan, 2) as index:
        index.add([{"id": f"boat-{n}", "text": f"Boat {n} has a mast."} for n in range(12)])
    (tmp_path / "shard-1").rename(tmp_path / "away")
    with ShardedIndex.open(plan) as index:
        here = [hit.chunk.id for hit in index.recall("Which boat has a mast?", k=12).hits]
        assert {one.id for one in index.get(here)} == index.holds(here) == set(here)
        lost = next(f"boat-{n}" for n in range(12) if f"boat-{n}" not in here)
        for read in (lambda: index.get([lost]), lambda: index.holds([lost]), index.ids):
            with pytest.raises(ShardDownError):
                read()


def test_a_shard_that_is_opened_alone_can_be_read_and_not_written(many: ShardedIndex) -> None:
    with HebbianIndex.open(_largest(many)) as alone:
        assert alone.recall(QUESTION).hits
        with pytest.raises(ReadOnlyIndexError, match=r"is a shard of another index.*shards\.toml"):
            alone.add(["Tessel Bay has a lighthouse."])
    assert many.add(["Tessel Bay has a lighthouse."]).added == 1
    assert many.doctor().ok


def test_from_the_command_line(tmp_path: Path) -> None:
    def run(*arguments: object) -> Result:
        return CliRunner().invoke(app, list(map(str, arguments)))

    plan = tmp_path / "town" / "shards.toml"
    missing = run("stats", "--db", plan)
    assert isinstance(missing.exception, NotAnIndexError)
    assert f"hebbgraph shards create {plan}" in str(missing.exception)
    both = run("shards", "create", plan, tmp_path / "a", "--shards", 3)
    assert isinstance(both.exception, ParameterError)
    assert "write --shards 3" in str(run("shards", "create", plan, 3).exception)
    assert run("shards", "create", plan, "--shards", 3).exit_code == 0
    for number in range(9):
        (tmp_path / f"{number}.md").write_text(f"The Petrel sailed {number} times to Tessel Bay.")
    assert run("index", tmp_path, "--db", plan).exit_code == 0
    assert "Petrel sailed" in run("query", "Where did the Petrel sail?", "--db", plan).output
    held = json.loads(run("shards", "list", "--db", plan, "--json").output)
    assert sum(one["chunks"] for one in held) == 9
    assert run("shards", "rebalance", "--db", plan).output == "0 chunks moved\n"
    assert run("doctor", "--db", plan).exit_code == 0
    (tmp_path / "town" / "shard-1").rename(tmp_path / "away")
    assert run("shards", "list", "--db", plan).exit_code == 1


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="open files are read from /proc")
def test_what_cannot_be_opened_leaves_no_file_open(
    plan: Path, many: ShardedIndex, one: HebbianIndex
) -> None:
    many.close()
    one.close()
    own = plan.parent.parent / "own" / "shards.toml"
    own.parent.mkdir()
    own.write_text(
        '[[shard]]\nname = "new"\npath = "new"\n'
        f'[[shard]]\nname = "alone"\npath = "{plan.parent.parent / "one"}"\n'
    )
    for file, options, told in [
        (own, {}, "first shard only"),
        (plan, {"tagger": _Forgetful()}, "no name today"),
    ]:
        with pytest.raises((ParameterError, LookupError), match=told) as raised:
            ShardedIndex.open(file, **options)
        links = [f"/proc/self/fd/{number}" for number in os.listdir("/proc/self/fd")]
        held = [os.readlink(link) for link in links if os.path.lexists(link)]
        assert not [name for name in held if str(plan.parent.parent) in name], raised.value


class _Forgetful:
    """A tagger that fails while an index is opened with it."""

    @property
    def name(self) -> str:
        raise LookupError("no name today")

    def __call__(self, chunk: Chunk) -> list[str]:
        return []
