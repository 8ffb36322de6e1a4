"""Servers as processes: drained, in several workers, for many tenants, for agents and clients."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from manuals import QUESTION
from served import secret, served_process

from hebbgraph import HebbianIndex
from hebbgraph.errors import NotAnIndexError, NotFoundError, ParameterError

pytest.importorskip("fastapi", reason="the extra serve is not installed")

import httpx
from hebbgraph_server import Client, ServerError
from hebbgraph_server.app import create_app
from hebbgraph_server.commands import add_commands

SECRET = secret("env")


def session_at(url: str, **options: Any) -> Any:
    with Client(url, **options) as client:
        return client.request("GET", "/session")


def half_sent(url: str, path: str, body: bytes, kind: str = "json", by: str = "") -> socket.socket:
    """A request whose body stops before its end."""
    host, port = url.removeprefix("http://").split(":")
    opened = socket.create_connection((host, int(port)), timeout=60)
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/{kind}\r\n"
    head += f"Authorization: Bearer {by}\r\n" if by else ""
    opened.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body[:-1])
    return opened


@pytest.mark.parametrize("workers", ["1", "2"])
def test_sigterm_lets_running_requests_end(location: Path, workers: str) -> None:
    chunks = [{"id": f"c{n}", "text": f"Owl {n} hunts voles at night. " * 40} for n in range(1500)]
    body = json.dumps({"chunks": chunks}).encode()
    with ExitStack() as stack:
        process, url, _ = stack.enter_context(served_process(location, "--workers", workers))
        waiting = stack.enter_context(half_sent(url, "/v1/chunks", body))
        assert httpx.get(f"{url}/v1/health", timeout=60).status_code == 200
        waiting.sendall(body[-1:])
        time.sleep(0.1)  # the request is under way
        process.send_signal(signal.SIGTERM)
        answer = waiting.recv(65536)
        assert answer.startswith(b"HTTP/1.1 200 "), answer
        assert process.wait(60) in (0, -signal.SIGTERM)
    with HebbianIndex.open(location, read_only=True) as index:
        assert index.stats()["chunks"] == 1506


def test_ctrl_c_ends_it_in_order(location: Path) -> None:
    with served_process(location) as (process, url, _):
        assert httpx.get(f"{url}/v1/health", timeout=60).json()["status"] == "ok"
        process.send_signal(signal.SIGINT)
        assert process.wait(60) in (0, 130, -signal.SIGINT)
        assert "Traceback" not in process.stderr.read()


def test_a_slow_body_is_cut_off(serve: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    api = serve(body_seconds=0.2)

    def slow() -> Any:
        yield b'{"question": '
        time.sleep(0.5)
        yield b'"Who?"}'

    # The client of tests sends a body at once; the guard sees the pause all the same.
    from hebbgraph_server.guard import Guard

    plain = Guard._bounded

    def paused(self: Any, receive: Any, most: int) -> Any:
        async def later() -> Any:
            import asyncio

            await asyncio.sleep(0.5)
            return await receive()

        return plain(self, later, most)

    monkeypatch.setattr(Guard, "_bounded", paused)
    answer = api.post("/v1/recalls", content=slow(), headers={"Content-Type": "application/json"})
    assert (answer.status_code, answer.json()["error"]) == (408, "too_slow")


def test_a_lesson_reaches_any_worker(location: Path) -> None:
    options = ("--workers", "2", "--log-level", "info")
    environment = {"HEBBGRAPH_TOKEN": SECRET}
    with served_process(location, *options, **environment) as (process, url, before):

        def client() -> Client:  # a connection of its own, so any worker may answer
            return Client(url, token=SECRET)

        for number in range(6):
            with client() as asking, client() as teaching:
                recall = asking.recall(f"{QUESTION} {number}", answer=f"answer-{number}")
                lesson = teaching.reinforce(recall, ["folders"], actor="ann")
                assert lesson["cited"][0]["id"] == "folders"
            with client() as judging:
                judged = judging.reinforce(answer=f"answer-{number}", rating=1.0, actor="bob")
                assert judged["actor"] == "bob"
        with client() as reading:
            assert reading.request("GET", "/lessons")["total"] == 12
            metrics = httpx.get(
                f"{url}/v1/metrics", headers={"Authorization": f"Bearer {SECRET}"}
            ).text
        # Both workers add to what any of them shows.
        line = 'hebbgraph_requests_total{route="/v1/lessons",status="200",token="environment"} 13.0'
        assert line in metrics
        process.terminate()
        shown = "".join(before) + process.stderr.read()
    events = [json.loads(line[line.index("{") :]) for line in shown.splitlines() if "{" in line]
    assert any(event["route"] == "/v1/recalls" for event in events)
    assert SECRET not in shown
    assert "executable" not in shown


def test_forty_tenants_at_once_beside_slow_uploads_of_one(tmp_path: Path) -> None:
    tokens, names = [], [f"tenant{n}" for n in range(40)]
    for name in names:
        tokens += [
            f'[{name}]\nsecret = "{secret(name)}"\nrole = "write"',
            f'namespaces = ["{name}"]',
        ]
        with HebbianIndex.open(tmp_path / "served", namespace=name) as index:
            index.add([{"id": f"{name}-0", "text": f"The owl of {name} hunts voles."}])
    (tmp_path / "tokens.toml").write_text("\n".join(tokens))
    options = ("--tokens", str(tmp_path / "tokens.toml"), "--workers", "2")
    with served_process(tmp_path / "served", *options) as (_, url, _), ExitStack() as stack:
        for n in range(60):
            path, mine = f"/v1/documents?place={n}.md", secret(names[0])
            stack.enter_context(half_sent(url, path, b"# Slow", "octet-stream", by=mine))

        def live(name: str) -> list[str]:
            with Client(url, token=secret(name)) as client:
                seen = []
                for n in range(1, 4):
                    client.add([{"id": f"{name}-{n}", "text": f"Owl {n} of {name} hunts voles."}])
                    recall = client.recall("Which owl hunts voles?", 10)
                    seen += [hit["id"] for hit in recall["hits"]]
                    client.reinforce(recall, [f"{name}-0"])
                first = client.recall("Which owl hunts voles?")["hits"][0]
                assert first["id"] == f"{name}-0"
                with pytest.raises(ServerError) as refused:
                    session_at(url, token=secret(name), namespace="tenant0x")
                assert refused.value.status == 403
                return seen

        with ThreadPoolExecutor(40) as pool:
            for name, seen in zip(names, pool.map(live, names), strict=True):
                assert len(seen) == 2 + 3 + 4
                assert {id_.rpartition("-")[0] for id_ in seen} == {name}


def test_what_is_no_request_harms_nobody(location: Path) -> None:
    with served_process(location) as (_, url, _):
        host, port = url.removeprefix("http://").split(":")
        for nonsense in (
            b"\x16\x03\x01\x02\x00\x01",
            b"GET\r\n\r\n",
            b"\x00" * 1000,
            b"A" * 99_999,
        ):
            with socket.create_connection((host, int(port)), timeout=60) as opened:
                opened.sendall(nonsense)
                opened.shutdown(socket.SHUT_WR)
        half_sent(url, "/v1/chunks", b'{"chunks": [{"text": "late"}]}').close()
        assert session_at(url)["passages"] == 6


def test_made_tokens_are_printed_once(location: Path) -> None:
    with served_process(location, "--token", "read", "--token", "admin") as (_, url, before):
        made = dict(
            line.removeprefix("token (").strip().split("): ")
            for line in before
            if line.startswith("token (")
        )
        assert session_at(url, token=made["read"])["may"]["write"] is False
        assert session_at(url, token=made["admin"])["role"] == "admin"
        with pytest.raises(ServerError, match="asks for a token"):
            session_at(url)


def test_a_mistake_at_start_is_said_in_a_line(location: Path) -> None:
    import argparse

    parser = argparse.ArgumentParser()
    add_commands(parser.add_subparsers())
    arguments = parser.parse_args(["serve", str(location), "--host", "0.0.0.0"])
    with pytest.raises(ParameterError, match="without a token"):
        arguments.run(arguments)
    arguments = parser.parse_args(["serve", str(location), "--folder", str(location / "none")])
    with pytest.raises(ParameterError, match="--folder: there is no folder"):
        arguments.run(arguments)
    missing = location / "typo.hebb"
    arguments = parser.parse_args(["mcp", str(missing)])
    with pytest.raises(NotFoundError, match=r"no namespace 'default' at .*`hebbgraph index PATH"):
        arguments.run(arguments)
    assert not missing.exists()
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        arguments = parser.parse_args(["serve", str(location), "--port", port])
        with pytest.raises(OSError, match="address already in use; --port 0"):
            arguments.run(arguments)


def test_an_index_of_other_text_rules_is_not_served(location: Path) -> None:
    with HebbianIndex.open(location) as index, index._database.write() as session:
        session.run("UPDATE $meta SET value = '1' WHERE key = 'text_version'")
    with HebbianIndex.open(location) as index:
        with pytest.raises(NotAnIndexError, match="doctor --rebuild"):
            create_app(index)
        index.rebuild()
        create_app(index)


def test_a_new_index_is_said(location: Path, tmp_path: Path) -> None:
    for index, is_new in ((tmp_path / "none.hebb", True), (location, False)):
        with served_process(index) as (_, _, before):
            assert any("made a new, empty index" in line for line in before) is is_new


def test_the_client_says_what_went_wrong(location: Path, tmp_path: Path) -> None:
    with served_process(location) as (_, url, _), Client(url) as client:
        file = tmp_path / "owls.md"
        file.write_text("# Owls\n\nOwls hunt voles.")
        assert client.upload(file, preview=True)["preview"] is True
        assert client.upload(file)["place"] == "owls.md"
        assert client.request("GET", "/documents", find="owls")["documents"][0]["title"] == "Owls"
        assert client.request("DELETE", "/documents", place="owls.md")["deleted"] == 1
        assert client.request("GET", "/tags/package")["chunks"] >= 2
        lesson = client.reinforce(client.recall(QUESTION), ["bin"], actor="ann")
        assert client.request("GET", "/chunks/bin")["title"] == "package.json: bin"
        assert client.forget(lesson["id"]) == {"forgotten": 1}
        with pytest.raises(ServerError, match="k: at most 100, got 500") as refused:
            client.recall(QUESTION, 500)
        assert (refused.value.status, refused.value.field) == (422, "k")
    with pytest.raises(ServerError, match="no answer from http"):
        session_at(url)


def test_the_client_needs_no_server_installed() -> None:
    code = (
        "import sys; sys.modules['fastapi'] = sys.modules['hebbgraph'] = None;"
        "import hebbgraph_server; print(hebbgraph_server.Client('http://x').url)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONPATH": ":".join(sys.path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.strip() == "http://x", done.stderr


def test_threads_of_one_tenant_are_bounded(serve: Any) -> None:
    api = serve()
    service, running, most = api.app.state.service, [0], [0]
    lock = threading.Lock()

    def work(_: Any) -> None:
        with lock:
            running[0] += 1
            most[0] = max(most[0], running[0])
        time.sleep(0.02)
        with lock:
            running[0] -= 1

    async def crowd() -> None:
        import anyio

        async with anyio.create_task_group() as group:
            for _ in range(12):
                group.start_soon(service.run, "default", work, "write")

    api.portal.call(crowd)
    assert most[0] == 2


@pytest.mark.parametrize("body", ["<html>Welcome!</html>", "[1]", "null", '"text"'])
@pytest.mark.parametrize("status", [200, 502])
def test_a_client_of_another_server_says_so(
    body: str, status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    reply = httpx.MockTransport(lambda request: httpx.Response(status, text=body))
    with Client("http://localhost") as client:
        monkeypatch.setattr(client, "_http", httpx.Client(transport=reply))
        with pytest.raises(ServerError, match="is this a hebbgraph server") as refused:
            client.request("GET", "http://localhost/v1/session")
    assert (refused.value.status, refused.value.error) == (status, "failed")
