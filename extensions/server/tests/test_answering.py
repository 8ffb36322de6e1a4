"""Answers by a model: a stub of OpenAI's API stands in for it, over real HTTP."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

pytest.importorskip("fastapi", reason="the extra server is not installed")

import httpx
from hebbgraph.errors import ParameterError
from model_stub import Stub
from pydantic import SecretStr
from starlette.testclient import TestClient

from hebbgraph_server import ServerSettings
from hebbgraph_server.answering import Model

Serve = Callable[..., TestClient]
QUESTION = "Who built the Petrel?"


def test_an_answer_cites_passages_and_teaches_when_it_is_accepted(serve: Serve, stub: Stub) -> None:
    api = serve(model=Model(stub.url, "owl", SecretStr("a key")))
    assert api.get("/v1/access").json()["answers"] is True
    recall = api.post("/v1/recall", json={"query": QUESTION, "k": 3}).json()
    first = recall["hits"][0]["chunk"]
    told = api.post("/v1/answer", json={"recall_id": recall["id"], "k": 2}).json()
    assert told["cited"] == [first["id"]]
    assert told["keys"]["1"] == first["id"]
    assert told["text"] == "It was built there [1]."
    assert told["shown"] == [hit["chunk"]["id"] for hit in recall["hits"][:2]]
    ((path, body, key),) = stub.asked
    assert (path, body["model"], key) == ("/v1/chat/completions", "owl", "Bearer a key")
    assert first["text"] in body["messages"][1]["content"]
    assert QUESTION in body["messages"][1]["content"]
    lesson = {"recall": recall["id"], "cited": told["cited"], "shown": told["shown"]}
    assert api.post("/v1/reinforce", json=lesson).json()["cited"] == [first["id"]]


@pytest.mark.parametrize("streams", [True, False])
def test_an_answer_comes_as_it_is_written(serve: Serve, stub: Stub, streams: bool) -> None:
    stub.streams = streams  # a server that cannot answers at once
    api = serve(model=Model(stub.url, "owl"))
    recall = api.post("/v1/recall", json={"query": QUESTION, "k": 3}).json()
    lines = {"Accept": "application/x-ndjson"}
    asked = {"recall_id": recall["id"]}
    answer = api.post("/v1/answer", json=asked, headers=lines)
    assert answer.headers["content-type"] == "application/x-ndjson"
    *parts, last = [json.loads(line) for line in answer.text.splitlines()]
    assert [one["text"] for one in parts] == (
        ["It was ", "built there ", "[1]."] if streams else []
    )
    assert last["answer"] == api.post("/v1/answer", json=asked).json()
    assert last["answer"]["text"] == "It was built there [1]."
    assert [body.get("stream") for _, body, _ in stub.asked] == [True, None]
    stub.status, stub.reply = 500, "out of memory"
    (last,) = api.post("/v1/answer", json=asked, headers=lines).text.splitlines()
    assert json.loads(last)["problem"]["error"] == "ModelError"


def test_a_model_is_asked_with_the_earlier_turns(serve: Serve, stub: Stub) -> None:
    api = serve(model=Model(stub.url, "owl"))
    asked = {"query": "And then?", "history": ["Who built the Petrel?"]}
    recall = api.post("/v1/recall", json=asked).json()
    assert api.post("/v1/answer", json={"recall_id": recall["id"]}).status_code == 200
    ((_, body, _),) = stub.asked
    assert "Petrel" in body["messages"][1]["content"].rpartition("Question:")[2]


def test_what_goes_wrong_with_the_model_is_told(
    serve: Serve, stub: Stub, caplog: pytest.LogCaptureFixture
) -> None:
    api = serve(model=Model(stub.url, "owl", SecretStr("sk-secret"), seconds=0.5))
    recall = api.post("/v1/recall", json={"query": QUESTION}).json()

    def refused() -> str:
        answer = api.post("/v1/answer", json={"recall_id": recall["id"]})
        assert answer.status_code == 502
        assert answer.json()["error"] == "ModelError"
        return str(answer.json()["detail"])

    stub.status, stub.reply = 401, "no such key: Bearer sk-secret"
    assert refused() == "the model's server answered 401; the log of this server says why"
    assert "no such key: Bearer ***" in caplog.text
    stub.status, stub.reply = 200, "<html>"
    assert "chat completions" in refused()
    stub.reply = json.dumps({"choices": [{"message": {"content": None}}]})
    assert "sent an empty answer" in refused()
    stub.seconds = 1.0
    assert "within 0.5 s" in refused()
    stub.stop()
    assert "cannot be reached" in refused()


def test_only_so_many_answers_are_made_at_once(serve: Serve, stub: Stub) -> None:
    api = serve(model=Model(stub.url, "owl"), answers_at_once=1)
    recall = api.post("/v1/recall", json={"query": QUESTION}).json()
    stub.hold.clear()

    def ask() -> httpx.Response:
        return api.post("/v1/answer", json={"recall_id": recall["id"]})

    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(ask)
        while not stub.asked and not first.done():
            time.sleep(0.01)
        second = ask()
        stub.hold.set()
    assert (second.status_code, second.headers["Retry-After"]) == (429, "1")
    assert second.json()["error"] == "TooManyRequestsError"
    assert first.result().status_code == ask().status_code == 200


def test_without_a_model_nothing_changes(api: TestClient) -> None:
    assert api.get("/v1/access").json()["answers"] is False
    recall = api.post("/v1/recall", json={"query": QUESTION}).json()
    answer = api.post("/v1/answer", json={"recall_id": recall["id"]})
    assert (answer.status_code, "--llm URL" in answer.json()["detail"]) == (422, True)


def test_a_recall_that_is_not_there(serve: Serve, stub: Stub) -> None:
    api = serve(model=Model(stub.url, "owl"))
    assert api.post("/v1/answer", json={"recall_id": "nope"}).status_code == 404
    assert stub.asked == []


@pytest.mark.parametrize(("url", "name"), [("localhost:1", "owl"), ("http://localhost:1", "")])
def test_a_model_has_a_url_and_a_name(url: str, name: str) -> None:
    with pytest.raises(ParameterError, match="--llm takes"):
        ServerSettings(model=Model(url, name)).check()
