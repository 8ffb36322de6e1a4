"""Does a recall tell questions about its corpus from questions about other subjects?

``python -m hebbgraph_bench.confidence SET... [--embedder MODEL --cache DIR] [--fit]`` asks each set
its own questions and 50 of the same style that it does not answer. A threshold is chosen on one
set and applied to the others. ``--fit`` fits the coefficients again, on whole sets and on small
parts of them.
"""

from __future__ import annotations

from hebbgraph_bench.confidence.fit import fit, left_out
from hebbgraph_bench.confidence.measure import Sureness, applied, ask, off_topic, shrunk, threshold

__all__ = ["Sureness", "applied", "ask", "fit", "left_out", "off_topic", "shrunk", "threshold"]
