"""The taggers that can run on a set, alone or with the model-free tags."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from hebbgraph.protocols import Tagger
from hebbgraph.records import Chunk
from hebbgraph.text import tokenize
from hebbgraph.text.tokens import stop_words

from hebbgraph_bench.datasets import Dataset, Extraction
from hebbgraph_bench.embedding import CachingEmbedder

__all__ = ["MODEL_FREE", "Arm", "arms_for"]

MODEL_FREE = "model-free"


class Arm(NamedTuple):
    """A tagger to measure, with the model-free tags or instead of them."""

    name: str
    tagger: Tagger | None = None
    text_tags: bool = True
    aliases: tuple[str, ...] = ()


def arms_for(dataset: Dataset, embedder: CachingEmbedder | None) -> list[Arm]:
    """Return the installed taggers that can run on a set."""
    arms = [
        Arm(MODEL_FREE),
        Arm("titles alone", text_tags=False),
        Arm("callable: frequent words, + model-free", _frequent_words),
    ]
    if extractions := dataset.extractions:
        entities = {id_: Extraction(extraction.entities) for id_, extraction in extractions.items()}
        arms += [
            Arm("LLM tags alone", _stored(extractions), text_tags=False),
            Arm("LLM tags + model-free", _stored(extractions)),
            Arm("LLM entities alone", _stored(entities), text_tags=False),
            Arm("LLM entities + model-free", _stored(entities)),
        ]
    if embedder is not None:
        from hebbgraph.taggers import KeyphraseTagger

        keyphrases = KeyphraseTagger(embedder)
        arms += [
            Arm("keyphrases alone", keyphrases, text_tags=False),
            Arm("keyphrases + model-free", keyphrases),
        ]
    if (spacy := _spacy_tagger()) is not None:
        arms += [Arm("spaCy alone", spacy, text_tags=False), Arm("spaCy + model-free", spacy)]
    arms += [
        Arm("model-free, aliases: spelling", aliases=("spelling",)),
        Arm("model-free, aliases: acronyms", aliases=("acronyms",)),
        Arm("model-free, aliases: both", aliases=("spelling", "acronyms")),
    ]
    if embedder is not None:
        arms.append(Arm("model-free, aliases: vectors", aliases=("vectors",)))
    return arms


def _stored(extractions: Mapping[str, Extraction]) -> Tagger:
    def stored(chunk: Chunk, /) -> tuple[str, ...]:
        extraction = extractions.get(chunk.id)
        return () if extraction is None else extraction.phrases

    return stored


def _frequent_words(chunk: Chunk, /) -> list[str]:
    """A naive tagger: the ten most frequent content words."""
    counts: dict[str, int] = {}
    for token in tokenize(chunk.text):
        if token not in stop_words() and len(token) > 2:
            counts[token] = counts.get(token, 0) + 1
    return sorted(counts, key=lambda token: (-counts[token], token))[:10]


def _spacy_tagger(name: str = "en_core_web_sm") -> Tagger | None:
    try:
        import spacy
    except ImportError:
        return None
    if not spacy.util.is_package(name):
        return None
    from hebbgraph.taggers import SpacyTagger

    return SpacyTagger(name)
