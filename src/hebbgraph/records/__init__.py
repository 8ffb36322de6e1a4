"""The records that go in and come out: chunks, recalls with their hits, lessons, reports."""

from hebbgraph.records.base import Record, plain, storable, text_digest
from hebbgraph.records.chunk import Chunk
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
    "PathStep",
    "Recall",
    "Record",
    "Tag",
    "plain",
    "storable",
    "text_digest",
]
