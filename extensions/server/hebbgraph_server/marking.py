"""Where a text holds the words of a question, read as word search reads it: in its own language."""

from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import chain

import regex

from hebbgraph.text.characters import is_unspaced
from hebbgraph.text.compounds import compounds
from hebbgraph.text.context import STEMMED
from hebbgraph.text.shapes import languages_of
from hebbgraph.text.tokens import AUTO, lexical_terms, tokenize
from hebbgraph_server.models import Mark

_WORD = r"[\p{L}\p{N}][\p{L}\p{N}\p{M}]*"
_PART = regex.compile(_WORD)
_HUMP = regex.compile(r"\p{Lu}?[\p{Ll}\p{Lo}\p{M}]+|\p{Lu}+(?!\p{Ll})|\p{N}+")
#: What may be a word: parts joined by punctuation or cut by the end of a line, numbers with units.
_PIECE = regex.compile(
    r"\d+(?:[.,]\d+)*[ \u00a0]°?\p{L}{1,3}\b|(?:\p{L}\.){2,}"
    rf"|{_WORD}(?:(?:[-._&+#'’/:]+|-[ \t]*\n[ \t]*){_WORD}|[+#]+(?!\w))*"
)
#: Umlauts that are written out, and how to write them out.
_UMLAUT = regex.compile("(?<![aeiouq])([aou])e")
_WRITTEN = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ø": "oe", "å": "aa"})


@lru_cache(maxsize=256)
def read_languages(text: str, language: str) -> tuple[str, ...]:
    """Return the languages in which the words of a text are stemmed."""
    spoken = languages_of(tokenize(text), text) if language == AUTO else []
    return (language, *(name for name in spoken if name in STEMMED))


class Marker:
    """Marks the words of a question; ``weights`` are those of its terms, by default 1."""

    def __init__(
        self, question: str, language: str, weights: Mapping[str, float] | None = None
    ) -> None:
        tokens = tokenize(question)
        self.weights = weights or dict.fromkeys(lexical_terms(tokens, language), 1.0)
        self._language = language
        typed = [word for word in _PART.findall(question.lower()) if not word.isascii()]
        self._typed = {token: str(word) for word in typed for token in tokenize(word)[:1]}
        self._spelled: dict[str, str] = {}
        joined = ((whole, *parts) for whole, parts, _ in compounds(question))
        for token in chain(tokens, *joined):
            for term in lexical_terms([token], language):
                self._spelled.setdefault(term, token)

    def word(self, term: str) -> str:
        """Return a term or token as the question writes it."""
        token = self._spelled.get(term) or term.replace("_", " ")
        return self._typed.get(token, token)

    def marks(self, text: str, languages: tuple[str, ...]) -> Iterator[Mark]:
        """Yield where a text holds words of the question: in the smallest parts that do."""
        forms, end = self._forms_in(languages), 0

        def mark(start: int, end: int, term: str) -> Mark:
            weight = round(self.weights[term], 3)
            return Mark(start=start, end=end, word=self.word(term), weight=weight)

        def found(piece: str, at: int, *smaller: regex.Pattern[str]) -> Iterator[Mark]:
            if terms := {forms[term] for term in _terms_of(piece, languages) if term in forms}:
                inner = smaller[0].finditer(piece) if smaller else ()
                parts = [found(p[0], at + p.start(), *smaller[1:]) for p in inner]
                best = max(terms, key=lambda term: (self.weights[term], term))
                yield from [*chain(*parts)] or [mark(at, at + len(piece), best)]

        unspaced = "|".join(regex.escape(term) for term in self.weights if is_unspaced(term[0]))
        for match in regex.finditer(unspaced, text, overlapped=True) if unspaced else ():
            yield mark(max(match.start(), end), end := match.end(), match[0])
        for piece in _PIECE.finditer(text):
            if not is_unspaced(piece[0][0]):
                yield from found(piece[0], piece.start(), _PART, _HUMP)

    def _forms_in(self, languages: tuple[str, ...]) -> dict[str, str]:
        """Return the terms by their forms: in these languages, and with umlauts either way."""
        forms = {term: term for term in self.weights}
        for term in filter(self.weights.__contains__, self._spelled):
            token = self._spelled[term]
            written = self._typed.get(token, "").translate(_WRITTEN)
            own = lexical_terms([token], self._language)
            for spelt in filter(None, (token, _UMLAUT.sub(r"\1", token), *tokenize(written))):
                for name in languages:
                    others = zip(own, lexical_terms([spelt], name), strict=False)
                    forms = {other: term for mine, other in others if mine == term} | forms
        for pair in [term for term in forms if "_" in term]:  # of Vietnamese syllables
            forms = dict.fromkeys(pair.split("_"), pair) | forms
        return forms


@lru_cache(maxsize=1 << 15)
def _terms_of(piece: str, languages: tuple[str, ...]) -> frozenset[str]:
    """Return the terms of a piece of a text."""
    tokens = [tokenize(piece), *([whole, *parts] for whole, parts, _ in compounds(piece))]
    terms = (lexical_terms(some, name) for some in tokens for name in languages)
    return frozenset(chain((piece.lower(),), *terms))
