"""``hebbgraph bench``: studies on small sets, and hebbgraph as a system of usebench."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hebbgraph_bench import attacks, embedding, speed
from hebbgraph_bench.commands import STUDIES, add_commands
from hebbgraph_bench.embedding import CachedModel
from hebbgraph_bench.linear_rag import LinearRAG
from hebbgraph_bench.multihop import build
from hebbgraph_bench.sets import HARROW, PACKAGED
from hebbgraph_bench.systems import Hebbgraph
from postgres import PostgresServer
from usebench.embedders import Lsa
from usebench.reading import read_set, write_set
from usebench.records import Passage

from hebbgraph.errors import ParameterError

PASSAGES = (
    Passage("petrel", "The Petrel was built by Ida Moss. A gale took its masts.", "Petrel"),
    Passage("moss", "Ida Moss was born in Tessel Bay, above a net loft.", "Ida Moss"),
    Passage("tide", "High water comes twice a day to the quay.", "Tides"),
)


def bench(*words: str) -> int:
    """Run the command as the core's command line does."""
    parser = argparse.ArgumentParser()
    add_commands(parser.add_subparsers())
    arguments = parser.parse_args(["bench", *words])
    code: int = arguments.run(arguments)
    return code


# -- the command ----------------------------------------------------------------------------


def test_without_a_set_the_packaged_ones_are_ranked_beside_bm25(
    capsys: Any, tmp_path: Path
) -> None:
    assert bench("--metric", "R@5", "--json", str(tmp_path / "result.json")) == 0
    printed = capsys.readouterr().out
    assert "| harrow (60 questions) |" in printed
    assert "| tarnbeck (154 questions) |" in printed
    harrow, tarnbeck = json.loads((tmp_path / "result.json").read_text("utf-8"))["sets"]
    found = {name: np.mean(run["values"]["R@5"]) for name, run in harrow["systems"].items()}
    assert list(found) == ["bm25", "hebbgraph"]
    assert found["hebbgraph"] > found["bm25"]
    difference = f"{found['hebbgraph'] - found['bm25']:+.3f}".replace("0.", ".", 1)
    assert f"| {difference} [" in printed
    assert 0.4 < np.mean(tarnbeck["systems"]["bm25"]["values"]["R@5"]) < 0.8


def test_use_is_measured_on_other_wordings(capsys: Any) -> None:
    words = ["harrow", "--order", "reworded", "--systems", "hebbgraph,expansion", "--unlearning"]
    assert bench("learn", *words, "--feedback", "gold", "--tables") == 0
    printed = capsys.readouterr().out
    assert "| hebbgraph | 100% (+0.000) | 100% (+0.000) |" in printed
    assert "| harrow, hebbgraph |" in printed


def test_constants_are_chosen_on_the_other_sets(capsys: Any, tmp_path: Path) -> None:
    corpus = [{"id": p.id, "title": p.title, "text": p.text} for p in PASSAGES]
    queries = [{"id": "1", "question": "Who built the Petrel?", "supporting_ids": ["petrel"]}]
    write_set(tmp_path / "ships", corpus, queries, order="shuffled")
    assert bench("leave-one-out", "harrow", str(tmp_path / "ships")) == 0
    assert "| ships | 1.000 |" in capsys.readouterr().out
    with pytest.raises(ParameterError, match="two sets"):
        bench("leave-one-out", "harrow")


def test_mistakes_are_errors_of_the_core(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="expected this file"):
        bench(str(tmp_path))
    with pytest.raises(ParameterError, match="no system is called 'nothing'"):
        bench("harrow", "--systems", "nothing")
    with pytest.raises(ParameterError, match="build takes 2 paths"):
        bench("speed", "build", "corpus.jsonl")


@pytest.mark.parametrize("study", STUDIES)
def test_each_study_explains_itself(study: str, capsys: Any) -> None:
    if study in ("frameworks", "splitters"):
        pytest.importorskip("langchain_classic")
        pytest.importorskip("llama_index.retrievers.bm25")
    with pytest.raises(SystemExit) as end:
        bench(study, "--help")
    assert end.value.code == 0
    assert f"usage: hebbgraph bench {study}" in capsys.readouterr().out


def test_users_of_both_frameworks_get_what_the_index_finds(capsys: Any) -> None:
    pytest.importorskip("rank_bm25")
    assert bench("frameworks") == 0
    rows = [line for line in capsys.readouterr().out.splitlines() if line.startswith("| Hebb")]
    assert len(rows) == 4
    assert rows[:2] == rows[2:]


def test_pieces_of_the_frameworks_splitters_are_found(capsys: Any) -> None:
    pytest.importorskip("rank_bm25")
    assert bench("splitters", "harrow") == 0
    rows = [line.split(" | ") for line in capsys.readouterr().out.splitlines()[2:]]
    assert [int(row[2]) for row in rows] == [10, 20, 2, 10, 20]
    assert rows[2][3] == "1.000"  # two pieces hold all that there is
    assert all(row[3] == row[4] for row in rows)


def test_one_liar_does_not_outweigh_three_who_agree() -> None:
    uses = read_set(HARROW, order="shuffled")
    chunks = [{"id": p.id, "title": p.title, "text": p.text} for p in uses.passages]
    asked = [(event.question, next(iter(event.gold))) for event in uses.events[:5]]
    assert attacks.measure(chunks, asked, attacks.ATTACKS["1 name, 3 honest"]) == 1.0


def test_speed_builds_asks_and_changes(tmp_path: Path) -> None:
    corpus, index = str(HARROW / "corpus.jsonl"), str(tmp_path / "index")
    assert speed.build(corpus, index, 8)["index_mb"] > 0
    assert speed.ask(index, ["Where does the ferry go?"], 8)["private_mb"] > 0
    assert {"add_one_median", "delete_one_p95"} <= set(speed.change(index, corpus, 8))


@pytest.mark.parametrize("name", PACKAGED)
def test_the_files_of_a_packaged_set_fit(name: str) -> None:
    corpus, queries = (
        [json.loads(line) for line in (PACKAGED[name] / file).read_text("utf-8").splitlines()]
        for file in ("corpus.jsonl", "queries.jsonl")
    )
    texts = {row["id"]: row["text"] for row in corpus}
    assert len(texts) == len(set(texts.values())) == len(corpus)
    assert len({row["id"] for row in queries}) == len(queries)
    for row in queries:
        gold = row["supporting_ids"]
        assert set(gold) <= texts.keys()
        assert len(set(gold)) == len(gold)
        assert (len(gold) > 1) == (row["type"] == "two passages") or row["type"] == "reworded"
        assert not any(row["question"] in texts[id_] for id_ in gold)


# -- sets of published files ----------------------------------------------------------------


def test_sets_of_hotpotqa_and_musique_pool_the_paragraphs(tmp_path: Path) -> None:
    moss, petrel = ["Ida Moss", ["She was born", " in Tessel Bay."]], ["Petrel", ["A barque."]]
    hotpot = [
        {"_id": "1", "question": "Who?", "context": [moss, petrel], "supporting_facts": [moss]},
        {"_id": "2", "question": "What?", "context": [petrel], "supporting_facts": [petrel]},
    ]
    hotpot[0]["supporting_facts"] = [["Ida Moss", 0], ["Ida Moss", 1]]
    hotpot[1]["supporting_facts"] = [["Petrel", 0]]
    (tmp_path / "hotpot.json").write_text(json.dumps(hotpot), "utf-8")
    build(tmp_path / "hotpot.json", tmp_path / "hotpot")
    uses = read_set(tmp_path / "hotpot")
    by_id = {passage.id: passage for passage in uses.passages}
    assert sorted(p.text for p in by_id.values()) == ["A barque.", "She was born in Tessel Bay."]
    gold = {e.id: [by_id[id_].title for id_ in e.gold] for e in uses.events}
    assert gold == {"1": ["Ida Moss"], "2": ["Petrel"]}

    row = {"title": "Petrel", "paragraph_text": "A barque.", "is_supporting": True}
    musique = {"id": "2hop", "question": "What?", "paragraphs": [row]}
    (tmp_path / "musique.jsonl").write_text(json.dumps(musique) + "\n", "utf-8")
    assert bench("build", str(tmp_path / "musique.jsonl"), str(tmp_path / "musique")) == 0
    assert [event.gold for event in read_set(tmp_path / "musique").events] == [{"p0"}]
    with pytest.raises(ParameterError, match="paragraphs or context"):
        (tmp_path / "other.json").write_text('[{"id": 1, "question": "?"}]', "utf-8")
        bench("build", str(tmp_path / "other.json"), str(tmp_path / "other"))


# -- systems --------------------------------------------------------------------------------


def test_hebbgraph_learns_and_forgets_as_usebench_wants_it() -> None:
    system = Hebbgraph()
    system.reset()
    system.add(PASSAGES)
    question, said = "What comes to the net loft?", {"ratings": {}, "when": 0.0}
    untaught = system.search(question, 3)
    assert untaught[0] == "moss"
    lesson: dict[str, Any] = {"shown": untaught, "cited": ["tide"], "rejected": ["moss"]}
    system.feedback(question=question, actor="ann", **lesson, **said)
    assert system.search(question, 3)[0] == "tide"
    system.forget("ann")
    assert system.search(question, 3) == untaught
    # What was said of a question that is not the last one is about a recall of its own.
    system.search("Who built the Petrel?", 3)
    system.feedback(question=question, actor=None, **lesson, **said)
    assert system.search(question, 3)[0] == "tide"
    system.close()


def test_linear_rag_walks_from_the_names_of_a_question() -> None:
    system = LinearRAG(Lsa())
    system.reset()
    system.add(PASSAGES)
    assert set(system.search("Where was the builder of the Petrel born?", 2)) == {"petrel", "moss"}
    assert system.search("when does high water come?", 1) == ["tide"]


def test_synapse_finds_and_takes_feedback() -> None:
    pytest.importorskip("geny_memory_adaptor")
    from hebbgraph_bench.systems import Synapse

    system = Synapse()
    system.reset()
    system.add(PASSAGES)
    found = system.search("Who was born in Tessel Bay?", 3)
    assert found[0] == "moss"
    system.feedback(question="Who was born in Tessel Bay?", shown=found, cited=["moss"])
    system.close()


class Counted:
    """A model that counts the texts it embeds."""

    embedded = 0

    def __init__(self, name: str) -> None:
        self.name = name

    def embed(self, texts: Sequence[str]) -> Any:
        Counted.embedded += len(texts)
        return np.array([[len(text), 1.0] for text in texts], np.float32)


def test_no_text_is_embedded_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedding, "Model", Counted)
    model = CachedModel("length", tmp_path / "cache")
    assert model.embed(["a", "bcd", "a"]).tolist() == [[1, 1], [3, 1], [1, 1]]
    assert model.embed_query("bcd").tolist() == [3, 1]
    model.close()
    again = CachedModel("length", tmp_path / "cache")
    assert again.embed_documents(["bcd"]).tolist() == [[3, 1]]
    assert Counted.embedded == 2
    again.close()


# -- two servers over one PostgreSQL ----------------------------------------------------------


def test_a_storm_loses_nothing(server: PostgresServer, capsys: Any) -> None:
    """A short one, with a killed server and cut connections; PostgreSQL itself goes on."""
    pytest.importorskip("fastapi", reason="the extra serve is not installed")
    sizes = ["--seconds", "6", "--clients", "3", "--tenants", "2"]
    assert bench("storm", *sizes, "--url", server.new_database()) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["answers"] > 0
    assert result["acknowledged chunks"] >= 100
