"""Recognises sources that an answer dismisses: "[7] does not say who drew them".

A rule, no model. A marker is dismissed if it is the subject of a denial: the source does not say,
mention or help; it is irrelevant, or about something else. It is also dismissed if something is not
mentioned or found *in* it. A denial about the topic is a citation: "The law names no owls [1]".
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from hebbgraph.citations.wordings import WORDINGS

__all__ = ["dismissed_markers"]

#: Stands for the markers in a text.
_M = "\ue000"

#: An article and a noun that may precede a marker.
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
#: A denial before a marker begins at most this many characters before it.
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


def dismissed_markers(text: str, spans: Sequence[tuple[int, int]]) -> set[int]:
    """Return the numbers of the markers that a text dismisses.

    Parameters
    ----------
    text : str
        An answer.
    spans : sequence of (start, stop)
        The positions of its markers, in order.

    Examples
    --------
    >>> dismissed_markers("[1] does not say who drew them. Ida Moss did [2].", [(0, 3), (44, 47)])
    {0}
    >>> dismissed_markers("Ida Moss did not build the Heron [1].", [(33, 36)])
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
    dismissed: set[int] = set()
    first = 0
    for sentence in _SENTENCE.split("".join(parts)):
        count = sentence.count(_M)
        if count and len(sentence) <= _MAX_SENTENCE:
            dismissed.update(first + number for number in _in_sentence(sentence))
        first += count
    return dismissed


def _in_sentence(sentence: str) -> set[int]:
    """Return the numbers of the markers that a sentence dismisses; a run of markers is one."""
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
    dismissed: set[int] = set()
    at = -1
    for run in runs:
        at = joined.index(_M, at + 1)
        before = joined[max(0, at - _MAX_LEAD) : at]
        # "Moss did [1], and [2] does not say so": the comma ends a clause.
        if len(run) == 2 and "," in texts[run[1]] and not _CLAUSE_START.search(before):
            run = run[1:]
        if any(pattern.match(joined, at) for pattern in _AFTER) or any(
            pattern.search(before + _M) for pattern in _BEFORE
        ):
            dismissed.update(run)
    return dismissed
