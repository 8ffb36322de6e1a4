"""Text to tags, without a model.

Pass 1 (:mod:`~hebbgraph.text.candidates`) reads one chunk alone and proposes phrases.
Pass 2 (:mod:`~hebbgraph.testing.phrase_matcher`) finds in any text the phrases that the
corpus as a whole accepted. Both rest on the tokens of
:mod:`~hebbgraph.text.tokens`.
"""

from __future__ import annotations

from hebbgraph.text.candidates import Candidate, Kind, acronym_expansions, candidates, proposals
from hebbgraph.text.tokens import display, lexical_terms, phrase_key, tokenize

__all__ = [
    "Candidate",
    "Kind",
    "acronym_expansions",
    "candidates",
    "display",
    "lexical_terms",
    "phrase_key",
    "proposals",
    "tokenize",
]
