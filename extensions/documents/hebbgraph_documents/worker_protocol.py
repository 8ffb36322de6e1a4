"""Messages between a worker process and its parent.

A message has two frames, each after its length in eight bytes: a JSON object, and bytes (the file,
or its text in UTF-8). The parent validates answers as untrusted input, since the worker may have
read a hostile file.
"""

from __future__ import annotations

import json
from typing import Any, BinaryIO

from hebbgraph.limits import MAX_ADDRESS

from hebbgraph_documents.links import Mark
from hebbgraph_documents.outline import MAX_HEADING_CHARS, Heading

__all__ = ["MAX_HEADER", "ProtocolError", "headings_of", "marks_of", "receive", "send"]

MAX_HEADER = 16_000_000
"""In bytes, of the JSON frame, which holds a document's headings."""

_LENGTH_BYTES = 8
_HIGHEST_LEVEL = 6


class ProtocolError(Exception):
    """The other process broke the protocol."""


def send(stream: BinaryIO, header: dict[str, Any], body: bytes = b"") -> None:
    """Write one message."""
    encoded = json.dumps(header).encode()
    for frame in (encoded, body):
        stream.write(len(frame).to_bytes(_LENGTH_BYTES, "big"))
        stream.write(frame)
    stream.flush()


def receive(stream: BinaryIO, *, max_body: int) -> tuple[dict[str, Any], bytes]:
    """Read one message.

    Raises
    ------
    EOFError
        If the other process has gone.
    ProtocolError
        If a frame is too long, or the first is not a JSON object.
    """
    encoded = _frame(stream, MAX_HEADER)
    body = _frame(stream, max_body)
    try:
        header = json.loads(encoded)
    except (ValueError, RecursionError) as error:
        raise ProtocolError(f"no JSON: {error}") from error
    if not isinstance(header, dict):
        raise ProtocolError("no JSON object")
    return header, body


def _frame(stream: BinaryIO, most: int) -> bytes:
    length = int.from_bytes(_exactly(stream, _LENGTH_BYTES), "big")
    if length > most:
        raise ProtocolError(f"a frame of {length:,} bytes, more than {most:,}")
    return _exactly(stream, length)


def _exactly(stream: BinaryIO, length: int) -> bytes:
    data = stream.read(length)
    if len(data) < length:
        raise EOFError
    return data


def headings_of(value: Any, *, lines: int) -> tuple[Heading, ...]:
    """Parse headings that were sent as lists ``[level, text, start, stop]``.

    Raises
    ------
    ProtocolError
        If they are not ordered headings of a text with this many lines.
    """
    headings = []
    last = 0
    if not isinstance(value, list):
        raise ProtocolError("no list of headings")
    for item in value:
        match item:
            case [int(level), str(text), int(start), int(stop)] if (
                1 <= level <= _HIGHEST_LEVEL
                and len(text) <= MAX_HEADING_CHARS
                and last <= start <= stop <= lines
                and start < lines
            ):
                headings.append(Heading(level, text, start, stop))
                # In source code, the line of a heading stays in the text.
                last = max(stop, start + 1)
            case _:
                raise ProtocolError("no heading of this text")
    return tuple(headings)


def marks_of(value: Any, *, lines: int) -> tuple[Mark, ...]:
    """Parse marks that were sent as lists ``[line, target, is_anchor]``.

    Raises
    ------
    ProtocolError
        If they are not ordered marks of a text with this many lines.
    """
    marks: list[Mark] = []
    if not isinstance(value, list):
        raise ProtocolError("no list of marks")
    for item in value:
        match item:
            case [int(line), str(target), bool(is_anchor)] if (
                0 < len(target) <= MAX_ADDRESS and (marks[-1].line if marks else 0) <= line < lines
            ):
                marks.append(Mark(line, target, is_anchor))
            case _:
                raise ProtocolError("no mark of this text")
    return tuple(marks)
