"""Recalls as OpenTelemetry spans, by its conventions for retrieval in generative AI.

Each stage is a child span: models, question, spread (with search in it), rank, hits, finish.
This uses the API alone: without an SDK, a span costs a few microseconds and goes nowhere.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from hebbgraph._version import __version__
from hebbgraph.records import Recall
from hebbgraph.stages import WATCHER
from opentelemetry import trace

__all__ = ["retrieval"]

#: The conventions are in development; this is the version whose names are used.
_SCHEMA = "https://opentelemetry.io/schemas/1.44.0"
_CAPTURE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"

_tracer = trace.get_tracer("hebbgraph", __version__, schema_url=_SCHEMA)


def _stage(name: str) -> AbstractContextManager[Any]:
    return _tracer.start_as_current_span(f"hebbgraph {name}")


def retrieval(namespace: str, k: int, recalling: Callable[[], Recall]) -> Recall:
    """Recall within a span that holds the ids and scores of the hits.

    It holds the question only if the conventions' environment variable asks for content.
    """
    attributes: dict[str, str | int] = {
        "gen_ai.operation.name": "retrieval",
        "gen_ai.provider.name": "hebbgraph",
        "gen_ai.data_source.id": namespace,
        "gen_ai.request.top_k": k,
    }
    with _tracer.start_as_current_span(f"retrieval {namespace}", attributes=attributes) as span:
        previous = WATCHER.set(_stage) if span.is_recording() else None
        try:
            recall = recalling()
        finally:
            if previous is not None:
                WATCHER.reset(previous)
        if span.is_recording():
            hits = [{"id": hit.chunk.id, "score": hit.score} for hit in recall.hits]
            span.set_attribute("gen_ai.retrieval.documents", json.dumps(hits))
            if os.environ.get(_CAPTURE, "").lower() in ("true", "span_only", "span_and_event"):
                span.set_attribute("gen_ai.retrieval.query.text", recall.query)
        return recall
