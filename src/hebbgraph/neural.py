"""The former name of :mod:`hebbgraph_papers.nakg`, until 0.3."""

from __future__ import annotations

import warnings
from typing import Any

from hebbgraph.extras import require

_nakg = require("hebbgraph_papers.nakg", extra="papers", purpose="hebbgraph.neural")
warnings.warn(
    "hebbgraph.neural moved; import hebbgraph_papers.nakg", DeprecationWarning, stacklevel=2
)


def __getattr__(name: str) -> Any:
    return getattr(_nakg, name)
