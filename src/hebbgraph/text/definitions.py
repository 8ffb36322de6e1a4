"""Detect texts that open by defining a name, which is then their subject.

"The Petrel (launched 1871) is a barque": many untitled texts say in their first sentence
what a title would have said. Only definitions count: a form of *to be* followed by an
article. A name that merely opens a text ("Meta said on Tuesday", "Meta is planning") is
an actor in it. Treating such names as titles too lost .04 recall@5 on untitled news;
definitions alone lose nothing.
"""

from __future__ import annotations

from hebbgraph.text import stopwords
from hebbgraph.text.shapes import ShapedText
from hebbgraph.text.tokens import tokenize

__all__ = ["defines_name", "name_start"]

_COPULAS = {name: frozenset(tokenize(words)) for name, words in stopwords.COPULAS.items()}
_ARTICLES = {name: frozenset(tokenize(words)) for name, words in stopwords.ARTICLES.items()}
_PLURAL = frozenset(tokenize(stopwords.PLURAL_COPULAS))
_AND = frozenset(stopwords.CONJUNCTIONS.split())
_READ = 40  # units; between name and verb may stand other names, dates and places


def name_start(shaped: ShapedText, language: str) -> int:
    """Return the position where a leading name starts, after quotes, brackets and article.

    Examples
    --------
    >>> from hebbgraph.text.shapes import shape_text
    >>> name_start(shape_text("“The Petrel” is a barque.", "english"), "english")
    2
    """
    units, shape = shaped
    at = len(shape) - len(shape.lstrip("|("))
    return at + (at < len(units) and units[at] in _ARTICLES.get(language, ()))


def defines_name(shaped: ShapedText, stop: int, language: str) -> bool:
    """Return whether the first sentence defines the name that ends at ``stop``.

    Parameters
    ----------
    shaped : ShapedText
        A text that starts with the name.
    stop : int
        Position of the unit after the name.
    language : str
        Languages missing from :data:`hebbgraph.text.stopwords.COPULAS` never match.

    Examples
    --------
    >>> from hebbgraph.text.shapes import shape_text
    >>> defines_name(shape_text("Petrel (launched 1871) is a barque.", "english"), 1, "english")
    True
    >>> defines_name(shape_text("Petrel is sinking. It was a barque.", "english"), 1, "english")
    False

    Of two names that are something together, neither is defined:

    >>> defines_name(shape_text("Moss and Renn were the first.", "english"), 1, "english")
    False
    """
    copulas, articles = _COPULAS.get(language, ()), _ARTICLES.get(language, ())
    units, shape = shaped
    for at in range(stop, min(stop + _READ, len(units) - 1)):
        if shape[at] == ".":
            return False
        if units[at] in copulas:
            together = units[stop] in _AND and units[at] in _PLURAL
            return units[at + 1] in articles and not together
    return False
