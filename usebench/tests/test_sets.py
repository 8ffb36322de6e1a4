from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from harbour import rows

from usebench.errors import ParameterError, SetError
from usebench.prequential import parts
from usebench.sets.builders import BUILDERS, CARDS, build
from usebench.sets.plain import read_set, write_set

CORPUS = [{"id": "a", "title": "A", "text": "alpha"}, {"id": "b", "text": "beta"}]


def asked(id_: str, gold: str, **fields: Any) -> dict[str, Any]:
    return {"id": id_, "question": f"{id_}?", "supporting_ids": [gold], **fields}


def test_a_split_asks_the_past_first_and_frozen_teaches_nothing_after_it(tmp_path: Path) -> None:
    queries = [asked("1", "a", split="test"), asked("2", "b", split="log"), asked("3", "a")]
    write_set(tmp_path, CORPUS, queries, order="split")
    uses = read_set(tmp_path, frozen=True)
    assert uses.events[0].id == "2"
    assert [event.taught for event in uses.events] == [True, False, False]
    assert all(event.taught for event in read_set(tmp_path).events)
    assert [event.when for event in uses.events] == [0.0, 1.0, 2.0]
    assert len(read_set(tmp_path, at_most=2).events) == 2


def test_a_mixed_stream_tests_its_last_quarter(tmp_path: Path) -> None:
    write_set(tmp_path, CORPUS, [asked(str(n), "a") for n in range(8)], order="mixed")
    uses = read_set(tmp_path, frozen=True)
    assert [event.scored for event in uses.events] == [False] * 6 + [True] * 2
    assert [event.taught for event in uses.events] == [True] * 6 + [False] * 2


def test_wordings_are_asked_after_the_questions_that_they_reword(tmp_path: Path) -> None:
    queries = [asked("1", "a"), asked("2", "b", group="g"), asked("3", "b", group="g")]
    write_set(tmp_path, CORPUS, [*queries, asked("4", "a")], order="reworded")
    variant = {"id": "1", "question": "1?", "light": "One?", "next": "Then?"}
    variant["next_supporting_ids"] = ["b"]  # type: ignore[assignment]
    (tmp_path / "variants.jsonl").write_text(json.dumps(variant) + "\n", "utf-8")
    events = read_set(tmp_path).events
    assert {event.id for event in events[:2]} == {"1", "2"}
    assert [(event.scored, event.taught) for event in events] == [(False, True)] * 2 + [
        (True, False)
    ] * 3
    assert {(event.question, event.part, *event.gold) for event in events[2:]} == {
        ("3?", "reworded", "b"),
        ("One?", "light", "a"),
        ("Then?", "next", "b"),
    }
    assert set(parts(events)) == {"reworded", "light", "next"}


def test_a_set_without_other_wordings_says_so(tmp_path: Path) -> None:
    write_set(tmp_path, CORPUS, [asked("1", "a")], order="reworded")
    with pytest.raises(SetError, match=r"variants\.jsonl"):
        read_set(tmp_path)


@pytest.mark.parametrize("field", ["supporting_ids", "cited", "grades"])
def test_passages_that_the_corpus_lacks_are_named(tmp_path: Path, field: str) -> None:
    wrong: Any = {"zeta": 1} if field == "grades" else ["zeta"]
    write_set(tmp_path, CORPUS, [asked("1", "a"), asked("2", "a", **{field: wrong})], order="split")
    with pytest.raises(SetError, match=r"queries\.jsonl: question '2' .* got 'zeta'"):
        read_set(tmp_path)


def test_wordings_name_passages_of_the_corpus_alone(tmp_path: Path) -> None:
    write_set(tmp_path, CORPUS, [asked("1", "a")], order="reworded")
    variant = {"id": "1", "question": "1?", "next": "Then?", "next_supporting_ids": ["zeta"]}
    (tmp_path / "variants.jsonl").write_text(json.dumps(variant) + "\n", "utf-8")
    with pytest.raises(SetError, match=r"variants\.jsonl: question '1' .* got 'zeta'"):
        read_set(tmp_path)


def test_dates_order_events_and_the_past_is_not_scored(tmp_path: Path) -> None:
    queries = [
        asked("1", "a", when=20, split="test", cited=["b"], actor="ann"),
        asked("2", "b", when=10, split="past"),
    ]
    write_set(tmp_path, CORPUS, queries, order="when")
    first, second = read_set(tmp_path).events
    assert (first.id, first.scored, first.when, first.actor) == ("2", False, 10.0, "reader-0")
    assert (second.scored, second.actor) == (True, "ann")
    assert second.recorded is not None
    assert second.recorded.cited == ("b",)


def test_ratings_cite_and_reject(tmp_path: Path) -> None:
    said = [
        {"question": "q", "chunk": "a", "ratings": ["Excellent", "Acceptable"], "split": "valid"},
        {"question": "q", "chunk": "b", "ratings": ["Bad", "Could be Improved"], "split": "valid"},
        {"question": "r", "chunk": "b", "ratings": ["Excellent", "Excellent"], "split": "test"},
    ]
    write_set(tmp_path, CORPUS, [asked("1", "a", split="test")], order="shuffled", feedback=said)
    rated, test = read_set(tmp_path, order="rated").events
    assert rated.recorded is not None
    assert (rated.recorded.cited, rated.recorded.rejected) == (("a",), ("b",))
    assert not rated.scored
    assert test.scored


def test_ratings_of_unknown_passages_are_counted(tmp_path: Path) -> None:
    said = [{"question": "q", "chunk": one, "ratings": ["Bad"]} for one in ("a", "gone", "lost")]
    write_set(tmp_path, CORPUS, [asked("1", "a", split="test")], order="shuffled", feedback=said)
    with pytest.warns(UserWarning, match=r"jsonl: 2 of 3 rows teach nothing: .* such as 'gone'"):
        rated, _ = read_set(tmp_path, order="rated").events
    assert rated.recorded is not None
    assert rated.recorded.shown == ("a",)


def test_the_same_seed_gives_the_same_stream_and_chats_keep_their_order(tmp_path: Path) -> None:
    write_set(tmp_path, CORPUS, [asked(str(n), "a") for n in range(9)], order="shuffled")
    assert read_set(tmp_path, seed=1) == read_set(tmp_path, seed=1)
    assert read_set(tmp_path, seed=1).events != read_set(tmp_path, seed=2).events
    chats = [{"id": f"{chat}-{n}", "text": "x", "chat": chat} for chat in (1, 2) for n in range(9)]
    write_set(tmp_path, chats, [asked("1", "1-0", chat=1)], order="shuffled")
    uses = read_set(tmp_path)
    assert [passage.id for passage in uses.passages] == [chat["id"] for chat in chats]
    assert not uses.events[0].taught


@pytest.mark.parametrize(
    ("name", "line", "message"),
    [
        ("corpus.jsonl", "{", "corpus.jsonl:1: expected JSON"),
        ("corpus.jsonl", "[]", "corpus.jsonl:1: expected an object"),
        ("queries.jsonl", '{"id": "1"}', "queries.jsonl:1: expected a field 'question'"),
        ("queries.jsonl", '{"id": "1", "question": "?"}', "a question with a relevant passage"),
    ],
)
def test_what_cannot_be_read_is_named(tmp_path: Path, name: str, line: str, message: str) -> None:
    write_set(tmp_path, CORPUS, [asked("1", "a")], order="shuffled")
    (tmp_path / name).write_text(line, "utf-8")
    with pytest.raises(SetError, match=message):
        read_set(tmp_path)


def test_a_folder_without_a_set_says_what_a_set_is(tmp_path: Path) -> None:
    with pytest.raises(SetError, match=r"a set is a folder with corpus\.jsonl"):
        read_set(tmp_path)
    with pytest.raises(SetError, match="expected"):
        build("feedbackqa", tmp_path, tmp_path / "out")
    with pytest.raises(ParameterError, match="sets are beam, feedbackqa"):
        build("other", tmp_path, tmp_path / "out")


def page(number: int, text: str) -> dict[str, Any]:
    reference = {"page_title": "Harbour", "section_headers": ["Tides"], "section_content": text}
    return {"passage_id": number, "uri": "", "reference": reference}


SOURCES: dict[str, tuple[dict[str, Any], set[str], dict[str, list[str]]]] = {
    "feedbackqa": (
        {
            "experiments/feedbackQA_data/Port/test.json": {
                "examples": [{"id": 0, "question": "When is it high?", "passage_id": 1}],
                "passages": [page(0, "Low."), page(1, "High.")],
            },
            "experiments/feedbackQA_data/Port/feedback_valid.json": [
                {
                    "question": "Is it low?",
                    "passage": page(0, "Low."),
                    "rating": ["Excellent", "Bad"],
                    "feedback": ["It is.", "No."],
                }
            ],
        },
        {"Port-0", "Port-1"},
        {"When is it high?": ["Port-1"]},
    ),
    "musique-lag": (
        {
            "data/musique/dev_docs.json": {
                "Moss_0": {"title": "Moss", "content": "She built."},
                "Petrel_0": {"title": "Petrel", "content": "A barque."},
            },
            "data/musique/dev_train.json": [
                {
                    "id": "2hop",
                    "question": "Who built it?",
                    "question_decomposition": [
                        {"document_id": "Moss_0"},
                        {"document_id": "Petrel_0"},
                    ],
                }
            ],
            "data/musique/dev_test.json": [],
        },
        {"Moss_0", "Petrel_0"},
        {"Who built it?": ["Moss_0", "Petrel_0"]},
    ),
    "multihop-rag": (
        {
            "dataset/corpus.json": [
                {"title": "Storm", "body": f"{'It rained. ' * 100}The barque\nwas lost."}
            ],
            "dataset/MultiHopRAG.json": [
                {
                    "query": "What was lost?",
                    "question_type": "inference_query",
                    "evidence_list": [{"title": "Storm", "fact": "The barque was lost."}],
                },
                {"query": "Who?", "question_type": "null_query", "evidence_list": []},
            ],
        },
        {"0-0", "0-1"},
        {"What was lost?": ["0-1"]},
    ),
    "or-sharc": (
        {
            "data/id2snippet.json": {"7": "A permit is needed."},
            "data/open_retrieval_sharc_dev.json": [
                {
                    "utterance_id": str(turn),
                    "tree_id": "t",
                    "question": "May I moor?",
                    "scenario": "I have a barque.",
                    "gold_snippet_id": "7",
                }
                for turn in (1, 2)
            ],
        },
        {"rule-7"},
        {"May I moor?\nI have a barque.": ["rule-7"]},
    ),
    "wildgraphbench": (
        {
            "QA/port/questions.jsonl": [
                {
                    "question": "When is it high?",
                    "question_type": ["single-fact"],
                    "ref_urls": ["https://a.example/tides#top"],
                }
            ],
            "corpus/port/Port/references.jsonl": [
                {"url": "https://a.example/tides", "title": "Tides: the times"}
            ],
            "corpus/port/Port/reference_pages/Tides_the_times.txt": "Twice a day.",
        },
        {"port/Tides_the_times"},
        {"When is it high?": ["port/Tides_the_times"]},
    ),
    "beam": (
        {
            "1/chat.json": [
                {
                    "batch_number": 1,
                    "turns": [
                        [
                            {"role": "user", "id": 0, "content": "My boat is the Petrel."},
                            {"role": "assistant", "id": 1, "content": "A fine name."},
                        ]
                    ],
                }
            ],
            "1/probing_questions/probing_questions.json": {
                "abstention": [{"question": "My age?"}],
                "knowledge_update": [
                    {"question": "My boat?", "source_chat_ids": {"first": [0], "second": [0]}}
                ],
            },
        },
        {"1-0", "1-1"},
        {"My boat?": ["1-0"]},
    ),
}


@pytest.mark.parametrize("name", SOURCES)
def test_a_builder_reads_what_its_source_publishes(
    name: str, write: Callable[..., Path], tmp_path: Path
) -> None:
    files, passages, questions = SOURCES[name]
    build(name, write(files), tmp_path / "out")
    uses = read_set(tmp_path / "out")
    assert {passage.id for passage in uses.passages} == passages
    assert {event.question: sorted(event.gold) for event in uses.events} == questions


def test_feedbackqa_keeps_what_people_said(write: Callable[..., Path], tmp_path: Path) -> None:
    build("feedbackqa", write(SOURCES["feedbackqa"][0]), tmp_path / "out")
    (row,) = rows(tmp_path / "out" / "feedback.jsonl")
    assert (row["chunk"], row["ratings"]) == ("Port-0", ["Excellent", "Bad"])
    assert rows(tmp_path / "out" / "corpus.jsonl")[0]["title"] == "Harbour > Tides"


def test_every_builder_has_a_card() -> None:
    assert len(CARDS) == len(BUILDERS)
    for card in CARDS:
        assert "**Does not show**" in str(card)


class Repository:
    """A repository whose commits come a day apart."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.days = 0
        folder.mkdir()
        self.git("init", "-q")

    def git(self, *words: str) -> None:
        self.days += 1
        stamp = f"2020-01-{self.days:02} 12:00:00 +0000"
        who = {"GIT_AUTHOR_DATE": stamp, "GIT_COMMITTER_DATE": stamp, "PATH": "/usr/bin:/bin"}
        names = {
            f"GIT_{role}_{what}": "ann@a.example"
            for role in ("AUTHOR", "COMMITTER")
            for what in ("NAME", "EMAIL")
        }
        subprocess.run(["git", *words], cwd=self.folder, check=True, env=who | names)

    def commit(self, message: str, **files: str) -> None:
        for name, text in files.items():
            (self.folder / name.replace("_py", ".py").replace("_md", ".md")).write_text(text)
        self.git("add", ".")
        self.git("commit", "-q", "-m", message)


def test_a_history_asks_messages_and_cites_what_commits_touched(tmp_path: Path) -> None:
    repository = Repository(tmp_path / "repository")
    body = "import math\n\n\ndef tide(day):\n    return {}\n\n\nclass Quay:\n    length = {}\n"
    for number in range(8):
        repository.commit(
            f"Let the tide rise {number}", port_py=body.format(number, 0), read_md="x"
        )
    repository.commit("Make the quay longer (#12) in port.py", port_py=body.format(7, 9))
    repository.commit("Say more about the port", port_py=body.format(7, 9), read_md="more\n")
    repository.commit("oops", port_py=body.format(8, 9))
    build("git", repository.folder, tmp_path / "out")
    uses = read_set(tmp_path / "out")
    assert {p.id for p in uses.passages} == {
        "port.py::module",
        "port.py::tide",
        "port.py::Quay",
        "read.md",
    }
    cited = {event.question: sorted(event.gold) for event in uses.events}
    assert cited["Make the quay longer in"] == ["port.py::Quay"]
    assert cited["Let the tide rise 3"] == ["port.py::tide"]
    assert cited["Say more about the port"] == ["read.md"]
    assert "oops" not in cited
    assert [event.scored for event in uses.events] == [False] * 8 + [True] * 2
    assert uses.order == "when"


def test_what_is_no_repository_is_said(tmp_path: Path) -> None:
    with pytest.raises(SetError, match="git log failed"):
        build("git", tmp_path, tmp_path / "out")
