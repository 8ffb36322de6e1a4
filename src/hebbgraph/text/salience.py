"""Salient terms of one chunk, for texts where capitals do not mark names."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from itertools import chain, compress, filterfalse, pairwise

import regex

from hebbgraph.text.characters import bounded_words, fold
from hebbgraph.text.syllables import SYLLABIC, is_syllable
from hebbgraph.text.tokens import WORD_LISTS, word_set

_MOST = 24
_MOST_UNSPACED = 64
_READ_WORDS = 2000  # per chunk; bounds the cost

_SHORTEST = 4  # letters of a term where the language is unknown

#: Endings of words that may be verbs.
VERBAL = ("ing", "ed")

_ADVERBIAL = ("ally", "dly", "ely", "ngly", "sly", "tly")  # not "family", "assembly", "supply"
_DETERMINERS = word_set("determiners")
_PREPOSITIONS = word_set("prepositions")
_CONTENT_RUN = re.compile("[lCAX]+")


def _rake_scores(runs: list[list[str]]) -> dict[str, float]:
    """Score words by degree over frequency (RAKE; Rose, Engel, Cramer and Cowley, 2010)."""
    lengths: dict[str, list[int]] = {}
    for run in runs:
        for word in run:
            lengths.setdefault(word, []).append(len(run))
    return {word: sum(sizes) / len(sizes) for word, sizes in lengths.items()}


def spaced_terms(units: list[str], shape: str, language: str = "") -> dict[str, int]:
    """Return up to 24 most salient words and word pairs of a text with spaces, and their counts.

    Runs of content words are cut into words and pairs. A term scores its frequency times the mean
    RAKE score of its words, plus one for a pair, which is more specific than either word; ties
    break by first occurrence. Triples would hide the pairs that other chunks share.

    In English, verbs and adjectives look like nouns, so only noun phrases yield terms: runs
    after a determiner or preposition, and of these the last pair and the last word. In
    German, nouns have capitals. Words of up to three Latin letters are mostly function
    words, so they are no terms where the language is unknown (empty).
    """
    runs: list[list[str]] = []
    terms: set[str] = set()
    for match in _CONTENT_RUN.finditer(shape, 0, _READ_WORDS):
        start, stop = match.span()
        before = units[start - 1] if start else ""
        runs.append(run := " ".join(units[start:stop]).split())
        if language == "english":
            terms.update(_noun_phrases(run, before))
            continue
        words = [word for word in run if language or len(word) >= _SHORTEST or not word.isascii()]
        if language == SYLLABIC:
            terms.update(filterfalse(is_syllable, words))
        elif language != "german":
            terms.update(words)
        terms.update(map(" ".join, pairwise(words)))
        if language == "german":
            terms.update(compress(units[start:stop], map("l".__ne__, match[0])))
    worth = _rake_scores(runs)
    counts = Counter(chain.from_iterable(runs))
    for first, second in chain.from_iterable(map(pairwise, runs)):
        if (term := f"{first} {second}") in terms:
            counts[term] += 1
            worth[term] = (worth[first] + worth[second]) / 2 + 1
    ranking = {term: count * worth[term] for term, count in counts.items() if term in terms}
    # The sort is stable, so ties keep text order.
    best = sorted(ranking, key=ranking.__getitem__, reverse=True)[:_MOST]
    return {term: counts[term] for term in best}


def _noun_phrases(run: list[str], before: str) -> Iterator[str]:
    """Yield the last pair and the last word of a run, if the word before it announces a noun."""
    last = run[-1]
    if before not in _DETERMINERS and (before not in _PREPOSITIONS or last.endswith(VERBAL)):
        return
    if len(run) > 1 and not last.endswith("ed") and not run[-2].endswith(_ADVERBIAL):
        yield f"{run[-2]} {last}"
    if not last.endswith(_ADVERBIAL):
        yield last


# -- scripts without spaces ---------------------------------------------------------

_QUOTED = re.compile("[《〈「『“]([^《》〈〉「」『』“”]{2,24})[》〉」』”]")
_STOPS = re.escape(WORD_LISTS["unspaced_stop_characters"])
# Hiragana is mostly grammar, so it ends Japanese terms.
_HAN = rf"(?:(?![{_STOPS}])[\p{{Script=Han}}々〆])+"
_KATAKANA = r"(?:[\p{Script=Katakana}ー]\p{M}*)+(?:[・·][\p{Script=Katakana}ー]+)*"
_NAME_PART = rf"(?:(?![{_STOPS}])\p{{Script=Han}}){{1,6}}"
_TRANSLITERATED = rf"{_NAME_PART}(?:[·・]{_NAME_PART})+"
_SOUTHEAST = (
    r"(?:(?=\p{L})[\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]\p{M}*)+"
)
_SEGMENT = regex.compile(
    rf"(?P<name>{_TRANSLITERATED})|(?P<kana>{_KATAKANA})|(?P<han>{_HAN})|(?P<thai>{_SOUTHEAST})"
)
_CHARACTER = regex.compile(r"[^·・]\p{M}*")


def _beyond_ascii(text: str) -> str:
    """Drop ASCII words, which hold no segment and are slow to scan."""
    return " ".join([word for word in bounded_words(text) if not word.isascii()])


def unspaced_names(text: str) -> Iterator[str]:
    """Yield the names that a text in unspaced scripts marks as such.

    These are titles in book or corner brackets, transliterated names joined by middle
    dots, and katakana runs.

    >>> list(unspaced_names("《红楼梦》的作者 レオナルド・ダ・ヴィンチ"))
    ['红楼梦', 'レオナルド・ダ・ヴィンチ']
    """
    for match in _QUOTED.finditer(text):
        yield match[1]
    for match in _SEGMENT.finditer(_beyond_ascii(text)):
        if match["kana"] and len(match[0]) > 1:
            yield match[0]
        elif match["name"]:
            # Only a second chunk can show where the last part ends, so propose every
            # length; the longest match wins.
            start = max(match[0].rfind("·"), match[0].rfind("・")) + 1
            for stop in range(len(match[0]), start + 1, -1):
                yield match[0][:stop]


def _edges(characters: list[str], shortest: int, longest: int) -> Iterator[tuple[int, int]]:
    """Yield the spans at either end of a segment, the whole segment first."""
    size = len(characters)
    if shortest <= size <= longest + 2:
        yield 0, size
    for length in range(min(longest, size - 1), shortest - 1, -1):
        yield 0, length
        yield size - length, size


def unspaced_terms(text: str) -> list[str]:
    """Return up to 64 likely words of a text in scripts without spaces, best first.

    Punctuation, changes of script and stop characters delimit segments. A whole segment, or the two
    to four characters at either end of it (three to six in Thai, Lao, Khmer and Myanmar), is more
    often a word than characters in the middle, which count only if the chunk repeats them.

    >>> unspaced_terms("长江是中国的河流")
    ['长 江', '中 国', '河 流']
    """
    counts: Counter[str] = Counter()
    edge: set[str] = set()
    for match in _SEGMENT.finditer(fold(_beyond_ascii(text[: 4 * _READ_WORDS]))):
        characters = _CHARACTER.findall(match[0])
        if match["name"]:
            continue  # see unspaced_names
        if match["kana"]:
            if len(characters) > 1:
                counts[" ".join(characters)] += 2  # ranks whole runs above n-grams
                edge.add(" ".join(characters))
            continue
        shortest, longest = (3, 6) if match["thai"] else (2, 4)
        for length in range(shortest, longest + 1):
            for start in range(len(characters) - length + 1):
                counts[" ".join(characters[start : start + length])] += 1
        for start, stop in _edges(characters, shortest, longest):
            key = " ".join(characters[start:stop])
            edge.add(key)
            if stop - start > longest:
                counts[key] += 1
    terms = [key for key, count in counts.items() if count > 1 or key in edge]
    # Prefer long keys (n characters make a key of length 2n - 1); edges count double.
    # The sort is stable, so ties keep text order.
    terms.sort(key=lambda key: counts[key] * (1 + len(key)) * (1 + (key in edge)), reverse=True)
    return terms[:_MOST_UNSPACED]
