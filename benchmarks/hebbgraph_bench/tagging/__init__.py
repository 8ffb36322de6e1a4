"""What taggers are worth, and how much the graph depends on the quality of its tags.

Each tagger indexes a set again and answers its questions by spreading and, as in BambooKG, by
neighbours. The ablation that the paper [1]_ suggests then spoils the tags of the model-free index,
in several ways with several seeds: only postings change.

References
----------
.. [1] Arikutharam and Ukolov (2025), BambooKG, arXiv:2510.25724.
"""

from __future__ import annotations

from hebbgraph_bench.tagging.arms import MODEL_FREE, Arm, arms_for
from hebbgraph_bench.tagging.measure import TaggingResult, measure_taggers
from hebbgraph_bench.tagging.report import as_dict, grids
from hebbgraph_bench.tagging.spoiling import SPOILT, generic_added, randomised, thinned

__all__ = [
    "MODEL_FREE",
    "SPOILT",
    "Arm",
    "TaggingResult",
    "arms_for",
    "as_dict",
    "generic_added",
    "grids",
    "measure_taggers",
    "randomised",
    "thinned",
]
