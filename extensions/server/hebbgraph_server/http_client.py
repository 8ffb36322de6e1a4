"""Requests to a hebbgraph server: JSON both ways, problems raised as the original errors.

This uses the standard library alone, so the client needs no more than the core.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import ssl
import time
from collections import deque
from collections.abc import Callable, Mapping
from email.message import Message
from typing import Any, NamedTuple, TypeVar
from urllib.parse import quote, urlsplit

import hebbgraph.errors
from hebbgraph.errors import (
    AccessError,
    ConnectionLostError,
    HebbgraphError,
    ParameterError,
    TooManyRequestsError,
)

__all__ = ["HttpClient"]

_T = TypeVar("_T")

#: Tries of a request that the server defers (429, 503), and the longest wait between them.
_MAX_TRIES = 4
_MAX_WAIT_SECONDS = 5.0
#: Wait before the retries of a refused connection: 2, 4 and 8 times this.
_REFUSED_SECONDS = 0.1
#: Errors when the server has closed an idle connection.
_STALE = (http.client.RemoteDisconnected, ConnectionResetError, BrokenPipeError)


class _Answer(NamedTuple):
    status: int
    headers: Message
    content: bytes


class HttpClient:
    """A pool of connections to a server, one for each concurrent request.

    Parameters
    ----------
    url : str
    token : str, optional
    timeout_seconds : float
        Limit of each wait for the server.

    Raises
    ------
    ParameterError
        If ``url`` is no valid URL of a server.
    """

    def __init__(self, url: str, *, token: str | None, timeout_seconds: float) -> None:
        self._connect, self._prefix = _connector(url, timeout_seconds)
        self._timeout_seconds = timeout_seconds
        self.url = url.rstrip("/")
        self._headers = {"Accept": "application/json", "Content-Type": "application/json"}
        if token is not None:
            if not token.isascii() or not token.isprintable():
                raise ParameterError("a token is printable ASCII")  # do not quote the secret
            self._headers["Authorization"] = f"Bearer {token}"
        self._idle: deque[http.client.HTTPConnection] = deque()
        self._process = os.getpid()

    def ask(
        self,
        name: str,
        body: Mapping[str, Any] | None,
        *,
        namespace: str,
        read: Callable[[bytes], _T],
    ) -> _T:
        """Send a GET, or a POST with a body, and return the answer, parsed by ``read``.

        Raises
        ------
        HebbgraphError
            The server's own error.
        ConnectionLostError
            If it cannot be reached.
        """
        content = None if body is None else json.dumps(body).encode()
        for tries in range(1, _MAX_TRIES + 1):
            answer = self._send(name, namespace, content)
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
            raise self._unexpected(answer) from error

    def _send(self, name: str, namespace: str, content: bytes | None) -> _Answer:
        """Send a request once; retry refused and stale connections alone."""
        path = f"{self._prefix}/v1/{name}?namespace={quote(namespace, safe='')}"
        method = "GET" if content is None else "POST"
        refused = 0
        while True:
            connection, is_new = self._idle_or_new()
            try:
                connection.request(method, path, body=content, headers=self._headers)
                response = connection.getresponse()
                answer = _Answer(response.status, response.headers, response.read())
            except TimeoutError as error:
                connection.close()
                limit = f"the server took longer than {self._timeout_seconds:g} s"
                raise self._lost(limit) from error
            except ConnectionRefusedError as error:  # the server may be restarting
                connection.close()
                refused += 1
                if refused == _MAX_TRIES:
                    raise self._lost(error) from error
                time.sleep(_REFUSED_SECONDS * 2**refused)
                continue
            except (OSError, http.client.HTTPException) as error:
                connection.close()
                if is_new or not isinstance(error, _STALE):
                    raise self._lost(error) from error
                # The server closed it between requests, so it has not seen this one.
                self.close()
                continue
            self._idle.append(connection)
            return answer

    def _idle_or_new(self) -> tuple[http.client.HTTPConnection, bool]:
        """Return a connection, and whether it is new."""
        if self._process != os.getpid():  # after a fork, they are the parent's
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
            problem = json.loads(answer.content)
        except ValueError:
            problem = None
        if not isinstance(problem, dict) or "error" not in problem:
            return self._unexpected(answer)
        return _error(answer.status, str(problem["error"]), str(problem.get("detail", "")))

    def _unexpected(self, answer: _Answer) -> ConnectionLostError:
        return ConnectionLostError(
            f"{self.url} sent an unexpected response (status {answer.status}); is this a hebbgraph "
            "server of the same version, with no proxy that answers for it?"
        )

    def close(self) -> None:
        """Close all idle connections; the next call closes those in use now."""
        with contextlib.suppress(IndexError):  # other threads may take some
            while True:
                self._idle.pop().close()


def _error(status: int, name: str, detail: str) -> HebbgraphError:
    """Return the server's error."""
    kind = getattr(hebbgraph.errors, name, None)
    if isinstance(kind, type) and issubclass(kind, HebbgraphError):
        return kind(detail)
    by_status = {401: AccessError, 403: AccessError, 429: TooManyRequestsError}
    return by_status.get(status, HebbgraphError)(detail)


def _connector(
    url: str, timeout_seconds: float
) -> tuple[Callable[[], http.client.HTTPConnection], str]:
    """Return a function that connects to the server of a URL, and the URL's path."""
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
        return lambda: http.client.HTTPConnection(host, port, timeout=timeout_seconds), prefix
    context = ssl.create_default_context()
    return (
        lambda: http.client.HTTPSConnection(host, port, timeout=timeout_seconds, context=context),
        prefix,
    )
