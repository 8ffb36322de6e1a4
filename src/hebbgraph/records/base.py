"""The base of all records, their limits, and values as databases and JSON can hold them."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from enum import Enum
from typing import Any

from pydantic import BaseModel, ConfigDict, JsonValue
from pydantic_core import to_jsonable_python

from hebbgraph.errors import ParameterError

#: Characters of the id of a chunk, document, recall or actor, and of a namespace.
MAX_ID = 512
#: Characters of a chunk's text, which should be a passage, and of its title.
MAX_TEXT, MAX_TITLE = 10_000_000, 4096
#: Tags given with one chunk, and characters of each.
MAX_TAGS, MAX_TAG = 256, 512
#: Addresses and references of one chunk, and characters of each.
MAX_ADDRESSES, MAX_REFERENCES, MAX_ADDRESS = 256, 4096, 2048
#: Bytes of a chunk's metadata as JSON in UTF-8, and levels of nested lists and objects.
MAX_METADATA, MAX_METADATA_DEPTH = 1_000_000, 64
#: Characters of a question; of a longer one, the beginning and the end are read.
MAX_QUESTION = 8192
#: Hits of one recall, and chunks that the caller's own search may return.
MAX_K, MAX_SEEDS = 10_000, 100_000

#: Spaces and joiners in names of people and files, which Python does not call printable.
IN_NAMES = dict.fromkeys(map(ord, "\u00a0\u202f\u3000\u200c\u200d"), " ")
#: Control characters other than tab and line ends, and lone surrogates.
_UNSTORABLE = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff]")


class Record(BaseModel):
    """A frozen model that refuses unknown fields."""

    model_config = ConfigDict(frozen=True, extra="forbid")


def check_name(value: object, what: str) -> None:
    """Raise ParameterError unless a value names a namespace, a recall or an actor."""
    text = value.translate(IN_NAMES) if isinstance(value, str) else ""
    if not (text.strip() and text.isprintable() and len(text) <= MAX_ID):
        raise ParameterError(
            f"{what} is printable text of 1 to {MAX_ID} characters, got {value!r:.80}"
        )


def storable(text: str) -> str:
    r"""Replace each character that some databases cannot store by a space.

    >>> storable("ice\x00trade")
    'ice trade'
    """
    return _UNSTORABLE.sub(" ", text)


def text_digest(title: str, text: str) -> str:
    """Return a digest of 32 hex digits; lessons are about the text that has it."""
    content = f"{title}\x1f{text}".encode("utf-8", "surrogatepass")
    return hashlib.blake2b(content, digest_size=16).hexdigest()


def plain(value: Any, depth: int = MAX_METADATA_DEPTH) -> JsonValue:
    """Return a value of metadata or of a filter as JSON can hold it.

    Moments with a zone become ISO 8601 text in UTC, so that their order is that of time; NaN
    becomes None; NumPy numbers and arrays, enums, sets, paths, decimals and UUIDs what they hold.
    Raise ValueError if JSON cannot hold the value, or it nests deeper than 64 levels.

    >>> plain({"day": datetime(2024, 5, 17), "sizes": (2, 3), "rank": float("nan")})
    {'day': '2024-05-17T00:00:00', 'sizes': [2, 3], 'rank': None}
    """
    if isinstance(value, Enum):
        return plain(value.value, depth)
    if value is None or isinstance(value, bool | int):
        return value if type(value) in (bool, int, type(None)) else int(value)  # type: ignore[arg-type]
    if isinstance(value, str):
        return storable(str(value))
    if isinstance(value, float):
        if value in (float("inf"), float("-inf")):
            raise ValueError(f"{value} is not a JSON number; leave it out")
        return None if value != value else float(value)
    if depth == 0:
        raise ValueError(f"lists and objects nest deeper than {MAX_METADATA_DEPTH} levels")
    if isinstance(value, Mapping):
        return {str(plain(key)): plain(part, depth - 1) for key, part in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        parts = sorted(value, key=repr) if isinstance(value, set | frozenset) else value
        return [plain(part, depth - 1) for part in parts]
    if isinstance(value, datetime) and value.tzinfo is not None:
        return value.astimezone(UTC).isoformat()
    if str(getattr(value, "dtype", "")) == "datetime64[ns]":  # of which tolist() makes numbers
        return plain(value.astype("datetime64[us]").tolist(), depth - 1)
    if callable(getattr(value, "tolist", None)):  # NumPy, PyTorch, pandas
        return plain(value.tolist(), depth - 1)
    try:
        return plain(to_jsonable_python(value), depth - 1)
    except ValueError as error:
        raise ValueError(
            f"JSON cannot hold a {type(value).__name__}; make it text, a number, a bool, a list "
            "or a dict, or leave it out"
        ) from error
