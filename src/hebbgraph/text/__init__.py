"""Text to tokens, terms and tag candidates, without a model.

Data flows through the room in this order:

==================== ================================================================
``characters``       Unicode: folding, and scripts written without spaces
``stopwords``        function words by language, as plain data
``words``            caches, counts and tables of words
``stemming``         one token to its lexical terms
``artefacts``        links, paths, file names, markup, hashes: no words
``tokens``           text to tokens, tokens to lexical terms, a phrase to its key
``query``            a question to the terms that lexical search looks for
``time_words``       the time that a question asks about
``syllables``        Vietnamese, which is written in syllables with spaces
``languages``        which language a text is in
``shapes``           words to a string of one character each: the text's shape
``names``            names and codes, read off the shape
``definitions``      whether a text opens by defining a name
``salience``         salient terms, where capitals say nothing
``candidates``       pass 1: all of the above as the tag candidates of one chunk
``hashing``          keyed hashes of tokens and phrases
``reader``           many texts at once to token hashes and lexical terms
==================== ================================================================

Pass 2 matches the vocabulary of the whole corpus against every text. It needs the
corpus, so it lives in :mod:`hebbgraph.graph.phrases`.
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
