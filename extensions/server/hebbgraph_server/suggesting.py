"""Questions that an index can answer, made of its own headings."""

import re
from collections.abc import Iterable

#: Headings of any document, which say nothing of this one.
_GENERIC = re.compile(
    r"(?i)\b(?:about|authors|change(?:s|log)|contents|contributing|copyright|credits|description"
    r"|examples?|index|introduction|license|links|news|notes|overview|preface|readme|references|see"
    r"|summary|synopsis)\b"
)
_WORD = re.compile(r"[^\W\d_][\w'’-]*")
_ASKS = re.compile(
    r"(?i)(?:(?:why|what|when|where|which|who|how) )?(?:can|does|do|is|are|should)\b|.*\?$"
)
_HOW_TO = re.compile(r"(?i)how to (?=\w)")
_GERUND = re.compile(r"\w{3,}ing \w")
_ODD = re.compile(r"[^\w\s'’,.?:-]|\d{2}|:.*:")


def suggested(headings: Iterable[tuple[str, str]]) -> list[str]:
    """Return three questions from documents and their headings, of distinct documents if possible.

    Examples
    --------
    >>> headings = ["How to publish", "README", "Installing on Linux", "1.2", "The lock file"]
    >>> suggested((heading, heading) for heading in headings)
    ['How do I publish?', 'How does installing on Linux work?', 'What is said about the lock file?']
    """
    best: dict[str, tuple[int, str]] = {}
    for place, heading in headings:
        if (made := _question(" ".join(heading.split()))) is not None:
            best[place] = min(best.get(place, made), made, key=lambda made: made[0])
    ordered = sorted(best.values(), key=lambda made: made[0])
    return list(dict.fromkeys(question for _, question in ordered))[:3]


def _question(heading: str) -> tuple[int, str] | None:
    """Return how little a heading looks like a question, and it as one; None if it is generic."""
    words = _WORD.findall(heading)
    is_generic = _GENERIC.search(heading) or _ODD.search(heading)
    if not 2 <= len(words) <= 9 or len(heading) > 80 or is_generic:
        return None
    if how_to := _HOW_TO.match(heading):
        return 0, f"How do I {heading[how_to.end() :].rstrip('?.')}?"
    plain = heading.rstrip("?.: ")
    if _ASKS.match(heading):
        return 1, f"{plain}?"
    # Only the first word of a sentence is written small; names and acronyms stay.
    if words[0][1:].islower() and words[1].islower():
        plain = plain[0].lower() + plain[1:]
    if _GERUND.match(plain):
        return 2, f"How does {plain} work?"
    return 3, f"What is said about {plain}?"
