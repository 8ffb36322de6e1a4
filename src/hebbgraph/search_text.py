"""What is searched with a passage and not shown: words from its metadata.

Loaders and splitters write a heading path, a file name, a summary, or questions that a passage
answers into metadata. People ask by these words, so they are searched with the text. Numbers,
dates, ids and types say nothing about the matter, and of a path or URL only the last name does.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any
from urllib.parse import unquote

from hebbgraph.limits import MAX_CONTEXT
from hebbgraph.records import Chunk

__all__ = ["SEARCHED_FIELDS", "search_text", "with_context"]

#: The fields that are searched by default, as :func:`_field` writes their names.
SEARCHED_FIELDS = (
    "headings",
    "heading",
    "heading_path",
    *(f"header_{level}" for level in range(1, 7)),
    "breadcrumbs",
    "section",
    "subject",
    "document_title",
    "summary",
    "section_summary",
    "description",
    "keywords",
    "excerpt_keywords",
    "questions",
    "questions_this_excerpt_can_answer",
    "file_name",
    "filename",
    "file_path",
    "source",
)
#: Fields that hold the name of a file, and those that may hold something else: a newspaper.
_FILES = frozenset({"file_name", "filename", "file_path", "source"})
_PLACES = frozenset({"file_path", "source"})
_FILE_TYPE = re.compile(r"\.[A-Za-z][A-Za-z0-9]{0,4}(?:\.gz)?$")
_PATH = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[/\\]|~?\.{0,2}/")
_TYPE = re.compile(r"(?:application|audio|font|image|model|multipart|text|video)/[\w.+-]+$")
_DATE = re.compile(r"\d{4}-\d\d-\d\d(?:[T ][\d:.,]+\s*(?:Z|[+-]\d\d:?\d\d)?)?$")
#: A hash or UUID: hexadecimal digits, with one at least that is a number.
_ID = re.compile(r"(?=.*\d)[0-9a-fA-F]{8,}$|[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$")
_LETTERS = re.compile(r"[^\W\d_]{2}")


def search_text(metadata: Mapping[str, Any], fields: Iterable[str] = SEARCHED_FIELDS) -> str:
    r"""Return the words of some metadata fields, one value a line.

    Parameters
    ----------
    metadata : mapping
        Texts and lists of texts are read; anything else says nothing.
    fields : iterable of str
        Names, in any case; ``Header 1`` is ``header_1``. Of the default ones, ``source`` and
        ``file_path`` are read only if they name a file: a source may be a newspaper.

    Returns
    -------
    str
        At most 10,000 characters; each value once. Empty if there is none.

    Examples
    --------
    >>> search_text({"subject": "Handover of the Graz flat", "page": 3, "Header 1": "Keys"})
    'Handover of the Graz flat\nKeys'
    >>> search_text({"source": "/home/ada/letters/graz_flat-2021.pdf", "summary": "2021-05-03"})
    'graz_flat-2021.pdf'
    """
    wanted = _wanted(tuple(fields))
    only_places = _PLACES if wanted == _wanted(SEARCHED_FIELDS) else ()
    found: dict[str, None] = {}
    for name, value in metadata.items():
        if (field := _field(name)) in wanted:
            for one in value if isinstance(value, list | tuple) else (value,):
                if isinstance(one, str) and (field not in only_places or _is_place(one)):
                    found[_words(one, is_place=field in _FILES or bool(_PATH.match(one)))] = None
    return "\n".join(filter(None, found))[:MAX_CONTEXT]


def with_context(chunk: Chunk, fields: Iterable[str]) -> Chunk:
    """Return a chunk whose metadata says what is searched with it, unless it says so itself.

    Examples
    --------
    >>> with_context(Chunk(text="Two sets.", metadata={"subject": "Keys"}), ["subject"]).context
    'Keys'
    """
    if chunk.context is not None or not chunk.metadata:
        return chunk
    found = search_text(chunk.metadata, fields)
    return chunk.model_copy(update={"context": found}) if found else chunk


@cache
def _wanted(fields: tuple[str, ...]) -> frozenset[str]:
    return frozenset(map(_field, fields))


def _field(name: str) -> str:
    return "_".join(name.casefold().split())


def _is_place(text: str) -> bool:
    return bool(_PATH.match(text) or _FILE_TYPE.search(text))


def _words(text: str, *, is_place: bool) -> str:
    """Return the words of a value; nothing if it has none, or says nothing of the matter."""
    text = " ".join(text.split())
    if is_place and "@" not in text:
        text = _name_of(text)
        return "" if _ID.match(_FILE_TYPE.sub("", text)) else text
    says_nothing = _TYPE.match(text) or _DATE.match(text) or _ID.match(text)
    return "" if says_nothing or not _LETTERS.search(text) else text


def _name_of(place: str) -> str:
    """Return the name of a file or page.

    >>> _name_of("https://example.org/guides/Moving%20out/?lang=en#keys"), _name_of("a/b_c.tar.gz")
    ('Moving out', 'b_c.tar.gz')
    """
    path = re.split(r"[?#]", unquote(place), maxsplit=1)[0].rstrip("/\\")
    return re.split(r"[/\\]", path)[-1].strip()
