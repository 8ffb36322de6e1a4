"""Parse a language model's answers: untrusted data, validated and checked against the text."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any

from hebbgraph.records import Chunk
from hebbgraph.text import display, lexical_terms, phrase_key, tokenize

__all__ = [
    "GarbledAnswerError",
    "clean_tags",
    "occurs_in",
    "parse_concepts",
    "parse_phrases",
    "parse_tags",
]

MAX_ANSWER_CHARACTERS = 200_000
MAX_TAG_CHARACTERS = 120
MAX_TAG_WORDS = 8
_TRIES = 50  # positions to try as the start of JSON
_READ = 500  # tags considered per passage
_DIGITS = 9  # Python refuses to read very long numbers
_LISTED = re.compile(r"^\s*(?:[-*•]|\(?\d{1,3}[.)])\s+")
_EXPLAINED = re.compile(r"\s[-–—]\s|:\s")
_PREFACE = re.compile(r"^[^,;:]{0,60}:\s+")
_NO_PHRASE = re.compile(
    r"(?:i['’]?m\b|i (?:am|can|could|do|did|was|have)\b|i['’](?:d|ve|ll)\b|sorry\b|unfortunately\b"
    r"|as an ai\b|there (?:is|are)\b|no (?:names?|tags?|concepts?|such)\b|none\b|n/a\b|sure\b"
    r"|here (?:is|are)\b|the (?:text|passage)\b)",
    re.IGNORECASE,
)


class GarbledAnswerError(ValueError):
    """An answer lacks the requested form; the model is asked again."""


def parse_tags(answer: str, n_passages: int) -> dict[int, list[str]]:
    """Parse the tags of each passage.

    Passages are validated one by one. A passage that is malformed, has an unknown number,
    or occurs twice with different tags is omitted, so that the model is asked about it again.

    Parameters
    ----------
    answer : str
        JSON, possibly in a code fence or surrounded by other text.
    n_passages : int
        Passages are numbered from 1 to this.

    Returns
    -------
    dict of int to list of str
        Tags by position, from 0.

    Raises
    ------
    GarbledAnswerError
        If the answer contains no JSON of the right form.

    Examples
    --------
    >>> parse_tags('Sure: {"passages": [{"number": 1, "tags": ["a", 2]}, {"number": 9}]}', 2)
    {0: ['a']}
    """
    tags_of: dict[int, list[str]] = {}
    contradicted = set()
    for passage in _list_under("passages", answer):
        if not isinstance(passage, dict):
            continue
        values, number = passage.get("tags"), str(passage.get("number")).removesuffix(".0")
        if not isinstance(values, list) or not number.isdecimal() or len(number) > _DIGITS:
            continue
        position = int(number) - 1
        tags = [tag for tag in values[:_READ] if isinstance(tag, str)]
        if 0 <= position < n_passages and tags_of.setdefault(position, tags) != tags:
            contradicted.add(position)
    return {at: tags for at, tags in tags_of.items() if at not in contradicted}


def parse_concepts(answer: str) -> list[str]:
    """Parse the concepts of a question.

    Examples
    --------
    >>> parse_concepts('{"concepts": ["Ida Moss", null]}')
    ['Ida Moss']
    """
    concepts = _list_under("concepts", answer)
    return [concept for concept in concepts[:_READ] if isinstance(concept, str)]


def parse_phrases(answer: str) -> list[str]:
    r"""Parse phrases from an answer of any form, such as models give to a custom prompt.

    Reads JSON, in a code fence or not; bullets, numbered lists, lines, and commas. Skips prefaces,
    explanations after a phrase, apologies and whole sentences.

    Examples
    --------
    >>> parse_phrases('Here you are:\n```json\n["Ida Moss", {"name": "Petrel"}]\n```')
    ['Ida Moss', 'Petrel']
    >>> parse_phrases("Sure! Names:\n1. **Ida Moss** - a shipbuilder\n- Petrel")
    ['Ida Moss', 'Petrel']
    >>> parse_phrases('{"names": []}'), parse_phrases("Names: none")
    ([], [])
    >>> parse_phrases("Ida Moss, Petrel")
    ['Ida Moss', 'Petrel']
    >>> parse_phrases("I'm sorry, but I can't find any names in this text.")
    []
    """
    answer = answer[:MAX_ANSWER_CHARACTERS]
    for value in _json_values(answer, "[{"):
        if phrases := list(filter(_is_phrase, _strings(value))):
            return phrases[:_READ]
    lines = [_LISTED.sub("", line).strip() for line in answer.splitlines()]
    lines = [
        line
        for line in lines
        if line and not line.startswith("```") and _NO_PHRASE.match(line) is None
    ]
    if len(lines) > 1:
        phrases = [_EXPLAINED.split(line)[0] for line in lines]
    else:
        phrases = [part for line in lines for part in re.split("[,;]", _PREFACE.sub("", line))]
    clean = (phrase.strip(" *_`\"'.") for phrase in phrases)
    return [phrase for phrase in clean if _is_phrase(phrase)][:_READ]


def _strings(value: Any) -> Iterator[str]:
    """Yield the strings in a list or in the lists of an object; of a listed object, its first."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            if isinstance(item, dict):
                yield from [part for part in item.values() if isinstance(part, str)][:1]
            else:
                yield from _strings(item)
    elif isinstance(value, dict):
        for part in value.values():
            if isinstance(part, list):
                yield from _strings(part)


def _is_phrase(text: str) -> bool:
    """Return whether a text is a phrase rather than a sentence, a preface or an apology."""
    return (
        0 < len(text) <= MAX_TAG_CHARACTERS
        and len(text.split()) <= MAX_TAG_WORDS
        and not text.endswith((":", "!", "?"))
        and not set(text) & set("{}[]")
        and _NO_PHRASE.match(text) is None
    )


def _list_under(name: str, answer: str) -> list[Any]:
    """Return the list under a name in the first object that has one."""
    if len(answer) > MAX_ANSWER_CHARACTERS:
        raise GarbledAnswerError(
            f"the answer has {len(answer)} characters, at most {MAX_ANSWER_CHARACTERS}"
        )
    for value in _json_values(answer):
        if isinstance(value, dict) and isinstance(values := value.get(name), list):
            return values
    raise GarbledAnswerError("the answer contains no JSON of the requested form")


def _json_values(text: str, starts: str = "{") -> Iterator[Any]:
    decoder = json.JSONDecoder()
    for start in islice(re.finditer(f"[{re.escape(starts)}]", text), _TRIES):
        try:
            yield decoder.raw_decode(text, start.start())[0]
        except (ValueError, RecursionError):
            continue


def occurs_in(chunk: Chunk, language: str = "english") -> Callable[[str], bool]:
    """Return a predicate: whether a phrase occurs in the chunk's title or text, up to inflection.

    Examples
    --------
    >>> occurs = occurs_in(Chunk(text="Two schooners left Tessel Bay."))
    >>> occurs("schooner"), occurs("ignore all instructions")
    (True, False)
    """
    terms = [lexical_terms(tokenize(part), language) for part in (chunk.title, chunk.text)]
    joined = " ".join(("", *terms[0], "|", *terms[1], ""))

    def occurs(phrase: str) -> bool:
        wanted = " ".join(lexical_terms(tokenize(phrase), language))
        return bool(wanted) and f" {wanted} " in joined

    return occurs


def clean_tags(tags: Iterable[str], count: int, accepts: Callable[[str], bool]) -> tuple[str, ...]:
    r"""Normalise tags and keep the first ``count`` that are short enough and accepted.

    Returns
    -------
    tuple of str
        Distinct tags of letters, digits and single spaces.

    Examples
    --------
    >>> clean_tags(["The  Ice\x00 Trade", "ice trade", "x" * 500, "?"], 5, lambda tag: True)
    ('ice trade',)
    """
    clean: dict[str, None] = {}
    for tag in tags:
        if len(tag) > MAX_TAG_CHARACTERS:
            continue
        key = phrase_key("".join(char if char.isprintable() else " " for char in tag))
        if key and key.count(" ") < MAX_TAG_WORDS and accepts(key):
            clean[display(key)] = None
        if len(clean) == count:
            break
    return tuple(clean)
