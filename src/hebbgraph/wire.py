"""HTTP to a server of ours: JSON or messages there and back, problems as the errors they were.

The standard library's client, so that a client takes nothing but the core.
"""

from __future__ import annotations

import contextlib
import http.client
import io
import json
import os
import socket
import ssl
import time
from collections import deque
from collections.abc import Callable, Mapping
from email.message import Message
from typing import Any, NamedTuple, TypeAlias, TypeVar
from urllib.parse import quote, urlsplit

import hebbgraph.errors
from hebbgraph.errors import (
    AccessError,
    ConnectionLostError,
    HebbgraphError,
    ParameterError,
    TooManyRequestsError,
)

__all__ = ["Wire"]

_T = TypeVar("_T")

#: How often a request is sent that the server puts off, and how long it waits at most.
_MAX_TRIES = 4
_MAX_WAIT_SECONDS = 5.0
#: Errors of a connection that the server closed while nobody used it.
_STALE = (http.client.RemoteDisconnected, ConnectionResetError, BrokenPipeError)


class _Hurried(io.RawIOBase):
    """Reads from a socket until a deadline, however little arrives at a time.

    The time limit of a socket alone holds for each read of it.
    """

    def __init__(self, sock: socket.socket, deadline: float) -> None:
        self._sock, self._deadline = sock, deadline
        self._held = sock.makefile("rb", buffering=0)

    def readable(self) -> bool:
        """Say that it can be read."""
        return True

    def readinto(self, buffer: Any) -> int | None:
        """Read what has arrived; TimeoutError after the deadline."""
        self._sock.settimeout(_left(self._deadline))
        return self._held.readinto(buffer)

    def close(self) -> None:
        """Let the socket go."""
        self._held.close()
        super().close()


class _Until:
    """A socket as an answer of the standard library's client reads it, until a deadline."""

    def __init__(self, sock: socket.socket, deadline: float) -> None:
        self._sock, self._deadline = sock, deadline

    def makefile(self, mode: str) -> io.BufferedReader:
        """Return what is read."""
        return io.BufferedReader(_Hurried(self._sock, self._deadline))


def _left(deadline: float) -> float:
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError("timed out")
    return left


class _InOnePiece:
    """Mixin of a connection that sends the head of a request together with its body.

    The standard library sends them one after the other, which wakes the server twice.
    """

    _deadline: float | None = None

    def limit(self, seconds: float, deadline: float | None) -> None:
        """End each wait of the next request after so long, and all of it at a deadline."""
        told: Any = self
        self._deadline = deadline
        told.timeout = seconds if deadline is None else _left(deadline)
        told.response_class = http.client.HTTPResponse
        if told.sock is not None:
            told.sock.settimeout(told.timeout)
        if deadline is not None:
            told.response_class = lambda sock, **more: http.client.HTTPResponse(
                _Until(sock, deadline),  # type: ignore[arg-type]
                **more,
            )

    def send(self, data: Any) -> None:
        """Keep what is to be sent until the answer is asked for."""
        self.__dict__.setdefault("_kept", []).append(data)

    def getresponse(self) -> http.client.HTTPResponse:
        """Send the request and return the answer."""
        told: Any = self
        kept = b"".join(self.__dict__.pop("_kept", ()))
        if told.sock is None:
            told.connect()
        if self._deadline is not None:  # connecting may have taken most of the time
            told.sock.settimeout(_left(self._deadline))
        super().send(kept)  # type: ignore[misc]
        response: http.client.HTTPResponse = super().getresponse()  # type: ignore[misc]
        return response


class _Connection(_InOnePiece, http.client.HTTPConnection):
    pass


class _SecureConnection(_InOnePiece, http.client.HTTPSConnection):
    pass


_Connected: TypeAlias = _Connection | _SecureConnection


class _Answer(NamedTuple):
    status: int
    headers: Message
    content: bytes


class _TooMuch(Exception):
    """An answer is longer than anything that was asked for."""


def _content(response: http.client.HTTPResponse, most_bytes: int | None) -> bytes:
    """Read all of an answer, of at most so many bytes."""
    if most_bytes is None:
        return response.read()
    held = response.read(most_bytes + 1)
    if len(held) > most_bytes:
        raise _TooMuch(f"an answer of more than {most_bytes} bytes")
    if response.length:  # unlike a read without a limit, it does not say that the answer broke off
        raise http.client.IncompleteRead(held, response.length)
    return held


class Wire:
    """Connections to a server, as many as requests run at the same time.

    Parameters
    ----------
    url : str
    token : str, optional
    timeout_seconds : float

    Raises
    ------
    ParameterError
        If the URL is none of a server.
    """

    def __init__(self, url: str, *, token: str | None, timeout_seconds: float) -> None:
        self._connect, self._prefix = _connector(url, timeout_seconds)
        self._timeout_seconds = timeout_seconds
        self.url = url.rstrip("/")
        self._headers = {"Accept": "application/json"}
        if token is not None:
            if not token.isascii() or not token.isprintable():
                raise ParameterError("a token is printable ASCII")  # not repeated: it is a secret
            self._headers["Authorization"] = f"Bearer {token}"
        self._idle: deque[_Connected] = deque()
        self._process = os.getpid()

    def ask(
        self,
        name: str,
        body: Mapping[str, Any] | None,
        *,
        namespace: str,
        read: Callable[[bytes], _T],
    ) -> _T:
        """Return what ``read`` makes of the server's answer: to a GET, or to a POST with a body.

        Raises
        ------
        HebbgraphError
            What the server raised.
        ConnectionLostError
            If it cannot be reached.
        """
        content = None if body is None else json.dumps(body).encode()
        for tries in range(1, _MAX_TRIES + 1):
            answer = self._answer(name, namespace, content)
            wait = answer.headers.get("Retry-After", "")
            if answer.status in (429, 503) and wait.isdecimal() and tries < _MAX_TRIES:
                time.sleep(min(_MAX_WAIT_SECONDS, float(wait)))
                continue
            break
        if answer.status != 200:
            raise self._problem(answer)
        try:
            return read(answer.content)
        except (ValueError, TypeError, LookupError) as error:
            raise self._stranger(answer) from error

    def send(
        self,
        name: str,
        content: bytes,
        *,
        kind: str,
        namespace: str,
        most_bytes: int,
        once: bool,
        within_seconds: float | None = None,
    ) -> bytes:
        """Post a message of another kind than JSON, and return the answer.

        The time limit holds for all of it, and it is not sent again when the server puts it off.

        Parameters
        ----------
        name : str
        content : bytes
        kind : str
            Its media type, and that of the answer.
        namespace : str
        most_bytes : int
            Of the answer.
        once : bool
            Send it over a new connection, so that it never has to be sent twice.
        within_seconds : float, optional
            Instead of the time limit of the wire.

        Raises
        ------
        HebbgraphError
            What the server raised.
        ConnectionLostError
            If it cannot be reached, takes too long or sends too much.
        """
        answer = self._answer(
            name,
            namespace,
            content,
            kind=kind,
            within_seconds=within_seconds or self._timeout_seconds,
            most_bytes=most_bytes,
            once=once,
        )
        if answer.status != 200:
            raise self._problem(answer)
        if answer.headers.get_content_type() != kind:
            raise self._stranger(answer)
        return answer.content

    def _answer(
        self,
        name: str,
        namespace: str,
        content: bytes | None,
        *,
        kind: str = "application/json",
        within_seconds: float | None = None,
        most_bytes: int | None = None,
        once: bool = False,
    ) -> _Answer:
        """Send a GET, or a POST with content, and read what is answered, whatever it is.

        The time limit of the wire holds for each wait; ``within_seconds`` for all of it.
        """
        path = f"{self._prefix}/v1/{name}?namespace={quote(namespace, safe='')}"
        seconds = within_seconds or self._timeout_seconds
        deadline = None if within_seconds is None else time.monotonic() + within_seconds
        while True:
            connection, is_new = (self._connect(), True) if once else self._taken()
            try:
                connection.limit(seconds, deadline)
                connection.request(
                    "GET" if content is None else "POST",
                    path,
                    body=content,
                    headers=self._headers | {"Content-Type": kind},
                )
                response = connection.getresponse()
                held = _content(response, most_bytes)
            except TimeoutError as error:
                connection.close()
                raise self._lost(f"a message took longer than {seconds:g} s") from error
            except (OSError, http.client.HTTPException, _TooMuch) as error:
                connection.close()
                if is_new or not isinstance(error, _STALE):
                    raise self._lost(error) from error
                # The server closed it between two requests. What is not sent once can be asked
                # twice.
                self.close()
                continue
            if once:  # whoever writes often would fill the list of idle ones
                connection.close()
            else:
                self._idle.append(connection)
            return _Answer(response.status, response.headers, held)

    def _taken(self) -> tuple[_Connected, bool]:
        """Take an idle connection, or make one; say whether it is new."""
        if self._process != os.getpid():  # after a fork, those of the parent are not ours
            self._idle, self._process = deque(), os.getpid()
        try:
            return self._idle.pop(), False
        except IndexError:
            return self._connect(), True

    def _lost(self, error: Exception | str) -> ConnectionLostError:
        reason = str(error) or type(error).__name__
        lost = ConnectionLostError(f"{self.url} does not answer: {reason}; is the server running?")
        lost.maybe_kept = True
        return lost

    def _problem(self, answer: _Answer) -> HebbgraphError:
        try:
            told = json.loads(answer.content)
        except ValueError:
            told = None
        if not isinstance(told, dict) or "error" not in told:
            return self._stranger(answer)
        return _error(answer.status, str(told["error"]), str(told.get("detail", "")))

    def _stranger(self, answer: _Answer) -> ConnectionLostError:
        return ConnectionLostError(
            f"{self.url} answered {answer.status} with nothing of ours; is it a server of "
            "hebbgraph, of this version, and nothing between?"
        )

    def close(self) -> None:
        """Close all idle connections; those in use return, and are closed by the next call."""
        with contextlib.suppress(IndexError):  # other threads take some meanwhile
            while True:
                self._idle.pop().close()


def _error(status: int, name: str, detail: str) -> HebbgraphError:
    """Return the error that a problem was."""
    kind = getattr(hebbgraph.errors, name, None)
    if isinstance(kind, type) and issubclass(kind, HebbgraphError):
        return kind(detail)
    by_status = {401: AccessError, 403: AccessError, 429: TooManyRequestsError}
    return by_status.get(status, HebbgraphError)(detail)


def _connector(url: str, timeout_seconds: float) -> tuple[Callable[[], _Connected], str]:
    """Return what makes a connection to the server of a URL, and the path before ours."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except (ValueError, AttributeError):
        host, port, parts = None, None, urlsplit("")
    if parts.username or parts.password:
        raise ParameterError("a URL with a password would show it in logs; give token=...")
    if parts.scheme not in ("http", "https") or not host or parts.query or parts.fragment:
        raise ParameterError(f"url is like 'http://127.0.0.1:4321', got {url!r:.200}")
    if not timeout_seconds > 0:
        raise ParameterError(f"timeout_seconds is above 0, got {timeout_seconds!r}")
    prefix = parts.path.rstrip("/")
    if parts.scheme == "http":
        return lambda: _Connection(host, port, timeout=timeout_seconds), prefix
    context = ssl.create_default_context()
    return (
        lambda: _SecureConnection(host, port, timeout=timeout_seconds, context=context),
        prefix,
    )
