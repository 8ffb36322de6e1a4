"""Headings of an index to ask for: questions first, and nothing that any document has."""

import re
from collections.abc import Iterable

#: Headings of any document, which say nothing of this one.
_GENERIC = re.compile(
    r"(?i)\b(?:about|authors|change(?:s|log)|contents|contributing|copyright|credits|description"
    r"|examples?|index|introduction|license|links|news|notes|overview|preface|readme|references|see"
    r"|summary|synopsis)\b|[^\w\s'’,.?:-]|\d{2}|:.*:|.{81}"
)
_WORD = re.compile(r"[^\W\d_][\w'’-]*")
_ASKS = re.compile(r"(?i)(?:why|what|when|where|which|who|how) |.*\?$")


def suggested(headings: Iterable[tuple[str, str]]) -> list[str]:
    """Return three headings, of distinct documents; a few become questions, most stay as they are.

    Examples
    --------
    >>> headings = ["Opening hours", "How to publish", "README", "1.2", "Why is it slow?"]
    >>> suggested((heading, heading) for heading in headings)
    ['How do I publish?', 'Why is it slow?', 'Opening hours']
    """
    best: dict[str, str] = {}
    for place, heading in sorted(headings, key=lambda each: not _ASKS.match(each[1])):
        plain = re.sub(r"(?i)^how to (.+?)[.?]?$", r"How do I \1?", " ".join(heading.split()))
        if 2 <= len(_WORD.findall(plain)) <= 9 and not _GENERIC.search(plain):
            best.setdefault(place, plain)
    return list(dict.fromkeys(best.values()))[:3]
