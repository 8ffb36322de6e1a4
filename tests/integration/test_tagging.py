"""A thousand chunks through a language model that fails, stalls, lies and obeys strangers."""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hebbgraph_documents import ingest

import hebbgraph
from hebbgraph import Chunk, HebbianIndex, SettingsMismatchError
from hebbgraph.taggers import LLMTagger

SCRIPT = Path(__file__).with_name("scripted_model.py")
_spec = importlib.util.spec_from_file_location("scripted_model", SCRIPT)
assert _spec is not None
assert _spec.loader is not None
scripted = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(scripted)

CHUNKS = scripted.make_chunks()
POISONED = {chunk.id for chunk in CHUNKS if scripted.poisoned(chunk)}
HEALTHY = [chunk for chunk in CHUNKS if not scripted.poisoned(chunk)]


def _given(index: HebbianIndex) -> dict[str, list[str]]:
    rows = list(index.parts.truth.rows_by_id())
    return {id_: kinds.get("given", []) for _, id_, kinds in index.parts.truth.candidates(rows)}


@pytest.mark.every_database
def test_every_chunk_is_tagged_and_failures_are_listed(
    make_index: Callable[..., HebbianIndex],
    assert_like_rebuilt: Callable[[HebbianIndex], None],
) -> None:
    model = scripted.ScriptedModel()
    index = make_index([])
    index.parts.tagger = scripted.make_tagger(model)
    seen: list[int] = []
    report = index.add(CHUNKS, on_progress=lambda done, total: seen.append(done))
    assert report.added == len(CHUNKS)
    tagging = report.tagging
    assert tagging is not None
    assert {id_ for id_, _ in tagging.failed} == POISONED
    assert all("ConnectionError" in reason for _, reason in tagging.failed)
    assert all(reason.isprintable() for _, reason in tagging.failed)
    assert tagging.tagged == len(HEALTHY)
    assert tagging.calls == model.calls
    assert seen == sorted(seen)
    assert seen[-1] == len(CHUNKS)

    stats = index.stats()
    assert stats.untagged_share == 0.0  # those that failed keep their titles
    given = _given(index)
    for chunk in CHUNKS:
        found = given[chunk.id]
        assert len(found) <= 4
        assert all(tag.replace(" ", "").isalnum() for tag in found)
        # Nobody's tags are another's words; who injects tags himself at most.
        assert all(tag in chunk.text.lower() or tag in chunk.title.lower() for tag in found)
        assert ("pwned" in found) <= ("pwned" in chunk.text)
    assert all(given[chunk.id] for chunk in HEALTHY)

    again = scripted.ScriptedModel()
    index.parts.tagger = scripted.make_tagger(again)
    second = index.retag()
    assert second.tagging is not None
    assert second.tagging.cached == len(HEALTHY)
    assert set(again.asked) == {chunk.title for chunk in CHUNKS if scripted.poisoned(chunk)}
    assert second.replaced == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs SIGKILL")
def test_a_killed_run_goes_on_without_paying_twice(tmp_path: Path) -> None:
    place, log = tmp_path / "index", tmp_path / "log"
    command = [sys.executable, str(SCRIPT), str(place), str(log)]
    environment = os.environ | {"PYTHONPATH": str(Path(hebbgraph.__file__).parents[1])}
    kept: dict[str, bool] = {}
    for life in range(3):
        before = len(log.read_text().splitlines()) if log.exists() else 0
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        if life < 2:
            # Killed in the middle of it: after so many further calls.
            deadline = time.monotonic() + 60
            while len(log.read_text().splitlines() if log.exists() else []) < before + 25:
                assert process.poll() is None
                assert time.monotonic() < deadline
                time.sleep(0.005)
            os.kill(process.pid, signal.SIGKILL)
        output = process.stdout.read()
        process.stdout.close()
        process.wait(60)
        asked = [
            title for line in log.read_text().splitlines()[before:] for title in json.loads(line)
        ]
        assert not [title for title in asked if kept.get(title)], "paid twice"
        n_kept = sum(kept.values())
        with HebbianIndex.open(place) as index:
            answers = index.parts.truth.tag_answers.get(
                scripted.make_tagger(scripted.ScriptedModel()).name, CHUNKS
            )
            kept = {chunk.title: at in answers for at, chunk in enumerate(CHUNKS)}
            held = index.stats().chunks
        if life < 2:
            assert 0 < len(answers) < len(HEALTHY)
            assert held == 0  # the batch was not committed
    report = json.loads(output)
    assert report["added"] == len(CHUNKS)
    assert {id_ for id_, _ in report["tagging"]["failed"]} == POISONED
    assert report["tagging"]["cached"] == n_kept > 0


def _model(prompt: str) -> str:
    return '{"passages": [{"number": 1, "tags": ["ice trade"]}]}'


PETREL = Chunk(id="p", title="Petrel", text="The Petrel was built for the ice trade.")


@pytest.mark.every_database
def test_deleting_a_chunk_erases_what_a_model_said_about_it(
    make_index: Callable[..., HebbianIndex],
) -> None:
    index = make_index([PETREL], tagger=LLMTagger(_model))

    def n_answers() -> int:
        ((count,),) = index.parts.database.ask("SELECT count(*) FROM tag_answers")
        return int(count)

    assert n_answers() == 1
    index.add([PETREL.model_copy(update={"metadata": {"year": 1871}})])
    assert n_answers() == 1  # same content
    index.add([PETREL.model_copy(update={"text": "The ice trade ended."})])
    assert n_answers() == 1  # the new one
    index.delete(["p"])
    assert n_answers() == 0


def test_tags_given_by_a_model_join_the_others(make_index: Callable[..., HebbianIndex]) -> None:
    index = make_index([PETREL], tagger=LLMTagger(_model))
    assert set(index.to_networkx("tags")) == {"petrel", "ice trade"}
    assert [cue.tag for cue in index.recall("What was the ice trade?").cues] == ["ice trade"]


@pytest.mark.every_database
def test_of_two_taggers_that_come_first_at_once_one_is_told(
    make_index: Callable[..., HebbianIndex], monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = make_index().parts.truth.settings
    monkeypatch.setattr(settings, "saved", dict)  # both looked before either had written
    settings.settle_tagger("one")
    with pytest.raises(SettingsMismatchError, match="'one', got 'other'"):
        settings.settle_tagger("other")
    settings.settle_tagger("other", replace=True)


@pytest.mark.every_database
def test_another_tagger_is_told_apart_and_takes_over_by_retag(
    open_index: Callable[..., HebbianIndex],
) -> None:
    index = open_index("one", tagger=LLMTagger(_model))
    index.add([PETREL])
    feedback = index.reinforce(index.recall("ice trade"), cited=["p"])
    index.close()
    with pytest.raises(SettingsMismatchError, match="retag"):
        open_index("one", tagger=LLMTagger(_model, tags_per_chunk=3))
    index = open_index("one")  # reading needs no tagger
    report = index.retag(lambda chunk: ["schooner"])
    assert (report.replaced, report.unchanged) == (1, 0)
    assert set(index.to_networkx("tags")) == {"petrel", "schooner"}
    assert index.forget(feedback) == 1
    with pytest.raises(hebbgraph.ParameterError, match="tagger is a callable"):
        open_index("two", tagger="spacy")


def test_vectors_survive_retagging(open_index: Callable[..., HebbianIndex]) -> None:
    class Embedder:
        def __init__(self) -> None:
            self.calls = 0

        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            self.calls += 1
            return [[float(len(text)), 1.0] for text in texts]

        def embed_query(self, text: str) -> list[float]:
            return [float(len(text)), 1.0]

    embedder = Embedder()
    index = open_index("one", embedder=embedder)
    index.add([PETREL, {"id": "b", "text": "Slate splits."}])
    calls = embedder.calls
    index.retag(lambda chunk: ["stone"])
    state = index.parts.truth.state().embedding
    assert state is not None
    assert embedder.calls == calls
    rows = list(index.parts.truth.rows_by_id())
    assert len(list(index.parts.truth.embeddings.vectors(rows, state.epoch))) == 2


async def test_a_model_may_name_the_cues(open_index: Callable[..., HebbianIndex]) -> None:
    def cue_model(query: str) -> list[str]:
        if "fail" in query:
            raise TimeoutError("no\nanswer")
        return ["Petrel", "something unknown", "the ice trade"]

    index = open_index("one", tagger=lambda chunk: ["ice trade"], cue_model=cue_model)
    await index.aadd([PETREL])
    recall = await index.arecall("Which schooner was it?")
    assert [cue.tag for cue in recall.cues] == ["petrel", "ice trade"]
    assert index.explain(recall, "p").chunk_id == "p"
    failed = index.recall("fail, Petrel")
    assert [cue.tag for cue in failed.cues] == ["petrel"]
    assert failed.notes[-1] == "no cues by the model: TimeoutError: no answer"
    assert (await index.aretag()).unchanged == 1


def test_what_was_replaced_meanwhile_is_not_tagged_over(
    open_index: Callable[..., HebbianIndex],
) -> None:
    index = open_index("one")
    index.add([PETREL])

    def tagger(chunk: Chunk) -> list[str]:
        if chunk.text == PETREL.text:
            index.parts.truth.apply(delete_ids=["p"])
        return ["late"]

    index.retag(tagger)
    assert index.stats().chunks == 0


def test_files_whose_chunks_the_model_did_not_tag_are_listed(tmp_path: Path) -> None:
    (tmp_path / "moss.md").write_text("# Ida Moss\n\nIda Moss was born in Tessel Bay.\n")

    def down(prompt: str) -> str:
        raise ConnectionError("the model is down")

    tagger = LLMTagger(down, retries=0)
    with HebbianIndex.open(":memory:", tagger=tagger) as index:
        report = ingest([tmp_path], index)
        assert len(report.indexed) == 1
        assert [id_ for id_, _ in report.untagged] == index.ids()
        assert all("the model is down" in reason for _, reason in report.untagged)
