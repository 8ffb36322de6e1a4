"""The former name of :mod:`hebbgraph_documents`, until 0.3."""

from __future__ import annotations

import warnings
from typing import Any

from hebbgraph.extras import require

_documents = require("hebbgraph_documents", extra="documents", purpose="hebbgraph.documents")
warnings.warn(
    "hebbgraph.documents moved; import hebbgraph_documents", DeprecationWarning, stacklevel=2
)


def __getattr__(name: str) -> Any:
    return getattr(_documents, name)
