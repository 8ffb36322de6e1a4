"""Prometheus metrics, and one log line a request.

They hold routes, token names and numbers: no question, text, id or secret. FastAPI makes
OpenTelemetry spans of requests once an SDK is configured.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Collection

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    ProcessCollector,
    generate_latest,
)
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

__all__ = ["Metrics", "Observed", "metrics"]

logger = logging.getLogger(__name__)

_LAG_INTERVAL_SECONDS = 0.1
_LAGS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)


class Metrics:
    """The metrics of one server."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        self.requests = Counter(
            "hebbgraph_requests",
            "Requests by route, status, and the token's name.",
            ("route", "status", "token"),
            registry=self.registry,
        )
        self.seconds = Histogram(
            "hebbgraph_request_seconds",
            "Time to the end of the answer.",
            ("route",),
            registry=self.registry,
        )
        self.running = Gauge(
            "hebbgraph_requests_running", "Requests being answered.", registry=self.registry
        )
        self.lag = Histogram(
            "hebbgraph_event_loop_lag_seconds",
            "How late the event loop wakes up.",
            registry=self.registry,
            buckets=_LAGS,
        )

    async def watch(self) -> None:
        """Measure how late the event loop wakes up, until cancelled."""
        loop = asyncio.get_running_loop()
        while True:
            due = loop.time() + _LAG_INTERVAL_SECONDS
            await asyncio.sleep(_LAG_INTERVAL_SECONDS)
            self.lag.observe(max(0.0, loop.time() - due))


async def metrics(request: Request) -> Response:
    """Return the metrics in Prometheus' format."""
    registry = request.app.state.metrics.registry
    return Response(generate_latest(registry), headers={"Content-Type": CONTENT_TYPE_LATEST})


class Observed:
    """ASGI middleware that counts and times requests.

    Parameters
    ----------
    app : ASGI application
    metrics : Metrics
    paths : collection of str
        Known paths, each with counts of its own. Other paths may be made up, and share one count.
    """

    def __init__(self, app: ASGIApp, metrics: Metrics, paths: Collection[str]) -> None:
        self._app = app
        self._metrics = metrics
        self._paths = frozenset(paths)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, and record its status and time."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        status = 500
        started = time.perf_counter()

        async def observe(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        with self._metrics.running.track_inprogress():
            try:
                await self._app(scope, receive, observe)
            finally:
                route = path if (path := scope["path"]) in self._paths else "other"
                caller = scope.get("state", {}).get("caller")
                token = "" if caller is None else caller.name
                took = time.perf_counter() - started
                self._metrics.requests.labels(route, str(status), token).inc()
                self._metrics.seconds.labels(route).observe(took)
                if logger.isEnabledFor(logging.INFO):
                    fields = {"route": route, "status": status, "token": token}
                    fields["milliseconds"] = round(1000 * took, 1)
                    logger.info("request", extra={"fields": fields})
