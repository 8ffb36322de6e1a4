"""One chunk to its tokens and words; of its metadata, what is searched with its text.

Loaders and splitters write a heading path, a file name, a summary, or questions that a passage
answers into metadata. People use these words in questions, so they are searched, but not shown.
Numbers, dates, ids and types say nothing about the subject, nor does a path or URL, except for its
last name.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import chain
from typing import Any
from urllib.parse import unquote

import Stemmer

from hebbgraph.text.compounds import compounds
from hebbgraph.text.syllables import SYLLABIC, syllabic_terms
from hebbgraph.text.tokens import AUTO, lexical_terms, tokenize

#: The fields that are searched by default, with names as :func:`_field` normalises them.
SEARCHED_FIELDS = (
    *("headings", "heading", "heading_path", *(f"header_{level}" for level in range(1, 7))),
    *("breadcrumbs", "section", "subject", "document_title", "summary", "section_summary"),
    *("description", "keywords", "excerpt_keywords"),
    *("questions", "questions_this_excerpt_can_answer"),
    *("file_name", "filename", "file_path", "source"),
)
#: Fields that hold a file name, and those of them that may also hold another source.
_FILES = frozenset({"file_name", "filename", "file_path", "source"})
_PLACES = frozenset({"file_path", "source"})
_FILE_TYPE = re.compile(r"\.[A-Za-z][A-Za-z0-9]{0,4}(?:\.gz)?$")
_PATH = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[/\\]|~?\.{0,2}/")
_TYPE = re.compile(r"(?:application|audio|font|image|model|multipart|text|video)/[\w.+-]+$")
_DATE = re.compile(r"\d{4}-\d\d-\d\d(?:[T ][\d:.,]+\s*(?:Z|[+-]\d\d:?\d\d)?)?$")
#: A hash or UUID: hexadecimal characters with at least one digit.
_ID = re.compile(r"(?=.*\d)[0-9a-fA-F]{8,}$|[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$")
_LETTERS = re.compile(r"[^\W\d_]{2}")
#: Characters of metadata that are searched with a chunk.
_MOST = 10_000


def searched_text(text: str, metadata: Mapping[str, Any], fields: tuple[str, ...]) -> str:
    r"""Return a text and the words of metadata that are searched with it, one value a line.

    Names of fields are compared in any case, ``Header 1`` is ``header_1``. By default ``source``
    and ``file_path`` are read only if they name a file: a source may be a newspaper.

    >>> metadata = {"source": "/ada/flat_21.pdf", "Header 1": "Keys", "summary": "2021-05-03"}
    >>> searched_text("Two sets.", metadata, SEARCHED_FIELDS)
    'Two sets.\n\nflat_21.pdf\nKeys'
    """
    wanted = _wanted(fields)
    only_places = _PLACES if wanted == _wanted(SEARCHED_FIELDS) else ()
    lines: dict[str, None] = {}
    for name, values in metadata.items():
        if (field := _field(name)) not in wanted:
            continue
        listed = values if isinstance(values, list | tuple) else (values,)
        for value in (value for value in listed if isinstance(value, str)):
            is_path = bool(_PATH.match(value))
            if field not in only_places or is_path or _FILE_TYPE.search(value):
                lines[_words(value, is_place=field in _FILES or is_path)] = None
    context = "\n".join(filter(None, lines))[:_MOST]
    return f"{text}\n\n{context}" if context else text


@cache
def _wanted(fields: tuple[str, ...]) -> frozenset[str]:
    return frozenset(map(_field, fields))


def _field(name: str) -> str:
    return "_".join(name.casefold().split())


def _words(text: str, *, is_place: bool) -> str:
    """Return the words of a value; empty if they say nothing about the subject."""
    text = " ".join(text.split())
    if is_place and "@" not in text:
        path = re.split(r"[?#]", unquote(text), maxsplit=1)[0].rstrip("/\\")
        text = re.split(r"[/\\]", path)[-1].strip()
        return "" if _ID.match(_FILE_TYPE.sub("", text)) else text
    is_code = _TYPE.match(text) or _DATE.match(text) or _ID.match(text)
    return "" if is_code or not _LETTERS.search(text) else text


def tokenize_texts(title: str, text: str) -> list[list[str]]:
    """Return the tokens of a title and of a text; a phrase lies in one of them."""
    return [tokenize(part) for part in (title, text) if part]


def join_tokens(tokens: list[list[str]]) -> str:
    """Return tokens as lines of words, as phrases are looked for in them."""
    return "\n".join(map(" ".join, tokens))


def text_words(
    tokens: list[list[str]], text: str, language: str, spoken: list[str], tags: Sequence[str] = ()
) -> tuple[Counter[str], int]:
    r"""Return how often a chunk holds each word, and its length, in words of its tokens.

    Words of compounds and tags that tokens lack are added; for Vietnamese, syllables with marks. If
    texts have each their own language, words are stemmed as English, so that every phrase is found,
    and again in the language of the text; a label says which one that is.

    >>> text_words(tokenize_texts("Chợ", "Bạn bán."), "Chợ\n\nBạn bán.", "english", [SYLLABIC])
    (Counter({'ban': 2, 'cho': 1, 'chợ': 1, 'bạn': 1, 'bán': 1, 'chợ_bạn': 1, 'bạn_bán': 1}), 3)
    >>> list(text_words([["il", "ponte", "di", "brooklyn"]], "", AUTO, ["italian"])[0])
    ['il', 'pont', 'di', 'brooklyn', 'language:italian']
    """
    words = Counter(chain.from_iterable(lexical_terms(part, language) for part in tokens))
    length = words.total()
    if language == AUTO and spoken != ["english"]:
        own = set(words)
        for name in filter(STEMMED.__contains__, spoken):
            for part in tokens:
                words.update(word for word in lexical_terms(part, name) if word not in own)
        words.update(map(label, spoken))
    found = compounds("\n\n".join((text, *tags)))
    added = [token for whole, parts, _ in found for token in (whole, *parts)]
    added += chain.from_iterable(map(tokenize, tags))
    for word in lexical_terms(added, language):
        words.setdefault(word, 1)
    if spoken == [SYLLABIC]:
        words.update(syllabic_terms(text))
    return words, length


#: Languages that have a stemmer of their own.
STEMMED = frozenset(Stemmer.algorithms())


def label(language: str) -> str:
    """Return the word that chunks in a language hold, which no text can contain."""
    return f"language:{language}"
