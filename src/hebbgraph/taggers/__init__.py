"""Taggers that use a model; their tags are added to those found without one.

A tagger is any callable from a chunk to tags (:class:`hebbgraph.protocols.Tagger`). These taggers
import their library on construction:

==================== ====================================== ==================
tagger               model                                  extra
==================== ====================================== ==================
``LLMTagger``        any chat model, LLM or callable        ``llm``
``SpacyTagger``      a spaCy pipeline                       ``spacy``
``GlinerTagger``     a GLiNER model                         ``gliner``
``KeyphraseTagger``  the embedder of the index              none
==================== ====================================== ==================

``LLMCues`` asks a language model for the cues of a question.
"""

from __future__ import annotations

from hebbgraph.taggers.cues import LLMCues
from hebbgraph.taggers.gliner_tagger import GlinerTagger
from hebbgraph.taggers.keyphrases import KeyphraseTagger
from hebbgraph.taggers.llm import LLMTagger
from hebbgraph.taggers.spacy_tagger import SpacyTagger

__all__ = ["GlinerTagger", "KeyphraseTagger", "LLMCues", "LLMTagger", "SpacyTagger"]
