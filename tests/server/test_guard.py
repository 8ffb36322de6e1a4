"""Hosts, origins, rates, bodies, and texts that mean harm."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from manuals import QUESTION
from served import ask, caller, secret, token

pytest.importorskip("fastapi", reason="the extra serve is not installed")

SCRIPT = "<script>alert(1)</script><img src=x onerror=alert(2)>"


@pytest.mark.parametrize("host", ["evil.example", "localhost.evil.example", "", "127.0.0.1.nip.io"])
def test_a_rebound_name_is_refused(api: Any, host: str) -> None:
    assert api.get("/v1/session", headers={"Host": host}).status_code == 421
    assert api.get("/", headers={"Host": host}).status_code == 421


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1:4321", "[::1]:4321", "LOCALHOST:1"])
def test_its_own_names_are_fine(api: Any, host: str) -> None:
    assert api.get("/v1/health", headers={"Host": host}).status_code == 200


def test_pages_of_others_are_refused(serve: Any) -> None:
    api = serve(allowed_origins={"https://wiki.example"})

    def status(**headers: str) -> int:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        answer = api.post("/v1/recalls", headers=named, json={"question": "Who?"})
        return int(answer.status_code)

    assert status() == status(Origin="http://localhost") == 200
    assert status(Origin="https://wiki.example") == 200
    assert status(Origin="https://evil.example") == status(Origin="null") == 403
    assert status(Origin="http://localhost:81") == status(Sec_Fetch_Site="cross-site") == 403
    assert api.get("/", headers={"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"})
    for path in ("/v1/chunks/delete", "/v1/documents?place=a.md"):
        form = api.post(path, content="x", headers={"Content-Type": "text/plain"})
        assert (form.status_code, form.json()["error"]) == (415, "wrong_type")


def test_tokens_are_not_guessed_at_speed(serve: Any) -> None:
    api = serve(tokens=(token("ann"),))
    statuses = [caller(api, "eve").get("/v1/session").status_code for _ in range(8)]
    assert (statuses[:5], statuses[-1]) == ([401] * 5, 429)
    # Who has a token, or has not tried one yet, is not held up by it.
    assert caller(api, "ann").get("/v1/session").status_code == 200
    assert api.get("/v1/session").json()["error"] == "token_missing"


def test_rates_and_sizes_are_bounded(serve: Any) -> None:
    api = serve(max_body_bytes=2_000, max_file_bytes=3_000, requests_per_minute=84)
    large = {"chunks": [{"text": "owl " * 1000}]}
    assert api.post("/v1/chunks", json=large).status_code == 413

    def chunked() -> Any:
        yield b'{"chunks": ['
        for _ in range(1000):
            yield b'{"text": "owl"},'

    answer = api.post("/v1/chunks", content=chunked(), headers={"Content-Type": "application/json"})
    assert (answer.status_code, answer.json()["error"]) == (413, "too_large")
    file = {"content": b"x" * 4_000, "headers": {"Content-Type": "application/octet-stream"}}
    assert api.post("/v1/documents?place=a.md", **file).status_code == 413
    answers = [api.get("/v1/session") for _ in range(6)]
    assert [answer.status_code for answer in answers] == [200] * 4 + [429] * 2
    assert (answers[-1].json()["error"], answers[-1].headers["retry-after"]) == ("too_many", "1")


def test_bodies_that_fit_nothing_are_refused(api: Any) -> None:
    bodies = [
        b"",
        b"{",
        b"null",
        b"[]",
        b'"text"',
        b"\xff\xfe",
        b'{"question": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        b'{"question": "x", "where": ' + b'{"$not": ' * 900 + b"{}" + b"}" * 900 + b"}",
        b'{"question": "Who?", "k": NaN}',
        b'{"question": "Who?", "k": 1e999}',
        b'{"question": "Who?", "k": 0}',
        b'{"question": "Who?", "k": 101}',
        b'{"question": "Who?", "where": {"a": Infinity}}',
        b'{"question": "Who?", "wher": {}}',
        json.dumps({"question": "\ud800", "k": "\ud800"}).encode(),
    ]
    paths = ("recalls", "lessons", "chunks", "chunks/delete")
    for path in paths:
        for body in bodies:
            headers = {"Content-Type": "application/json"}
            answer = api.post(f"/v1/{path}", content=body, headers=headers)
            assert answer.status_code in (400, 422), (path, body[:60], answer.text)
            assert answer.json().keys() == {"error", "message", "field"}


@pytest.mark.parametrize(
    ("path", "body", "message", "field"),
    [
        ("recalls", {}, "question is missing", "question"),
        ("recalls", {"question": 5}, "question: input should be text, got 5", "question"),
        (
            "recalls",
            {"question": "x", "k": 500},
            "k: at most 100, got 500",
            "k",
        ),
        ("recalls", {"question": "x", "wher": 1}, "there is no field 'wher' here", "wher"),
        ("recalls", {"question": "x", "where": 5}, "where: input should be an object", "where"),
        ("lessons", {}, "give either recall or answer", "recall"),
        ("lessons", {"recall": "gone", "cited": ["bin"]}, "no recall 'gone' is kept", "recall"),
        ("chunks/delete", {}, "ids is missing", "ids"),
        ("chunks", {"chunks": [{"text": " "}]}, "chunks.0", "chunks.0"),
    ],
)
def test_errors_name_the_field_of_json(
    api: Any, path: str, body: Any, message: str, field: str
) -> None:
    problem = api.post(f"/v1/{path}", json=body).json()
    assert problem["message"].startswith(message), problem
    assert problem["field"] == field


def test_no_error_is_spelt_as_python(api: Any) -> None:
    filters: list[Any] = [
        {"a": {"$exists": 1}}, {"a": {"$near": 1}}, {"$or": []}, {"a": {"$gt": None}},
        {"a": [1]}, {"a": {"$in": 3}}, {"$and": [5]}, {"a": {"$text_match": 5}},
    ]  # fmt: skip
    for where in filters:
        answer = api.post("/v1/recalls", json={"question": "x", "where": where})
        assert answer.status_code == 422
        words = answer.json()["message"].split()
        assert not {"dict", "str", "True", "False", "None"} & set(words), answer.text
        assert "=" not in answer.text


def test_a_misspelt_parameter_changes_nothing(api: Any) -> None:
    for query in ("?namesapce=other", "?Namespace=other", "?namespace=default&namespace=other"):
        answer = api.post(f"/v1/chunks/delete{query}", json={"ids": ["bin"]})
        assert answer.status_code == 422
        assert "namespace" in answer.json()["message"]
    assert api.get("/v1/chunks/bin").status_code == 200


def test_texts_are_data_in_every_answer(api: Any) -> None:
    chunk = {"id": SCRIPT, "title": SCRIPT, "text": f"{SCRIPT} \u202eowls\u202c שלום"}
    chunk |= {"document_id": SCRIPT, "metadata": {SCRIPT: SCRIPT}}
    api.post("/v1/chunks", json={"chunks": [chunk]})
    recall = ask(api, "alert script owls")
    body = {"recall": recall["id"], "cited": [SCRIPT], "actor": SCRIPT}
    assert api.post("/v1/lessons", json=body).status_code == 200
    assert api.get(f"/v1/chunks/{SCRIPT.replace('/', '%2F')}").json()["title"] == SCRIPT
    for answer in (
        api.post("/v1/recalls", json={"question": "alert script owls"}),
        api.get("/v1/lessons"),
        api.get("/v1/documents"),
        api.get("/v1/chunks/none"),
        api.get("/v1/nothing"),
    ):
        assert answer.headers["content-type"] == "application/json"
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["cache-control"] == "no-store"


def test_the_page_is_the_servers_own(api: Any) -> None:
    views = {path: api.get(path) for path in ("/", "/learned", "/documents", "/docs")}
    assert views["/"].text == views["/learned"].text == views["/documents"].text
    for view in views.values():
        assert view.status_code == 200
        policy = view.headers["content-security-policy"]
        assert policy.startswith("default-src 'self'; ")
        assert "unsafe" not in policy
        assert "https://" not in view.text
        assert "<script>" not in view.text
        assert "style=" not in view.text
    assert api.get("/page.js").status_code == api.get("/docs/reference.js").status_code == 200
    for path in ("/../settings.py", "/%2e%2e/settings.py", "/docs/../app.py"):
        assert api.get(path).status_code == 404


def test_an_address_where_nothing_is(api: Any) -> None:
    browser = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
    for path in ("/nothere", "/v1/nothere", "/docs/none.js"):
        answer = api.get(path)
        assert (answer.status_code, answer.json()["error"]) == (404, "not_found")
        assert answer.json()["message"].startswith(f"there is nothing at {path!r}")
    page = api.get("/nothere", headers=browser)
    assert (page.status_code, page.headers["content-type"]) == (404, "text/html; charset=utf-8")
    assert page.text == api.get("/").text == api.get("/learned").text
    assert api.get("/v1/nothere", headers=browser).json()["error"] == "not_found"


def test_a_broken_index_is_not_ready_and_names_no_path(serve: Any, location: Path) -> None:
    api = serve()
    assert api.get("/v1/ready").json() == {"status": "ok"}
    for file in location.glob("default.sqlite3*"):
        file.unlink()
    answer = api.get("/v1/ready")
    assert answer.status_code == 503
    assert str(location) not in answer.text
    assert api.get("/v1/health").status_code == 200
    broken = api.post("/v1/recalls", json={"question": QUESTION})
    assert (broken.status_code, broken.json()["error"]) == (500, "failed")
    assert str(location) not in broken.text


def test_metrics_hold_no_secret(serve: Any) -> None:
    root = serve(tokens=(token("root", role="admin"),), as_="root")
    ask(root, "Whose very private question is this?")
    text = root.get("/v1/metrics").text
    assert 'hebbgraph_requests_total{route="/v1/recalls",status="200",token="root"} 1.0' in text
    root.get("/v1/made-up")
    text = root.get("/v1/metrics").text
    assert "made-up" not in text
    assert "private" not in text
    assert secret("root") not in text
