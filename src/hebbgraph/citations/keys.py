"""Finds the key before a text in a prompt, in the forms that people write."""

from __future__ import annotations

import re
from typing import NamedTuple

from hebbgraph.citations.markers import BRACKETS, without_label

__all__ = ["Key", "key_before"]

_WORD = r"(?:source|document|doc|passage|chunk|context|reference|result|quelle|fuente|fonte|bron)"
#: ``Source 1:``, ``Source [1]:``, ``Document #2 -``; what follows on the line may be a title.
_LABELLED = re.compile(
    rf"{_WORD} ?#?[\[(]?([A-Za-z]{{0,12}}[0-9]{{1,4}})[\])]?(?:\s*[:.)–-]\s*|\s*$)(.*)",
    re.IGNORECASE,
)
#: ``(1)``.
_PARENTHESISED = re.compile(r"\(([A-Za-z]{0,12}[0-9]{1,4})\)(.*)")
#: ``1. text``, ``1) text``.
_LISTED = re.compile(r"([0-9]{1,4})[.)](?:\s(.*)|$)")
#: ``<document index="1">``, ``<source id='petrel'>``.
_ELEMENT = re.compile(
    rf"<{_WORD}\b[^>]{{0,300}}?\b(?:id|index|key|number|n)=[\"']?([^\"'>\s]{{1,200}})[\"']?[^>]{{0,300}}>(.*)",
    re.IGNORECASE,
)
#: ``Source: {'title': …}``, as in LangChain's tutorials; its values name the text.
_METADATA = re.compile(
    rf"(?:{_WORD}|metadata|file(?:_path|_name)?|url|title)\s*:\s*(\S.*)", re.IGNORECASE
)
_NAMING = re.compile(
    r"['\"](?:id|source|url|title|file_name|file_path|name)['\"]\s*:\s*['\"]([^'\"\n]{3,200})['\"]"
)
#: Words that may stand between a key and the text on one line.
_CONTENT = re.compile(r"(?:content|text|page_content|passage)\s*:?\s*$", re.IGNORECASE)

#: Lines that may stand between a key and the text: elements without a key, and URLs.
_BETWEEN = re.compile(
    r"\s*(?:</?[a-z_]{1,30}>|<([a-z_]{1,30})>[^<]{0,300}</\1>|(?:url: *)?https?://\S{1,300})\s*",
    re.IGNORECASE,
)

#: ``author: Ida Moss``, as LlamaIndex writes metadata before a text.
_FIELD = re.compile(r"[^\W\d][\w .-]{0,60}: \S.*")
#: Characters read before a text.
_MAX_BEFORE = 2_048


class Key(NamedTuple):
    """A key, and its form: ``"["``, ``"("``, ``"label"`` or ``"name"``.

    ``others`` are more names of the same text.
    """

    name: str
    form: str
    others: tuple[str, ...] = ()


def key_before(prompt: str, start: int) -> Key | None:
    r"""Return the key at the start of the line of a text, or of the line before.

    In a prompt that contains JSON, line ends are the two characters ``\n``.

    Examples
    --------
    >>> [key_before(head + "Owls hunt.", len(head)).name
    ...  for head in ("[1] ", "[a] Owls\n", "2. ", "(3) ", "Source [4]: ", "Document 5:\n")]
    ['1', 'a', '2', '3', '4', '5']
    """
    before = prompt[max(0, start - _MAX_BEFORE) : start]
    if "\\n" in before:
        before = before.replace('": "', "\n").replace("\\n", "\n")
    before = _CONTENT.sub("", before.rstrip(" \t")).rstrip(" \t")
    *above, line = before.split("\n")
    if _BETWEEN.fullmatch(line):
        line = ""
    if line.strip():
        return _key_in(line, same_line=True, alone=True)
    while len(above) > 1 and _BETWEEN.fullmatch(above[-1]):
        above.pop()
    if len(above) > 1 and not above[-1].strip() and _FIELD.fullmatch(above[-2]):
        above.pop()  # the key precedes metadata, an empty line and the text
        while above and _FIELD.fullmatch(above[-1]):
            above.pop()
        key = _key_in(above[-1], same_line=False, alone=True) if above else None
        return key if key is not None and key.form == "[" else None
    if not above:
        return None
    opens = len(above) == 1 or not above[-2].strip()
    return _key_in(above[-1], same_line=False, alone=opens)


def _key_in(line: str, *, same_line: bool, alone: bool) -> Key | None:
    rest = line.lstrip(" \t>*#-\"'")
    if (match := BRACKETS.match(rest)) is not None:
        if same_line and not _leads(rest[match.end() :]):
            return None
        return Key(without_label(match.group(1).strip()).lstrip("^"), "[")
    for pattern, form in ((_LABELLED, "label"), (_ELEMENT, "label"), (_PARENTHESISED, "(")):
        # On the line before, a title may follow.
        if (match := pattern.match(rest)) is not None and (not same_line or _leads(match.group(2))):
            return Key(match.group(1), form)
    # "3. Rinse the kiln" may end another text, so a number must fill its line or open a block.
    match = _LISTED.match(rest)
    if match is not None and (not (match.group(2) or "").strip() if same_line else alone):
        return Key(match.group(1), "label")
    if not same_line and (match := _METADATA.match(rest)) is not None:
        names = _NAMING.findall(match.group(1)) or [match.group(1).strip()[:200]]
        return Key(names[0], "name", tuple(names[1:]))
    return None


def _leads(words: str) -> bool:
    """Return whether the words between a key and a text are none, or a title and a colon."""
    words = words.strip(" \t*")
    is_title = words[:1].isupper() and words.endswith((":", "|", "–", "—", " -"))
    return is_title or not words.strip(".:-")
