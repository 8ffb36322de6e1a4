"""Markers in a text: names in brackets, in lists and ranges, outside of code."""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Mapping, Sequence
from typing import Any

__all__ = [
    "BRACKETS",
    "LONG_ID",
    "defused",
    "is_code",
    "is_interval",
    "known_names",
    "split_names",
    "visible_text",
    "with_brackets",
    "without_label",
]

#: Ids of at least this length are recognised without brackets.
LONG_ID = 16
_MAX_RANGE = 50

BRACKETS = re.compile(r"[\[【]([^\[\]【】\n]{1,200})[\]】]")
_LABEL = re.compile(
    r"(?:sources?|src|doc(?:ument)?s?|refs?|references?|keys?|ids?|cit(?:ation|e)s?|chunks?"
    r"|passages?)(?:\s*[:#]\s*|\s+)",
    re.IGNORECASE,
)
_BETWEEN = re.compile(r"[,;|&\s]+")
_FILLERS = frozenset(("and", "source", "sources", "doc", "document"))
_RANGE = re.compile(r"([a-z]{0,12})([0-9]{1,3})[-–—]([a-z]{0,12})([0-9]{1,3})")
#: Tags around a model's reasoning; some prompts end with the opening one.
_THINK = "think|thinking|thought|reasoning|scratchpad"
_THOUGHT = re.compile(rf"<({_THINK})>.*?(?:</\1>|\Z)", re.IGNORECASE | re.DOTALL)
_THOUGHT_END = re.compile(rf"\A.*</(?:{_THINK})>", re.IGNORECASE | re.DOTALL)
_RAISED_DIGITS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")
#: Raised numbers after a word or a sentence, but not in "m²", "sin²" and "10²".
_RAISED = re.compile(
    r"(?<!\d)<sup>\s*\[?([0-9]{1,4}(?:\s*,\s*[0-9]{1,4})*)\]?\s*</sup>"
    r"|(?:(?<=[^\W\d_]{3})(?<!sin|cos|tan|log)|(?<=[.,;:!?)\]\"'”’»]))([⁰¹²³⁴-⁹]{1,4})"
)
_INTERVAL = re.compile(
    r"\b(?:range|interval|domain|segment)s?(?: (?:of|from|is))?\s*\Z", re.IGNORECASE
)
_INLINE_CODE = re.compile(r"`([^`\n]{1,500})`")
_LINE = 300
#: A name right before brackets: an array, or a word whose citation follows without a space.
_NAME = re.compile(r"[^\W\d]\w*\Z")
_CODE_LEFT = re.compile(r"(?:^|[\s;])[A-Za-z_][\w.]*\s*[-+*/%]?=\s*\Z|\w\(\Z")
_CODE_RIGHT = re.compile(
    r"\s*[-+*/%]?=(?=[^>=])|\s*[=!<>]=|\s*(?:\+\+|--)|\s*[+*/<>]\s*[\w(]|\.[a-z_]\w*"
    r"|\((?!https?:|#)"
)
_CODE_LINE = re.compile(
    r"[A-Za-z_][\w.]*\s*[-+*/%]?=[^=].*|(?:return|print|if|for|while|def|var|let|const|assert)\b.*[;:{})]"
    r"|.*[;{}]"
)
_NUMBERED = re.compile(r"\[(?=[\s^]*(?:[A-Za-z]+[\s:#]*)?[0-9])([^\[\]\n]{1,200})\]")


def known_names(text: str, known: Mapping[str, Any]) -> Iterator[str]:
    """Yield the known keys that a text contains as markers."""
    for match in BRACKETS.finditer(text):
        for name in split_names(match.group(1), known):
            if name in known:
                yield name
            elif name.lower() in known:
                yield name.lower()


def split_names(inside: str, known: Container[str]) -> Iterator[str]:
    """Yield the names between two brackets; ranges are expanded."""
    for part in _BETWEEN.split(without_label(inside.strip())):
        name = part.partition("†")[0].strip("^ \t()*")
        if not name or name.lower() in _FILLERS:
            continue
        match = None if name in known else _RANGE.fullmatch(name.lower())
        if match is None:
            yield name
            continue
        prefix, low, last_prefix, high = match.groups()
        first, last = int(low), int(high)
        if last_prefix in ("", prefix) and first <= last <= first + _MAX_RANGE:
            for number in range(first, last + 1):
                yield f"{prefix}{number}"


def without_label(name: str) -> str:
    """Remove "Source " or the like from the start of a name in brackets."""
    label = _LABEL.match(name)
    return name[label.end() :] if label is not None and label.end() < len(name) else name


def visible_text(text: str) -> str:
    """Remove reasoning, and code that does not consist of markers.

    Examples
    --------
    >>> visible_text("<think>Maybe [3].</think>Moss built it [1].")
    'Moss built it [1].'
    >>> visible_text("Or [2].</think>It is `[1]`.")
    'It is [1].'
    """
    if "<" in text:
        text = _THOUGHT_END.sub("", _THOUGHT.sub("", text))
    if "`" not in text:
        return text
    outside = "\n".join(text.split("```")[::2])  # an open block reaches to the end

    def keep_markers(match: re.Match[str]) -> str:
        inside = match.group(1).strip()
        return inside if inside[:1] in "[【" and inside[-1:] in "]】" else " "

    return _INLINE_CODE.sub(keep_markers, outside)


def with_brackets(text: str, keys: Container[str]) -> str:
    """Put raised numbers that are keys in brackets; two digits may be two keys.

    Examples
    --------
    >>> with_brackets("Moss built it.¹² It has 10² sails<sup>2</sup>.", {"1", "2"})
    'Moss built it.[1, 2] It has 10² sails[2].'
    """

    def write(match: re.Match[str]) -> str:
        number = match.group(1) or match.group(2).translate(_RAISED_DIGITS)
        names = (
            [number] if number in keys else re.findall(r"\d+" if match.group(1) else r"\d", number)
        )
        return f"[{', '.join(names)}]" if all(name in keys for name in names) else match.group()

    return _RAISED.sub(write, text)


def is_interval(text: str, start: int, names: Sequence[str]) -> bool:
    """Return whether brackets contain the ends of an interval: "the range [0, 1]"."""
    if len(names) != 2 or not all(name.isdecimal() for name in names):
        return False
    return names[0] == "0" or _INTERVAL.search(text[max(0, start - 30) : start]) is not None


def is_code(text: str, start: int, stop: int) -> bool:
    """Return whether brackets belong to unquoted code: ``arr[1] = 2``, ``f([1])``.

    Examples
    --------
    >>> [is_code(text, text.index("["), text.index("]") + 1)
    ...  for text in ("arr[1] = 2", "x = [1]", "sizes[1].width", "Moss built it[1].")]
    [True, True, True, False]
    """
    before = text[max(0, start - _LINE) : start].rpartition("\n")[2]
    after = text[stop : stop + _LINE].partition("\n")[0]
    if _CODE_LEFT.search(before) is not None:
        return True
    if (name := _NAME.search(before)) is None:
        return False
    line = f"{before}[]{after}".strip()
    return "_" in name.group() or bool(_CODE_RIGHT.match(after) or _CODE_LINE.fullmatch(line))


def defused(text: str) -> str:
    """Replace brackets around numbers by parentheses."""
    return _NUMBERED.sub(r"(\1)", text).replace("【", "(").replace("】", ")")
