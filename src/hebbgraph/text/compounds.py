"""Compounds: words with parts that are written as one; searched for in addition to tokens.

A token ends at most signs and has no case, so "2026-04-03" has the tokens of "2026-03-04", and
"createBasketSession" is one word. A compound adds the whole or the parts, whichever is missing.
"""

from __future__ import annotations

import re
from itertools import chain
from typing import NamedTuple

import regex

from hebbgraph.text.characters import UNSPACED, fold
from hebbgraph.text.tokens import MAX_TOKEN_CHARACTERS, WordCache, stop_words, word_set


class Compound(NamedTuple):
    """A whole and its parts, as tokens.

    Signs, and numbers joined by signs, are ``exact``: other dates have the same parts. The parts of
    all other compounds mean the same as the whole.
    """

    whole: str
    parts: tuple[str, ...] = ()
    exact: bool = False


_LETTER = rf"[\p{{L}}--[{UNSPACED}]]"
_NAME_PART = rf"{_LETTER}[[\p{{L}}\p{{M}}\p{{N}}_]--[{UNSPACED}]]*+"
#: Words joined by signs: wi-fi, pkg.mod.Class, std::sort; Persian joins with an invisible one.
_NAME = regex.compile(rf"{_NAME_PART}(?:(?:[-‐‑.\u200c]|::){_NAME_PART})*+", regex.V1)
_JOINT = re.compile("[-‐‑.\u200c:_]+")
#: The words of a name: get, URLs; HTTP, Server, Error, 2.
_HUMP = regex.compile(r"\p{Lu}+(?:s(?!\p{L}))?(?!\p{Ll})|\p{Lu}?[\p{Ll}\p{Lo}\p{M}]+|\p{N}+")
_UNDIVIDED, _ACRONYMS = word_set("undivided"), word_set("acronyms")
#: Words that are not just letters and a sign after them.
_UNUSUAL = re.compile(r"(?:[A-Z]?[a-z]++[,.;:!?)]*+\s+)*+(\S*)\s*").findall
#: What an ASCII word with compounds has.
_MAYBE = re.compile(
    r"[A-Z](?<=[a-z].)|[a-z](?<=[A-Z]{2}.)|[0-9](?<=[A-Za-z+].)|[0-9][-/:.,(]\w|_"
    r"|[-.:][A-Za-z]|\b[A-Z]{1,3}\b"
)
#: .NET; c++ before a number; a capital by itself, as in "C and Objective-C"; 🦊.
_SIGN = regex.compile(
    rf"(?<![\w.)\]])\.{_NAME_PART}|[cg]\+\+(?=\d)|(?<![^(\[\"“])[B-HJ-Z](?![^)\],;:?!\"”])"
    r"|[\p{So}--[©®™°\ufffd\u2500-\u25ff]]",
    regex.V1,
)
#: Dates, times, scores, sections: 2026-04-03, 10:20, 3–1, 12(3). A comma is a decimal one.
_NUMBER = re.compile(
    r"(?<![0-9])(?<![0-9][-–—−/:.,])[0-9]++"
    r"(?:[-–—−/:.][0-9]++|,[0-9]{1,2}+(?![0-9])|\([0-9a-z]{1,3}\))++"
)
_DIGITS = re.compile("[0-9]+")
#: From so many digits on, signs only make a number readable: ISBNs, telephones, whole dates.
_READABLE = 7
#: Digits in groups: +49 (0)30 1234567.
_GROUPS = re.compile(r"[0-9](?<![\w.,][0-9])[0-9]*+(?:[-–/.)\u00a0 ]{1,2}\(?[0-9]++)++")
# Patterns open with a digit, so that the engine can skip ahead; what stands before it follows.
#: What others write without spaces: 2 × 4 cm, 2x4cm, M8 × 60, IBAN DE89 3704 0044 0532 0130 00.
_SPACED = re.compile(
    r"[0-9](?:(?:(?<=\b([A-Za-z])[0-9])|(?<!\w[0-9]))[0-9]*+(?: ?[xX×] ?[0-9]++){1,3}+"
    r"(?=([ckm]?m|in|ft|px|)(?!\w))"
    r"|(?<=\b([A-Z]{2})[0-9])[0-9](?: [0-9A-Z]{4}){2,7}(?: [0-9A-Z]{1,3})?(?!\w))"
)
#: Without signs: 1,250.00, 1.250,00 and 50 000.
_AMOUNT = re.compile(
    r"([0-9](?<![\w.,+][0-9])(?<![0-9][ -][0-9])"
    r"(?:[0-9]{0,2}(?:[.,'’ \u00a0\u202f][0-9]{3}(?![0-9])){1,6}+|[0-9]*+(?=[.,]00?(?![0-9]))))"
    r"(?:[.,]00?)?(?![ .,-]?[0-9])"
)
_UNIT = re.compile(
    r"[0-9](?<![\w.,]\d)[0-9]*+(?:[.,][0-9]++)*+([ \u00a0\u202f]?°?)(?!x ?\d)([^\W\d_]{1,3})\b"
)
_ORDINALS = frozenset(("st", "nd", "rd", "th"))
_VERSION = re.compile(r"ersion ([0-9][0-9.]*)\b")
#: A word hyphenated at the end of a line.
_CUT = re.compile(r"[-‐\u00ad](?<=[^\W\d_].)[ \t]*\r?\n[ \t]*(?=[^\W\d_])")


def compounds(text: str) -> list[Compound]:
    r"""Return the compounds of a text.

    >>> compounds("On 2026-04-03")
    [Compound(whole='20260403', parts=('2026', '04', '03'), exact=True)]
    >>> [whole for whole, *_ in compounds("wi-fi: 5 kg, infor-\nmation")]
    ['wifi', 'information', '5kg']
    """
    found = list(chain.from_iterable(map(_of_word.__getitem__, _UNUSUAL(_CUT.sub("-", text)))))
    for match in _UNIT.finditer(text):
        between, unit = match.groups()
        if unit in _ORDINALS or (between and unit != "am" and unit in stop_words()):
            continue
        number = fold(match[0][: match.start(1) - match.start()]).replace(",", ".")
        found.append(Compound(number + fold(unit), _parts([number, fold(unit)])))
    for match in _GROUPS.finditer(text):
        digits = "".join(_DIGITS.findall(match[0].replace("(0)", "")))
        if _READABLE <= len(digits) < 20 and not _NUMBER.fullmatch(match[0]):
            found.append(Compound(digits))
    for match in _SPACED.finditer(text):
        letters, unit, country = match.groups("")
        name = fold(f"{letters}{country}{match[0]}".replace(" ", "").replace("×", "x"))
        parts = () if country else (*re.split("(x)", name), *filter(None, [unit]))
        found.append(Compound(name, parts, exact=not country))
    for match in _AMOUNT.finditer(text):
        parts = tuple(_DIGITS.findall(match[1]))
        found.append(Compound("".join(parts), parts, exact=len(match[1].split()) > 1))
    found += (Compound(f"v{match[1].rstrip('.')}") for match in _VERSION.finditer(text))
    return found


@WordCache
def _of_word(word: str) -> tuple[Compound, ...]:
    """Return the compounds of a text without whitespace."""
    if word.isascii() and not _MAYBE.search(word):
        return ()
    found = []
    for match in _NAME.finditer(word):
        if len(match[0]) <= MAX_TOKEN_CHARACTERS:
            pieces = list(filter(None, _JOINT.split(match[0])))
            parts = list(chain.from_iterable(map(_humps, pieces)))
            if len(parts) > 1 and all(map(fold, parts)):  # not of tatweel alone
                found.append(Compound(fold("".join(pieces)), _parts(parts)))
        if match[0].lower() in _ACRONYMS and match[0].isupper():
            found.append(Compound(match[0]))
    if word.isalpha() and len(word) > 1:
        return tuple(found)
    for match in _SIGN.finditer(word):
        sign = match[0]
        found.append(Compound(sign) if sign.isalpha() else Compound(sign.lower(), exact=True))
    for match in _NUMBER.finditer(re.sub("(?<=[0-9])t(?=[0-9])", " ", fold(word))):
        whole = re.sub("[–—−]", "-", re.sub("^0(?=[0-9]:)", "", match[0])).replace(",", ".")
        numbers = _DIGITS.findall(whole)
        width = 2 if len(numbers) == 3 and 4 in map(len, numbers) else 0  # 3.4.2026
        digits = "".join(number.zfill(width) for number in numbers)
        if "(" not in whole and len(digits) >= _READABLE:
            whole = digits
        found.append(Compound(whole, tuple(numbers), exact=True))
    return tuple(found)


def _humps(piece: str) -> list[str]:
    """Return the words of a name, or the name if they are short, as in iPhone or a hash."""
    humps: list[str] = _HUMP.findall(piece)
    short = len(piece) < 2 * len(humps) or re.match("[a-z][A-Z]", piece)
    return [piece] if short or "".join(humps) != piece or piece.lower() in _UNDIVIDED else humps


def _parts(parts: list[str]) -> tuple[str, ...]:
    """Return parts as tokens, without single letters."""
    return tuple(fold(part) for part in parts if len(part) > 1 or part.isdigit())
