"""What a question may name, read off its words alone."""

from __future__ import annotations

import re
from functools import cache
from itertools import islice

from hebbgraph.text.characters import is_unspaced
from hebbgraph.text.stopwords import STOP_WORDS
from hebbgraph.text.tokens import phrase_key, tokenize

__all__ = ["possible_names"]

_CLAUSE_END = re.compile(r"[^\w\s'’-]+")
_BETWEEN_WORDS = re.compile(r"[\s'’]+")
_LONGEST = 6  # words
_MOST = 32
_LANGUAGE_OF_SCRIPT = {"cyrillic": "russian", "devanagari": "hindi"}


def possible_names(question: str, language: str) -> list[str]:
    """Return the keys of what a question may name: runs of words between function words.

    A single word counts with a capital, or where letters have none. Scripts without spaces have
    no runs.

    Parameters
    ----------
    question : str
    language : str
        As :func:`~hebbgraph.text.languages.language_of` names it.

    Examples
    --------
    >>> possible_names("Who painted « The Hollow Tide »?", "english")
    ['hollow tide', 'hollow', 'tide']
    """
    function_words = _function_words(_LANGUAGE_OF_SCRIPT.get(language, language))
    found: dict[str, None] = {}
    for clause in _CLAUSE_END.split(question):
        words = [word.strip("-") for word in _BETWEEN_WORDS.split(clause)]
        words = [word for word in words if word and not any(map(is_unspaced, word))]
        says_little = [
            word.isdigit() or function_words.issuperset(tokenize(word)) for word in words
        ]
        for first in range(len(words)):
            for last in range(min(first + _LONGEST, len(words)) - 1, first - 1, -1):
                alone = first == last and words[first].islower()
                if not (says_little[first] or says_little[last] or alone):
                    found[phrase_key(" ".join(words[first : last + 1]))] = None
    found.pop("", None)
    return list(islice(found, _MOST))


@cache
def _function_words(language: str) -> frozenset[str]:
    return frozenset(tokenize(STOP_WORDS.get(language, "")))
