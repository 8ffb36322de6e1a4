"""The former name of :mod:`hebbgraph_server.client`, until 0.3."""

from __future__ import annotations

import warnings
from typing import Any

from hebbgraph.extras import require

_client = require("hebbgraph_server.client", extra="server", purpose="hebbgraph.client")
warnings.warn(
    "hebbgraph.client moved; import hebbgraph_server.client", DeprecationWarning, stacklevel=2
)


def __getattr__(name: str) -> Any:
    return getattr(_client, name)
