"""Checks every request before a route sees it: Host, Origin, token, names, sizes and rates.

Any web page that a user visits can send requests to this machine: by *DNS rebinding*, which makes
the page's own name point here and shows in the Host header, or across sites, which shows in the
Origin header. The guard refuses both, so web pages cannot reach a server without tokens.
"""

from __future__ import annotations

import asyncio
import ipaddress
import time
from collections import OrderedDict
from collections.abc import Mapping
from urllib.parse import parse_qsl, urlsplit

from hebbgraph.arguments import check_names
from hebbgraph.errors import ParameterError
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hebbgraph_server.access import Tokens
from hebbgraph_server.problems import Problem, problem, response
from hebbgraph_server.settings import ServerSettings

__all__ = ["CONTENT_SECURITY_POLICY", "Guard", "Rate", "is_private"]

#: The page loads files from its own server and sends requests there alone.
CONTENT_SECURITY_POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "font-src 'self'",
        "connect-src 'self'",
        "manifest-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    )
)
_PAGE_HEADERS = (
    (b"content-security-policy", CONTENT_SECURITY_POLICY.encode()),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-content-type-options", b"nosniff"),
)
_API_HEADERS = (*_PAGE_HEADERS, (b"cache-control", b"no-store"))
#: Paths that need no token.
_OPEN = frozenset({"/v1/health", "/v1/openapi.json"})
#: Query parameters of the API and MCP; all else is in the body.
_PARAMETERS = ("namespace",)
_TABLES = "/v1/tables/"
#: Prefixes of headers that look like ours; there are none.
_OUR_HEADERS = ("hebbgraph", "x-hebbgraph")
#: Callers whose rates are kept.
_MAX_CALLERS = 10_000
_BURST_SECONDS = 5.0
#: Wrong tokens from one address, in bursts of five.
_WRONG_TOKENS_PER_MINUTE = 60.0


class Rate:
    """A token bucket for each caller, with bursts of up to five seconds' worth.

    Parameters
    ----------
    per_minute : float, optional
        None for no limit.
    """

    def __init__(self, per_minute: float | None) -> None:
        self._per_second = None if per_minute is None else per_minute / 60.0
        self._full = max(1.0, (self._per_second or 0.0) * _BURST_SECONDS)
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def allows(self, caller: str, now: float) -> bool:
        """Take one request from a caller's allowance; return whether there was one.

        Examples
        --------
        >>> rate = Rate(per_minute=12)  # one every five seconds
        >>> [rate.allows("a", now) for now in (0.0, 1.0, 5.0)]
        [True, False, True]
        """
        if self._per_second is None:
            return True
        left, since = self._left.pop(caller, (self._full, now))
        left = min(self._full, left + (now - since) * self._per_second)
        allowed = left >= 1.0
        self._left[caller] = (left - 1.0 if allowed else left, now)
        if len(self._left) > _MAX_CALLERS:
            self._left.popitem(last=False)
        return allowed


class Guard:
    """ASGI middleware around the whole app.

    Parameters
    ----------
    app : ASGI application
    settings : ServerSettings
    methods : mapping
        The HTTP methods of each path.
    """

    def __init__(
        self,
        app: ASGIApp,
        settings: ServerSettings,
        methods: Mapping[str, tuple[str, ...]],
    ) -> None:
        self._app = app
        self._methods = methods
        self._settings = settings
        self._tokens = Tokens(settings.tokens)
        self._rate = Rate(settings.requests_per_minute)
        self._wrong = Rate(_WRONG_TOKENS_PER_MINUTE)
        self._names = {"localhost", *(name.lower() for name in settings.allowed_hosts)}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse a request, or pass it on."""
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
            return
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        send = _with_headers(send, _API_HEADERS if is_private(scope["path"]) else _PAGE_HEADERS)
        refusal = self._refusal(scope, Headers(scope=scope))
        if refusal is not None:
            methods = self._methods.get(scope["path"], ())
            allow = {"Allow": ", ".join(methods)} if refusal.status == 405 else {}
            await response(refusal, allow)(scope, receive, send)
            return
        await self._app(scope, self._bounded(receive), send)

    def _refusal(self, scope: Scope, headers: Headers) -> Problem | None:
        host = headers.get("host", "")
        if not self._is_own_name(host):
            return problem(
                421,
                "AccessError",
                f"this server is not known as {host!r:.200}; start it with --allowed-host NAME "
                "if that is its name",
            )
        if not self._is_own_origin(headers, host):
            return problem(
                403,
                "AccessError",
                "a web page of another origin sent this; start the server with "
                "--allowed-origin ORIGIN if it may",
            )
        private = is_private(scope["path"])
        caller = self._tokens.find(headers.get("authorization"))
        address = scope["client"][0] if scope.get("client") else ""
        if private and scope["path"] not in _OPEN:
            if caller is None:
                return self._unauthorized("authorization" in headers, address)
            scope.setdefault("state", {})["caller"] = caller
        # Behind a proxy, tokens share an address; without tokens, callers share a name.
        name = f"token {caller.name}" if caller is not None and self._tokens else address
        if private and not self._rate.allows(name, time.monotonic()):
            return problem(
                429,
                "TooManyRequestsError",
                f"at most {self._settings.requests_per_minute:g} requests a minute; wait a moment",
            )
        if not private:
            return None
        return (
            self._check_method(scope)
            or _check_names(scope, headers)
            or self._check_body(scope, headers)
        )

    def _unauthorized(self, has_token: bool, address: str) -> Problem:
        if has_token and not self._wrong.allows(address, time.monotonic()):
            return problem(429, "TooManyRequestsError", "too many wrong tokens; wait a moment")
        return problem(
            401, "AccessError", "this takes a token, as the header `Authorization: Bearer TOKEN`"
        )

    def _check_method(self, scope: Scope) -> Problem | None:
        methods = self._methods.get(scope["path"])
        if methods is None or scope["method"] in methods:
            return None
        return problem(
            405, "NotFoundError", f"{scope['path']} takes {methods[0]}, got {scope['method']:.20}"
        )

    def _check_body(self, scope: Scope, headers: Headers) -> Problem | None:
        most = self._settings.max_body_bytes
        length = headers.get("content-length", "0")
        if not length.isdecimal() or int(length[:20]) > most:
            return problem(
                413,
                "ParameterError",
                f"{length:.20} bytes in one request; {_most_bytes(most)}",
            )
        # A form can send plain text across sites, but not JSON.
        kind = headers.get("content-type", "").partition(";")[0].strip().lower()
        is_import = kind == "application/x-ndjson" and scope["path"] == "/v1/import"
        is_empty = not kind and length == "0" and "transfer-encoding" not in headers
        if scope["method"] != "POST" or kind == "application/json" or is_import or is_empty:
            return None
        detail = f"a body is application/json, got {kind or 'none'!r:.80}"
        return problem(415, "ParameterError", detail)

    def _is_own_name(self, host: str) -> bool:
        """Return whether a Host header names this server; rebinding cannot use an IP address."""
        name = _host_name(host)
        if name in self._names or name == self._settings.host.lower():
            return True
        try:
            ipaddress.ip_address(name)
        except ValueError:
            return False
        return True

    def _is_own_origin(self, headers: Headers, host: str) -> bool:
        origin = headers.get("origin")
        if origin is not None:
            if origin in self._settings.allowed_origins:
                return True
            return origin.lower() in (f"http://{host.lower()}", f"https://{host.lower()}")
        return headers.get("sec-fetch-site", "none") not in ("cross-site", "same-site") or (
            headers.get("sec-fetch-mode") == "navigate"  # a link to the page
        )

    def _bounded(self, receive: Receive) -> Receive:
        """Stop reading a body that is too large or too slow."""
        size = 0
        deadline: float | None = None
        is_complete = False

        async def bounded() -> Message:
            nonlocal size, deadline, is_complete
            if is_complete:
                return await receive()  # waits for the client to leave
            now = time.monotonic()
            deadline = now + self._settings.body_seconds if deadline is None else deadline
            try:
                async with asyncio.timeout(max(0.0, deadline - now)):
                    message = await receive()
            except TimeoutError:
                raise HTTPException(
                    408, f"the body took longer than {self._settings.body_seconds:g} s to arrive"
                ) from None
            size += len(message.get("body", b""))
            is_complete = not message.get("more_body", False)
            if size > self._settings.max_body_bytes:
                raise HTTPException(413, _most_bytes(self._settings.max_body_bytes))
            return message

        return bounded


def _check_names(scope: Scope, headers: Headers) -> Problem | None:
    """Refuse query parameters and headers that no route reads, such as misspelt ones."""
    parameters = [name for name, _ in parse_qsl(scope["query_string"].decode("latin-1"), True)]
    try:
        if not scope["path"].startswith(_TABLES):  # they check their own parameters
            check_names(parameters, _PARAMETERS, of=scope["path"][:200])
    except ParameterError as error:
        return problem(422, "ParameterError", str(error))
    if len(parameters) > len(set(parameters)):
        detail = f"{parameters[0]} is given more than once; give it once"
        return problem(422, "ParameterError", detail)
    unknown = next((name for name in headers if name.startswith(_OUR_HEADERS)), None)
    if unknown is not None:
        return problem(
            422,
            "ParameterError",
            f"there is no header {unknown!r:.80}; give the namespace in the query "
            "(?namespace=NAME) and all else in the body",
        )
    return None


def is_private(path: str) -> bool:
    """Return whether a path belongs to the API or MCP, not to the page's files."""
    return path.startswith(("/v1", "/mcp"))


def _most_bytes(most: int) -> str:
    return (
        f"at most {most:,} fit; send fewer chunks at a time, or index a large file on the server's "
        "machine: hebbgraph index FILE --db DIR"
    )


def _host_name(host: str) -> str:
    """Return the name in a Host header, without port and brackets.

    >>> [_host_name(host) for host in ("LocalHost:80", "[::1]:80", "::1", "")]
    ['localhost', '::1', '', '']
    """
    try:
        return (urlsplit(f"//{host}").hostname or "").lower()
    except ValueError:
        return ""


def _with_headers(send: Send, defaults: tuple[tuple[bytes, bytes], ...]) -> Send:
    """Add the security headers that a response does not set itself."""

    async def send_with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = list(message.get("headers", ()))
            names = {name.lower() for name, _ in headers}
            headers += [header for header in defaults if header[0] not in names]
            message = {**message, "headers": headers}
        await send(message)

    return send_with_headers
