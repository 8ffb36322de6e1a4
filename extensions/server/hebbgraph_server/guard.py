"""Checks every request before a route sees it: Host, Origin, token, rate, and the body's size.

A web page that a user visits can send requests to this machine by *DNS rebinding*, which shows in
the Host header, or across sites, which shows in the Origin header; both are refused.
"""

import asyncio
import ipaddress
import time
from collections import OrderedDict
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hebbgraph_server.errors import ApiError
from hebbgraph_server.settings import ServerSettings
from hebbgraph_server.tokens import LOCAL, digest_of

_PAGE_HEADERS = {
    "content-security-policy": "default-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'; object-src 'none'",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
}
#: Paths that need no token.
_OPEN = frozenset({"/v1/health", "/v1/ready", "/v1/openapi.json"})
#: Where files are uploaded, as they are.
_UPLOADS = "/v1/documents"
#: Callers whose rates are kept.
_MAX_CALLERS = 10_000
_BURST_SECONDS = 5.0
#: Wrong tokens from one address, in bursts of five.
_WRONG_TOKENS_PER_MINUTE = 60.0


class Rate:
    """A token bucket for each caller, with bursts of up to five seconds' worth."""

    def __init__(self, per_minute: float | None) -> None:
        self._per_second = None if per_minute is None else per_minute / 60.0
        self._full = max(1.0, (self._per_second or 0.0) * _BURST_SECONDS)
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def allows(self, caller: str, now: float) -> bool:
        """Take one request from a caller's allowance; return whether there was one."""
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
    """ASGI middleware around the whole app."""

    def __init__(self, app: ASGIApp, settings: ServerSettings) -> None:
        self._app = app
        self._settings = settings
        self._tokens = {token.digest: token for token in settings.tokens}
        self._rate = Rate(settings.requests_per_minute)
        self._wrong = Rate(_WRONG_TOKENS_PER_MINUTE)
        hosts = {"localhost", settings.host, *settings.allowed_hosts}
        self._names = {name.lower() for name in hosts}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse a request, or pass it on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        send = _with_headers(send, is_private(scope["path"]))
        try:
            self._check(scope, Headers(scope=scope))
        except ApiError as error:
            await error.response()(scope, receive, send)
            return
        await self._app(scope, self._bounded(receive, self._most(scope)), send)

    def _check(self, scope: Scope, headers: Headers) -> None:
        """Raise ApiError for a request that no route shall see."""
        host = headers.get("host", "")
        if not self._is_own_name(host):
            text = f"this server is not known as {host!r:.200}; see --allowed-host"
            raise ApiError(421, "not_allowed", text)
        if not self._is_own_origin(headers, host):
            text = "a web page of another origin sent this; see --allowed-origin"
            raise ApiError(403, "not_allowed", text)
        if not is_private(scope["path"]):
            return
        address = scope["client"][0] if scope.get("client") else ""
        caller = address
        if scope["path"] not in _OPEN:
            scheme, _, secret = headers.get("authorization", "").partition(" ")
            token = self._tokens.get(digest_of(secret.strip())) if self._tokens else LOCAL
            if token is None or (self._tokens and scheme.lower() != "bearer"):
                raise self._unauthorized("authorization" in headers, address)
            scope.setdefault("state", {})["token"] = token
            # Behind a proxy, tokens share an address; without tokens, callers share a name.
            caller = f"token {token.name}" if self._tokens else address
        if not self._rate.allows(caller, time.monotonic()):
            most = self._settings.requests_per_minute
            raise ApiError(429, "too_many", f"at most {most:g} requests a minute; wait a moment")
        self._check_body(scope, headers)

    def _unauthorized(self, has_token: bool, address: str) -> ApiError:
        if not has_token:
            return ApiError(401, "token_missing", "this server asks for a token; enter yours")
        if not self._wrong.allows(address, time.monotonic()):
            return ApiError(429, "too_many", "too many wrong tokens; wait a moment")
        text = "this token is not known here; ask whoever runs the server for yours"
        return ApiError(401, "token_unknown", text)

    def _check_body(self, scope: Scope, headers: Headers) -> None:
        length = headers.get("content-length", "0")
        if not length.isdecimal() or int(length[:20]) > self._most(scope):
            raise _too_large(self._most(scope))
        # A form can send plain text across sites, but neither JSON nor bytes.
        kind = headers.get("content-type", "").partition(";")[0].strip().lower()
        is_empty = not kind and length == "0" and "transfer-encoding" not in headers
        wanted = "application/octet-stream" if scope["path"] == _UPLOADS else "application/json"
        if scope["method"] in ("POST", "PUT", "PATCH") and kind != wanted and not is_empty:
            raise ApiError(415, "wrong_type", f"the body is {wanted}, got {kind or 'none'!r:.80}")

    def _most(self, scope: Scope) -> int:
        is_file = scope["path"] == _UPLOADS
        return self._settings.max_file_bytes if is_file else self._settings.max_body_bytes

    def _is_own_name(self, host: str) -> bool:
        """Return whether a Host header names this server; rebinding cannot use an IP address."""
        try:
            name = (urlsplit(f"//{host}").hostname or "").lower()
            return name in self._names or bool(ipaddress.ip_address(name))
        except ValueError:
            return False

    def _is_own_origin(self, headers: Headers, host: str) -> bool:
        origin = headers.get("origin")
        if origin is not None:
            own = (f"http://{host.lower()}", f"https://{host.lower()}")
            return origin in self._settings.allowed_origins or origin.lower() in own
        is_link = headers.get("sec-fetch-mode") == "navigate"
        return is_link or headers.get("sec-fetch-site") not in ("cross-site", "same-site")

    def _bounded(self, receive: Receive, most: int) -> Receive:
        """Stop reading a body that is too large or too slow."""
        size, is_complete, seconds = 0, False, self._settings.body_seconds
        deadline = asyncio.get_running_loop().time() + seconds

        async def bounded() -> Message:
            nonlocal size, is_complete
            if is_complete:
                return await receive()  # waits for the client to leave
            try:
                async with asyncio.timeout_at(deadline):
                    message = await receive()
            except TimeoutError:
                text = f"the body took longer than {seconds:g} s to arrive"
                raise ApiError(408, "too_slow", text) from None
            size += len(message.get("body", b""))
            is_complete = not message.get("more_body", False)
            if size > most:
                raise _too_large(most)
            return message

        return bounded


def _too_large(most: int) -> ApiError:
    return ApiError(413, "too_large", f"at most {most:,} bytes fit into one request; send less")


def is_private(path: str) -> bool:
    """Return whether a path belongs to the API or MCP, not to the page's files."""
    return path.startswith(("/v1", "/mcp"))


def _with_headers(send: Send, private: bool) -> Send:
    """Add the security headers that a response does not set itself."""
    defaults = _PAGE_HEADERS | ({"cache-control": "no-store"} if private else {})

    async def send_with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in defaults.items():
                headers.setdefault(name, value)
        await send(message)

    return send_with_headers
