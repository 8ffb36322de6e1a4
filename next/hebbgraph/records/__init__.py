"""The records that go in and come out: chunks, recalls with their hits, lessons, reports."""

from hebbgraph.records.base import Record, plain, storable, text_digest
from hebbgraph.records.chunk import Chunk
from hebbgraph.records.recall import Cue, Hit, PathStep, Recall
from hebbgraph.records.reports import AddReport, DeleteReport, Evaluation, Lesson, Neighbor, Tag

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
