"""Whether to run the heavy counts."""

from __future__ import annotations

import os

__all__ = ["SOAK"]

SOAK = os.environ.get("HEBBGRAPH_SOAK") == "1"
