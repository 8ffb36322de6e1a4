"""Clients that are slow, leave in the middle, or send nonsense to the socket."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="the extra server is not installed")

from hebbgraph_server.bodies import Progress
from hebbgraph_server.client import HebbianClient
from hebbgraph_server.streaming import streamed

Connect = Callable[..., HebbianClient]
CHUNKS = json.dumps({"chunks": [{"id": "late", "text": "Owls hunt voles."}]}).encode()


def half_sent(client: HebbianClient, *, accept: str = "*/*") -> socket.socket:
    """A request whose body stops before its end."""
    port = int(client._http.url.rpartition(":")[2])
    opened = socket.create_connection(("127.0.0.1", port), timeout=30)
    opened.sendall(
        b"POST /v1/add HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        b"Accept: %s\r\nContent-Length: %d\r\n\r\n" % (accept.encode(), len(CHUNKS))
    )
    opened.sendall(CHUNKS[:20])
    return opened


def test_a_slow_body_is_cut_off(connect: Connect) -> None:
    with connect(body_seconds=0.2) as client, half_sent(client) as opened:
        answer = opened.recv(65536)
        assert answer.startswith(b"HTTP/1.1 408 ")
        assert client.holds(["late"]) == set()


@pytest.mark.parametrize("accept", ["*/*", "application/x-ndjson"])
def test_an_upload_that_breaks_off_adds_nothing(connect: Connect, accept: str) -> None:
    with connect() as client:
        before = client.stats()
        half_sent(client, accept=accept).close()
        assert client.stats() == before
        assert client.add([{"id": "late", "text": "Owls hunt voles."}]).added == 1


def test_who_leaves_during_a_streamed_add_finds_it_done(connect: Connect) -> None:
    with connect() as client:
        opened = half_sent(client, accept="application/x-ndjson")
        opened.sendall(CHUNKS[20:])
        opened.close()
        for _ in range(1000):
            if client.holds(["late"]):
                break
        assert client.holds(["late"]) == {"late"}


def test_what_is_no_request_harms_nobody(connect: Connect) -> None:
    with connect() as client:
        port = int(client._http.url.rpartition(":")[2])
        for nonsense in (
            b"\x16\x03\x01\x02\x00\x01",
            b"GET\r\n\r\n",
            b"\x00" * 1000,
            b"A" * 100_000,
        ):
            with socket.create_connection(("127.0.0.1", port), timeout=30) as opened:
                opened.sendall(nonsense)
                opened.shutdown(socket.SHUT_WR)
                with contextlib.suppress(ConnectionResetError):
                    opened.recv(65536)
        assert client.stats().chunks == 8


def test_scripts_and_right_to_left_text_come_back_as_they_were(connect: Connect) -> None:
    script = "<script>alert(1)</script><img src=x onerror=alert(2)>"
    with connect() as client:
        client.add(
            [
                {
                    "id": script,
                    "title": script,
                    "text": f"{script} \u202eowls\u202c שלום",
                    "tags": [script],
                    "document_id": script,
                    "metadata": {script: script},
                }
            ]
        )
        (kept,) = client.get([script])
        assert (kept.id, kept.title, kept.document_id) == (script, script, script)
        assert kept.metadata == {script: script}
        recall = client.recall(script)
        client.reinforce(recall, cited=[script], actor=script)
        (lesson,) = client.lessons()
        assert lesson.actor == script
        assert client.explain(recall, script).learned[0].actor == script


@pytest.mark.parametrize("survives", [True, False])
def test_only_work_that_survives_starts_for_a_client_that_has_left(survives: bool) -> None:
    started = []

    async def work(_: object) -> Progress:
        started.append(True)
        return Progress(done=1)

    async def receive() -> dict[str, Any]:
        return {"type": "http.disconnect"}

    async def send(message: object) -> None:
        raise OSError("the client has left")

    async def respond() -> None:
        response = streamed(work, "report", survives=survives)
        with contextlib.suppress(Exception):
            await response({"type": "http", "asgi": {"spec_version": "2.4"}}, receive, send)
        await asyncio.sleep(0.01)

    asyncio.run(respond())
    assert bool(started) is survives
