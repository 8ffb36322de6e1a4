"""Text to tags, without a model.

Pass 1 (:mod:`~hebbgraph.tagging.phrases`) reads one chunk alone and proposes phrases.
Pass 2 (:mod:`~hebbgraph.tagging.vocabulary`) finds in any text the phrases that the
corpus as a whole accepted. Both rest on the tokens of
:mod:`~hebbgraph.tagging.segment`.
"""

from __future__ import annotations

from hebbgraph.tagging.phrases import Candidate, Kind, acronym_expansions, candidates, proposals
from hebbgraph.tagging.segment import display, lexical_terms, phrase_key, tokenize
from hebbgraph.tagging.vocabulary import PhraseMatcher

__all__ = [
    "Candidate",
    "Kind",
    "PhraseMatcher",
    "acronym_expansions",
    "candidates",
    "display",
    "lexical_terms",
    "phrase_key",
    "proposals",
    "tokenize",
]
