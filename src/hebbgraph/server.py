"""The former name of :mod:`hebbgraph_server`, until 0.3."""

from __future__ import annotations

import warnings
from typing import Any

from hebbgraph.extras import require

_server = require("hebbgraph_server", extra="server", purpose="hebbgraph.server")
warnings.warn("hebbgraph.server moved; import hebbgraph_server", DeprecationWarning, stacklevel=2)


def __getattr__(name: str) -> Any:
    return getattr(_server, name)
