"""Detect the language of a text: by its script, and in Latin script by its function words."""

from __future__ import annotations

import re
from collections import defaultdict
from functools import cache

from hebbgraph.text.stopwords import STOP_WORDS
from hebbgraph.text.syllables import SYLLABIC, is_syllabic, syllabic_terms
from hebbgraph.text.tokens import tokenize

__all__ = ["language_of"]

_SAMPLE = 1500  # characters
#: Scripts other than Latin. Languages of one script count as one, Chinese and Japanese too.
_SCRIPTS = {
    "cyrillic": "\u0400-\u052f",
    "greek": "\u0370-\u03ff\u1f00-\u1fff",
    "armenian": "\u0530-\u058f",
    "hebrew": "\u0590-\u05ff",
    "arabic": "\u0600-\u06ff\u0750-\u077f",
    "devanagari": "\u0900-\u097f",
    "bengali": "\u0980-\u09ff",
    "tamil": "\u0b80-\u0bff",
    "thai": "\u0e00-\u0e7f",
    "georgian": "\u10a0-\u10ff",
    "hangul": "\u1100-\u11ff\uac00-\ud7af",
    "han": "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff",
}
_LETTERS = {name: re.compile(f"[{letters}]") for name, letters in _SCRIPTS.items()}
_LATIN = ("english", "german", "french", "spanish", "italian", "portuguese")
#: Marks that only one language has.
_MARKS = {"¿": "spanish", "¡": "spanish", "ß": "german"}
_LEAST = 1.0  # least total weight of function words that identifies a language


def language_of(text: str) -> str:
    """Return the language of a text in Latin script, or else its script; empty if unknown.

    Examples
    --------
    >>> language_of("Der Hund und die Katze sind nicht im Haus."), language_of("Где кошка?")
    ('german', 'cyrillic')
    >>> language_of("¿Dónde está el gato?"), language_of("ISO 9001")
    ('spanish', '')
    >>> language_of("Bạn bán gì ở chợ?"), language_of("Who was the father of Từ Dụ?")
    ('vietnamese', 'english')
    """
    sample = text[:_SAMPLE]
    if not sample.isascii():
        counts = {name: len(letters.findall(sample)) for name, letters in _LETTERS.items()}
        script = max(counts, key=lambda name: counts[name])
        if 2 * counts[script] > sum(map(str.isalpha, sample)):
            return script
        if is_syllabic(sample) and syllabic_terms(sample):
            return SYLLABIC
    weights: defaultdict[str, float] = defaultdict(float)
    for mark, language in _MARKS.items():
        weights[language] += mark in sample
    for token in set(tokenize(sample)):
        for language, weight in _markers().get(token, ()):
            weights[language] += weight
    ranked = sorted(weights.items(), key=lambda item: (-item[1], item[0]))
    (best, most), (_, next_most) = (*ranked, ("", 0.0), ("", 0.0))[:2]
    return best if most >= _LEAST and most > next_most else ""


@cache
def _markers() -> dict[str, tuple[tuple[str, float], ...]]:
    """Map each function word to the languages that have it, each with an equal share of 1."""
    languages_of: dict[str, list[str]] = {}
    for language in _LATIN:
        for word in dict.fromkeys(tokenize(STOP_WORDS[language])):
            languages_of.setdefault(word, []).append(language)
    return {
        word: tuple((language, 1.0 / len(languages)) for language in languages)
        for word, languages in languages_of.items()
    }
