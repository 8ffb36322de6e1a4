"""Input values to chunks: cleans real text, and reports what cannot be stored."""

from __future__ import annotations

import logging
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal, NamedTuple, TypeAlias

from hebbgraph.errors import InvalidChunkError, ParameterError
from hebbgraph.labels import counted
from hebbgraph.limits import MAX_METADATA_DEPTH
from hebbgraph.records import Chunk, FailedChunk, storable, unstorable

__all__ = [
    "AcceptedChunk",
    "ChunkLike",
    "Intake",
    "OnError",
    "UnreadableChunk",
    "check_emptying",
    "check_iterable",
    "clean_chunk",
    "is_blank",
]

logger = logging.getLogger(__name__)

ChunkLike: TypeAlias = Chunk | dict[str, Any] | str
OnError: TypeAlias = Literal["raise", "skip"]

_TEXTS = ("text", "title", "context")
_LISTS = ("tags", "addresses", "references")


class UnreadableChunk(NamedTuple):
    """Takes the place of a chunk that could not be read, such as a line of invalid JSON."""

    reason: str


class AcceptedChunk(NamedTuple):
    """A chunk and its position among the input values, from 0."""

    position: int
    chunk: Chunk


def check_iterable(chunks: Iterable[ChunkLike], method: str) -> None:
    """Raise ParameterError unless ``chunks`` is an iterable of chunks."""
    if isinstance(chunks, Chunk | str | bytes | Mapping):
        raise ParameterError(
            f"{method} takes an iterable of chunks, got one {type(chunks).__name__}; "
            "put it into a list"
        )
    if not isinstance(chunks, Iterable):
        raise ParameterError(f"{method} takes an iterable of chunks, got {chunks!r}")


def check_emptying(n_left: int, n_missing: int) -> None:
    """Raise ParameterError if a refresh would leave nothing of an index by deleting the missing."""
    if n_missing and not n_left:
        raise ParameterError(
            "refresh got nothing to keep and would delete the whole index "
            f"({counted(n_missing, 'chunk')}); if you mean that: index.delete(index.ids())"
        )


class Intake:
    r"""Validates and cleans the chunks of one call.

    Parameters
    ----------
    strict : bool
        Reject chunks with characters that cannot be stored, instead of replacing them.
    on_error : {"raise", "skip"}
        What to do with an invalid chunk.
    skip_empty : bool
        Always skip chunks without text and title, which loaders yield for blank pages.

    Attributes
    ----------
    cleaned : int
        Number of chunks in which characters were replaced.
    failed : list of FailedChunk
        Chunks that were skipped.

    Examples
    --------
    >>> intake = Intake(on_error="skip")
    >>> [accepted.chunk.text for accepted in intake.take(["ice\x00trade", 5])]
    ['ice trade']
    >>> intake.cleaned, intake.failed[0].position
    (1, 1)
    """

    def __init__(
        self, *, strict: bool = False, on_error: OnError = "raise", skip_empty: bool = False
    ) -> None:
        if on_error not in ("raise", "skip"):
            raise ParameterError(f"on_error is 'raise' or 'skip', got {on_error!r}")
        if not isinstance(strict, bool):
            raise ParameterError(f"strict is True or False, got {strict!r}")
        self.strict = strict
        self.on_error = on_error
        self.skip_empty = skip_empty
        self.cleaned = 0
        self.failed: list[FailedChunk] = []

    def take(self, values: Iterable[ChunkLike], *, first: int = 0) -> Iterator[AcceptedChunk]:
        """Yield the valid chunks; ``first`` is the position of the first value.

        Raises
        ------
        InvalidChunkError
            For an invalid chunk, unless ``on_error`` is ``"skip"``.
        """
        for position, value in enumerate(values, first):
            try:
                chunk = self._chunk(value)
            except InvalidChunkError as error:
                self.refuse(position, value, error)
                continue
            if is_blank(chunk.text) and is_blank(chunk.title):
                name = repr(id_)[:80] if (id_ := _id_of(value)) else "without id"
                reason = (
                    f"chunk {name}: it has neither text nor title; give it one, or leave it out"
                )
                self.refuse(position, value, InvalidChunkError(reason), skip=self.skip_empty)
            else:
                yield AcceptedChunk(position, chunk)

    def refuse(
        self, position: int, value: object, error: InvalidChunkError, *, skip: bool = False
    ) -> None:
        """Record an invalid chunk, or raise its error."""
        if self.on_error == "raise" and not skip:
            error.args = (f"{error} (at position {position} of the chunks)",)
            raise error
        self.failed.append(FailedChunk(position=position, id=_id_of(value), reason=str(error)))

    def tell(self) -> None:
        """Log how many chunks were cleaned and skipped."""
        if self.cleaned:
            logger.warning(
                "characters that cannot be kept were replaced; chunks: %d. "
                "add(strict=True) refuses such chunks, and names the first",
                self.cleaned,
            )
        if self.failed:
            # Frameworks do not pass the report to their callers, so the log names a reason.
            detail = f"first: {self.failed[0].reason}" if self.skip_empty else "report names them"
            logger.warning("chunks were skipped: %d; the %s", len(self.failed), detail)

    def _chunk(self, value: ChunkLike) -> Chunk:
        if isinstance(value, UnreadableChunk):
            raise InvalidChunkError(value.reason)
        try:
            chunk = Chunk.coerce(value)
            if not chunk.metadata or (problem := _unstorable_metadata(chunk.metadata)) is None:
                return chunk
            if self.strict:
                raise InvalidChunkError(f"chunk {chunk.id!r}: metadata: {problem}; remove it")
        except InvalidChunkError:
            if self.strict:
                raise
        chunk = clean_chunk(value)
        self.cleaned += 1
        return chunk


def clean_chunk(value: ChunkLike) -> Chunk:
    r"""Make a chunk from real text, such as that of PDFs and web pages.

    Control characters and lone surrogates are replaced one by one, so positions do not change
    (:func:`hebbgraph.records.storable`); tags and links that become empty are dropped.

    Raises
    ------
    InvalidChunkError
        If the chunk is invalid for another reason.

    Examples
    --------
    >>> chunk = clean_chunk({"text": "It\x92s 5\x80.", "tags": ["\x00"]})
    >>> chunk.text, chunk.tags
    ('It’s 5€.', ())
    """
    if isinstance(value, str):
        value = {"text": value}
    if isinstance(value, Chunk):
        return Chunk.coerce(value.model_copy(update={"metadata": _cleaned(value.metadata)}))
    if not isinstance(value, dict):
        return Chunk.coerce(value)
    fields: dict[str, Any] = dict(value)
    fields |= {name: _clean(fields[name]) for name in _TEXTS if name in fields}
    for name in _LISTS:
        if isinstance(values := fields.get(name), list | tuple):
            pairs = [(value, _clean(value)) for value in values]
            fields[name] = [clean for value, clean in pairs if clean == value or clean.strip()]
    if isinstance(fields.get("metadata"), dict):
        fields["metadata"] = _cleaned(fields["metadata"])
    return Chunk.coerce(fields)


def is_blank(text: str) -> bool:
    """Return whether a text has only spaces, line ends and characters without width."""
    return all(char.isspace() or unicodedata.category(char) == "Cf" for char in text)


def _clean(value: Any) -> Any:
    return storable(value) if isinstance(value, str) else value


def _unstorable_metadata(metadata: dict[str, Any]) -> str | None:
    """Describe a character in metadata that some databases cannot store, if any."""
    parts: list[Any] = [metadata]
    for part in parts:  # the list grows in the loop
        if isinstance(part, str):
            if (problem := unstorable(part)) is not None:
                return f"{problem} of {part!r:.80}"
        elif isinstance(part, dict):
            parts += (*part, *part.values())
        elif isinstance(part, list):
            parts += part
    return None


def _cleaned(value: Any, depth: int = 0) -> Any:
    """Apply :func:`hebbgraph.records.storable` to all strings in metadata."""
    if isinstance(value, str):
        return storable(value)
    if depth > MAX_METADATA_DEPTH:
        return value  # validation rejects it as too deep
    if isinstance(value, dict):
        return {_cleaned(key): _cleaned(part, depth + 1) for key, part in value.items()}
    if isinstance(value, list):
        return [_cleaned(part, depth + 1) for part in value]
    return value


def _id_of(value: object) -> str | None:
    id_ = value.id if isinstance(value, Chunk) else None
    if isinstance(value, dict):
        id_ = value.get("id")
    return id_ if isinstance(id_, str) and id_ else None
