"""The records that go into the index and come out of it: chunks, recalls, feedback, reports.

All are frozen pydantic models. They can be stored, compared, serialised to JSON
(``model_dump_json``) and loaded again (``model_validate_json``) without the index.
``explanations``, ``lesson_report`` and ``neighborhood`` hold what the verbs do not need; import
their records from there, or from :mod:`hebbgraph`.
"""

from hebbgraph.records.chunk import (
    Chunk,
    Record,
    label_of,
    readable_links,
    searched,
    storable,
    text_hash,
    unstorable,
)
from hebbgraph.records.feedback import (
    AnswerRecord,
    Credit,
    Feedback,
    LessonRecord,
    ShownChunk,
    lesson_digest,
)
from hebbgraph.records.learned import (
    EdgeChange,
    ForgetPreview,
    Forgetting,
    LearnedParameter,
    PruneReport,
)
from hebbgraph.records.recall import Cue, Hit, PathStep, Recall, Stale, Turn
from hebbgraph.records.reports import (
    AddReport,
    Colony,
    CorrectionKind,
    DoctorReport,
    FailedChunk,
    Finding,
    Part,
    TagCorrection,
    TaggingReport,
)

__all__ = [
    "AddReport",
    "AnswerRecord",
    "Chunk",
    "Colony",
    "CorrectionKind",
    "Credit",
    "Cue",
    "DoctorReport",
    "EdgeChange",
    "FailedChunk",
    "Feedback",
    "Finding",
    "ForgetPreview",
    "Forgetting",
    "Hit",
    "LearnedParameter",
    "LessonRecord",
    "Part",
    "PathStep",
    "PruneReport",
    "Recall",
    "Record",
    "ShownChunk",
    "Stale",
    "TagCorrection",
    "TaggingReport",
    "Turn",
    "label_of",
    "lesson_digest",
    "readable_links",
    "searched",
    "storable",
    "text_hash",
    "unstorable",
]
