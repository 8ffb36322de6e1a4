"""Records that show what an index holds and does, for people who look inside.

Like :mod:`hebbgraph.records`, they are frozen, and load from their own JSON. The verbs need none.
"""

from hebbgraph.inspection.lessons import (
    LessonPoint,
    LessonReport,
    MeanChange,
    MovedQuestion,
    Verdict,
)
from hebbgraph.inspection.rankings import (
    Causes,
    Explanation,
    LearnedEffect,
    Trace,
    TraceCut,
    TraceEvent,
    TraceHit,
    TraceNode,
)
from hebbgraph.inspection.tags import Neighborhood, TagChunk, TagCount, TagEdge, TagNode

__all__ = [
    "Causes",
    "Explanation",
    "LearnedEffect",
    "LessonPoint",
    "LessonReport",
    "MeanChange",
    "MovedQuestion",
    "Neighborhood",
    "TagChunk",
    "TagCount",
    "TagEdge",
    "TagNode",
    "Trace",
    "TraceCut",
    "TraceEvent",
    "TraceHit",
    "TraceNode",
    "Verdict",
]
