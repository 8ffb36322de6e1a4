"""What the API answers is what the index returns."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="the extra server is not installed")

from hebbgraph import AddReport, Explanation, Feedback, HebbianIndex, Recall, Stats
from starlette.testclient import TestClient

Serve = Callable[..., TestClient]
QUESTION = "Where was the builder of the Petrel born?"


def ask(api: TestClient, path: str, **body: Any) -> Any:
    answer = api.post(f"/v1/{path}", json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_a_served_recall_is_that_of_the_index(api: TestClient, location: Path) -> None:
    served = Recall.model_validate(ask(api, "recall", query=QUESTION, k=3, id="one"))
    with HebbianIndex.open(location) as index:
        local = index.recall(QUESTION, k=3, id="one")
        when = {"created_at": served.created_at}
        assert served == local.model_copy(update=when)
        chunk = served.hits[-1].chunk
        told = Explanation.model_validate(ask(api, "explain", recall=served.id, chunk_id=chunk.id))
        assert told == index.explain(local, chunk.id)
        assert ask(api, "get", ids=[chunk.id, "none"]) == {
            "chunks": [chunk.model_dump(mode="json")]
        }
        assert ask(api, "ids", where={"kind": "ship"})["ids"] == index.ids({"kind": "ship"})
        assert Stats.model_validate(api.get("/v1/stats").json()) == index.stats()


def test_a_citation_teaches(api: TestClient) -> None:
    before = Recall.model_validate(ask(api, "recall", query=QUESTION))
    last = before.hits[-1].chunk.id
    given = Feedback.model_validate(
        ask(api, "reinforce", recall=before.id, cited=[last], shown=[last, before.hits[0].chunk.id])
    )
    after = Recall.model_validate(ask(api, "recall", query=QUESTION))
    assert given.cited == (last,)
    assert after.hit(last).rank < before.hit(last).rank  # type: ignore[union-attr]
    # The record itself can be handed back, as its id can.
    again = ask(api, "explain", recall=before.model_dump(), chunk_id=last)
    assert again["learned"][0]["feedback_id"] == given.id


def test_what_holds_now_can_be_said(api: TestClient) -> None:
    before = Recall.model_validate(ask(api, "recall", query=QUESTION))
    old, new = (hit.chunk.id for hit in before.hits[:2])
    ask(api, "reinforce", recall=before.id, outdated={old: new}, trusted=True)
    after = Recall.model_validate(ask(api, "recall", query=QUESTION))
    assert after.hit(old).stale.replaced_by == (new,)  # type: ignore[union-attr]
    assert after.hit(new).rank < after.hit(old).rank  # type: ignore[union-attr]


def test_chunks_and_documents_come_and_go(api: TestClient) -> None:
    chunks = [{"id": "a", "text": "Owls hunt at night."}, {"id": "b", "text": "Owls hunt voles."}]
    assert AddReport.model_validate(ask(api, "add", chunks=chunks)).added == 2
    put = ask(api, "put_document", document_id="d", fingerprint="1", chunks=[{"text": "Eels."}])
    assert put["added"] == 1
    assert api.get("/v1/document_fingerprints").json() == {"fingerprints": {"d": "1"}}
    assert ask(api, "holds", ids=["a", "b", "c"]) == {"ids": ["a", "b"]}
    assert ask(api, "delete", ids=["a"]) == {"deleted": 1}
    assert ask(api, "delete", document_id="d", erase=True) == {"deleted": 1}


def test_progress_is_streamed(api: TestClient, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "hebbgraph_server")
    chunks = [{"id": str(n), "text": f"Owl number {n} hunts."} for n in range(1100)]
    answer = api.post(
        "/v1/add", json={"chunks": chunks}, headers={"Accept": "application/x-ndjson"}
    )
    lines = [json.loads(line) for line in answer.text.splitlines()]
    assert lines[-2] == {"done": 1100, "total": 1100}
    assert lines[-1]["report"]["added"] == 1100
    bad = [{"id": "x", "text": "One."}, {"id": "x", "text": "Another."}]
    answer = api.post("/v1/add", json={"chunks": bad}, headers={"Accept": "application/x-ndjson"})
    (last,) = [json.loads(line) for line in answer.text.splitlines()]
    assert last["problem"]["error"] == "InvalidChunkError"
    assert "streaming ended without report: InvalidChunkError" in caplog.text


def test_namespaces_are_made_by_adding_alone(api: TestClient) -> None:
    assert api.get("/v1/namespaces").json() == {"namespaces": ["default", "other"]}
    missing = api.post("/v1/recall?namespace=new", json={"query": "Who?"})
    assert (missing.status_code, missing.json()["error"]) == (404, "NamespaceNotFoundError")
    assert api.get("/v1/namespaces").json() == {"namespaces": ["default", "other"]}
    api.post("/v1/add?namespace=new", json={"chunks": [{"text": "Owls hunt."}]})
    assert api.get("/v1/namespaces").json() == {"namespaces": ["default", "new", "other"]}


def test_more_namespaces_than_stay_open(serve: Serve) -> None:
    api = serve(open_namespaces=2)
    for name in [f"n{n}" for n in range(5)]:
        api.post(f"/v1/add?namespace={name}", json={"chunks": [{"id": name, "text": name}]})
    for name in [f"n{n}" for n in range(5)]:
        held = api.post(f"/v1/ids?namespace={name}", json={}).json()
        assert held == {"ids": [name]}


def test_one_open_index_can_be_served_alone(location: Path) -> None:
    from hebbgraph_server import create_app

    with HebbianIndex.open(location) as index:
        with TestClient(create_app(index), base_url="http://localhost") as api:
            assert api.get("/v1/namespaces").json() == {"namespaces": ["default"]}
            assert api.get("/v1/stats?namespace=other").status_code == 404
        assert index.stats().chunks == 8  # it stays open


def test_errors_are_problems_with_our_messages(api: TestClient) -> None:
    def problem(path: str, body: Any) -> tuple[int, str, str]:
        answer = api.post(f"/v1/{path}", json=body)
        assert answer.headers["content-type"] == "application/problem+json"
        told = answer.json()
        assert told["status"] == answer.status_code
        assert told["type"] == f"urn:hebbgraph:{told['error']}"
        return answer.status_code, told["error"], told["detail"]

    status, error, detail = problem("recall", {"query": "Who?", "where": {"year": {"$near": 1}}})
    assert (status, error) == (422, "FilterError")
    assert "unknown operator '$near'" in detail
    status, error, detail = problem("recall", {"query": "Who?", "kk": 3})
    assert (status, error) == (422, "ParameterError")
    assert detail == "/v1/recall has no argument 'kk'; did you mean 'k'?"
    assert "has no argument 'name'; it takes repair" in problem("doctor", {"name": "x"})[2]
    assert problem("recall", {})[2] == "query is missing; give it"
    assert problem("recall", {"query": 7})[2] == "query: input should be a valid string, got 7"
    assert problem("explain", {"recall": [], "chunk_id": "x"})[2] == (
        "recall.Recall: input should be an object, got a list"
    )
    assert problem("recall", ["Who?"])[2].startswith("the body is an object with query, k, where")
    assert problem("recall", ["Who?"])[2].endswith("; got a list")
    assert problem("recall", "Who?")[2].endswith("; got a string")
    assert problem("recall", {"query": "Who?", "k": 5000})[2].startswith("this server returns")
    status, _, detail = problem("explain", {"recall": "gone", "chunk_id": "moss"})
    assert status == 404
    assert detail.endswith("ask again, or give the whole recall in place of its id")
    assert problem("reinforce", {"recall": "gone", "cited": ["moss"]})[1] == "NotFoundError"
    assert problem("add", {"chunks": [{"text": 5}]})[:2] == (422, "InvalidChunkError")
    assert problem("add", {"chunks": [{"text": " "}]})[:2] == (422, "InvalidChunkError")
    assert problem("nothing", {})[0] == 404
    assert (
        api.post("/v1/doctor").json()["findings"] == []
    )  # a body that says nothing may be left out


def test_metrics_name_routes_and_no_content(api: TestClient) -> None:
    ask(api, "recall", query="Who kept the very secret yard?")
    api.get("/v1/made/up/path")
    api.post("/mcp", json={})
    told = api.get("/v1/metrics").text
    assert 'hebbgraph_requests_total{route="/v1/recall",status="200",token="local"} 1.0' in told
    assert 'route="/mcp"' in told
    assert "secret" not in told
    assert "made" not in told


def test_a_refused_request_counts_under_its_route(serve: Callable[..., TestClient]) -> None:
    from hebbgraph_server.access import token_of

    api = serve(tokens=(token_of("a-secret-of-some-length", name="desk", role="read"),))
    assert api.get("/v1/stats").status_code == 401
    right = {"Authorization": "Bearer a-secret-of-some-length"}
    api.get("/v1/stats", headers=right)
    told = api.get("/v1/metrics", headers=right).text
    for status, token in ((401, ""), (200, "desk")):
        assert f'_total{{route="/v1/stats",status="{status}",token="{token}"}} 1.0' in told


def test_requests_are_spans_once_an_sdk_is_configured(
    api: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    sdk = pytest.importorskip("opentelemetry.sdk.trace", reason="the SDK is not installed")
    from opentelemetry import trace
    from opentelemetry.sdk.trace import export
    from opentelemetry.sdk.trace.export import in_memory_span_exporter

    kept = in_memory_span_exporter.InMemorySpanExporter()
    provider = sdk.TracerProvider()
    provider.add_span_processor(export.SimpleSpanProcessor(kept))
    monkeypatch.setattr(trace, "get_tracer_provider", lambda: provider)
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", provider)
    question = "Who kept the very private yard?"
    hits = ask(api, "recall", query=question, k=3)["hits"]
    spans = {span.name: span for span in kept.get_finished_spans()}
    request, recall = spans["POST /v1/recall"], spans["retrieval default"]
    assert recall.parent is not None
    assert recall.context.trace_id == request.context.trace_id
    told = dict(recall.attributes)
    documents = json.loads(told.pop("gen_ai.retrieval.documents"))
    assert documents == [{"id": hit["chunk"]["id"], "score": hit["score"]} for hit in hits]
    assert told == {
        "gen_ai.operation.name": "retrieval",
        "gen_ai.provider.name": "hebbgraph",
        "gen_ai.data_source.id": "default",
        "gen_ai.request.top_k": 3,
    }
    within = [span for span in kept.get_finished_spans() if span.name.startswith("hebbgraph ")]
    stages = ["models", "question", "search", "spread", "rank", "hits", "finish"]
    assert [span.name for span in within] == [f"hebbgraph {name}" for name in stages]
    parents = dict.fromkeys(stages, recall.context.span_id) | {"search": within[3].context.span_id}
    assert [span.parent.span_id for span in within] == list(parents.values())
    assert "private" not in "".join(span.to_json() for span in spans.values())
    monkeypatch.setenv("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "true")
    ask(api, "recall", query=question)
    (asked,) = (
        span.attributes["gen_ai.retrieval.query.text"]
        for span in kept.get_finished_spans()[len(spans) :]
        if span.name.startswith("retrieval")
    )
    assert asked == question


def test_the_page_is_there_under_a_strict_policy(api: TestClient) -> None:
    answer = api.get("/")
    assert answer.status_code == 200
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    assert "unsafe" not in answer.headers["content-security-policy"]


def test_a_number_with_too_many_digits_is_a_fault_of_the_request(api: TestClient) -> None:
    body = b'{"query": "Who built the Petrel?", "k": ' + 5_000 * b"9" + b"}"
    refused = api.post("/v1/recall", content=body, headers={"Content-Type": "application/json"})
    assert (refused.status_code, refused.json()["error"]) == (422, "ParameterError")
