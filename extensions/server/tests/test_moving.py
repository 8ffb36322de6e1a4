"""Namespaces are deleted, exported and imported over HTTP."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="the extra server is not installed")

from hebbgraph import HebbianIndex, IndexPool
from hebbgraph.errors import ClosedIndexError, HebbgraphError, NamespaceNotFoundError
from starlette.testclient import TestClient

Serve = Callable[..., TestClient]
QUESTION = "Who built the Petrel?"
LINES = {"Content-Type": "application/x-ndjson"}


def there(api: TestClient, namespace: str) -> tuple[Any, ...]:
    """Return what a namespace holds, and what it answers."""
    where = {"params": {"namespace": namespace}}
    ids = api.post("/v1/ids", json={}, **where).json()["ids"]
    hits = api.post("/v1/recall", json={"query": QUESTION, "k": 5}, **where).json()["hits"]
    return (
        api.post("/v1/get", json={"ids": ids}, **where).json(),
        api.get("/v1/document_fingerprints", **where).json(),
        [one["cited"] for one in api.post("/v1/lessons", json={}, **where).json()["lessons"]],
        [one["tags"] for one in api.get("/v1/tag_corrections", **where).json()["corrections"]],
        [(hit["chunk"]["id"], pytest.approx(hit["score"])) for hit in hits],
    )


def test_a_namespace_moves_as_it_is(api: TestClient) -> None:
    document = {"name": "owls.md", "content": "IyBPd2xzCgpPd2xzIGh1bnQgdm9sZXMuCg=="}
    assert api.post("/v1/put_file", json=document).status_code == 200
    recall = api.post("/v1/recall", json={"query": QUESTION}).json()
    last = recall["hits"][4]["chunk"]["id"]
    lesson = {"recall": recall["id"], "cited": [last], "actor": "ada"}
    assert api.post("/v1/reinforce", json=lesson).status_code == 200
    api.post("/v1/correct_tags", json={"kind": "mute", "tags": "owls"})
    exported = api.get("/v1/export")
    assert exported.headers["content-type"] == "application/x-ndjson"
    lines = exported.text.splitlines()
    assert {next(iter(json.loads(line))) for line in lines} == {
        "add",
        "put_document",
        "feedback",
        "correct_tags",
    }
    half = len(lines) // 2
    for part in (lines[:half], lines[half:], lines):  # in parts, and again
        told = api.post(
            "/v1/import",
            params={"namespace": "copy"},
            content="\n".join(part).encode(),
            headers=LINES,
        )
        assert told.status_code == 200, told.text
    assert told.json() == {"chunks": 0, "lessons": 0, "corrections": 0, "skipped": []}
    assert there(api, "copy") == there(api, "default")
    assert api.post("/v1/recall", content=b"{}", headers=LINES).status_code == 415


def test_an_export_that_breaks_off_says_so(
    api: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    fingerprints = HebbianIndex.document_fingerprints

    def dropped_meanwhile(index: HebbianIndex) -> Any:
        found = fingerprints(index)
        told = api.post("/v1/drop_namespace?namespace=other", json={"name": "other"})
        assert told.status_code == 200
        return found

    monkeypatch.setattr(HebbianIndex, "document_fingerprints", dropped_meanwhile)
    exported = api.get("/v1/export?namespace=other").text
    monkeypatch.undo()
    *_, last = map(json.loads, exported.splitlines())
    assert "deleted meanwhile" in last["problem"]["detail"] or "closed" in last["problem"]["detail"]
    told = api.post("/v1/import?namespace=new", content=exported.encode(), headers=LINES)
    assert (told.status_code, told.json()["error"]) == (422, "ParameterError")
    assert "the export is incomplete" in told.json()["detail"]
    assert "new" not in api.get("/v1/namespaces").json()["namespaces"]


def test_a_new_index_exports_as_nothing(tmp_path: Path) -> None:
    from hebbgraph_server import create_app

    with (
        IndexPool(tmp_path / "new") as pool,
        TestClient(create_app(pool), base_url="http://localhost") as api,
    ):
        exported = api.get("/v1/export")
        assert (exported.status_code, exported.text) == (200, "")


def test_chunks_that_say_nothing_are_left_out_and_named(api: TestClient) -> None:
    blank, owl = {"id": "blank", "text": " "}, {"id": "owl", "text": "Owls hunt voles."}
    lines = [
        {"add": {"chunks": [blank, owl]}},
        {
            "put_document": {
                "document_id": "d",
                "chunks": [blank | {"id": "b2"}, owl | {"id": "o2"}],
            }
        },
    ]
    told = api.post("/v1/import?namespace=new", json={"lines": lines}).json()
    assert (told["chunks"], told["skipped"]) == (2, ["blank", "b2"])
    wrong = [{"add": {"chunks": [{"text": 5}]}}]
    assert api.post("/v1/import?namespace=new", json={"lines": wrong}).status_code == 422


def test_a_namespace_is_deleted_with_all_it_held(api: TestClient, location: Path) -> None:
    def drop(namespace: str, name: str) -> Any:
        return api.post("/v1/drop_namespace", params={"namespace": namespace}, json={"name": name})

    assert api.get("/v1/namespaces").json()["namespaces"] == ["default", "other"]
    assert drop("other", "othr").status_code == 422
    assert "as long as this server runs" in drop("default", "default").json()["detail"]
    assert drop("other", "other").json() == {"dropped": True}
    assert drop("other", "other").status_code == 404
    assert api.get("/v1/namespaces").json()["namespaces"] == ["default"]
    gone = api.post("/v1/recall", params={"namespace": "other"}, json={"query": "The secret?"})
    assert gone.status_code == 404
    files = [path.read_bytes() for path in location.rglob("*") if path.is_file()]
    assert not any(b"other tenant" in content for content in files)
    # And it can be made again, empty.
    where = {"params": {"namespace": "other"}}
    assert api.post("/v1/add", json={"chunks": ["Owls hunt voles."]}, **where).status_code == 200
    assert api.get("/v1/stats", **where).json()["chunks"] == 1
    assert api.post("/v1/doctor", json={}, **where).json()["findings"] == []


def test_who_acts_as_somebody_moves_nothing(serve: Serve) -> None:
    from hebbgraph_server.access import token_of

    api = serve(
        token="secret-of-the-client",
        tokens=(token_of("secret-of-the-client", role="write", actor="eve"),),
    )
    assert api.get("/v1/export").status_code == 403
    assert api.post("/v1/import", json={"lines": []}).status_code == 403
    gone = api.post("/v1/drop_namespace", params={"namespace": "other"}, json={"name": "other"})
    assert gone.status_code == 403  # others taught there, too


def test_a_dropped_namespace_in_one_process_and_another(tmp_path: Path) -> None:
    with IndexPool(tmp_path / "index") as pool:
        for name in ("anna", "ben"):
            pool[name].add([f"A note of {name}."])
        with HebbianIndex.open(tmp_path / "index", namespace="anna") as elsewhere:
            assert elsewhere.recall("Whose note?").hits
            pool["anna"].drop_namespace()
            assert elsewhere.recall("Whose note?").hits == ()
            with pytest.raises(ClosedIndexError, match="deleted meanwhile"):
                elsewhere.add(["Another note."])
        assert pool.namespaces() == ["ben"]
        with pytest.raises(NamespaceNotFoundError):
            pool["anna"].recall("Whose note?")
        pool["anna"].add(["A new note."])
        assert [hit.chunk.text for hit in pool["anna"].recall("Whose note?").hits] == [
            "A new note."
        ]
        assert pool["anna"].maintenance.doctor().ok
        assert pool["ben"].recall("Whose note?").hits[0].chunk.text == "A note of ben."


def test_who_comes_next_finds_no_lesson_of_a_dropped_namespace(tmp_path: Path) -> None:
    path = tmp_path / "index"
    with HebbianIndex.open(path, namespace="ben") as other:
        other.add(["A note of ben."])
        with HebbianIndex.open(path, namespace="anna") as elsewhere:
            elsewhere.keep_recalls()
            elsewhere.add(["Anna's boat lies at berth 7."])
            asked = elsewhere.recall("Which berth?")
            kept = elsewhere.recall("Whose boat?")
            with HebbianIndex.open(path, namespace="anna") as here:
                here.drop_namespace()
            with pytest.raises(ClosedIndexError, match="deleted meanwhile"):
                elsewhere.reinforce(asked, [asked.hits[0].chunk.id])
            elsewhere.parts.recalls.put(kept)  # as a question that was being answered
            late = elsewhere.recall("Which berth is it?")
        with HebbianIndex.open(path, namespace="anna") as new:
            new.add(["Another tenant's boat."])
            assert new.lessons() == []
            assert new.find_recall(kept.id) is None
            assert new.find_recall(late.id) is None


def test_a_namespace_is_dropped_while_another_thread_catches_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = HebbianIndex.open(tmp_path / "index", namespace="anna")
    index.add(["A note of anna."])
    with HebbianIndex.open(tmp_path / "index", namespace="anna") as elsewhere:
        elsewhere.add(["Another note."])
    derived, truth = index.parts.derived, index.parts.truth
    changes_since, catches_up, go_on = truth.changes_since, threading.Event(), threading.Event()

    def slowly(commit: Any) -> Any:
        catches_up.set()
        go_on.wait(10)
        return changes_since(commit)

    monkeypatch.setattr(truth, "changes_since", slowly)
    ends: list[BaseException | None] = []

    def ask() -> None:
        try:
            index.recall("Whose note?")
            ends.append(None)
        except BaseException as error:
            ends.append(error)

    asking, dropping = threading.Thread(target=ask), threading.Thread(target=index.drop_namespace)
    asking.start()
    assert catches_up.wait(10)
    dropping.start()
    for _ in range(50):
        if derived._parts is None:
            break
        time.sleep(0.01)
    go_on.set()
    asking.join(10)
    dropping.join(10)
    assert ends[0] is None or isinstance(ends[0], HebbgraphError), repr(ends[0])
