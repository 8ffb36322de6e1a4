"""The records that go in and come out: chunks, recalls with their hits, lessons, reports."""

from hebbgraph.records.base import Record, plain, storable, text_digest
from hebbgraph.records.chunk import Chunk, Passage
from hebbgraph.records.results import (
    AddReport,
    Cue,
    DeleteReport,
    Evaluation,
    Hit,
    Lesson,
    Neighbor,
    PathStep,
    Recall,
    Shown,
    Tag,
)

__all__ = [
    "AddReport",
    "Chunk",
    "Cue",
    "DeleteReport",
    "Evaluation",
    "Hit",
    "Lesson",
    "Neighbor",
    "Passage",
    "PathStep",
    "Recall",
    "Record",
    "Shown",
    "Tag",
    "plain",
    "storable",
    "text_digest",
]
