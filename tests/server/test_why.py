"""What the page says of a hit: words, marks, parts of the score, hops, lessons."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from manuals import QUESTION, TAUGHT
from served import ask
from ships import CORPUS

pytest.importorskip("fastapi", reason="the extra serve is not installed")

from hebbgraph_server.suggesting import suggested


def marked(passage: dict[str, Any]) -> list[str]:
    return [passage["text"][mark["start"] : mark["end"]] for mark in passage["marks"]]


def by_id(answer: dict[str, Any]) -> dict[str, Any]:
    return {hit["id"]: hit for hit in answer["hits"]}


def teach(api: Any, question: str, *cited: str, **more: Any) -> Any:
    body = {"recall": ask(api, question)["id"], "cited": list(cited), "actor": "ann", **more}
    answer = api.post("/v1/lessons", json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()


def add(api: Any, *chunks: Any) -> None:
    body = {"chunks": [c if isinstance(c, dict) else c.model_dump(mode="json") for c in chunks]}
    assert api.post("/v1/chunks", json=body).status_code == 200


def test_why_is_a_sentence(api: Any) -> None:
    first, second, *_ = ask(api, QUESTION)["hits"]
    assert (first["id"], second["id"]) == ("files", "bin")
    assert first["why"] == (
        "has file, publish, package; lacks make, executable; the next one adds executable"
    )
    assert second["adds"] == ["executable"]


def test_every_word_that_a_passage_holds_is_marked(api: Any) -> None:
    answer = ask(api, QUESTION)
    for hit in answer["hits"]:
        words = {mark["word"] for mark in hit["marks"] + hit["title_marks"]}
        assert words == set(hit["has"]), hit["id"]
    assert marked(by_id(answer)["bin"]) == ["packages", "executable", "files", "package", "file"]
    weights = {word["word"]: word["weight"] for word in answer["words"]}
    assert weights["package"] < weights["publish"] == weights["file"] < weights["make"] == 1.0
    assert {word["word"]: word["passages"] for word in answer["words"]} == {
        "make": 0,
        "executable": 2,
        "file": 2,
        "publish": 2,
        "package": 3,
    }


def test_words_are_marked_in_any_script_and_spelling(api: Any) -> None:
    texts = {
        "code": "Set `npm_config_prefix` in C++, see ERR-1234 and Café-culture’s menu 🦉 ERR-1234.",
        "cjk": "🦉 東京大学は本郷にあります。",
    }
    add(api, *({"id": id_, "text": text} for id_, text in texts.items()))
    code = by_id(ask(api, "What is ERR-1234 of the cafe?"))["code"]
    assert marked(code) == ["ERR", "1234", "Café", "ERR", "1234"]
    assert "東京" in "".join(marked(by_id(ask(api, "東京大学はどこですか"))["cjk"]))


@pytest.mark.parametrize(
    ("text", "question", "found"),
    [
        ("Die Öffnungszeiten der Bibliotheken stehen an der Tür.",
         "Wann sind die Öffnungszeiten der Bibliothek?", ["Öffnungszeiten", "Bibliotheken"]),
        ("Man darf die Bücher in München ausleihen, und das ist gut.",
         "Kann man in Muenchen ein Buch ausleihen?", ["Bücher", "München", "ausleihen"]),
        ("Stugorna vid sjön hyrs ut. Huset har en brygga och båtar för gästerna som kommer.",
         "Har stugan en båt och ett hus?", ["Stugorna", "Huset", "båtar"]),
        ("Los lápices de los niños están en la caja.", "¿Dónde está el lápiz del niño?",
         ["lápices", "niños"]),
        ("Les chevaux sont dans les écuries pendant la nuit.", "Où est le cheval ?", ["chevaux"]),
        ("किताबों की दुकान सुबह खुलती है।", "किताब की दुकान कहाँ है", ["किताबों", "दुकान"]),
        ("Người dân trồng lúa quanh năm.", "trồng lúa ở đâu?", ["trồng", "lúa"]),
        ("東京大学の図書館は九時に開きます。", "図書館は何時", ["図書", "館", "は"]),
        ("Call createBasketSession() first.", "What is a basket session?", ["Basket", "Session"]),
        ("It needs a WiFi-Hotspot, as usual.", "wifi hotspot", ["WiFi", "Hotspot"]),
        ("More infor-\nmation is in the hall.", "information", ["infor-\nmation"]),
        ("The bag weighs 5 kg.", "What weighs 5kg?", ["weighs", "5", "kg"]),
    ],
)  # fmt: skip
def test_what_is_found_in_any_language_or_compound_is_marked(
    api: Any, text: str, question: str, found: list[str]
) -> None:
    add(api, {"id": "x", "text": text})
    assert marked(by_id(ask(api, question))["x"]) == found


def test_words_are_spelled_as_the_question_writes_them(api: Any) -> None:
    add(api, {"id": "x", "text": "Der Zug fährt über die Brücke und hält in der Stadt."})
    answer = ask(api, "Wo hält der Zug über die Brücke?")
    assert by_id(answer)["x"]["has"] == ["hält", "zug", "brücke"]
    everyday = [word["word"] for word in answer["ignored"]]
    assert everyday == ["wo", "der", "über", "die"]


def test_what_is_ignored_says_why(api: Any) -> None:
    add(api, *({"id": f"npm{n}", "text": f"npm part {n}.", "tags": ["npm"]} for n in range(60)))
    ignored = {word["word"]: word for word in ask(api, "How does npm work?")["ignored"]}
    assert ignored["how"]["reason"] == "an everyday word"
    assert ignored["npm"]["passages"] >= 60
    assert "in 6" in ignored["npm"]["reason"]


def test_two_hops_are_quoted(api: Any) -> None:
    add(api, *CORPUS)
    answer = ask(api, "Where did the builder of the barque Petrel live?")
    hop = by_id(answer)["moss"]["hop"]
    assert (hop["kind"], hop["shared"]) == ("words", ["ida moss"])
    assert (hop["source"]["id"], hop["source"]["rank"]) == ("petrel", 1)
    for end in (hop["source"], hop["target"]):
        words = [end["quote"][mark["start"] : mark["end"]] for mark in end["marks"]]
        assert words == ["Ida", "Moss"]
    assert "both name ida moss" in by_id(answer)["moss"]["why"]


def test_no_address_is_ever_shown(api: Any) -> None:
    pages = [
        {"id": "a", "title": "Races", "text": "Data races are found by a tool. See below.",
         "addresses": ["/home/me/secret/hg-manual.html#races"],
         "references": ["/home/me/secret/authors.html#top"]},
        {"id": "b", "title": "Authors", "text": "Jo Doe wrote it.",
         "addresses": ["/home/me/secret/authors.html#top"]},
    ]  # fmt: skip
    add(api, *pages)
    answer = ask(api, "Who made the tool that finds data races?")
    hop = by_id(answer)["b"]["hop"]
    assert (hop["kind"], hop["shared"]) == ("link", [])
    assert "secret" not in str(answer)


def test_parts_add_up_to_the_score(api: Any) -> None:
    add(api, *CORPUS)
    teach(api, *TAUGHT)
    for question in (QUESTION, TAUGHT[0], "Where did the builder of the Petrel live?"):
        for hit in ask(api, question)["hits"]:
            assert sum(hit["parts"].values()) == pytest.approx(hit["score"], abs=1e-5)


def test_a_lesson_is_seen_and_taken_back(api: Any) -> None:
    plain = [hit["id"] for hit in ask(api, QUESTION)["hits"]]
    lesson = teach(api, QUESTION, "folders")
    assert lesson["cited"] == [
        {"id": "folders", "title": "folders: Where executables go", "place": "docs/folders.md"}
    ]
    answer = ask(api, QUESTION, compare=True)
    first = answer["hits"][0]
    assert (first["id"], first["untaught_rank"]) == ("folders", plain.index("folders") + 1)
    assert (first["lesson"]["actor"], first["lesson"]["question"]) == ("ann", QUESTION)
    assert [hit["id"] for hit in answer["without_lessons"]] == plain
    assert api.delete(f"/v1/lessons/{first['lesson']['id']}").json() == {"forgotten": 1}
    assert [hit["id"] for hit in ask(api, QUESTION)["hits"]] == plain


def test_a_passage_that_was_not_found_can_be_taught(api: Any) -> None:
    answer = ask(api, QUESTION, k=1)
    body = {"recall": answer["id"], "cited": ["ping"]}
    assert api.post("/v1/lessons", json=body).status_code == 200
    assert ask(api, QUESTION)["hits"][0]["id"] == "ping"


def test_questions_are_kept_unless_a_setting_says_no(serve: Any) -> None:
    for keeps in (True, False):
        api = serve(keep_questions=keeps)
        assert teach(api, *TAUGHT)["id"]
        newest = api.get("/v1/lessons").json()["lessons"][0]
        assert newest["question"] == (TAUGHT[0] if keeps else "")
    raised = ask(api, TAUGHT[0])["hits"][0]["lesson"]
    assert raised["actor"] == "ann"


def test_a_thumb_comes_later_by_the_name_of_an_answer(api: Any) -> None:
    answer = ask(api, QUESTION, answer="answer-1")
    said = {"recall": answer["id"], "cited": ["folders"], "actor": "model", "trusted": False}
    api.post("/v1/lessons", json=said)
    thumb = api.post("/v1/lessons", json={"answer": "answer-1", "rating": 1, "actor": "ann"})
    assert thumb.status_code == 200, thumb.text
    assert [chunk["id"] for chunk in thumb.json()["cited"]] == ["folders"]
    assert ask(api, QUESTION)["hits"][0]["id"] == "folders"
    for wrong in ({"rating": 0}, {}, {"rating": 1, "rejected": ["bin"]}):
        assert api.post("/v1/lessons", json={"answer": "answer-1", **wrong}).status_code == 422


def test_lessons_are_listed_the_newest_first(api: Any) -> None:
    first, second = teach(api, QUESTION, "bin"), teach(api, TAUGHT[0], "folders")
    listed = api.get("/v1/lessons").json()
    assert [lesson["id"] for lesson in listed["lessons"]] == [second["id"], first["id"]]
    only = api.get("/v1/lessons", params={"chunk": "bin"}).json()
    assert ([lesson["id"] for lesson in only["lessons"]], only["total"]) == ([first["id"]], 1)
    assert api.get("/v1/lessons/evaluation").json()["questions"] == 2


def test_a_tag_has_passages_by_relevance_neighbors_and_links(api: Any) -> None:
    add(api, *CORPUS)
    add(api, {"id": "letter", "text": "See there.", "references": ["moss.md"]})
    moss = CORPUS[2].model_copy(update={"addresses": ("moss.md",)})
    add(api, moss)
    panel = api.get("/v1/tags/Ida Moss").json()
    assert (panel["tag"], panel["chunks"], panel["titles"]) == ("ida moss", 3, 1)
    assert panel["hits"][0]["id"] == "moss"
    assert len(panel["hits"]) == 3
    assert {"tag": "corin vale", "weight": 2, "learned": 0.0} in panel["neighbors"]
    assert [chunk["id"] for chunk in panel["linked_from"]] == ["letter"]
    assert api.get("/v1/tags/nothing such").status_code == 404
    add(api, {"id": "desk", "text": "Ring before nine.", "tags": ["Opening hours"]})
    assert [hit["id"] for hit in api.get("/v1/tags/opening hours").json()["hits"]] == ["desk"]


def test_suggestions_are_real_headings(api: Any) -> None:
    questions = api.get("/v1/suggestions").json()["questions"]
    assert "How do I ping the registry?" in questions
    assert len(questions) == 3


@pytest.mark.parametrize(
    "heading",
    ["2 NEWS", "README first", "1.2.3", "index.html | Home", "Release 2024", "AUTHORS", "x " * 50],
)
def test_a_heading_of_any_document_is_not_suggested(heading: str) -> None:
    assert suggested([("a", heading), ("b", "Opening  hours")]) == ["Opening hours"]


def test_headings_that_ask_are_suggested_first() -> None:
    headings = ["Opening hours", "Can openers", "How to install Node.js", "Why is it slow?"]
    suggestions = suggested((heading, heading) for heading in headings)
    assert suggestions == ["How do I install Node.js?", "Why is it slow?", "Opening hours"]
    assert suggested(("one document", heading) for heading in headings) == suggestions[:1]


def test_a_recall_is_that_of_the_index(api: Any, location: Path) -> None:
    from hebbgraph import HebbianIndex

    with HebbianIndex.open(location, read_only=True) as index:
        found = index.recall(QUESTION, where={"product": "npm"})
    answer = ask(api, QUESTION, where={"product": "npm"})
    assert [(hit["id"], hit["score"]) for hit in answer["hits"]] == [
        (hit.id, hit.score) for hit in found
    ]


def test_what_teaches_nothing_is_refused_with_the_reason(api: Any) -> None:
    answer = ask(api, QUESTION)
    everything = [hit["id"] for hit in answer["hits"]]
    for said, reason in (
        ({}, "nothing is cited or rejected"),
        ({"cited": ["bin"], "rating": 0}, "a rating of 0 says nothing"),
        ({"cited": everything}, f"all {len(everything)} shown chunks are cited"),
    ):
        refused = api.post("/v1/lessons", json={"recall": answer["id"], **said})
        assert refused.status_code == 422
        assert refused.json()["field"] == "cited"
        assert refused.json()["message"].startswith(f"nothing is learned: {reason}")
    assert api.get("/v1/lessons").json()["total"] == 0
