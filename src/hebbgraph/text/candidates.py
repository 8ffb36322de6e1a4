"""The phrases that one chunk proposes as tags, judged by its own text alone.

"The Petrel (launched 1871) is a barque": the first sentence of many untitled texts says what a
title would say. Only definitions count: a form of *to be* followed by an article. A name that
merely opens a text ("Meta said on Tuesday", "Meta is planning") is an actor in it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice

from hebbgraph.text.characters import fold
from hebbgraph.text.names import NAME_SPAN, Kind, add_names, unit_key
from hebbgraph.text.salience import spaced_terms, unspaced_names, unspaced_terms
from hebbgraph.text.shapes import ShapedText, shape_text
from hebbgraph.text.syllables import SYLLABIC
from hebbgraph.text.tokens import WORD_LISTS, phrase_key, word_set, word_sets

#: A chunk with fewer names and codes than this also proposes salient terms. Terms of every chunk
#: lowered R@5 on 2WikiMultiHopQA from .91 to .84, of none R@10 on news facts from .79 to .72.
FEW_NAMES = 3
#: Maximal number of names and codes per chunk; keeps huge listings out of the vocabulary.
MAX_NAMES = 1000

_PARENTHESIS = re.compile(r"[(\[（【][^()\[\]（）【】]*[)\]）】]")
_COMMA = re.compile("[,，、]")
#: Joins the items of a list; hardly ever occurs in the qualifier of a name.
_AND = re.compile(rf"\b(?:{'|'.join(WORD_LISTS['conjunctions'].split())})\b")
_STEMS = re.compile(r"\b[a-z]{4,5}")  # "Islamic" matches "Islamism"


def _title_keys(title: str) -> Iterator[str]:
    """Yield the keys of a title: whole, without parentheses, and up to a comma if it is no list."""
    yield phrase_key(title)
    bare = _PARENTHESIS.sub(" ", title)
    if bare != title:
        yield phrase_key(bare)
    name, *qualifier = _COMMA.split(bare, maxsplit=1)
    if qualifier and not _AND.search(qualifier[0]):
        yield phrase_key(name)


def proposals(
    text: str, title: str = "", tags: Iterable[str] = (), spoken: Sequence[str] = ("english",)
) -> dict[str, list[str]]:
    """Propose tags for one chunk, from the chunk alone; ``spoken`` are the languages of its text.

    Returns distinct keys by kind, see :data:`~hebbgraph.text.names.Kind`, each under the first that
    applies, but given tags in any case. If an untitled chunk opens by defining a name, that name
    is its subject and counts like a title. So it does if the text has no word of its title, as
    "Overview", which then counts like a given tag. A chunk with fewer than three names in its text,
    or in German, where all nouns are capitalised, proposes up to 24 salient terms; text in scripts
    without spaces, up to 64.

    >>> found = proposals("In 1979 Gábor led the Berlin Film Festival jury.")
    >>> found["capital"], found["name"]
    (['gabor'], ['berlin film festival'])
    >>> proposals("The Petrel (launched 1871) is a barque.")["subject"]
    ['petrel']
    >>> proposals("", title="Angi Vera (film)", tags=["cinema"])
    {'title': ['angi vera film', 'angi vera'], 'given': ['cinema']}
    """
    language = spoken[0] if spoken and spoken[0] in _SHAPED else "english"
    shaped = shape_text(text, language)
    names: dict[str, Kind] = {}
    add_names(names, shaped, language)
    n_names_in_text = len(names) - ("" in names)
    if title:
        add_names(names, shape_text(title, language), language)
    titles, given = _titles_and_given(text, title, tags, names, subjects(shaped, language))
    names = dict(islice(names.items(), MAX_NAMES))
    kinds = {**titles, **names, **titles}  # titles keep their position and kind
    if "u" in shaped.shape:
        for name in unspaced_names(text):
            kinds.setdefault(phrase_key(name), "name")
        for term in unspaced_terms(text):
            kinds.setdefault(unit_key[term], "term")
    if n_names_in_text < FEW_NAMES or language == "german":
        known = language if language in spoken else ""
        for term, count in spaced_terms(shaped.units, shaped.shape, known).items():
            # A chunk repeats what it is about; one mention of one word says little.
            kind: Kind = "term"
            if " " not in term and known == "english":
                kind = "mention" if count == 1 else "noun"
            kinds.setdefault(unit_key[term], kind)
    kinds.pop("", None)
    by_kind: dict[str, list[str]] = {}
    for key, kind in kinds.items():
        by_kind.setdefault(kind, []).append(key)
    return {**by_kind, "given": given} if given else by_kind


def _titles_and_given(
    text: str, title: str, tags: Iterable[str], names: Mapping[str, Kind], defined: list[str]
) -> tuple[dict[str, Kind], list[str]]:
    """Return the titles or subjects of a chunk, and the keys of given tags that are neither."""
    if title:  # it says more than a word that only opens the text
        defined = [name for name in defined if names.get(name, "opener") != "opener"]
        stems = _STEMS.findall(fold(title)) if defined else []
        if not stems or any(map(fold(text).__contains__, stems)):
            defined = []
    titles: dict[str, Kind] = dict.fromkeys(_title_keys(title), "title")
    kinds: dict[str, Kind] = dict.fromkeys(defined, "subject") or titles
    every = dict.fromkeys([*map(phrase_key, tags), *titles])
    return kinds, [key for key in every if key and key not in kinds]


# -- definitions -------------------------------------------------------------------------

_COPULAS, _ARTICLES = word_sets("copulas"), word_sets("articles")
_SHAPED = {*_COPULAS, SYLLABIC}
_PREPOSITIONS = word_set("prepositions")
_READ = 40  # units; other names, dates and places may separate name and verb
_LONGEST = 8  # words of a name that are not all capitalised: "Escape from the Dark"
#: A full name: three or more capitalised words, then brackets with numbers.
_IN_FULL = re.compile(r"C{3,5}(?=[^(.]{0,6}\([^)]*n)")
#: A nickname in quotes, and the family name: 'Ada M. "Petrel" Renn (born 1871)'.
_NICKNAME = re.compile(r"C[CT]{0,2}\|(C)\|(C{1,2})(?=\([^)]*n)")
_NO_MARK = re.compile(r"[^(|.)]*")
_ENDS = "CAXSMnl"
_AS = frozenset(("as", "name"))
_KNOWN_WITHIN = 6  # units
_SUFFIXES = frozenset(("jr", "sr"))


def _defining_verb(shaped: ShapedText, stop: int, language: str) -> int | None:
    """Return the position of the form of *to be* before an article that defines a leading name."""
    copulas, articles = _COPULAS.get(language, ()), _ARTICLES.get(language, ())
    units, shape = shaped
    inside = False
    for at in range(stop, min(stop + _READ, len(units) - 1)):
        if shape[at] in "()":
            inside = shape[at] == "("
        elif inside:
            continue
        elif shape[at] == ".":
            return None
        elif units[at] in copulas:
            return at if units[at + 1] in articles else None
    return None


def subjects(shaped: ShapedText, language: str) -> list[str]:
    """Return the keys of the name that a text opens by defining; empty if it does not.

    A text uses the full name of its subject; other texts and questions use shorter names. So the
    keys are the leading capitalised words, and if the name goes on in other words, everything up
    to the verb, a bracket or a comma (that alone after a single capitalised word). For a person,
    recognised by numbers in brackets ("Ada Moss Renn (born 1871)"), also first and last name, and
    a nickname in quotes with the last name. Then any name that follows "known as".

    >>> from hebbgraph.text.shapes import shape_text
    >>> def read(text):
    ...     return subjects(shape_text(text, "english"), "english")
    >>> read("Escape from the Dark (1976) is a film."), read("Petrel is sinking.")
    (['escape from the dark'], [])
    >>> read("Ada Moss Renn (born 1871), better known as Petrel, is a sailor.")
    ['ada moss renn', 'ada renn', 'petrel']
    """
    units, shape = shaped
    first = len(shape) - len(shape.lstrip("|("))
    if first < len(units) and units[first] in _ARTICLES.get(language, ()):
        first += 1
    span = NAME_SPAN.match(shape, first)
    verb = None if span is None else _defining_verb(shaped, span.end(), language)
    if span is None or verb is None:
        return []
    after = span.end()
    stop = min(_NO_MARK.match(shape, first).end(), verb)  # type: ignore[union-attr]
    names = [units[first:after]]
    if _goes_on(shaped, after, stop) and stop - first <= _LONGEST:
        whole = units[first:stop]
        names = [whole] if after - first == 1 else [*names, whole]
    elif _IN_FULL.match(shape, first) and len(units[first]) > 1:
        last = after - 2 if units[after - 1] in _SUFFIXES else after - 1
        names.append([units[first], units[last]])
    elif nicknamed := _NICKNAME.match(shape, first):
        family = units[nicknamed.start(2) : nicknamed.end(2)]
        names += ([units[at], *family] for at in (first, nicknamed.start(1)))
    if "known" in units[stop:verb]:
        names.append(_known_as(shaped, units.index("known", stop), verb))
    return list(filter(None, dict.fromkeys(unit_key[" ".join(name)] for name in names)))


def _known_as(shaped: ShapedText, known: int, stop: int) -> list[str]:
    """Return the words of the name after "known as" or "known by the stage name"."""
    units, shape = shaped
    for at in range(known + 1, min(known + _KNOWN_WITHIN, stop - 1)):
        if units[at] in _AS:
            start = at + 2 if shape[at + 1] in "|T" else at + 1
            name = NAME_SPAN.match(shape, start)
            return [] if name is None else units[start : name.end()]
    return []


def _goes_on(shaped: ShapedText, start: int, stop: int) -> bool:
    """Return whether a name may continue over these units: they form no clause and end whole."""
    units, shape = shaped
    return (
        start < stop
        and shape[stop - 1] in _ENDS
        and all(units[at] in _PREPOSITIONS for at in range(start, stop) if shape[at] == "s")
    )
