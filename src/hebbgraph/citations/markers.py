"""What a marker looks like: names in brackets, in lists and ranges, outside of code."""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Mapping
from typing import Any

__all__ = [
    "BRACKETS",
    "LONG_ID",
    "defused",
    "is_code",
    "known_names",
    "split_names",
    "without_code",
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
    """Yield the known keys that a text contains as markers, however many there are."""
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
        found = None if name in known else _RANGE.fullmatch(name.lower())
        if found is None:
            yield name
            continue
        prefix, first, again, last = found.groups()
        low, high = int(first), int(last)
        if again in ("", prefix) and low <= high <= low + _MAX_RANGE:
            for number in range(low, high + 1):
                yield f"{prefix}{number}"


def without_label(name: str) -> str:
    """Remove "Source " or the like from the start of a name in brackets."""
    found = _LABEL.match(name)
    return name[found.end() :] if found is not None and found.end() < len(name) else name


def without_code(text: str) -> str:
    """Remove fenced blocks and inline code, except code that consists of markers."""
    if "`" not in text:
        return text
    outside = []
    start = 0
    while (fence := text.find("```", start)) >= 0:
        outside.append(text[start:fence])
        end = text.find("```", fence + 3)
        if end < 0:
            start = len(text)
            break
        start = end + 3
    outside.append(text[start:])

    def keep_markers(match: re.Match[str]) -> str:
        inside = match.group(1).strip()
        return inside if inside[:1] in "[【" and inside[-1:] in "]】" else " "

    return _INLINE_CODE.sub(keep_markers, "\n".join(outside))


def is_code(text: str, start: int, stop: int) -> bool:
    """Return whether brackets belong to code that nobody quoted: ``arr[1] = 2``, ``f([1])``.

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
    """Change bracketed numbers to numbers in parentheses."""
    return _NUMBERED.sub(r"(\1)", text).replace("【", "(").replace("】", ")")
