"""Long work is done behind the answer, and a folder is read again."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="the extra server is not installed")

from hebbgraph import HebbianIndex
from starlette.testclient import TestClient

Serve = Callable[..., TestClient]
ASYNC = {"Prefer": "respond-async"}


def ended(api: TestClient, answer: Any) -> dict[str, Any]:
    """Wait for a task."""
    assert answer.status_code == 202, answer.text
    assert answer.headers["preference-applied"] == "respond-async"
    begun = answer.json()
    assert begun["status"] == "running"
    for _ in range(500):
        (task,) = (one for one in api.get("/v1/tasks").json()["tasks"] if one["id"] == begun["id"])
        if task["status"] != "running":
            assert task["ended_at"] >= task["started_at"]
            return dict(task)
        time.sleep(0.02)
    raise AssertionError(task)


def test_long_work_is_a_task_if_one_asks_for_it(api: TestClient) -> None:
    done = ended(
        api, api.post("/v1/compact", headers={**ASYNC, "Content-Type": "application/json"})
    )
    assert (done["path"], done["status"], done["answer"]) == (
        "/v1/compact",
        "done",
        {"compacted": True},
    )
    added = ended(api, api.post("/v1/add", json={"chunks": ["Owls hunt voles."]}, headers=ASYNC))
    assert added["answer"]["added"] == 1
    assert (added["done"], added["total"]) == (1, 1)
    wrong = api.post("/v1/add", json={"chunks": [{"text": 5}]}, headers=ASYNC)
    failed = ended(api, wrong)
    assert (failed["status"], failed["problem"]["error"]) == ("failed", "InvalidChunkError")
    assert api.post("/v1/doctor", json={}).json()["findings"] == []  # without asking, none


def test_a_task_that_runs_is_told_as_running(
    api: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    go_on = threading.Event()
    compact = HebbianIndex.compact

    def slowly(index: HebbianIndex) -> None:
        go_on.wait(10)
        compact(index)

    monkeypatch.setattr(HebbianIndex, "compact", slowly)
    begun = api.post("/v1/compact", headers={**ASYNC, "Content-Type": "application/json"})
    (task,) = api.get("/v1/tasks").json()["tasks"]
    assert (task["id"], task["status"]) == (begun.json()["id"], "running")
    go_on.set()
    assert ended(api, begun)["status"] == "done"


def test_whoever_finds_too_many_tasks_is_told_to_wait(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    from hebbgraph_server.access import token_of

    monkeypatch.setattr("hebbgraph_server.tasks._MOST_RUNNING", 1)
    monkeypatch.setattr("hebbgraph_server.tasks._MOST_KEPT", 2)
    go_on = threading.Event()
    compact = HebbianIndex.compact

    def slowly(index: HebbianIndex) -> None:
        go_on.wait(10)
        compact(index)

    monkeypatch.setattr(HebbianIndex, "compact", slowly)
    api = serve(
        tokens=tuple(token_of(f"secret-of-the-{n}", name=n, role="write") for n in ("one", "two"))
    )
    as_ = {name: {"Authorization": f"Bearer secret-of-the-{name}"} for name in ("one", "two")}

    def begin(name: str, path: str) -> Any:
        return api.post(f"/v1/{path}", json={}, headers=as_[name] | ASYNC)

    def kept(name: str) -> list[str]:
        tasks = api.get("/v1/tasks", headers=as_["one"]).json()["tasks"]
        return [one["status"] for one in tasks if one["id"] in begun[name]]

    begun = {"one": [begin("one", "compact").json()["id"]], "two": []}
    refused = begin("one", "doctor")
    assert (refused.status_code, refused.headers["retry-after"]) == (429, "1")
    assert "'one' may have 1 tasks" in refused.json()["detail"]
    for number in range(3):  # no other token waits for it, nor pushes it out of the list
        begun["two"].append(begin("two", "doctor").json()["id"])
        for _ in range(500):
            if kept("two") == ["done"] * min(number + 1, 2):
                break
            time.sleep(0.02)
    assert (kept("one"), kept("two")) == (["running"], ["done", "done"])
    go_on.set()


def test_a_token_sees_its_own_tasks(serve: Serve) -> None:
    from hebbgraph_server.access import token_of

    names = {"loader": "write", "reader": "read"}
    api = serve(
        tokens=tuple(token_of(f"secret-of-the-{n}", name=n, role=r) for n, r in names.items())
    )
    as_ = {name: {"Authorization": f"Bearer secret-of-the-{name}"} for name in names}
    asked = api.post("/v1/colonies", json={}, headers=as_["reader"] | ASYNC)
    assert asked.status_code == 202
    assert api.post("/v1/doctor", json={}, headers=as_["reader"] | ASYNC).status_code == 403
    api.post("/v1/doctor", json={}, headers=as_["loader"] | ASYNC)

    def seen(name: str, namespace: str = "default") -> list[str]:
        answer = api.get("/v1/tasks", params={"namespace": namespace}, headers=as_[name])
        return [one["path"] for one in answer.json()["tasks"]]

    assert seen("reader") == ["/v1/colonies"]
    assert seen("loader") == ["/v1/doctor", "/v1/colonies"]
    assert seen("loader", "other") == []


def test_a_folder_is_read_again(serve: Serve, tmp_path: Path) -> None:
    from hebbgraph_server.settings import Folder

    folder = tmp_path / "texts"
    folder.mkdir()
    (folder / "owls.md").write_text("# Owls\n\nOwls hunt voles.\n")
    (folder / "bad.pdf").write_text("no PDF")
    api = serve(folder=Folder(path=folder))
    assert api.get("/v1/access").json()["folder"] is True
    before = time.time()
    everything = len(api.post("/v1/ids", json={}).json()["ids"])
    told = api.post("/v1/read_folder", headers={"Content-Type": "application/json"})
    assert str(tmp_path) not in told.text
    report = told.json()
    assert (report["indexed"], report["removed"], len(report["failed"])) == (1, 0, 1)
    assert report["failed"][0].startswith("bad.pdf: ")
    (document,) = api.post("/v1/documents", json={"containing": "owls"}).json()["documents"]
    assert document["id"] == str(folder / "owls.md")
    assert before <= document["indexed_at"] <= time.time()
    (folder / "owls.md").unlink()
    (folder / "voles.md").write_text("# Voles\n\nVoles eat grass.\n")
    task = ended(
        api, api.post("/v1/read_folder", headers={**ASYNC, "Content-Type": "application/json"})
    )
    assert (task["answer"]["indexed"], task["answer"]["removed"]) == (1, 1)
    assert task["total"] == 2
    assert len(api.post("/v1/ids", json={}).json()["ids"]) == everything + 1  # no other is deleted
    (folder / "bad.pdf").unlink()
    named = serve(folder=Folder(path=folder, base=folder))
    twice = named.post("/v1/read_folder")
    assert twice.status_code == 422
    assert f"{str(folder / 'voles.md')!r} is indexed already" in twice.json()["detail"]
    assert "give the base it was indexed with" in twice.json()["detail"]
    api.post("/v1/delete", json={"document_id": str(folder / "voles.md")})
    again = named.post("/v1/read_folder").json()
    assert (again["indexed"], again["removed"], again["failed"]) == (1, 0, [])
    assert "'voles.md' is indexed already" in api.post("/v1/read_folder").json()["detail"]
    elsewhere = api.post(
        "/v1/read_folder",
        params={"namespace": "other"},
        headers={"Content-Type": "application/json"},
    )
    assert (elsewhere.status_code, elsewhere.json()["error"]) == (422, "ParameterError")
    assert api.get("/v1/access", params={"namespace": "other"}).json()["folder"] is False
