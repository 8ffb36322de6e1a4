"""Measuring what is learned: on questions that were never asked, and on those untouched.

``splits`` says what is learned and what is asked, ``teachers`` who cites what,
``learners`` who is taught, ``rivals`` what others would do with it, ``arms`` which of them are
compared, ``experiment`` runs them, ``attacks`` says what wrong citations do, ``growth`` measures
size and speed with many feedbacks, ``report`` and ``plots`` show it.
"""

from __future__ import annotations

from hebbgraph_bench.learning.experiment import ArmResult, LearningResult, run_learning
from hebbgraph_bench.learning.growth import GrowthPoint, measure_growth
from hebbgraph_bench.learning.splits import Split, split

__all__ = [
    "ArmResult",
    "GrowthPoint",
    "LearningResult",
    "Split",
    "measure_growth",
    "run_learning",
    "split",
]
