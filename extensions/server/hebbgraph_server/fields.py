"""Kinds of fields that several requests have."""

from __future__ import annotations

import base64
from typing import Annotated, Any

from hebbgraph.limits import MAX_ID, MAX_TAG
from hebbgraph.records import Chunk
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SkipValidation,
    WithJsonSchema,
)

__all__ = ["Base64", "Body", "Given", "Id", "Ids", "Tag", "Turns", "Where"]


class Body(BaseModel):
    """The arguments in a request."""

    model_config = ConfigDict(frozen=True, extra="forbid")


#: Chunks; checked by the index itself, which takes real text as it is.
Given = list[SkipValidation[Chunk | str]]

Id = Annotated[str, Field(max_length=MAX_ID)]
Tag = Annotated[str, Field(max_length=MAX_TAG)]
Where = Annotated[
    dict[str, Any] | None, Field(description="a metadata filter, such as {'lang': 'en'}")
]
Turns = Annotated[SkipValidation[list[str]], Field(description="earlier turns, oldest first")]
#: As many as a request has room for. The index checks them itself, and says what is wrong.
Ids = Annotated[SkipValidation[list[str]], Field(description="ids")]


def _decoded(content: object) -> bytes:
    """Decode base64; unlike pydantic's own type, refuse other characters."""
    if not isinstance(content, str):
        raise ValueError("the bytes of a file are a string of base64")
    return base64.b64decode(content, validate=True)


Base64 = Annotated[
    bytes,
    BeforeValidator(_decoded),
    WithJsonSchema({"type": "string", "contentEncoding": "base64"}),
]
