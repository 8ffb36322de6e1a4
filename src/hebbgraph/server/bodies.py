"""What requests and answers carry, under the names of the Python API.

A request has the arguments of the method, an answer what it returns. Where that is no record, it
has one field.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from hebbgraph.limits import MAX_ID, MAX_K, MAX_QUERY_CHARACTERS, MAX_SEEDS
from hebbgraph.records import Chunk, Recall

__all__ = [
    "AddRequest",
    "ChunkIds",
    "Chunks",
    "DeleteRequest",
    "Deleted",
    "ExplainRequest",
    "FindRecallRequest",
    "Fingerprints",
    "FoundRecall",
    "Health",
    "IdsRequest",
    "InFullRequest",
    "Namespaces",
    "Progress",
    "PutDocumentRequest",
    "Question",
    "RecallRequest",
    "ReinforceRequest",
]

Id = Annotated[str, Field(max_length=MAX_ID)]
Where = Annotated[
    dict[str, Any] | None, Field(description="a metadata filter, such as {'lang': 'en'}")
]
Turns = Annotated[list[str], Field(description="earlier turns, oldest first")]
#: Ids of one request, as many as its size allows.
Ids = list[Id]


class _Body(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class RecallRequest(_Body):
    """See ``HebbianIndex.recall``."""

    query: str = Field(max_length=MAX_QUERY_CHARACTERS)
    k: int = Field(default=10, ge=1, le=MAX_K)
    where: Where = None
    strategy: Literal["spreading", "neighbourhood", "neural", "breadth_first"] = "spreading"
    id: Id | None = None
    seeds: list[tuple[str, float]] | None = Field(default=None, max_length=MAX_SEEDS)
    vector: list[float] | None = None
    per_colony: int | None = Field(default=None, ge=1)
    history: Turns = []


class InFullRequest(_Body):
    """See ``HebbianIndex.in_full``."""

    query: str = Field(max_length=MAX_QUERY_CHARACTERS)
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
    shown: Ids | None = None
    actor: Id | None = None


class AddRequest(_Body):
    """See ``HebbianIndex.add``."""

    chunks: list[Chunk]


class PutDocumentRequest(_Body):
    """See ``HebbianIndex.put_document``."""

    document_id: Id
    fingerprint: Id | None = None
    chunks: list[Chunk]


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


class Health(_Body):
    """That the server answers."""

    status: Literal["ok"] = "ok"
    version: str
