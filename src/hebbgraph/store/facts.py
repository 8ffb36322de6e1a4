"""Facts: a chunk's plain metadata values as terms of the lexical index.

A chunk has one for each top-level field with a number, a string, a boolean or null, and one for
its document. If few chunks pass a filter, only chunks with an allowed fact are searched, instead
of looking up thousands of rows or skipping thousands of hits. A fact is a checksum, so two
values may share a term; hits are compared with the filter afterwards.
"""

from __future__ import annotations

import zlib
from typing import Any

from hebbgraph.filters import MISSING
from hebbgraph.stored_json import read_json

__all__ = ["DOCUMENT", "fact", "facts_of", "is_plain"]

#: The name of the document in filters.
DOCUMENT = "$document_id"


def is_plain(value: Any) -> bool:
    """Return whether a value makes a fact: it is not missing, nor a list or an object."""
    return value is not MISSING and not isinstance(value, list | dict)


def fact(field: str, value: Any) -> str:
    """Return the term for a field's plain value.

    Values of different types differ, as they do in JSON:

    >>> fact("year", 1) == fact("year", True), fact("year", 1) == fact("year", 1)
    (False, True)
    """
    return f"{zlib.crc32(f'{field} {value!r}'.encode()):08x}"


def facts_of(document_id: str | None, metadata: str) -> str:
    """Return the facts of a chunk, separated by spaces.

    Parameters
    ----------
    document_id : str, optional
    metadata : str
        A JSON object.

    Examples
    --------
    >>> facts_of("a", '{"year": 1987, "tags": ["x"]}').split() == [
    ...     fact("$document_id", "a"), fact("year", 1987)]
    True
    """
    terms = [] if document_id is None else [fact(DOCUMENT, document_id)]
    if metadata != "{}":
        terms += [
            fact(name, value)
            for name, value in read_json(metadata, dict, "metadata of a chunk").items()
            if is_plain(value)
        ]
    return " ".join(terms)
