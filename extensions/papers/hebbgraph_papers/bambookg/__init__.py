"""BambooKG: recall by the strongest co-occurrences of what the question names.

============== ==========================================================
``formulas``   the recall as published, on arrays
``strategy``   the strategy ``neighbourhood`` that runs it on an index
============== ==========================================================
"""

from __future__ import annotations

from hebbgraph_papers.bambookg.strategy import Neighbourhood

__all__ = ["Neighbourhood"]
