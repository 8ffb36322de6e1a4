"""The chunk, which is the unit of retrieval."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from pydantic import Field, JsonValue, ValidationError, field_validator, model_validator

from hebbgraph.errors import InvalidChunkError
from hebbgraph.records.base import (
    IN_NAMES,
    MAX_ADDRESS,
    MAX_ADDRESSES,
    MAX_ID,
    MAX_METADATA,
    MAX_REFERENCES,
    MAX_TAG,
    MAX_TAGS,
    MAX_TEXT,
    MAX_TITLE,
    Record,
    plain,
    storable,
)


class Chunk(Record):
    """The unit that is retrieved.

    Parameters
    ----------
    text : str
        The text that is searched and shown; control characters become spaces. May be empty if
        there is a title.
    id : str, optional
        At most 512 printable characters, unique in its namespace; adding an existing id replaces
        that chunk. By default a digest of document id, title and text (32 hex digits), so adding
        the same text twice keeps one chunk.
    title : str
        Title or heading, at most 4,096 characters. It becomes a tag of every chunk that mentions
        it.
    metadata : dict
        A JSON object; filters compare its values, and some fields are searched
        (``Settings.search_metadata``). Dates, enums, NumPy numbers and the like are converted.
    document_id : str, optional
        The document that the chunk comes from; ``delete(document_id=...)`` and ``refresh`` act on
        all chunks of a document.
    tags : tuple of str
        Tags given by the caller, in addition to those found in the text.
    addresses : tuple of str
        Where this chunk can be found: its path, URL (with or without an anchor), message id, DOI,
        ``[[wiki name]]``, or the symbols that it defines. Several chunks may share one.
    references : tuple of str
        Addresses that this chunk links to, replies to, imports or uses. Recalls follow them,
        whether the chunk with the address is added before or after.

    Examples
    --------
    >>> Chunk(text="Synapses learn.", title="Synapse").id
    '59b4147ee0be33487f0c882969c51ab3'
    >>> Chunk(text="See below.", addresses=["a.md#top"], references=["a.md#rules"]).references
    ('a.md#rules',)
    """

    id: str = Field(default="", max_length=MAX_ID, strict=True)
    text: str = Field(max_length=MAX_TEXT, strict=True)
    title: str = Field(default="", max_length=MAX_TITLE, strict=True)
    metadata: dict[str, JsonValue] = Field(default_factory=dict)
    document_id: str | None = Field(default=None, max_length=MAX_ID, strict=True)
    tags: tuple[str, ...] = Field(default=(), max_length=MAX_TAGS)
    addresses: tuple[str, ...] = Field(default=(), max_length=MAX_ADDRESSES)
    references: tuple[str, ...] = Field(default=(), max_length=MAX_REFERENCES)

    if not TYPE_CHECKING:  # type checkers know the fields without it

        def __init__(self, /, **values: Any) -> None:
            try:
                super().__init__(**values)
            except ValidationError as error:
                raise InvalidChunkError(_first_problem(error, values.get("id"))) from error

    @field_validator("id", "document_id")
    @classmethod
    def _is_printable(cls, value: str | None) -> str | None:
        if value is not None and not (value and value.translate(IN_NAMES).isprintable()):
            raise ValueError("an id takes printable characters only; leave it out for none")
        return value

    @field_validator("text", "title", mode="before")
    @classmethod
    def _becomes_storable(cls, value: object) -> object:
        return storable(value) if isinstance(value, str) else value

    @field_validator("metadata", mode="before")
    @classmethod
    def _becomes_plain(cls, value: object) -> object:
        if not value or not isinstance(value, Mapping):
            return value
        converted = plain(value)
        size = len(json.dumps(converted, ensure_ascii=False).encode())
        if size > MAX_METADATA:
            raise ValueError(f"{size:,} bytes as JSON, at most {MAX_METADATA:,}")
        return converted

    @field_validator("tags", "addresses", "references", mode="before")
    @classmethod
    def _is_list(cls, value: object) -> object:
        if isinstance(value, str):
            raise ValueError(f"a list of str, got {value!r:.80}; put it in a list")
        return value

    @field_validator("tags", "addresses", "references")
    @classmethod
    def _are_visible(cls, value: tuple[str, ...], info: Any) -> tuple[str, ...]:
        longest = MAX_TAG if info.field_name == "tags" else MAX_ADDRESS
        stored = tuple(dict.fromkeys(storable(item).strip() for item in value))
        for item in stored:
            if not item or len(item) > longest:
                raise ValueError(f"1 to {longest} visible characters, got {item!r:.80}")
        return stored

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if not (self.text.strip() or self.title.strip()):
            raise ValueError("text and title are blank; leave the chunk out")
        return self

    def model_post_init(self, context: Any, /) -> None:
        if not "".join(self.title.split()).strip("\u200b\u200c\u200d\u2060\ufeff"):  # invisible
            object.__setattr__(self, "title", "")
        if not self.id:
            content = "\x1f".join((self.document_id or "", self.title, self.text))
            object.__setattr__(self, "id", hashlib.sha256(content.encode()).hexdigest()[:32])

    @classmethod
    def of(cls, value: Chunk | Mapping[str, Any] | str) -> Self | Chunk:
        """Return an argument of ``HebbianIndex.add`` as a chunk, or raise InvalidChunkError.

        >>> Chunk.of({"id": "a", "text": "Owls hunt."}).text, Chunk.of("Owls hunt.").title
        ('Owls hunt.', '')
        """
        if isinstance(value, Chunk):
            return value
        if isinstance(value, str):
            value = {"text": value}
        if not isinstance(value, Mapping):
            raise InvalidChunkError(
                f"a chunk is a Chunk, a dict or a str, got {type(value).__name__}; documents of a "
                "framework go to its adapter"
            )
        return cls(**{str(name): part for name, part in value.items()})


def _first_problem(error: ValidationError, chunk_id: object) -> str:
    first = error.errors(include_url=False, include_input=False)[0]
    field = ".".join(map(str, first["loc"])) + ": " if first["loc"] else ""
    name = f"chunk {chunk_id!r:.80}" if chunk_id else "chunk without id"
    return f"{name}: {field}{first['msg'].removeprefix('Value error, ')}"


@dataclass(frozen=True, slots=True)
class Passage:
    """A text in a prompt, and the id of the chunk that it comes from.

    The text may be a part of the chunk, or hold more than that. The id is empty for a passage of
    another retriever, which gets a key and teaches nothing.
    """

    id: str
    text: str
    title: str = ""
