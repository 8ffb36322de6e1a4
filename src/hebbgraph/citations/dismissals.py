"""What an answer says of a source that does not help: "[7] does not say who drew them".

A rule, no model. A marker is dismissed if it is the subject of a clause that denies it: it does not
say, mention or help; it is irrelevant, or about something else. Or if something is not mentioned,
not found *in* it. A denial whose subject is the matter is a citation: "The law names no owls [1]".
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from hebbgraph.citations.wordings import WORDINGS

__all__ = ["LANGUAGES", "dismissed"]

#: Stands for the markers in a text.
_M = "\ue000"

LANGUAGES = tuple(name for names in WORDINGS for name in names.split("/"))
"""The languages in which denials are recognised."""

#: What may stand between a marker and the word before it.
_LABEL = (
    r"(?:(?:the|der|die|das|den|dem|la|le|les|el|los|las|il|lo|i|gli|a|o|as|os|de|het) |l['’])?"
    r"(?:(?:sources?|documents?|passages?|texts?|articles?|references?|chunks?|quellen?|dokument\w*|textstellen?"
    r"|abschnitt\w*|textes?|fuentes?|documentos?|textos?|pasajes?|fonti|fonte|fontes|documenti|testo|testi"
    r"|passaggi\w*|bron|bronnen|källa\w*|kilde\w*|źród\w*|источник\w*) )?"
)
_JOINT = re.compile(
    rf"[\s,;&/]*(?:{'|'.join(words.joins for words in WORDINGS.values())})?[\s,]*{_LABEL}",
    re.IGNORECASE,
)
_CLAUSE_START = re.compile(
    rf"(?:\A|[,;:(–—]|\b(?:and|but|while|because|since|that|und|aber|weil|et|mais|y|pero|e|ma|mas|maar))"
    rf"\s*{_LABEL}\Z",
    re.IGNORECASE,
)
_MAX_BETWEEN = 40
#: How far before a marker its denial may begin.
_MAX_LEAD = 80
_AFTER = [
    re.compile(rf"{_M}[ ,:)]{{0,3}}(?:{words.after})", re.IGNORECASE) for words in WORDINGS.values()
]
_BEFORE = [
    re.compile(rf"(?<!\w)(?:{words.before})[ :(]{{0,3}}{_LABEL}{_M}\Z", re.IGNORECASE)
    for words in WORDINGS.values()
]
_SENTENCE = re.compile(r"(?<=[.!?。！？])\s+|\n+|(?<=[。！？])")
_MAX_SENTENCE = 2_000


def dismissed(text: str, spans: Sequence[tuple[int, int]]) -> set[int]:
    """Return which markers of a text are dismissed, by number.

    Parameters
    ----------
    text : str
        An answer.
    spans : sequence of (start, stop)
        Where its markers stand, in order.

    Examples
    --------
    >>> dismissed("[1] does not say who drew them. Ida Moss did [2].", [(0, 3), (44, 47)])
    {0}
    >>> dismissed("Ida Moss did not build the Heron [1].", [(33, 36)])
    set()
    """
    if not spans:
        return set()
    parts: list[str] = []
    at = 0
    for start, stop in spans:
        parts += [text[at:start].replace(_M, " "), _M]
        at = stop
    parts.append(text[at:].replace(_M, " "))
    found: set[int] = set()
    first = 0
    for sentence in _SENTENCE.split("".join(parts)):
        count = sentence.count(_M)
        if count and len(sentence) <= _MAX_SENTENCE:
            found.update(first + number for number in _in_sentence(sentence))
        first += count
    return found


def _in_sentence(sentence: str) -> set[int]:
    """Return the numbers of the markers that are dismissed, a run of markers as one."""
    texts = sentence.split(_M)
    runs: list[list[int]] = []
    joined = texts[0]
    for number, between in enumerate(texts[:-1]):
        if number and len(between) <= _MAX_BETWEEN and _JOINT.fullmatch(between):
            runs[-1].append(number)
            continue
        joined += (between if number else "") + _M
        runs.append([number])
    joined += texts[-1]
    found: set[int] = set()
    at = -1
    for run in runs:
        at = joined.index(_M, at + 1)
        # "Moss did [1], and [2] does not say so": the comma ends a clause.
        if (
            len(run) == 2
            and "," in texts[run[1]]
            and not _CLAUSE_START.search(joined[max(0, at - _MAX_LEAD) : at])
        ):
            run = run[1:]
        led = joined[max(0, at - _MAX_LEAD) : at + 1]
        if any(pattern.match(joined, at) for pattern in _AFTER) or any(
            pattern.search(led) for pattern in _BEFORE
        ):
            found.update(run)
    return found
