from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hebbgraph.errors import DatasetError

from hebbgraph_bench import Variant, load

from .conftest import CORPUS, QUERIES

Write = Callable[[str, Any], Path]


def test_own_layout(own_folder: Path, write: Write) -> None:
    write(
        "harbour/variants.jsonl",
        [
            {
                "id": "q2",
                "keywords": "harbour builder born",
                "follow_up": "What was Mira Voss?",
                "follow_up_supporting_ids": ["c"],
            }
        ],
    )
    dataset = load(own_folder)
    assert dataset.name == "harbour"
    assert {chunk.id: chunk.metadata for chunk in dataset.corpus} == {
        "a": {},
        "b": {"year": 1904},
        "c": {},
    }
    first, second, _ = dataset.queries
    assert first.relevant == {"a": 1}
    assert first.answers == ("the cliff",)
    assert first.variants == {}
    assert second.relevant == {"b": 1, "c": 2}
    assert (second.type, second.group) == ("bridge", "g")
    assert second.variants == {
        "keywords": Variant("harbour builder born", {"b": 1, "c": 2}),
        "follow_up": Variant("What was Mira Voss?", {"c": 1}),
    }


def test_links_of_a_chunk_are_its_references(own_folder: Path, write: Write) -> None:
    linked = {"id": "d", "text": "See also.", "url": "/d.html#x", "links": ["/a.html"]}
    write("harbour/corpus.jsonl", [*CORPUS, linked])
    dataset = load(own_folder)
    chunk = next(chunk for chunk in dataset.corpus if chunk.id == "d")
    assert (chunk.addresses, chunk.references) == (("/d.html#x",), ("/a.html",))
    assert chunk.metadata == {}
    assert not any(one.addresses or one.references for one in dataset.without_references().corpus)


def test_what_else_a_question_carries(own_folder: Path, write: Write) -> None:
    more = {
        "id": "q4",
        "question": "And the gull?",
        "supporting_ids": ["a"],
        "also_ids": ["b"],
        "hops": 1,
        "rewording": "that bird, too?",
        "scenario": "I stand on the cliff.",
        "history": ["Who built the harbour?", {"asked": "Do you sail?", "answered": "No"}, " "],
    }
    write("harbour/queries.jsonl", [*QUERIES, more])
    dataset = load(own_folder)
    query = dataset.queries[-1]
    assert (query.type, query.also) == ("1-hop", ("b",))
    assert query.history == (
        "I stand on the cliff.",
        "Who built the harbour?",
        "Do you sail? No",
    )
    assert query.credited(["c", "b", "a"]) == ("c", "a", "b"), "either answers, and counts once"

    *_, reworded = dataset.with_rewordings().queries
    assert (reworded.id, reworded.text) == ("q4 rewording", "that bird, too?")
    assert (reworded.variant, reworded.type) == ("rewording", "1-hop")
    assert (reworded.also, reworded.history) == (query.also, query.history)


def test_corpus_is_shuffled_by_the_seed_alone(own_folder: Path) -> None:
    def order(seed: int) -> list[str]:
        return [chunk.id for chunk in load(own_folder, seed=seed).corpus]

    assert order(3) == order(3)
    assert len({tuple(order(seed)) for seed in range(10)}) > 1
    assert sorted(order(5)) == ["a", "b", "c"]


def test_drawn_questions_keep_their_order_and_the_corpus(own_folder: Path) -> None:
    drawn = load(own_folder, queries=2, seed=1)
    assert len(drawn.corpus) == 3
    ids = [query.id for query in drawn.queries]
    assert len(ids) == 2
    assert ids == sorted(ids)
    assert load(own_folder, queries=9).queries == load(own_folder).queries
    with pytest.raises(DatasetError, match="at least 1 question"):
        load(own_folder, queries=0)


def test_question_without_relevant_chunk_is_counted(own_folder: Path, write: Write) -> None:
    unjudged = {"id": "q4", "question": "Why?", "supporting_ids": []}
    write("harbour/queries.jsonl", [*QUERIES, unjudged])
    dataset = load(own_folder)
    assert len(dataset.queries) == 3
    assert dataset.skipped == {"no relevant chunk": 1}


def test_a_chunk_that_says_nothing_is_left_out(own_folder: Path) -> None:
    before = load(own_folder).corpus
    with (own_folder / "corpus.jsonl").open("a") as file:
        file.write('{"id": "blank", "title": "", "text": " "}\n')
    assert load(own_folder).corpus == before


def test_control_characters_of_published_text_become_spaces(write: Write) -> None:
    write("s/queries.jsonl", [{"id": "1", "question": "x", "supporting_ids": ["a"]}])
    folder = write("s/corpus.jsonl", [{"id": "a", "text": "one\x07two \ud835"}]).parent
    assert load(folder).corpus[0].text == "one two \ufffd"


def _beir(write: Write, qrels: str, split: str = "test") -> Path:
    write("beir/corpus.jsonl", [{"_id": row["id"], **row} for row in CORPUS])
    write("beir/queries.jsonl", [{"_id": row["id"], "text": row["question"]} for row in QUERIES])
    return write(f"beir/qrels/{split}.tsv", qrels).parents[1]


def test_beir(write: Write) -> None:
    folder = _beir(write, "query-id\tcorpus-id\tscore\nq2\tb\t2\nq2\tc\t1\nq1\tb\t0\n")
    dataset = load(folder)
    assert [(query.id, query.relevant) for query in dataset.queries] == [("q2", {"b": 2, "c": 1})]
    assert dataset.skipped == {"not judged in this split": 2}


def test_beir_takes_the_only_split_or_the_one_named(write: Write) -> None:
    folder = _beir(write, "query-id\tcorpus-id\tscore\nq1\ta\t1\n", split="dev")
    assert [query.id for query in load(folder).queries] == ["q1"]
    write("beir/qrels/train.tsv", "query-id\tcorpus-id\tscore\nq3\tc\t1\n")
    assert [query.id for query in load(folder, split="train").queries] == ["q3"]
    with pytest.raises(DatasetError, match=r"expected the split test\.tsv, got dev, train"):
        load(folder)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("q1 a 1", r"test\.tsv:2: expected query-id, corpus-id and score between tabs"),
        ("q9\ta\t1", r"test\.tsv:2: expected an id of queries\.jsonl, got 'q9'"),
        ("q1\tz\t1", r"test\.tsv:2: expected an id of corpus\.jsonl, got 'z'"),
        ("q1\ta\tgood", r"test\.tsv:2: expected an integer score, got 'good'"),
        ("q1\ta\t0", "at least one question that can be judged"),
    ],
)
def test_bad_qrels(write: Write, line: str, message: str) -> None:
    with pytest.raises(DatasetError, match=message):
        load(_beir(write, f"query-id\tcorpus-id\tscore\n{line}\n"))


HOTPOT = {
    "_id": "h1",
    "question": "Where was the builder of the harbour born?",
    "answer": "Tarn",
    "type": "bridge",
    "supporting_facts": [["Harbour", 0], ["Mira Voss", 0], ["Mira Voss", 1]],
    "context": [
        ["Harbour", ["The harbour was built by Mira Voss.", " It is deep."]],
        ["Mira Voss", ["Mira Voss was born in Tarn."]],
    ],
}


def test_hotpot_and_2wiki(write: Write) -> None:
    other = HOTPOT | {
        "_id": "h2",
        "supporting_facts": [["Gull", 0]],
        "context": [HOTPOT["context"][0], ["Gull", ["A gull."]], ["Harbour", ["Another one."]]],
    }
    lost = HOTPOT | {"_id": "h3", "supporting_facts": [["Nowhere", 0]]}
    dataset = load(write("hotpot.json", json.dumps([HOTPOT, other, lost])))
    by_id = {chunk.id: chunk for chunk in dataset.corpus}
    assert len(by_id) == 4, "the shared paragraph is one chunk, the other of its title is not"
    first, second = dataset.queries
    assert [by_id[chunk_id].title for chunk_id in first.relevant] == ["Harbour", "Mira Voss"]
    assert by_id[next(iter(first.relevant))].text.endswith("Mira Voss. It is deep.")
    assert [by_id[chunk_id].title for chunk_id in second.relevant] == ["Gull"]
    assert (first.answers, first.type) == (("Tarn",), "bridge")
    assert dataset.skipped == {"supporting paragraph not in the context": 1}


MUSIQUE = {
    "id": "2hop__1_2",
    "question": "Where was the builder of the harbour born?",
    "answer": "Tarn",
    "answer_aliases": ["Tarn Town"],
    "answerable": True,
    "paragraphs": [
        {"idx": 0, "title": "Voss", "paragraph_text": "Born in Tarn.", "is_supporting": True},
        {"idx": 1, "title": "Voss", "paragraph_text": "A river.", "is_supporting": False},
    ],
}


def test_musique(write: Write) -> None:
    dataset = load(write("musique.jsonl", [MUSIQUE, MUSIQUE | {"answerable": False}]))
    (query,) = dataset.queries
    relevant = [chunk.text for chunk in dataset.corpus if chunk.id in query.relevant]
    assert relevant == ["Born in Tarn."], "gold by id: the other paragraph has the same title"
    assert query.answers == ("Tarn", "Tarn Town")
    assert query.type == "2hop"
    assert dataset.skipped == {"not answerable": 1}


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("{", r"corpus\.jsonl:1: expected one JSON object on the line"),
        ('{"id": "a", "text": "x"}\n[]', r"corpus\.jsonl:2: expected one JSON object.*got \[\]"),
        ([{"id": "a"}], r"corpus\.jsonl:1: expected a field 'text', got the fields 'id'"),
        ([{"text": "x"}], r"corpus\.jsonl:1: expected a field 'id'"),
        ([{"id": "", "text": "x"}], r"corpus\.jsonl:1: expected an id in 'id', got ''"),
        ([{"id": "a", "text": 1.5}], r"corpus\.jsonl:1: expected text in 'text', got 1\.5"),
        ([{"id": "a\n", "text": "x"}], r"corpus\.jsonl:1: expected a chunk that can be kept"),
        ([CORPUS[0], CORPUS[0]], r"corpus\.jsonl:2: expected unique ids, got 'a' again"),
        ([], r"corpus\.jsonl:1: expected at least one chunk"),
    ],
)
def test_bad_corpus(own_folder: Path, write: Write, rows: Any, message: str) -> None:
    write("harbour/corpus.jsonl", rows)
    with pytest.raises(DatasetError, match=message):
        load(own_folder)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"supporting_ids": ["z"]}, "expected ids of corpus.jsonl in 'supporting_ids', got 'z'"),
        ({"supporting_ids": None}, "expected a list of texts in 'supporting_ids', got None"),
        ({"answers": "Tarn"}, "expected a list of texts in 'answers', got 'Tarn'"),
        ({"grades": {"z": 1}}, "expected ids of corpus.jsonl in 'grades', got 'z'"),
        ({"grades": {"a": "x"}}, "expected an integer grade for 'a', got 'x'"),
        ({"grades": [1]}, "expected an object of chunk id to grade"),
        ({"question": None}, "expected a field 'question'"),
        ({"id": "q2"}, "expected unique ids, got 'q2' again"),
        ({"also_ids": ["z"]}, "expected ids of corpus.jsonl in 'also_ids', got 'z'"),
        ({"history": "Why?"}, "expected a list in 'history', got 'Why"),
        ({"history": [1]}, "expected texts, or objects of texts, in 'history', got 1"),
    ],
)
def test_bad_queries(own_folder: Path, write: Write, change: dict[str, Any], message: str) -> None:
    write("harbour/queries.jsonl", [*QUERIES, QUERIES[0] | {"id": "q9"} | change])
    with pytest.raises(DatasetError, match=rf"queries\.jsonl:4: {message}"):
        load(own_folder)


def test_bad_variants(own_folder: Path, write: Write) -> None:
    write("harbour/variants.jsonl", [{"id": "q9", "keywords": "x"}])
    with pytest.raises(DatasetError, match=r"variants\.jsonl: expected ids of queries\.jsonl"):
        load(own_folder)
    write("harbour/variants.jsonl", [{"id": "q1", "keywords": 3.5}])
    with pytest.raises(DatasetError, match=r"variants\.jsonl:1: expected text in 'keywords'"):
        load(own_folder)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"context": [["Harbour", "text"]]}, r"expected \[title, \[sentence, \.\.\.\]\]"),
        ({"context": {}}, "expected a list in 'context'"),
        ({"supporting_facts": ["Harbour"]}, r"expected \[title, sentence number\]"),
    ],
)
def test_bad_hotpot(write: Write, change: dict[str, Any], message: str) -> None:
    with pytest.raises(DatasetError, match=rf"hotpot\.json: entry 1: {message}"):
        load(write("hotpot.json", json.dumps([HOTPOT | change])))


@pytest.mark.parametrize(
    ("content", "message"),
    [("{}", "expected a JSON list of questions"), ("[1]", "entry 1: expected a JSON object")],
)
def test_json_that_is_no_list_of_objects(write: Write, content: str, message: str) -> None:
    with pytest.raises(DatasetError, match=message):
        load(write("hotpot.json", content))
    with pytest.raises(DatasetError, match=r"broken\.json:2: expected a JSON list"):
        load(write("broken.json", "[\nx]"))


def test_bad_musique(write: Write) -> None:
    broken = MUSIQUE | {"paragraphs": [{"title": "x", "paragraph_text": "y"}]}
    with pytest.raises(DatasetError, match=r"m\.jsonl:1: paragraph 0: expected true or false"):
        load(write("m.jsonl", [broken]))


def test_places_that_hold_no_set(tmp_path: Path, write: Write) -> None:
    with pytest.raises(DatasetError, match=r"expected corpus\.jsonl in it; a set is a folder"):
        load(tmp_path)
    with pytest.raises(DatasetError, match="does not exist"):
        load(tmp_path / "nothing")
    with pytest.raises(DatasetError, match=r"expected a folder, \.json or \.jsonl"):
        load(write("set.csv", "a,b"))
    latin = tmp_path / "latin.jsonl"
    latin.write_bytes(b'{"id": "\xe9"}')
    with pytest.raises(DatasetError, match="expected UTF-8 text, got byte 0xe9 at position 8"):
        load(latin)
