"""What requests and answers carry, under the names of the Python API.

A request has the arguments of the method, an answer what it returns. Where that is no record, it
has one field.
"""

from __future__ import annotations

from typing import Any, Literal

from hebbgraph.inspection import TagCount
from hebbgraph.limits import MAX_ID, MAX_K, MAX_SEEDS, MAX_TAG
from hebbgraph.records import (
    AnswerRecord,
    Chunk,
    Colony,
    CorrectionKind,
    Feedback,
    ForgetPreview,
    Forgetting,
    LearnedParameter,
    LessonRecord,
    Recall,
    TagCorrection,
)
from pydantic import BaseModel, ConfigDict, Field, SkipValidation

from hebbgraph_server.fields import Base64, Id, Ids, Tag, Turns, Where

__all__ = [
    "AddRequest",
    "ChunkIds",
    "Chunks",
    "Colonies",
    "ColoniesRequest",
    "Compacted",
    "CorrectTagsRequest",
    "Corrections",
    "DeleteRequest",
    "Deleted",
    "DoctorRequest",
    "DocumentsRequest",
    "EarlierRecallsRequest",
    "ExplainRequest",
    "Feedbacks",
    "FindAnswerRequest",
    "FindFeedbackRequest",
    "FindRecallRequest",
    "Fingerprints",
    "ForgetRequest",
    "Forgettings",
    "Forgotten",
    "FoundAnswer",
    "FoundRecall",
    "Health",
    "IdsRequest",
    "InFullRequest",
    "KeepAnswerRequest",
    "Learned",
    "LessonReportRequest",
    "Lessons",
    "LessonsRequest",
    "Namespaces",
    "NeighborhoodRequest",
    "Progress",
    "Properties",
    "PruneRequest",
    "PutDocumentRequest",
    "PutFileRequest",
    "Question",
    "RecallRequest",
    "Recalls",
    "ReinforceRequest",
    "Restored",
    "Tags",
    "TagsRequest",
    "TraceRequest",
    "UndoForgetRequest",
    "UndoTagCorrectionRequest",
    "Undone",
]


class _Body(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class RecallRequest(_Body):
    """See ``HebbianIndex.recall``."""

    query: str
    k: int = Field(default=10, ge=1, le=MAX_K)
    where: Where = None
    strategy: Literal["spreading", "neighbourhood", "neural", "breadth_first"] = "spreading"
    id: Id | None = None
    seeds: list[tuple[str, float]] | None = Field(default=None, max_length=MAX_SEEDS)
    vector: list[float] | None = None
    per_colony: int | None = Field(default=None, ge=1)
    min_score: float | None = Field(default=None, ge=0, le=1)
    history: Turns = []
    as_of: str | None = Field(default=None, max_length=64, description="a date or moment, ISO 8601")


class InFullRequest(_Body):
    """See ``HebbianIndex.in_full``."""

    query: str
    history: Turns


class ExplainRequest(_Body):
    """See ``HebbianIndex.explain``."""

    recall: Recall | Id
    chunk_id: Id


class FindRecallRequest(_Body):
    """See ``HebbianIndex.find_recall``."""

    recall_id: Id


class IdsRequest(_Body):
    """See ``HebbianIndex.ids``."""

    where: Where = None


class ChunkIds(_Body):
    """Ids of chunks."""

    ids: Ids


class ReinforceRequest(_Body):
    """See ``HebbianIndex.reinforce``."""

    recall: Recall | Id
    cited: Ids = []
    rejected: Ids | None = None
    rating: dict[str, float] | float | None = None
    reason: dict[str, str] | str | None = None
    shown: Ids | None = None
    actor: Id | None = None
    trusted: bool = False


class FindFeedbackRequest(_Body):
    """See ``HebbianIndex.find_feedback``."""

    ids: Ids


#: Checked by the index itself, which takes real text as it is.
Given = list[SkipValidation[Chunk | str]]


class AddRequest(_Body):
    """See ``HebbianIndex.add``."""

    chunks: Given
    on_error: Literal["raise", "skip"] = "raise"
    strict: bool = False


class RefreshRequest(_Body):
    """See ``HebbianIndex.refresh``."""

    chunks: Given
    document_ids: Ids = []
    delete_missing: bool = False
    on_error: Literal["raise", "skip"] = "raise"
    strict: bool = False


class Made(_Body):
    """The namespace exists."""

    made: Literal[True] = True


class PutDocumentRequest(_Body):
    """See ``HebbianIndex.put_document``."""

    document_id: Id
    fingerprint: Id | None = None
    chunks: Given


class CorrectTagsRequest(_Body):
    """See ``HebbianIndex.correct_tags``."""

    kind: CorrectionKind
    tags: Tag | list[Tag]
    into: Tag | None = None
    chunks: Ids | None = None
    actor: Id | None = None


class UndoTagCorrectionRequest(_Body):
    """See ``HebbianIndex.undo_tag_correction``."""

    correction: TagCorrection | Id


class LessonReportRequest(_Body):
    """See ``HebbianIndex.lesson_report``."""

    questions: int = Field(default=200, ge=1, le=1000)
    k: int = Field(default=5, ge=1, le=MAX_K)


class KeepAnswerRequest(_Body):
    """See ``HebbianIndex.keep_answer``."""

    record: AnswerRecord


class FindAnswerRequest(_Body):
    """See ``HebbianIndex.find_answer``."""

    name: Id


class LessonsRequest(_Body):
    """See ``HebbianIndex.lessons``."""

    actor: Id | None = None
    unnamed: bool = False
    recall: Id | None = None
    since: float | None = None
    until: float | None = None


class EarlierRecallsRequest(_Body):
    """See ``HebbianIndex.earlier_recalls``."""

    conversation: Id


class ForgetRequest(_Body):
    """See ``HebbianIndex.forget``; here a dry run unless told otherwise."""

    feedback: SkipValidation[str | list[str] | None] = None
    actor: Id | None = None
    unnamed: bool = False
    chunk: Id | None = None
    since: float | None = None
    until: float | None = None
    everything: bool = False
    erase: bool = False
    dry_run: bool = True


class TraceRequest(_Body):
    """See ``HebbianIndex.trace``."""

    recall: Recall | Id
    where: Where = None
    limit: int = Field(default=2_000, ge=1, le=20_000)


class TagsRequest(_Body):
    """See ``HebbianIndex.tags``."""

    containing: str = Field(default="", max_length=MAX_TAG)
    chunk: Id | None = None
    limit: int = Field(default=100, ge=1, le=10_000)


class NeighborhoodRequest(_Body):
    """See ``HebbianIndex.neighborhood``."""

    tag: str = Field(max_length=MAX_TAG)
    limit: int = Field(default=500, ge=1, le=5_000)


class DocumentsRequest(_Body):
    """See ``index.inspect.documents``."""

    containing: str = Field(default="", max_length=MAX_ID)
    limit: int = Field(default=100, ge=1, le=10_000)


class ColoniesRequest(_Body):
    """See ``HebbianIndex.colonies``."""

    rebuild: bool = False


class PruneRequest(_Body):
    """See ``HebbianIndex.prune``."""

    min_weight: float | None = None
    dry_run: bool = True


class DoctorRequest(_Body):
    """See ``HebbianIndex.doctor``."""

    repair: bool = False


class PutFileRequest(_Body):
    """A file, to be converted and split as ``hebbgraph index`` does it."""

    name: str = Field(
        min_length=1,
        max_length=MAX_ID,
        description="becomes the id of the document; its suffix tells the format",
    )
    content: Base64 = Field(description="the bytes of the file, in base64")


class DeleteRequest(_Body):
    """See ``HebbianIndex.delete``."""

    ids: Ids | None = None
    document_id: Id | None = None
    erase: bool = False


class Progress(_Body):
    """A line of a streamed answer, before the last."""

    done: int
    total: int | None = None


class Deleted(_Body):
    """How many chunks were deleted."""

    deleted: int


class Chunks(_Body):
    """Chunks, in the order of the ids asked for."""

    chunks: list[Chunk]


class FoundRecall(_Body):
    """A recent recall, or none."""

    recall: Recall | None


class Question(_Body):
    """A question with the earlier turns that it relies on."""

    query: str


class Fingerprints(_Body):
    """The fingerprints of documents, by document id."""

    fingerprints: dict[str, str]


class Namespaces(_Body):
    """The namespaces that a token sees."""

    namespaces: list[str]


class Forgotten(_Body):
    """How many records of feedback were removed or changed, or after a dry run, would be.

    ``unknown`` are the ids that were given and are none of feedback.
    """

    forgotten: int | None = None
    unknown: list[str] = []
    preview: ForgetPreview | None = None


class Forgettings(_Body):
    """What can be put back, the latest first."""

    forgotten: list[Forgetting]


class UndoForgetRequest(_Body):
    """See ``HebbianIndex.undo_forget``."""

    forgetting: Id


class Restored(_Body):
    """How many records of feedback were put back."""

    undone: int


class Tags(_Body):
    """Tags, the most frequent first."""

    tags: list[TagCount]


class Corrections(_Body):
    """The corrections of tags in force, the oldest first."""

    corrections: list[TagCorrection]


class Undone(_Body):
    """Whether the correction was in force."""

    undone: bool


class Feedbacks(_Body):
    """Feedback, in the order of the log."""

    feedback: list[Feedback]


class Learned(_Body):
    """Parameters of the corpus that citations have moved."""

    learned: list[LearnedParameter]


class FoundAnswer(_Body):
    """The answer that was kept, or none."""

    answer: AnswerRecord | None


class Lessons(_Body):
    """What an index was taught."""

    lessons: list[LessonRecord]


class Recalls(_Body):
    """Recalls, the oldest first."""

    recalls: list[Recall]


class Colonies(_Body):
    """Communities of chunks, the largest first."""

    colonies: list[Colony]


class Compacted(_Body):
    """That all files were rewritten."""

    compacted: Literal[True] = True


class Properties(_Body):
    """The properties of an index object."""

    namespace: str
    settings: dict[str, Any]
    embeds: bool
    repairs: list[str]


class Health(_Body):
    """That the server answers."""

    status: Literal["ok"] = "ok"
    version: str
