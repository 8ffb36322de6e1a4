"""Kinds of fields that several requests have."""

from __future__ import annotations

import base64
from typing import Annotated, Any

from hebbgraph.limits import MAX_ID, MAX_TAG
from pydantic import BeforeValidator, Field, SkipValidation, WithJsonSchema

__all__ = ["Base64", "Id", "Ids", "Tag", "Turns", "Where"]

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
