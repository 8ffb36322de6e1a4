"""Recalls worked by hand, and what each argument does."""

from __future__ import annotations

import copy
import json
import math
import pickle
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from naive import cooccurrences
from ships import CORPUS, ByNumber

from hebbgraph import Chunk, HebbianIndex, Ranking, RankStep, Recall, Request, Settings
from hebbgraph.errors import NotFoundError, ParameterError
from hebbgraph.text.tokens import display


def _paths(recall: Recall) -> dict[str, str]:
    return {hit.id: hit.path_text for hit in recall}


class _Words:
    """A strategy that is word search alone, and keeps what it got."""

    name = "words"

    def rank(self, request: Request) -> Ranking:
        rows, scores = request.question.search.best(request.k, request.allowed)
        ids = request.snapshot.ids(rows)
        self.scores = {ids[row]: score for row, score in zip(rows.tolist(), scores, strict=True)}
        return Ranking(rows, scores / 10)


FOLLOWING = """
    When did it take place? And why? What about the second one? Tell me more. How does that
    work? Who was it? What happened next? Can you explain that? Why not? How many were there?
    Is it true? And the other? What else? When did it happen? Where is it? How long did it
    take? What does it mean? And then? Is that right? Go on.
"""


@pytest.mark.parametrize("question", re.findall(r"[^.?]+[.?]", " ".join(FOLLOWING.split())))
def test_a_question_that_only_follows_another_says_so(ships: HebbianIndex, question: str) -> None:
    recall = ships.recall(question)
    assert recall.confidence == pytest.approx(0.1, abs=0.1)
    assert any(note.startswith("too short") for note in recall.notes)


def test_a_title_makes_a_short_question_whole(memory: HebbianIndex) -> None:
    memory.add([{"title": "Work", "text": "A song of 2016."}, {"title": "Owl", "text": "A bird."}])
    assert not any(note.startswith("too short") for note in memory.recall("What is Work?").notes)
    assert not any(note.startswith("too short") for note in memory.recall("Is it an owl?").notes)


def test_words_of_its_address_do_not_lengthen_a_title(memory: HebbianIndex) -> None:
    owl = {"id": "owl", "title": "Owl", "text": "It hunts voles at night."}
    memory.add([{**owl, "addresses": ["docs/my owl notes.md"]}, "An owl is an owl. Tell owls."])
    assert memory.recall("Tell me about the owl")[0].id == "owl"


# -- words ----------------------------------------------------------------------------------


def test_bm25_of_three_chunks_by_hand(memory: HebbianIndex) -> None:
    memory.add(
        [
            {"id": "a", "text": "owl vole"},
            {"id": "b", "text": "owl owl barn"},
            {"id": "c", "text": "barn"},
        ]
    )
    # 3 chunks of 2 words on average. "owl" is in two of them, "vole" in one.
    owl = math.log(1 + (3 - 2 + 0.5) / (2 + 0.5))
    vole = math.log(1 + (3 - 1 + 0.5) / (1 + 0.5))
    assert (round(owl, 4), round(vole, 4)) == (0.47, 0.9808)
    # A chunk of mean length gives 1 for a word that it holds once; "b" has 3 words, twice "owl".
    by_hand = {"a": owl + vole, "b": owl * 2 * 2.2 / (2 + 1.2 * (0.25 + 0.75 * 3 / 2))}
    words = _Words()
    recall = memory.recall("owl vole?", strategy=words)
    assert words.scores == pytest.approx(by_hand, abs=1e-9)
    assert [hit.id for hit in recall] == ["a", "b", "c"]
    spreading = memory.recall("owl vole?")
    assert spreading["b"].words == pytest.approx(by_hand["b"] / by_hand["a"], abs=1e-9)
    assert (spreading["a"].has, spreading["b"].lacks) == (("owl", "vole"), ("vole",))
    assert spreading["c"].words is None


# -- cues and paths -------------------------------------------------------------------------


def test_cues_are_the_tags_that_a_question_names(ships: HebbianIndex) -> None:
    recall = ships.recall("Did Ida Moss build the Petrel at Gannet Point?")
    assert {cue.tag: cue.weight for cue in recall.cues} == pytest.approx(
        {"ida moss": math.log(1 + 8 / 3), "petrel": math.log(9), "gannet point": math.log(5)}
    )
    assert ships.recall("What does a bowline do?").cues == ()


def test_words_of_given_tags_are_searched(memory: HebbianIndex) -> None:
    memory.add(
        [
            {"id": "convoy", "text": "Ten lorries reached the valley.", "tags": ["Food aid"]},
            {"id": "aid", "text": "First aid is taught in May."},
            {"id": "food", "text": "The food was cold."},
            {"id": "crate", "text": "It was late.", "tags": ["Crate 10 x 30 cm"]},
        ]
    )
    assert "10x30" in memory.recall("10x30cm")[0].has
    hits = memory.recall("food aid").hits
    assert (hits[0].id, hits[0].has) == ("convoy", ("food", "aid"))
    memory.add([{"id": "convoy", "text": "Ten lorries reached the valley."}])
    assert {hit.id for hit in memory.recall("food aid") if hit.score} == {"aid", "food"}


def test_paths_lead_from_the_question_over_tags(ships: HebbianIndex) -> None:
    recall = ships.recall("Where was the builder of the Petrel born?", k=8)
    assert [hit.id for hit in recall][:2] == ["petrel", "moss"]
    assert _paths(recall) == {
        "petrel": "question → «petrel» → Petrel (schooner)",
        "moss": "question → «petrel» → Petrel (schooner) → «ida moss» → Ida Moss",
        "bay": "question → «petrel» → Petrel (schooner) → «ida moss» → Ida Moss → «tessel bay» → "
        "Tessel Bay",
        "vale": "question → «petrel» → Petrel (schooner) → «ida moss» → Ida Moss → «corin vale» → "
        "Corin Vale",
        "heron": "question → «petrel» → Petrel (schooner) → «ida moss» → Ida Moss → «ida moss» → "
        "Heron (barque)",
        "point": "question → Ida Moss → «corin vale» → Corin Vale → «gannet point» → Gannet Point",
        "bare": "question → Slate splits along its cleavage when it is dry.",
        "knots": "question → A bowline holds under load and unties when the load is gone.",
    }
    assert [step.kind for step in recall["moss"].path] == [
        "question", "tag", "chunk", "tag", "chunk",
    ]  # fmt: skip
    scores = [hit.score for hit in recall]
    assert scores == sorted(scores, reverse=True)
    assert [hit.rank for hit in recall] == list(range(1, 9))


def test_without_the_graph_direct_evidence_ranks() -> None:
    with HebbianIndex.open(":memory:", settings=Settings(graph=0.0)) as index:
        index.add(CORPUS)
        recall = index.recall("Where was Ida Moss born?", k=8)
        by_words = sorted((hit.words or 0.0 for hit in recall), reverse=True)
        assert [hit.words or 0.0 for hit in recall] == by_words
        assert all(hit.graph in (None, 0.0) for hit in recall)


def test_ordinary_words_are_no_names() -> None:
    code = [("print", "Write values to a stream."), ("tree", "Return the nodes as a tree.")]
    code += [(f"helper_{n}", f"To export row {n}, print it and walk the tree.") for n in range(9)]
    code += [("Petrel", "Where the keeper lives.")]
    code += [(f"log {n}", f"In May {n} the Petrel sailed with rope {n}.") for n in range(9)]
    chunks = [{"id": f"{n}", "title": t, "text": text} for n, (t, text) in enumerate(code)]
    with HebbianIndex.open(":memory:") as index:
        index.add(chunks)
        plain = index.recall("how do I print and export the rows of a tree?", 3)
        assert not {"0", "1"} & {hit.id for hit in plain}, _paths(plain)
        named = index.recall("who lives on the Petrel?", 1)[0]
        assert (named.title, named.graph) == ("Petrel", pytest.approx(0.61, abs=0.01))


def test_links_lead_to_the_chunk_with_the_address(memory: HebbianIndex) -> None:
    memory.add(
        [
            {"id": "rules", "text": "Quarantine lasts nine days.", "addresses": ["law.md#rules"]},
            {"id": "port", "text": "Ships from the south wait.", "references": ["law.md#rules"]},
            *({"id": f"f{n}", "text": f"Rope number {n} was tarred."} for n in range(30)),
        ]
    )
    recall = memory.recall("How long do ships from the south wait?", k=2)
    assert [hit.id for hit in recall] == ["port", "rules"]
    assert recall[1].path_text.startswith("question → port → «law.md#rules» → ")


# -- where ----------------------------------------------------------------------------------


def test_filters_exclude_from_hits_and_from_paths(ships: HebbianIndex) -> None:
    question = "Where was the builder of the Petrel born?"
    recall = ships.recall(question, k=8, where={"kind": {"$ne": "person"}})
    assert {"moss", "vale"}.isdisjoint(hit.id for hit in recall)
    on_paths = {step.value for hit in recall for step in hit.path if step.kind == "chunk"}
    assert {"moss", "vale"}.isdisjoint(on_paths)
    assert not recall["bay"].graph
    assert len(recall) == 6
    assert recall.where == {"kind": {"$ne": "person"}}


def test_callable_cuts_hits_alone(ships: HebbianIndex) -> None:
    question = "Where was the builder of the Petrel born?"
    recall = ships.recall(question, k=2, where=lambda chunk: chunk.id in ("bay", "heron", "bare"))
    assert [hit.id for hit in recall] == ["bay", "heron"]
    assert "Ida Moss" in recall[0].path_text
    assert recall.where == "callable"


def test_callable_may_ask_the_index(ships: HebbianIndex, memory: HebbianIndex) -> None:
    memory.add(CORPUS)
    for index in (ships, memory):
        recall = index.recall("Petrel", where=lambda c, index=index: bool(index.get(c.id)), k=8)
        assert len(recall) == 8


def test_filter_that_nothing_passes_says_so(ships: HebbianIndex) -> None:
    recall = ships.recall("Petrel", where={"captain": "Ida"})
    assert len(recall) == 0
    assert recall.notes == ("no chunk passes the filter", "no chunk has a field 'captain'")


# -- k, ties, min_score -----------------------------------------------------------------------


def test_ties_go_to_the_smaller_id(memory: HebbianIndex) -> None:
    ids = ["b", "a10", "a2", "B", "é", "z", "10", "9"]
    memory.add({"id": id_, "text": "The very same words."} for id_ in reversed(ids))
    for k in (1, 3, 8):
        assert [hit.id for hit in memory.recall("same words", k=k)] == sorted(ids)[:k]
    assert [hit.id for hit in memory.recall("nothing known", k=3)] == sorted(ids)[:3]
    everything = {"seeds": [(id_, 1.0) for id_ in ids]}
    assert [hit.id for hit in memory.recall("same words", k=3, **everything)] == sorted(ids)[:3]


def test_hits_fill_up_to_k_with_chunks_that_pass(ships: HebbianIndex) -> None:
    recall = ships.recall("bowline", k=3)
    assert [(hit.id, hit.score > 0) for hit in recall] == [
        ("knots", True), ("bare", False), ("bay", False),
    ]  # fmt: skip
    assert len(ships.recall("bowline", k=100)) == len(CORPUS)
    recall = ships.recall("bowline", k=100, where={"kind": "person"})
    assert [hit.id for hit in recall] == ["moss", "vale"]
    assert recall[0].why == "lacks bowline"


def test_min_score_leaves_out(ships: HebbianIndex) -> None:
    whole = ships.recall("Who bought the Heron?", k=8)
    limit = whole[2].score
    assert ships.recall("Who bought the Heron?", k=8, min_score=limit).hits == whole.hits[:3]
    assert len(ships.recall("Who bought the Heron?", k=8, min_score=0.0)) == 6
    assert not ships.recall("Who bought the Heron?", min_score=1.0)


# -- seeds, vectors, strategies, steps ------------------------------------------------------


def test_seeds_take_the_place_of_vector_search(ships: HebbianIndex) -> None:
    seeds = [("knots", 0.9), ("unknown", 0.8), ("point", 0.1)]
    recall = ships.recall("How is it tied?", seeds=seeds, k=3)
    assert [hit.id for hit in recall][:2] == ["knots", "point"]
    distances = [("knots", -1.0), ("point", -7.0)]
    assert ships.recall("How is it tied?", seeds=distances, k=3)[0].id == "knots"
    extreme = [("knots", 1e99), ("point", -1e99)]
    assert ships.recall("How is it tied?", seeds=iter(extreme), k=3)[0].id == "knots"
    assert ships.recall("How is it tied?", seeds=[("knots", 1e60)], k=3)[0].id == "knots"
    with pytest.raises(ParameterError, match="as large"):
        ships.recall("How is it tied?", seeds=[("knots", 1e308)])
    nothing = ships.recall("How is it tied?", seeds=[], k=3)
    assert [hit.id for hit in nothing] == [hit.id for hit in ships.recall("How is it tied?", k=3)]


def test_vector_of_the_caller_equals_that_of_the_embedder() -> None:
    embedder = ByNumber()
    with HebbianIndex.open(":memory:", embedder=embedder) as index:
        index.add(f"Rope number {n}" for n in range(40))
        question = "Which rope is 17"
        asked = index.recall(question)
        given = index.recall(question, vector=np.array(embedder.vector(question)) * 7)
        assert [hit.id for hit in asked] == [hit.id for hit in given]
        assert [hit.score for hit in asked] == pytest.approx([hit.score for hit in given])
        assert asked[0].text == "Rope number 17"
        assert asked[0].vectors == 1.0
        off = HebbianIndex.open(":memory:").recall(question, vector=[1.0, 2.0])
        assert not off


def test_strategy_of_ones_own_is_checked(ships: HebbianIndex) -> None:
    class Own:
        name = "own"

        def __init__(self, answer: Any) -> None:
            self.answer = answer

        def rank(self, request: Request) -> Any:
            return self.answer

    rows = np.array([1, 2])
    recall = ships.recall("x", k=3, strategy=Own(Ranking(rows, np.array([0.2, 0.9]), pads=False)))
    assert [(hit.id, hit.score) for hit in recall] == [("heron", 0.9), ("petrel", 0.2)]
    assert recall.strategy == "own"
    assert recall.confidence is None
    tied = Own(Ranking(rows, np.array([0.5, 0.5 + 1e-11]), pads=False))  # ties go to the smaller id
    assert [hit.score for hit in ships.recall("x", k=3, strategy=tied)] == [0.5, 0.5]
    with pytest.raises(ParameterError, match="strategy 'own' must return allowed rows only"):
        ships.recall("x", strategy=Own(Ranking(rows, np.ones(2))), where={"kind": "person"})


def test_steps_run_in_order_and_see_more_than_k(ships: HebbianIndex) -> None:
    calls = []

    class Step(RankStep):
        def __init__(self, label: str) -> None:
            self.label = label

        def depth(self, k: int) -> int:
            calls.append(f"depth {self.label}")
            return k + 3

        def rank(self, request: Request, ranking: Ranking) -> Ranking:
            calls.append(f"rank {self.label} {len(ranking.rows)}")
            return ranking

        def finish(self, recall: Recall, k: int) -> Recall:
            calls.append(f"finish {self.label} {len(recall)}")
            return recall.model_copy(update={"hits": recall.hits[::-1]})

    plain = ships.recall("Petrel", k=5)
    once = ships.recall("Petrel", k=2, steps=[Step("a")])
    assert [hit.id for hit in once] == [plain[4].id, plain[3].id]
    assert [hit.rank for hit in once] == [1, 2]
    calls.clear()
    twice = ships.recall("Petrel", k=2, steps=[Step("a"), Step("b")])
    assert [hit.id for hit in twice] == [plain[0].id, plain[1].id]
    assert calls == [
        "depth a", "depth b", "rank a 5", "rank b 5", "finish a 5", "finish b 5",
    ]  # fmt: skip


# -- the record, explain, graph, namespaces -------------------------------------------------------


def test_recall_is_a_record_that_can_be_kept_and_sent(ships: HebbianIndex) -> None:
    recall = ships.recall("Who built the Petrel?", where={"year": {"$gt": 1800}}, recall_id="r-1")
    assert recall.id == "r-1"
    sent = Recall.model_validate_json(recall.model_dump_json())
    for same in (sent, pickle.loads(pickle.dumps(recall)), copy.deepcopy(recall)):
        assert same == recall
    assert recall["petrel"] is recall[0]
    assert recall[-1].rank == len(recall)
    with pytest.raises(KeyError):
        recall["nobody"]
    assert json.loads(recall.model_dump_json())["hits"][0]["id"] == "petrel"


def test_explain_tells_of_any_chunk(ships: HebbianIndex) -> None:
    recall = ships.recall("Where was the builder of the Petrel born?", k=3)
    for hit in recall:
        assert ships.explain(recall, hit.id) == hit
    assert ships.explain(recall, "heron").rank == 5
    assert ships.explain(recall, "bare").rank == 0
    filtered = ships.recall("Where was Ida Moss born?", where={"kind": "place"})
    assert ships.explain(filtered, "moss").rank == 0
    with pytest.raises(NotFoundError, match="the index holds no chunk 'nobody'"):
        ships.explain(recall, "nobody")
    ships.delete("moss")
    with pytest.raises(NotFoundError):
        ships.explain(recall, "moss")


def test_graph_of_tags_equals_a_count_in_plain_python(ships: HebbianIndex) -> None:
    counted = {
        frozenset(map(display, pair)): weight for pair, weight in cooccurrences(ships).items()
    }
    graph = ships.to_networkx()
    edges = {frozenset((one, other)): w for one, other, w in graph.edges(data="weight")}
    assert edges == counted
    assert edges[frozenset(("ida moss", "corin vale"))] == 2
    for tag in ships.tags(limit=1000):
        assert graph.nodes[tag.tag] == {"chunks": tag.chunks, "titles": tag.titles}
        near = {neighbor.tag: neighbor.weight for neighbor in ships.neighbors(tag.tag, 1000)}
        assert near == {other: graph[tag.tag][other]["weight"] for other in graph[tag.tag]}


@pytest.mark.parametrize("name", ["東京タワー", "Édouard Manet", "O'Brien", "AC/DC", "Straße"])
def test_tags_are_found_as_people_write_them(memory: HebbianIndex, name: str) -> None:
    memory.add([Chunk(title=name, text="It is known.")])
    (tag,) = memory.tags(name)
    assert [tag] == memory.tags(tag.tag) == memory.tags(name[:3])


def test_namespaces_share_models_and_nothing_else(tmp_path: Path) -> None:
    settings = Settings(language="german", stop_tags=["hafen"])
    with HebbianIndex.open(tmp_path, embedder=ByNumber(), settings=settings) as index:
        index.add(["Die Boote liegen im Hafen 7."])
        with index.in_namespace("anna") as anna:
            assert (anna.settings, anna.embedder) == (index.settings, index.embedder)
            assert anna.ids() == []
            anna.add([Chunk(id="a", text="Annas Boot 9.")])
            assert anna.recall("Boote")[0].id == "a"
        assert index.namespaces() == ["anna", "default"]
        assert len(index.recall("Annas Boot", k=5)) == 1


def test_reading_does_not_write(tmp_path: Path) -> None:
    with HebbianIndex.open(tmp_path, embedder=ByNumber()) as index:
        index.add(CORPUS)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    with HebbianIndex.open(tmp_path, embedder=ByNumber()) as index:
        for question in ("Petrel", "Who built the Heron?"):
            recall = index.recall(question, where={"kind": "ship"}, recall_id="kept")
            index.explain(recall, "petrel")
        index.tags()
        index.neighbors("ida moss")
        index.to_networkx()
        assert index.doctor() == []
        log = tmp_path / "default.sqlite3-wal"
        assert not log.exists() or log.stat().st_size == 0
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


async def test_async_twins_give_the_same(ships: HebbianIndex) -> None:
    recall = await ships.arecall("Who built the Petrel?", k=3)
    assert [hit.id for hit in recall] == [h.id for h in ships.recall("Who built the Petrel?", k=3)]
    assert (await ships.aadd(["One more."])).added == 1
    assert (await ships.arefresh([{"id": "n", "text": "x", "document_id": "ships"}])).deleted == 2
    assert (await ships.adelete("n")).deleted == 1


def test_chunks_that_refer_to_one(memory: HebbianIndex) -> None:
    memory.add(
        [
            {"id": "owl", "text": "Owls.", "addresses": ["birds.md#owl"]},
            {"id": "list", "text": "See there.", "references": ["birds.md#owl"]},
            {"id": "page", "text": "See birds.", "references": ["./birds.md"]},
            {"id": "other", "text": "See fish.", "references": ["fish.md"]},
        ]
    )
    assert memory.referring("owl") == ["list", "page"]
    assert memory.referring(["list", "none"]) == []


def test_namespaces_keep_the_settings_that_they_were_built_with(tmp_path: Path) -> None:
    german = Settings(language="german")
    HebbianIndex.open(tmp_path, namespace="de", settings=german).close()
    with HebbianIndex.open(tmp_path) as index, index.in_namespace("de") as other:
        assert (index.settings.language, other.settings.language) == ("auto", "german")


def test_a_name_in_code_is_held_only_as_a_whole(memory: HebbianIndex) -> None:
    memory.add([{"id": "spare", "text": "Solveig has the spare logger until Easter."}])
    memory.add([{"id": "code", "text": "Start flash_logger.py to flash a logger."}])
    found = memory.recall("Who has flash_logger.py?")
    assert found["spare"].has == ("logger",)
    assert "flash_logger" in found["code"].has
