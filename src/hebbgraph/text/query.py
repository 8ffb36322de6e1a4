"""From a query to the terms of lexical search."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from functools import cache
from itertools import chain, dropwhile, islice

from hebbgraph.records.base import MAX_QUESTION
from hebbgraph.text.compounds import compounds
from hebbgraph.text.shapes import languages_of
from hebbgraph.text.syllables import is_syllabic, syllabic_terms
from hebbgraph.text.tokens import (
    AUTO,
    STOP_WORDS,
    WORD_LISTS,
    lexical_terms,
    tokenize,
    word_set,
    word_sets,
)

SENTENCE_END = re.compile(r"(?<=[.!?;])\s+|(?<=[。！？।؟])|\n+")
_SURROGATE = re.compile("[\ud800-\udfff]")
_OTHER_SCRIPTS = ("russian", "greek", "arabic", "hindi", "korean", "persian")
#: Phrases that only ask, in scripts without spaces; longer ones first.
_ASKING = re.compile("|".join(sorted(WORD_LISTS["asking_unspaced"].split(), key=len)[::-1]))
_ASKED = word_sets("asking_elsewhere")
_IGNORED = {name: words | _ASKED.get(name, set()) for name, words in STOP_WORDS.items()}
_FUNCTION_WORDS = word_set("asking").union(*(_IGNORED[name] for name in _OTHER_SCRIPTS))


def usable_question(text: str) -> tuple[str, str | None]:
    r"""Return the searchable part of a question, and a note if that is not all of it.

    People who paste a log ask before or after it, so the beginning and the end are kept. Half
    an emoji, which some models and terminals send, becomes a space.

    >>> usable_question("Why?" + "x" * 50_000 + "Help!")[1]
    'the question has 50,009 characters; its first and last 4,096 were searched for'
    """
    whole = _SURROGATE.sub(" ", text)
    if len(whole) <= MAX_QUESTION:
        return whole, None
    half = MAX_QUESTION // 2
    return f"{whole[: half - 1]}\n{whole[-half:]}", (
        f"the question has {len(whole):,} characters; its first and last {half:,} were searched for"
    )


#: The weight of a part that adds little to its whole; terms that are read.
LIGHT, _MOST = 0.1, 512
_REQUESTS = _FUNCTION_WORDS | word_set("requests")
_FOLLOWING = _REQUESTS | word_set("following")


@cache
def function_words(*languages: str) -> frozenset[str]:
    """Return tokens to ignore in a query: function words of English, other scripts, and these."""
    own = (_IGNORED.get(name, frozenset()) for name in languages if name != "english")
    return _FUNCTION_WORDS.union(*own)


def subject(question: str) -> str:
    """Return the words of a question that say what it is about; none if it only follows another.

    >>> subject("When did it take place?"), subject("Could you tell me more about Ida Moss?")
    ('', 'ida moss')
    """
    named = [token for token in tokenize(question) if token not in _FOLLOWING]
    return " ".join(named or (compound.whole for compound in compounds(question)))


def is_code(term: str) -> bool:
    """Return whether a term can only be meant literally, like an error code or part number.

    >>> [term for term in ("e99", "gpt-3.5", "from_documents", "1984", "mp3") if is_code(term)]
    ['e99', 'gpt-3.5']
    """
    return term[0].isalpha() and sum(map(str.isdigit, term)) >= (1 if len(term) > 3 else 2)


#: From so many letters on, one of a word may be wrong.
_LONG = 7
_ALPHABETS = (
    "abcdefghijklmnopqrstuvwxyz",
    "абвгдежзийклмнопрстуфхцчшщъыьэюя",
    "αβγδεζηθικλμνξοπρστυφχψω",
)


def one_slip_away(word: str) -> set[str]:
    """Return what a word is if a letter is left out, added, wrong or swapped with the next one.

    The first letter counts as right; a word has letters of one alphabet, or there are none.

    >>> "heron" in one_slip_away("herron"), "brigde" in one_slip_away("bridge")
    (True, True)
    """
    letters = next((alphabet for alphabet in _ALPHABETS if set(word) <= set(alphabet)), "")
    near: set[str] = set()
    for at in range(1, len(word) + 1) if letters else ():
        before, after = word[:at], word[at:]
        near.add(before + after[1:])
        near.add(before + after[1:2] + after[:1] + after[2:])
        near.update(before + letter + after for letter in letters)
        if len(word) >= _LONG:  # "charge" is no slip for "change"
            near.update(before + letter + after[1:] for letter in letters)
    return near - {word}


def query_terms(query: str, language: str, spoken: Sequence[str] | None = None) -> dict[str, float]:
    """Return the first terms of a query and their weights, without function words.

    A term that recurs in another sentence says what the question is about, and weighs more. Within
    a sentence, repetition is mostly grammar ("the age of A or the age of B"). A term that occurs n
    times, in s sentences, weighs ``sqrt(n * s)``.

    Function words are English ones and those of languages that are ``spoken``, by default in the
    query. Opening words that only ask ("Tell me about") are left out first. If function words are
    all, these are the terms. For Vietnamese, :func:`~hebbgraph.text.syllables.syllabic_terms` come
    first.

    >>> query_terms("Hemp ropes. Who made ropes?", "english")
    {'hemp': 1.0, 'rope': 2.0, 'made': 1.0}
    >>> list(query_terms("Who was it?", "english"))
    ['who', 'was', 'it']
    """
    asked = query if query.isascii() else _ASKING.sub("\n", query).strip() or query
    split = map(tokenize, SENTENCE_END.split(asked))
    sentences = [list(dropwhile(_REQUESTS.__contains__, part)) or part for part in split]
    tokens = list(chain.from_iterable(sentences))
    if spoken is None:
        spoken = languages_of(tokens, query) if language == AUTO else [language]
    ignored = function_words(*spoken)
    counts: Counter[str] = Counter()
    sentence_counts: Counter[str] = Counter()
    content = [[token for token in tokens if token not in ignored] for tokens in sentences]
    found = [compound for compound in compounds(query) if compound.whole not in ignored]
    for tokens in content if found or any(content) else sentences:
        terms = lexical_terms(tokens, language)
        counts.update(terms)
        sentence_counts.update(set(terms))
    weights = {term: math.sqrt(n * sentence_counts[term]) for term, n in counts.items()}
    for whole, parts, exact in found:
        said = [whole, *(part for part in parts if part not in ignored)]
        for term in lexical_terms(said, language):
            weights.setdefault(term, 1.0)
        if exact:
            weights.update((part, LIGHT) for part in parts if part in weights)
    if is_syllabic(query) and (marked := syllabic_terms(query)):
        weights = dict.fromkeys(marked, 1.0) | weights
    return dict(islice(weights.items(), _MOST))
