"""The connections of a client: none is left over, and what breaks off or lasts is told."""

from __future__ import annotations

import http.server
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from hebbgraph.errors import ConnectionLostError
from hebbgraph.wire import Wire

KIND = "application/octet-stream"


class Listener(http.server.ThreadingHTTPServer):
    """A server that counts its connections, and answers as it is told."""

    def __init__(self, answer: Callable[[Any], None]) -> None:
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
        super().__init__(("127.0.0.1", 0), Handler)

    def until_open(self, number: int) -> None:
        deadline = time.monotonic() + 30
        while self.open_now != number:
            assert time.monotonic() < deadline, f"{self.open_now} connections are open"
            time.sleep(0.01)


def _well(request: Any, content: bytes = b"fine", length: int | None = None) -> None:
    request.send_response(200)
    request.send_header("Content-Type", KIND)
    request.send_header("Content-Length", str(len(content) if length is None else length))
    request.end_headers()
    request.wfile.write(content)


def _broken_off(request: Any) -> None:
    _well(request, b"half", length=8)
    request.close_connection = True


def _drop_by_drop(request: Any) -> None:
    _well(request, b"", length=100)
    for _ in range(100):
        request.wfile.write(b"x")
        time.sleep(0.05)


@pytest.fixture
def listen() -> Iterator[Callable[..., tuple[Listener, Wire]]]:
    opened: list[tuple[Listener, Wire, threading.Thread]] = []

    def make(answer: Callable[[Any], None], seconds: float = 30.0) -> tuple[Listener, Wire]:
        server = Listener(answer)
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        url = f"http://127.0.0.1:{server.server_address[1]}"
        wire = Wire(url, token=None, timeout_seconds=seconds)
        opened.append((server, wire, thread))
        return server, wire

    yield make
    for server, wire, thread in opened:
        wire.close()
        server.shutdown()
        server.server_close()
        thread.join()


def _send(wire: Wire, *, once: bool = False, most_bytes: int = 100) -> bytes:
    return wire.send("shard", b"?", kind=KIND, namespace="n", most_bytes=most_bytes, once=once)


def test_messages_that_are_sent_once_leave_no_connection(listen: Callable[..., Any]) -> None:
    server, wire = listen(_well)
    for _ in range(5):
        assert _send(wire, once=True) == b"fine"
    assert server.opened == 5
    server.until_open(0)


def test_other_messages_take_the_same_connection(listen: Callable[..., Any]) -> None:
    server, wire = listen(_well)
    for _ in range(5):
        assert _send(wire) == b"fine"
    assert server.opened == 1
    wire.close()
    server.until_open(0)
    assert _send(wire) == b"fine"


@pytest.mark.parametrize(
    ("answer", "options", "told"),
    [
        (_broken_off, {}, "4 more expected"),
        (_well, {"most_bytes": 3}, "more than 3 bytes"),
        (lambda request: None, {}, "does not answer"),
    ],
)
def test_an_answer_that_is_none_is_told_and_its_connection_closed(
    listen: Callable[..., Any], answer: Callable[[Any], None], options: dict[str, int], told: str
) -> None:
    def once_wrong(request: Any) -> None:
        if is_wrong:
            answer(request)
            request.close_connection = True
        else:
            _well(request)

    is_wrong = True
    server, wire = listen(once_wrong)
    with pytest.raises(ConnectionLostError, match=told):
        _send(wire, **options)
    server.until_open(0)
    is_wrong = False
    assert _send(wire) == b"fine"


def test_the_time_limit_holds_for_all_of_an_answer(listen: Callable[..., Any]) -> None:
    server, wire = listen(_drop_by_drop, 0.2)
    with pytest.raises(ConnectionLostError, match=r"took longer than 0\.2 s"):
        _send(wire)
    server.until_open(0)


def test_a_server_that_was_restarted_is_asked_over_new_connections(
    listen: Callable[..., Any],
) -> None:
    """Many threads find their connections closed at the same time, and all of them go on."""

    def then_closed(request: Any) -> None:
        both.wait()
        _well(request)
        request.close_connection = True

    threads = 8
    both = threading.Barrier(threads)
    server, wire = listen(then_closed)
    answers: list[bytes] = []

    def ask() -> None:
        answers.extend(_send(wire) for _ in range(5))

    asking = [threading.Thread(target=ask) for _ in range(threads)]
    for one in asking:
        one.start()
    for one in asking:
        one.join()
    assert answers == [b"fine"] * threads * 5
    server.until_open(0)
