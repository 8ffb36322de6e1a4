"""Tags by models, beside those that are found without one.

A tagger is a callable from a chunk to tags (:class:`hebbgraph.protocols.Tagger`); those
here are some that ask a model. Each brings in its library when it is made:

==================== ====================================== ==================
tagger               what it asks                           extra
==================== ====================================== ==================
``LLMTagger``        any chat model, LLM or callable        ``llm``
``SpacyTagger``      a spaCy pipeline                       ``spacy``
``GlinerTagger``     a GLiNER model                         ``gliner``
``KeyphraseTagger``  the embedder that the index has        none of its own
==================== ====================================== ==================

``LLMCues`` lets a language model name the cues of a question.
"""

from __future__ import annotations

from hebbgraph.taggers.cues import LLMCues
from hebbgraph.taggers.gliner_tagger import GlinerTagger
from hebbgraph.taggers.keyphrases import KeyphraseTagger
from hebbgraph.taggers.llm import LLMTagger
from hebbgraph.taggers.spacy_tagger import SpacyTagger

__all__ = ["GlinerTagger", "KeyphraseTagger", "LLMCues", "LLMTagger", "SpacyTagger"]
