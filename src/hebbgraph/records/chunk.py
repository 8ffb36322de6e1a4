"""The chunk, which is the unit of retrieval, and the base class of all records."""

from __future__ import annotations

import hashlib
import json
import re
from datetime import datetime
from typing import Any, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    JsonValue,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)

from hebbgraph.errors import InvalidChunkError
from hebbgraph.limits import (
    MAX_ADDRESS,
    MAX_ADDRESSES,
    MAX_CONTEXT,
    MAX_ID,
    MAX_METADATA_BYTES,
    MAX_METADATA_DEPTH,
    MAX_REFERENCES,
    MAX_TAG,
    MAX_TAGS,
    MAX_TITLE,
    too_long,
)
from hebbgraph.moments import as_moment
from hebbgraph.plain_values import plain

__all__ = [
    "Chunk",
    "Record",
    "label_of",
    "readable_links",
    "searched",
    "storable",
    "text_hash",
    "unstorable",
]


class Record(BaseModel):
    """A frozen model that refuses unknown fields."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    @classmethod
    def restored(cls, fields: dict[str, Any]) -> Self:
        """Return a record of all its fields, which were checked before they were stored."""
        # As unpickling does it: ``model_construct`` takes four times as long.
        record = cls.__new__(cls)
        record.__setstate__(
            {
                "__dict__": fields,
                "__pydantic_fields_set__": set(fields),
                "__pydantic_extra__": None,
                "__pydantic_private__": None,
            }
        )
        return record


_FLATTEN = "flatten it, or keep it elsewhere and its key here"
#: Characters of the text that name a chunk without a title.
_LABEL = 60
#: Keys of a path that a message shows.
_MAX_KEYS = 6
#: Control characters other than tab and line ends, and lone surrogates.
_UNSTORABLE = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff]")
#: Windows-1252 text that was read as Latin-1 means these characters, as in HTML.
_MEANT = {
    chr(code): bytes([code]).decode("cp1252", "replace").replace("\ufffd", " ")
    for code in range(0x80, 0xA0)
}


def label_of(chunk: Chunk) -> str:
    """Return the title of a chunk, or else the beginning of its text."""
    return chunk.title or " ".join(chunk.text[: 4 * _LABEL].split())[:_LABEL]


def unstorable(text: str) -> str | None:
    """Describe the first character that some databases cannot store, if any."""
    match = _UNSTORABLE.search(text)
    if match is None:
        return None
    kind = "lone surrogate" if match[0] >= "\ud800" else "control character"
    return f"{kind} U+{ord(match[0]):04X} at position {match.start()}"


def storable(text: str) -> str:
    r"""Replace each character that some databases cannot store, keeping all positions.

    It becomes the Windows-1252 character that it stands for, or a space.

    >>> storable("ice\x00trade"), storable("It\x92s 5 \x80")
    ('ice trade', 'It’s 5 €')
    """
    return _UNSTORABLE.sub(lambda match: _MEANT.get(match[0], " "), text)


def readable_links(values: object, most: int) -> tuple[str, ...]:
    """Return the addresses or references in a value of metadata: a str, or strs of a list.

    Examples
    --------
    >>> readable_links(["a.md", None, " ", "b.md#x"], 9), readable_links("a.md", 9)
    (('a.md', 'b.md#x'), ('a.md',))
    """
    items = [values] if isinstance(values, str) else values if isinstance(values, list) else []
    links = (storable(item).strip() for item in items if isinstance(item, str))
    return tuple(link for link in dict.fromkeys(links) if 0 < len(link) <= MAX_ADDRESS)[:most]


def text_hash(title: str, text: str) -> str:
    """Return a hash of title and text as 16 hex digits; it identifies a cited text.

    >>> text_hash("Owl", "Owls hunt at night.")
    '0810f9ff18fd5a7a'
    """
    return hashlib.blake2b(f"{title}\x1f{text}".encode(), digest_size=8).hexdigest()


def searched(text: str, context: str | None) -> str:
    """Return the searched text: the shown text, then the context."""
    return f"{text}\n\n{context}" if context else text


class Chunk(Record):
    """The unit that is retrieved.

    Parameters
    ----------
    text : str
        The text that is searched and shown. May be empty if there is a title.
    id : str, optional
        At most 512 characters, unique in its namespace; adding an existing id replaces
        that chunk. By default the SHA-256 of document id, title and text (32 hex digits),
        so adding the same text twice keeps one chunk.
    title : str
        Title or heading. It becomes a tag of every chunk that mentions it.
    metadata : dict
        A JSON object that nests at most 128 levels deep; filters compare its values. Dates, enums,
        NumPy numbers and the like are converted to JSON values, and NaN is left out; see
        :mod:`hebbgraph.plain_values`.
    document_id : str, optional
        The document that the chunk comes from; ``HebbianIndex.delete(document_id=...)``
        removes all chunks of a document.
    context : str, optional
        Text that is searched with the chunk, by words, vectors and tags, but not shown: the
        headings above it, the subject of its thread, a summary. At most 10,000 characters. By
        default from metadata (``Settings.search_metadata``); an empty str means none.
    tags : tuple of str
        Tags given by the caller, in addition to those that the tagger finds.
    addresses : tuple of str
        Where this chunk can be found: its path, URL (with or without an anchor), message id,
        DOI, ``[[wiki name]]``, or the symbols that it defines. Several chunks may share one.
    references : tuple of str
        Addresses that this chunk links to, replies to, imports or uses. Recalls follow them,
        whether the chunk with the address is added before or after. A reference to
        ``page#anchor`` also leads to ``page``. Relative links must be resolved first
        (:mod:`hebbgraph_documents` does).
    valid_from, valid_until : datetime, date or str, optional
        The text is valid from one instant until before another. A str is ISO 8601; a date is
        its first instant, and a time without a zone is in UTC. See ``docs/time.md``.
    supersedes : tuple of str
        Ids or addresses of chunks that this one replaces, from ``valid_from`` on.
    version_of : str, optional
        Set by the index on old versions: the id of the chunk.

    Examples
    --------
    >>> Chunk(text="Synapses learn.", title="Synapse").id
    '59b4147ee0be33487f0c882969c51ab3'
    >>> Chunk(text="See below.", addresses=("a.md#top",), references=("a.md#rules",)).references
    ('a.md#rules',)
    """

    id: str = Field(default="", max_length=MAX_ID, strict=True)
    text: str = Field(strict=True)  # bytes are not text
    title: str = Field(default="", max_length=MAX_TITLE, strict=True)
    metadata: dict[str, JsonValue] = Field(default_factory=dict)
    document_id: str | None = Field(default=None, max_length=MAX_ID)
    context: str | None = Field(default=None, max_length=MAX_CONTEXT, strict=True)
    tags: tuple[str, ...] = Field(default=(), max_length=MAX_TAGS)
    addresses: tuple[str, ...] = ()
    references: tuple[str, ...] = ()
    valid_from: datetime | None = None
    valid_until: datetime | None = None
    supersedes: tuple[str, ...] = ()
    version_of: str | None = Field(default=None, max_length=MAX_ID)

    @field_validator("id", "document_id")
    @classmethod
    def _id_is_printable(cls, value: str | None) -> str | None:
        if value == "":
            raise ValueError("an id is not empty; leave it out where there is none")
        if value and not value.isprintable():
            raise ValueError("an id takes printable characters only")
        return value

    @property
    def searched(self) -> str:
        """The searched text: the shown text, then the context."""
        return searched(self.text, self.context)

    @field_validator("text", "title", "context")
    @classmethod
    def _text_is_storable(cls, value: str | None) -> str | None:
        if value is None:
            return None
        if (problem := unstorable(value)) is not None:
            raise ValueError(
                f"{problem}; remove it, or let add() replace it (in a str or dict, unless strict)"
            )
        if (problem := too_long(value)) is not None:  # max_length would hide unstorable characters
            raise ValueError(f"{problem}; split the text")
        return value

    @field_validator("metadata", mode="before")  # pydantic itself would only say "recursion"
    @classmethod
    def _metadata_is_shallow(cls, value: object) -> object:
        if not value or not isinstance(value, dict):
            return value
        if (problem := _too_deep(value)) is not None:
            raise ValueError(f"{problem}; {_FLATTEN}")
        return plain(value)

    @field_validator("metadata")
    @classmethod
    def _metadata_is_storable(cls, value: dict[str, JsonValue]) -> dict[str, JsonValue]:
        if value:  # dumping raises for NaN and lone surrogates
            size = len(json.dumps(value, allow_nan=False, ensure_ascii=False).encode())
            if size > MAX_METADATA_BYTES:
                raise ValueError(
                    f"{size} bytes as JSON, at most {MAX_METADATA_BYTES}; keep large values "
                    "elsewhere, and their key here"
                )
        return value

    @field_validator("tags", "addresses", "references", "supersedes", mode="before")
    @classmethod
    def _is_no_str(cls, value: object, info: ValidationInfo) -> object:
        if isinstance(value, str):
            raise ValueError(
                f"a list of str, got {value!r:.80}; put it in a list: "
                f"{info.field_name}=[{value!r:.80}]"
            )
        return value

    @field_validator("tags")
    @classmethod
    def _tags_are_storable(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for tag in value:
            if not tag.strip() or unstorable(tag) is not None:
                raise ValueError(f"a tag takes visible characters, got {tag!r}")
            if len(tag) > MAX_TAG:
                raise ValueError(f"a tag has at most {MAX_TAG} characters, got {len(tag)}")
        return value

    @field_validator("valid_from", "valid_until", mode="before")
    @classmethod
    def _is_a_moment(cls, value: object) -> datetime | None:
        return None if value is None else as_moment(value)

    @model_validator(mode="after")
    def _ends_after_it_begins(self) -> Self:
        begins, ends = self.valid_from, self.valid_until
        if begins is not None and ends is not None and ends <= begins:
            raise ValueError(
                f"valid_until ({ends.isoformat()}) must lie after valid_from "
                f"({begins.isoformat()}); leave out the one that is unknown"
            )
        return self

    @field_validator("addresses", "references", "supersedes")
    @classmethod
    def _links_are_storable(cls, value: tuple[str, ...], info: ValidationInfo) -> tuple[str, ...]:
        most = MAX_ADDRESSES if info.field_name == "addresses" else MAX_REFERENCES
        if len(value) > most:
            raise ValueError(f"{len(value)} of them, at most {most}; split the chunk")
        for link in value:
            if not link.strip() or unstorable(link) is not None:
                raise ValueError(f"an address takes visible characters, got {link!r:.80}")
            if len(link) > MAX_ADDRESS:
                raise ValueError(
                    f"an address has at most {MAX_ADDRESS} characters, got {len(link)}"
                )
        return value

    def model_post_init(self, context: Any, /) -> None:
        if not self.id:
            content = "\x1f".join((self.document_id or "", self.title, self.text))
            digest = hashlib.sha256(content.encode()).hexdigest()[:32]
            object.__setattr__(self, "id", digest)

    @classmethod
    def coerce(cls, value: Chunk | dict[str, Any] | str) -> Self | Chunk:
        """Convert an argument of ``HebbianIndex.add`` to a chunk.

        Raises
        ------
        InvalidChunkError
            With the reason, and the id if there is one.
        """
        if isinstance(value, Chunk):
            # Check again, since the dict may have been changed, and copies are not validated.
            if value.metadata and (problem := _too_deep(value.metadata)) is not None:
                raise InvalidChunkError(f"chunk {value.id!r}: metadata: {problem}; {_FLATTEN}")
            return value
        if isinstance(value, str):
            value = {"text": value}
        if not isinstance(value, dict):
            hint = "; frameworks' documents go to the adapters' HebbianRetriever.from_documents"
            raise InvalidChunkError(
                f"a chunk must be a Chunk, a dict or a str, got {type(value).__name__}"
                f"{hint if hasattr(value, 'metadata') else ''}"
            )
        try:
            return cls.model_validate(value)
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            field = ".".join(str(part) for part in first["loc"][:5]) or "chunk"
            name = repr(value["id"])[:80] if value.get("id") else "without id"
            message = first["msg"].removeprefix("Value error, ")
            raise InvalidChunkError(f"chunk {name}: {field}: {message}") from error
        except UnicodeEncodeError as error:
            raise InvalidChunkError(f"chunk {value.get('id')!r}: {error}") from error


def _too_deep(metadata: object) -> str | None:
    """Return where metadata nests too deep; None if it does not.

    Each object is visited once per level, so cycles are detected too.

    Examples
    --------
    >>> _too_deep({"a": [{"b": 1}]}) is None
    True
    >>> value = 1
    >>> for _ in range(200):
    ...     value = [value]
    >>> _too_deep({"a": {"b": value}})
    'a.b.0.0.0.0…: lists and objects nest deeper than 128 levels'
    """
    level: dict[int, tuple[tuple[object, ...], Any]] = {id(metadata): ((), metadata)}
    for _ in range(MAX_METADATA_DEPTH):
        level = {
            id(inner): ((*path, key), inner)
            for path, outer in level.values()
            for key, inner in _items(outer)
            if isinstance(inner, dict | list | tuple)
        }
        if not level:
            return None
    path, _ = next(iter(level.values()))
    shown = ".".join(f"{part!s:.80}" for part in path[:_MAX_KEYS])
    return f"{shown}…: lists and objects nest deeper than {MAX_METADATA_DEPTH} levels"


def _items(value: Any) -> Any:
    return value.items() if isinstance(value, dict) else enumerate(value)
