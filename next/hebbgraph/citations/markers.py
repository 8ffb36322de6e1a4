"""Markers in a text: keys in brackets, raised, or behind "source"; none in code or reasoning."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from itertools import islice
from typing import NamedTuple

__all__ = ["Marker", "key_numbers", "markers", "visible_text"]

#: Markers read of one text.
_MOST = 2_000
#: Keys in one range.
_LONGEST_RANGE = 50

_BRACKETS = r"[\[【](?P<inside>[^\[\]【】\n]{1,200})[\]】]"
_LABELLED = (
    r"\b(?:sources?|documents?|passages?|references?)[ \t]{0,3}\#?[ \t]{0,3}"
    r"(?P<labelled>[0-9]{1,6})\b(?![ \t]*%)"
)
#: After a word or a sentence, but not in "m²", "sin²" and "10²".
_RAISED = (
    r"(?:(?<=[^\W\d_]{3})(?<!sin|cos|tan|log)|(?<=[.,;:!?)\]\"'”’»]))(?P<raised>[⁰¹²³⁴-⁹]{1,4})"
)
_FORMS = [re.compile(form, re.IGNORECASE) for form in (_BRACKETS, _LABELLED, _RAISED)]
_ANY = re.compile(f"{_BRACKETS}|{_LABELLED}|{_RAISED}", re.IGNORECASE)
_RAISED_DIGITS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")

_LABEL = re.compile(
    r"(?:sources?|docs?|documents?|refs?|references?|keys?|cit(?:ation|e)s?|chunks?|passages?)"
    r"(?:\s*[:#]\s*|\s+)",
    re.IGNORECASE,
)
_BETWEEN = re.compile(r"[,;|&\s]+")
_FILLERS = frozenset(("and", "source", "sources", "document", "passage"))
_NUMBER = re.compile(r"[0-9]{1,6}")
_RANGE = re.compile(r"([0-9]{1,6})[-–—]([0-9]{1,6})")

#: Around a model's reasoning; some prompts end with the opening tag.
_THINK = "think|thinking|thought|reasoning|scratchpad"
_THOUGHT = re.compile(rf"<({_THINK})>.*?(?:</\1>|\Z)", re.IGNORECASE | re.DOTALL)
_THOUGHT_END = re.compile(rf"\A.*</(?:{_THINK})>", re.IGNORECASE | re.DOTALL)
_INLINE_CODE = re.compile(r"`([^`\n]{1,500})`")
#: Stands for code; no marker contains it.
_CODE = "\ue000"

#: What stands before brackets in code: ``x =``, ``f(``, ``my_list``; and behind ``arr[1]``.
_CODE_LEFT = re.compile(r"(?:[^\W\d]\s*[-+*/%]?=\s*|\w\(|_\w*)\Z")
_CODE_RIGHT = re.compile(r"\s*[-+*/%]?=(?=[^>=])|\s*[=!<>]=|\+\+|--|\.[a-z_]\w*|\((?!https?:|#)")


class Marker(NamedTuple):
    """A place in a text that names keys; ``text[start:end]`` is the marker."""

    start: int
    end: int
    names: tuple[str, ...]


def markers(text: str, keys: Collection[str]) -> Iterator[Marker]:
    """Yield the markers of a visible text, in order.

    The names are keys, or numbers that are none. "[see 1]" is no marker, and neither are
    ``arr[1] = 2`` and "the range [0, 1]".

    Examples
    --------
    >>> text = "Moss [1, 2], see source 3. Born here.⁴ [see 1] the range [0, 1] arr[1] = 2"
    >>> [marker.names for marker in markers(text, {"1", "2", "3"})]
    [('1', '2'), ('3',), ('4',)]
    """
    for match in islice(_ANY.finditer(text), _MOST):
        names = _names(match, keys)
        is_interval = "0" in names and "0" not in keys
        if names and not (match.lastgroup == "inside" and (is_interval or _is_code(text, match))):
            yield Marker(*match.span(), names)


def key_numbers(text: str) -> set[str]:
    """Return all numbers that could be read as keys in any part of a text, even in code.

    >>> sorted(key_numbers("As shown in [2-4], `x[7]` has 10 sails.¹ See document 9."))
    ['1', '2', '3', '4', '7', '9']
    """
    found: set[str] = set()
    for form in _FORMS:
        for match in form.finditer(text):
            found.update(_names(match, ()))
            if match.lastgroup == "raised":
                found.add(match["raised"].translate(_RAISED_DIGITS))
    return found


def visible_text(text: str) -> str:
    r"""Replace reasoning, and code that is more than a marker.

    Examples
    --------
    >>> visible_text("<think>Maybe [3].</think>Moss built it [1].")
    '\nMoss built it [1].'
    """
    if "<" in text:
        text = _THOUGHT_END.sub("\n", _THOUGHT.sub("\n", text))
    if "`" not in text:
        return text
    outside = "\n".join(text.split("```")[::2])  # an open block reaches to the end

    def keep_markers(match: re.Match[str]) -> str:
        inside = match[1].strip()
        is_marker = inside[:1] in "[【" and inside[-1:] in "]】"
        return f"{_CODE}{inside}{_CODE}" if is_marker else _CODE

    return _INLINE_CODE.sub(keep_markers, outside)


def _names(match: re.Match[str], keys: Collection[str]) -> tuple[str, ...]:
    form, inside = match.lastgroup, match[match.lastgroup or 0]
    if form == "labelled":
        return (inside,)
    if form == "raised":
        number = inside.translate(_RAISED_DIGITS)
        return (number,) if number in keys else tuple(number)
    return tuple(_bracketed(inside, keys) or ())


def _bracketed(inside: str, keys: Collection[str]) -> list[str] | None:
    """Return the names between brackets; None if anything else stands there."""
    names: list[str] = []
    for part in _BETWEEN.split(_LABEL.sub("", inside.strip(), count=1)):
        name = part.partition("†")[0].strip("^ \t()*\\#")
        if not name or name.lower() in _FILLERS:
            continue
        if name in keys or _NUMBER.fullmatch(name):
            names.append(name)
        elif (match := _RANGE.fullmatch(name)) is None:
            return None
        else:
            first, last = int(match[1]), int(match[2])
            if not first <= last <= first + _LONGEST_RANGE:
                return None
            names += map(str, range(first, last + 1))
    return names


def _is_code(text: str, match: re.Match[str]) -> bool:
    """Return whether brackets belong to code that is not marked as such."""
    before = text[max(0, match.start() - 200) : match.start()].rpartition("\n")[2]
    is_array = before[-1:].isalnum() and _CODE_RIGHT.match(text, match.end())
    return bool(is_array or _CODE_LEFT.search(before))
