"""Text to tokens, terms and tag candidates, without a model.

Data flows through the room in this order:

==================== ================================================================
``characters``       Unicode: folding, and scripts written without spaces
``stopwords``        function words by language, as plain data
``words``            caches and tables of words
``stemming``         one token to its lexical terms
``artefacts``        links, paths, file names, markup and hashes, which are not words
``tokens``           text to tokens, tokens to lexical terms, a phrase to its key
``query``            a question to the terms of lexical search
``time_words``       the time that a question asks about
``syllables``        Vietnamese, which puts spaces between syllables
``languages``        the language of a text
``shapes``           a text to its shape: one character per word
``names``            names and codes, read off the shape
``definitions``      whether a text opens by defining a name
``salience``         salient terms, where capitals do not mark names
``candidates``       pass 1: the tag candidates of one chunk, from all of the above
``hashing``          keyed hashes of tokens and phrases
``reader``           many texts at once to token hashes and lexical terms
==================== ================================================================

Pass 2 matches the vocabulary of the whole corpus against every text; see
:mod:`hebbgraph.graph.matching`.
"""

from __future__ import annotations

from hebbgraph.text.candidates import Candidate, Kind, candidates, proposals
from hebbgraph.text.tokens import display, lexical_terms, phrase_key, tokenize

__all__ = [
    "Candidate",
    "Kind",
    "candidates",
    "display",
    "lexical_terms",
    "phrase_key",
    "proposals",
    "tokenize",
]
