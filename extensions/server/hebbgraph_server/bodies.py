"""Bodies of requests and answers, with the names of the Python API.

A request has the method's arguments, an answer its return value; other values than records are
wrapped in one field.
"""

from __future__ import annotations

import base64
from typing import Annotated, Any, Literal

from hebbgraph.limits import MAX_ID, MAX_K, MAX_SEEDS, MAX_TAG
from hebbgraph.records import (
    Chunk,
    CorrectionKind,
    Feedback,
    ForgetPreview,
    Forgetting,
)
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SkipValidation,
    WithJsonSchema,
)


class Body(BaseModel):
    """The arguments in a request."""

    model_config = ConfigDict(frozen=True, extra="forbid")


#: The index itself checks and cleans chunks.
Chunks = list[SkipValidation[Chunk | str]]

Id = Annotated[str, Field(max_length=MAX_ID)]
Tag = Annotated[str, Field(max_length=MAX_TAG)]
Where = Annotated[
    dict[str, Any] | None, Field(description="a metadata filter, such as {'lang': 'en'}")
]
Turns = Annotated[SkipValidation[list[str]], Field(description="earlier turns, oldest first")]
#: The index itself checks ids; the size of the request limits their number.
Ids = Annotated[SkipValidation[list[str]], Field(description="ids")]


def _decoded(content: object) -> bytes:
    """Decode base64, and refuse other characters, which pydantic's own type skips."""
    if not isinstance(content, str):
        raise ValueError("the bytes of a file are a string of base64")
    return base64.b64decode(content, validate=True)


Base64 = Annotated[
    bytes,
    BeforeValidator(_decoded),
    WithJsonSchema({"type": "string", "contentEncoding": "base64"}),
]


class RecallRequest(Body):
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
    history: Turns = Field(default=[])
    as_of: str | None = Field(default=None, max_length=64, description="a date or moment, ISO 8601")


class FindFeedbackRequest(Body):
    """See ``HebbianIndex.find_feedback``."""

    ids: Ids


class AddRequest(Body):
    """See ``HebbianIndex.add``."""

    chunks: Chunks
    on_error: Literal["raise", "skip"] = "raise"
    strict: bool = False


class PutDocumentRequest(Body):
    """See ``HebbianIndex.put_document``."""

    document_id: Id
    fingerprint: Id | None = None
    chunks: Chunks


class CorrectTagsRequest(Body):
    """See ``HebbianIndex.correct_tags``."""

    kind: CorrectionKind
    tags: Tag | list[Tag]
    into: Tag | None = None
    chunks: Ids | None = None
    actor: Id | None = None


class ForgetRequest(Body):
    """See ``HebbianIndex.forget``; here, ``dry_run`` is the default."""

    feedback: SkipValidation[str | list[str] | None] = None
    actor: Id | None = None
    unnamed: bool = False
    chunk: Id | None = None
    since: float | None = None
    until: float | None = None
    everything: bool = False
    erase: bool = False
    dry_run: bool = True


class PutFileRequest(Body):
    """A file to convert and split, as ``hebbgraph index`` does."""

    name: str = Field(
        min_length=1,
        max_length=MAX_ID,
        description="the document's id; its suffix is the format",
    )
    content: Base64 = Field(description="the bytes of the file, in base64")


class Progress(Body):
    """Progress: a line of a streamed answer."""

    done: int
    total: int | None = None


class Namespaces(Body):
    """The namespaces that a token sees."""

    namespaces: list[str]


class Forgotten(Body):
    """The number of feedback records removed or changed, or a preview of them.

    ``unknown`` lists ids that name no feedback.
    """

    forgotten: int | None = None
    unknown: list[str] = Field(default=[])
    preview: ForgetPreview | None = None


class Forgettings(Body):
    """Forgettings that can be undone, newest first."""

    forgotten: list[Forgetting]


class UndoForgetRequest(Body):
    """See ``HebbianIndex.undo_forget``."""

    forgetting: Id


class Restored(Body):
    """The number of feedback records put back."""

    undone: int


class Feedbacks(Body):
    """Feedback, in the order of the log."""

    feedback: list[Feedback]


class Properties(Body):
    """The properties of an index object."""

    namespace: str
    settings: dict[str, Any]
    embeds: bool
    repairs: list[str]


class Health(Body):
    """The server is healthy."""

    status: Literal["ok"] = "ok"
    version: str
