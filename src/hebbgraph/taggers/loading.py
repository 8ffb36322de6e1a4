"""Load taggers by name, for the command line."""

from __future__ import annotations

import importlib
from typing import Any

from hebbgraph.errors import ParameterError
from hebbgraph.protocols import Embedder, Tagger

__all__ = ["load_tagger"]


def load_tagger(name: str, embedder: Embedder | None = None) -> Tagger:
    """Return the tagger with this name.

    Parameters
    ----------
    name : str
        ``keyphrases`` (needs the embedder), ``spacy:PIPELINE``, ``gliner:MODEL``, or
        ``MODULE:ATTRIBUTE`` for a tagger of your own, such as an ``LLMTagger``.
    embedder : Embedder, optional

    Examples
    --------
    >>> load_tagger("builtins:repr")("chunk")
    "'chunk'"
    """
    kind, _, rest = name.partition(":")
    if kind == "keyphrases" and not rest:
        if embedder is None:
            raise ParameterError("the tagger 'keyphrases' needs an embedder; pass one as well")
        from hebbgraph.taggers.keyphrases import KeyphraseTagger

        return KeyphraseTagger(embedder)
    if not kind or not rest:
        raise ParameterError(
            "tagger must be 'keyphrases', 'spacy:PIPELINE', 'gliner:MODEL' or 'MODULE:ATTRIBUTE', "
            f"got {name!r}"
        )
    if kind == "spacy":
        from hebbgraph.taggers.spacy_tagger import SpacyTagger

        return SpacyTagger(rest)
    if kind == "gliner":
        from hebbgraph.taggers.gliner_tagger import GlinerTagger

        return GlinerTagger(rest)
    return _imported(kind, rest)


def _imported(module: str, path: str) -> Tagger:
    try:
        found: Any = importlib.import_module(module)
        for attribute in path.split("."):
            found = getattr(found, attribute)
    except (ImportError, AttributeError) as error:
        raise ParameterError(f"no tagger {module}:{path}: {error}") from error
    if not callable(found):
        raise ParameterError(f"{module}:{path} is not a callable from a chunk to tags")
    tagger: Tagger = found
    return tagger
