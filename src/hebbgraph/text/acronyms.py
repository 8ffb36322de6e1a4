"""Acronyms and their expansions, where a text introduces them."""

from __future__ import annotations

import re

from hebbgraph.text.tokens import key_from_tokens, phrase_key, tokenize

__all__ = ["acronym_expansions"]

_BRACKETED = re.compile(r"\(([^()]{2,120})\)")  # begins with a literal, so it is fast
_LONGEST_SHORT = 10
_WINDOW_CHARACTERS = 160
_BREAK = re.compile(r"[()\[\]{};:!?\n\"“”]|,\s|\.\s(?=[^\W\d_]{3})")


def _looks_short(text: str) -> bool:
    if text.islower() or " " in text:
        return False
    letters = [char for char in text if char.isalpha()]
    capitals = sum(char.isupper() for char in letters)
    return 2 <= len(letters) <= 8 and capitals >= 2 and capitals * 2 >= len(letters)


def _expansion(short: str, words: list[str]) -> str:
    """Return the shortest tail of `words` that spells `short` (Schwartz and Hearst).

    Matching from the right, each letter of the acronym must occur; its first letter
    must begin a word.
    """
    position = len(words) - 1
    at = len(words[position]) if words else 0
    for index in range(len(short) - 1, -1, -1):
        char = short[index]
        while True:
            if position < 0:
                return ""
            word = words[position]
            at = word.rfind(char, 0, at)
            if at == 0 or (at > 0 and index > 0):
                break
            if at > 0:
                continue
            position -= 1
            at = len(words[position]) if position >= 0 else 0
    return key_from_tokens(words[position:])


def _aligned(short: str, words: list[str]) -> str:
    letters = "".join(char for char in "".join(tokenize(short)) if char.isalnum())
    most = min(len(letters) + 5, 2 * len(letters))
    found = _expansion(letters, words[-most:])
    # A tail with fewer words than half the letters is a chance match within words.
    return found if found and 2 * len(found.split()) >= len(letters) > 1 else ""


def acronym_expansions(text: str) -> list[tuple[str, str]]:
    """Return pairs of acronym and expansion that a text introduces in brackets.

    Both orders count: "North Atlantic Treaty Organization (NATO)" and "NATO (North
    Atlantic Treaty Organization)". Letters are aligned as in Schwartz and Hearst [1]_.

    Parameters
    ----------
    text : str
        Text of one chunk.

    Returns
    -------
    list of (str, str)
        Pairs of keys in order of appearance, without duplicates. A pair is omitted if
        either side cannot be a tag ("WHO" folds to the stop word "who").

    Examples
    --------
    >>> acronym_expansions("The North Atlantic Treaty Organization (NATO) met.")
    [('nato', 'north atlantic treaty organization')]

    References
    ----------
    .. [1] Schwartz, Hearst (2003), A simple algorithm for identifying abbreviation
       definitions in biomedical text. Pacific Symposium on Biocomputing.
    """
    if "(" not in text:
        return []
    pairs: dict[tuple[str, str], None] = {}
    for match in _BRACKETED.finditer(text):
        inside = match[1].strip()
        start = match.start()
        if len(inside) <= _LONGEST_SHORT:
            short = inside.removesuffix("s")
            if not _looks_short(short):
                continue
            before = text[max(0, start - _WINDOW_CHARACTERS) : start]
            long = _aligned(short, tokenize(_BREAK.split(before)[-1]))
        else:
            last = text[max(0, start - _WINDOW_CHARACTERS) : start].rsplit(None, 1)[-1:]
            short = last[0] if last else ""
            if len(short) > _LONGEST_SHORT or not _looks_short(short):
                continue
            words = tokenize(inside)
            long = _aligned(short, words)
            if long != key_from_tokens(words):  # the acronym must spell the whole bracket
                continue
        key = phrase_key(short)
        if key and long and key != long:
            pairs[key, long] = None
    return list(pairs)
