"""Where an answer says that the passages do not help: an English list, and patterns of your own.

A denial about the matter is a citation: "The law names no owls [1]".
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from hebbgraph.errors import ParameterError

__all__ = ["DENIALS", "Denials", "Denied"]

#: Stands for a marker in the patterns.
_M = "\ue001"
_NOUN = (
    r"(?:passages?|sources?|documents?|contexts?|texts?|excerpts?|references?|materials?|snippets?"
    r"|chunks?|search results?|information (?:provided|given))"
)
_PASSAGES = (
    r"(?:(?:none|neither|any|all) of )?(?:(?:the|these|those|this|my|your|provided|given|supplied"
    rf"|available|above|retrieved|following) )+{_NOUN}(?: (?:provided|given|supplied|above))?"
)
#: Markers: "[1]", "sources [1] and [2]".
_LABEL = rf"(?:(?:the )?{_NOUN} )?"
_MARKED = rf"{_LABEL}{_M}(?:[\s,;&/]{{0,4}}(?:(?:and|or|nor|as well as) )?{_LABEL}{_M}){{0,20}}"
#: Passages as the subject, and behind "in".
_CLAUSE = r"(?:\A|[,;:(–—]|\b(?:and|but|while|because|since|that|though|although|however))\s*"
_SUBJECT = rf"(?:\b{_PASSAGES}|{_CLAUSE}(?:\w+,? )?{_MARKED}[ ,:)]{{0,3}})"
_OBJECT = rf"(?: {_PASSAGES}|[ :(]{{0,3}}{_MARKED})"
_ADVERBS = (
    r"(?:,? ?(?:also|only|just|still|actually|itself|alone|however|though|even|explicitly|directly"
    r"|really|specifically|clearly|unfortunately),?)*"
)
_TELL = (
    r"(?:say|state|mention|contain|address|specify|provide|discuss|explain|cover|answer|help|give"
    r"|describe|list|name|include|refer|tell|indicate|show|reveal|clarify|note|identify|relate"
    r"|useful|about|applicable|concern|touch|offer|have|make)"
)
_TOLD = (
    r"(?:mentioned|stated|found|given|covered|addressed|specified|included|discussed|described"
    r"|contained|said|named|answered|explained|present|available|provided)"
)
_OTHER = r"(?:something|other|another|a different|different|someone|somebody|unrelated)"
#: What passages do that do not help.
_FAIL = (
    rf"{_ADVERBS} ?(?:(?:do(?:es)?|did|is|are|was|were|can|could|will|would|has|have)"
    rf"(?: not|n't|n’t|not){_ADVERBS} {_TELL}"
    r"|(?:says?|mentions?|contains?|gives?|provides?|offers?|makes?|has|have) (?:no\b|nothing)"
    rf"|(?:is|are|was|were){_ADVERBS} (?:irrelevant|unrelated|silent|about {_OTHER})"
    rf"|(?:deals?|concerns?|discuss(?:es)?|speaks?|talks?|covers?|refers?)"
    rf"(?: with| to| of| about)? {_OTHER}|fails? to|lacks?\b|omits?\b)"
)
_NOT = r"(?: not|n't|n’t|not)"

DENIALS: tuple[str, ...] = (
    rf"{_SUBJECT}{_FAIL}",
    rf"\b(?:none of|neither of|neither|unlike|contrary to){_OBJECT}",
    rf"\bno (?:\w+ )?{_NOUN} (?:\w+ ){{0,2}}{_TELL}",
    rf"\bnot (?:\w+ )?{_TOLD}(?: \w+){{0,2}} (?:in|by){_OBJECT}",
    rf"\b(?:nothing|nowhere|no \w+)(?: \w+){{0,4}} in{_OBJECT}",
    r"\bthere (?:is|are|was|were) (?:no|not enough|insufficient|nothing)\b(?: \w+)?"
    r" (?:information|mention|evidence|indication|reference|details?|data|answer)",
    r"\b(?:not enough|insufficient) (?:information|context|evidence|details?)",
    rf"\bI (?:(?:do|did|could|ca){_NOT}|cannot|am not able to|am unable to)(?: \w+)?"
    r" (?:know|answer|find|determine|tell|say|locate)",
    r"\b(?:unable|not able|impossible|not possible) to (?:answer|determine|find|say|tell)",
)
"""Patterns of denials in English; the character U+E001 stands for a marker."""

#: A marker behind a full stop belongs to the sentence before, unless a sentence goes on with it.
_SENTENCE = re.compile(rf"(?<=[.!?。！？])\s+(?!(?:{_M}[\s,;]*)+(?:\Z|\n|[A-Z\"“]))|\n+")
_LONGEST = 2_000


class Denied(NamedTuple):
    """What an answer denies: all, or the markers of these numbers."""

    everything: bool
    markers: frozenset[int]


class Denials:
    r"""Finds where an answer says that the passages do not help.

    Where the first sentence opens with it, the whole answer denies. A later denial concerns the
    markers behind it in the sentence, and one that names passages only these.

    Parameters
    ----------
    patterns : iterable of str
        Regular expressions of your own, for other languages or for a fixed phrase of your prompt;
        case is ignored.

    Raises
    ------
    ParameterError
        For an invalid pattern.

    Examples
    --------
    >>> denials = Denials([r"keine der quellen"])
    >>> denials.find("The passages do not say who built it.", []).everything
    True
    >>> denials.find("Keine der Quellen nennt sie.", []).everything
    True
    >>> denials.find("Moss built it [1]. [2] does not say when.", [(14, 17), (19, 22)])
    Denied(everything=False, markers=frozenset({1}))
    """

    def __init__(self, patterns: Iterable[str] = ()) -> None:
        if isinstance(patterns, str):
            raise ParameterError(f"denials is a list of patterns, got {patterns!r:.80}")
        try:
            self._forms = [re.compile(form, re.IGNORECASE) for form in (*DENIALS, *patterns)]
        except (re.error, TypeError) as error:
            raise ParameterError(f"a denial is a regular expression: {error}") from error

    def find(self, text: str, spans: Sequence[tuple[int, int]]) -> Denied:
        """Return what a text denies; ``spans`` are the places of its markers, in order."""
        first, denied = 0, set[int]()
        for number, sentence in enumerate(_sentences(text, spans)):
            marks = [at for at, character in enumerate(sentence) if character == _M]
            for start, end in self._denied_in(sentence):
                if number == 0 and not any(at < end for at in marks):
                    return Denied(True, frozenset(range(len(spans))))
                inside = any(start <= at < end for at in marks)
                last = end if inside else len(sentence)
                denied.update(first + n for n, at in enumerate(marks) if start <= at < last)
            first += len(marks)
        return Denied(False, frozenset(denied))

    def _denied_in(self, sentence: str) -> Iterator[tuple[int, int]]:
        if len(sentence) <= _LONGEST:
            for form in self._forms:
                yield from (match.span() for match in form.finditer(sentence))


def _sentences(text: str, spans: Sequence[tuple[int, int]]) -> list[str]:
    """Return the sentences of a text, with one character for each marker."""
    parts, at = list[str](), 0
    for start, end in spans:
        parts += [text[at:start].replace(_M, " "), _M]
        at = end
    parts.append(text[at:].replace(_M, " "))
    return [part for part in _SENTENCE.split("".join(parts)) if part.strip()]
