"""Prometheus metrics, a log line a request, and a span a recall.

They hold routes, token names and numbers: no question, text, id or secret. FastAPI makes
OpenTelemetry spans of requests once an SDK is configured.
"""

import json
import logging
import os
import time
from typing import Any

import prometheus_client as prometheus
from opentelemetry import trace
from prometheus_client.multiprocess import MultiProcessCollector
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hebbgraph import HebbianIndex, Recall, __version__

logger = logging.getLogger(__name__)
#: A folder that all workers write their numbers to, if there are several.
SHARED = "PROMETHEUS_MULTIPROC_DIR"

_tracer = trace.get_tracer("hebbgraph", __version__)


class Metrics:
    """The metrics of one process."""

    def __init__(self) -> None:
        self.registry = prometheus.CollectorRegistry()
        prometheus.ProcessCollector(registry=self.registry)
        own: dict[str, Any] = {"namespace": "hebbgraph", "registry": self.registry}
        self.requests = prometheus.Counter(
            "requests", "By route, status, token's name.", ("route", "status", "token"), **own
        )
        self.seconds = prometheus.Histogram(
            "request_seconds", "Time to the end.", ("route",), **own
        )


def metrics_text(metrics: Metrics) -> tuple[bytes, str]:
    """Return the metrics of all workers, and their media type."""
    registry = metrics.registry
    if SHARED in os.environ:
        registry = prometheus.CollectorRegistry()
        MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
    return prometheus.generate_latest(registry), prometheus.CONTENT_TYPE_LATEST


class Observed:
    """ASGI middleware that counts, times and logs requests."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, and record its status and time."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        status, started = 500, time.perf_counter()

        async def observe(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, observe)
        finally:
            self._record(scope, status, time.perf_counter() - started)

    def _record(self, scope: Scope, status: int, seconds: float) -> None:
        # Paths of no route may be made up, and share one count.
        route = getattr(scope.get("route"), "path_format", "other")
        token = scope.get("state", {}).get("token")
        name = "" if token is None else token.name
        self._metrics.requests.labels(route, str(status), name).inc()
        self._metrics.seconds.labels(route).observe(seconds)
        fields = {"route": route, "status": status, "token": name, "ms": round(1000 * seconds, 1)}
        logger.info("%s", json.dumps(fields))


def traced_recall(index: HebbianIndex, question: str, k: int, **options: Any) -> Recall:
    """Ask in a span of OpenTelemetry's form, if it has an SDK: ids and scores."""
    attributes: dict[str, str | int] = {
        "gen_ai.operation.name": "retrieval",
        "gen_ai.provider.name": "hebbgraph",
        "gen_ai.data_source.id": index.namespace,
        "gen_ai.request.top_k": k,
    }
    name = f"retrieval {index.namespace}"
    with _tracer.start_as_current_span(name, attributes=attributes) as span:
        found = index.recall(question, k, **options)
        if span.is_recording():
            hits = [{"id": hit.id, "score": hit.score} for hit in found]
            span.set_attribute("gen_ai.retrieval.documents", json.dumps(hits))
    return found
