"""What a request says beside its question, by its instrument tags: the namespace it is about."""

from __future__ import annotations

from llama_index.core.instrumentation.dispatcher import active_instrument_tags

__all__ = ["NAMESPACE", "asked_namespace"]

#: The instrument tag that names a request's namespace.
NAMESPACE = "hebbgraph_namespace"


def asked_namespace() -> str | None:
    """Return the namespace that the present request asks for."""
    named = active_instrument_tags.get().get(NAMESPACE)
    return None if named is None else str(named)
