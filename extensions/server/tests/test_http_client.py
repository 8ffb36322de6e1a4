"""The connections of a client: none is left over, and errors say what broke."""

from __future__ import annotations

import http.server
import socket
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hebbgraph.errors import ConnectionLostError

from hebbgraph_server.http_client import HttpClient


class Listener(http.server.ThreadingHTTPServer):
    """A server that counts its connections, and answers as it is told."""

    def __init__(self, answer: Callable[[Any], None], port: int = 0) -> None:
        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            server: Listener

            def setup(self) -> None:
                with self.server.counting:
                    self.server.opened += 1
                    self.server.open_now += 1
                super().setup()

            def finish(self) -> None:
                super().finish()
                with self.server.counting:
                    self.server.open_now -= 1

            def do_POST(self) -> None:
                self.rfile.read(int(self.headers["Content-Length"]))
                answer(self)

            def log_message(self, *args: Any) -> None:
                pass

        self.counting = threading.Lock()
        self.opened = self.open_now = 0
        super().__init__(("127.0.0.1", port), Handler)

    def until_open(self, number: int) -> None:
        deadline = time.monotonic() + 30
        while self.open_now != number:
            assert time.monotonic() < deadline, f"{self.open_now} connections are open"
            time.sleep(0.01)


def _well(request: Any, content: bytes = b"fine", length: int | None = None) -> None:
    request.send_response(200)
    request.send_header("Content-Type", "application/json")
    request.send_header("Content-Length", str(len(content) if length is None else length))
    request.end_headers()
    request.wfile.write(content)


def _broken_off(request: Any) -> None:
    _well(request, b"half", length=8)
    request.close_connection = True


@pytest.fixture
def listen() -> Iterator[Callable[..., tuple[Listener, HttpClient]]]:
    opened: list[tuple[Listener, HttpClient, threading.Thread]] = []

    def make(answer: Callable[[Any], None], seconds: float = 30.0) -> tuple[Listener, HttpClient]:
        server = Listener(answer)
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        url = f"http://127.0.0.1:{server.server_address[1]}"
        client = HttpClient(url, token=None, timeout_seconds=seconds)
        opened.append((server, client, thread))
        return server, client

    yield make
    for server, client, thread in opened:
        client.close()
        server.shutdown()
        server.server_close()
        thread.join()


def _ask(client: HttpClient) -> bytes:
    return client.ask("stats", {}, namespace="n", read=bytes)


def test_a_refused_connection_is_tried_again() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    client = HttpClient(f"http://127.0.0.1:{port}", token=None, timeout_seconds=30)
    started: list[Listener] = []

    def start() -> None:
        started.append(Listener(_well, port))
        started[0].serve_forever(0.01)

    timer = threading.Timer(0.25, start)
    timer.start()
    assert _ask(client) == b"fine"
    client.close()
    started[0].shutdown()
    started[0].server_close()
    timer.join()
    with pytest.raises(ConnectionLostError, match="is the server running"):
        _ask(client)


def test_requests_take_the_same_connection(listen: Callable[..., Any]) -> None:
    server, client = listen(_well)
    for _ in range(5):
        assert _ask(client) == b"fine"
    assert server.opened == 1
    client.close()
    server.until_open(0)
    assert _ask(client) == b"fine"


@pytest.mark.parametrize(
    ("answer", "message"),
    [(_broken_off, "4 more expected"), (lambda request: None, "does not answer")],
)
def test_after_a_broken_answer_the_connection_is_closed(
    listen: Callable[..., Any], answer: Callable[[Any], None], message: str
) -> None:
    def once_wrong(request: Any) -> None:
        if is_wrong:
            answer(request)
            request.close_connection = True
        else:
            _well(request)

    is_wrong = True
    server, client = listen(once_wrong)
    with pytest.raises(ConnectionLostError, match=message):
        _ask(client)
    server.until_open(0)
    is_wrong = False
    assert _ask(client) == b"fine"


def test_a_server_that_says_nothing_is_not_waited_for(listen: Callable[..., Any]) -> None:
    ended = threading.Event()
    server, client = listen(lambda request: ended.wait(30), 0.2)
    with pytest.raises(ConnectionLostError, match=r"took longer than 0\.2 s"):
        _ask(client)
    ended.set()
    server.until_open(0)


def test_a_restarted_server_is_asked_over_new_connections(listen: Callable[..., Any]) -> None:
    """Many threads find their connections closed at the same time, and all of them go on."""

    def then_closed(request: Any) -> None:
        all_asked.wait()
        _well(request)
        request.close_connection = True

    n_threads = 8
    all_asked = threading.Barrier(n_threads)
    server, client = listen(then_closed)
    answers: list[bytes] = []

    def ask() -> None:
        answers.extend(_ask(client) for _ in range(5))

    threads = [threading.Thread(target=ask) for _ in range(n_threads)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [b"fine"] * n_threads * 5
    server.until_open(0)
