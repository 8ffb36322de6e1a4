"""Spread a recall again on the current index, with and without what was learned."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hebbgraph.errors import ParameterError
from hebbgraph.formulas.activation import Activation
from hebbgraph.namespace import Namespace
from hebbgraph.recall.recaller import Recaller
from hebbgraph.recall.strategies import Request
from hebbgraph.recall.strategies.spreading import Spreading
from hebbgraph.records import Recall
from hebbgraph.records.explanations import Causes

__all__ = ["Replay", "check_namespace", "position", "spreading_of"]


def check_namespace(namespace: Namespace, recall: Recall) -> None:
    """Raise ParameterError for a recall of another namespace."""
    if recall.namespace != namespace.name:
        raise ParameterError(
            f"the recall belongs to namespace {recall.namespace!r}, "
            f"this index sees {namespace.name!r}"
        )


@dataclass(frozen=True)
class Replay:
    """The activation of a request on the current index.

    Attributes
    ----------
    request : Request
    learned, unlearned : Activation
        With past lessons, and as if there had been none.
    confidence, unlearned_confidence : float
        Multiplied with the scores of the two activations.
    """

    request: Request
    learned: Activation
    unlearned: Activation
    confidence: float
    unlearned_confidence: float

    @classmethod
    def of(cls, recaller: Recaller, request: Request) -> Replay:
        """Spread activation; the caller has locked graph and learned weights."""
        spreading = spreading_of(recaller)
        learned = spreading.spread(request)
        unlearned = learned.unlearned or learned
        return cls(
            request,
            learned,
            unlearned,
            spreading.confidence(request, learned),
            spreading.confidence(request, unlearned),
        )

    def score(self, slot: int) -> float:
        """Return the score of a chunk."""
        return _score(self.learned, slot, self.confidence)

    def unlearned_score(self, slot: int) -> float:
        """Return the score of a chunk without any feedback."""
        return _score(self.unlearned, slot, self.unlearned_confidence)

    def causes(self, slot: int) -> Causes:
        """Return what the score of a chunk is made of.

        Direct evidence d and activation a combine as d + (1 - d) a; the graph's part is what it
        adds to d. d divides in proportion to lexical and dense evidence. Learning's part is what
        memory adds to this chunk or takes from it; the rest divides as it would without learning.
        """
        score_now, unlearned = self.score(slot), self.unlearned_score(slot)
        at, now = position(self.unlearned, slot), position(self.learned, slot)
        if at is None or now is None or not unlearned:
            return Causes(learned=score_now)
        gained = 0.0 if self.learned.gained is None else float(self.learned.gained[now])
        learned = score_now - unlearned if (score_now - unlearned) * gained > 0 else 0.0
        score, arrived = float(self.unlearned.scores[at]), float(self.unlearned.arrived[at])
        # ``Activation.direct`` would be 0 for chunks that no search returned.
        direct = (score - arrived) / (1.0 - arrived) if arrived < 1.0 else 0.0
        evidence = self.request.evidence
        lexical, dense = evidence.parts(slot)
        share = evidence.dense_share
        words, nearness = (1.0 - share) * (lexical or 0.0), share * (dense or 0.0)
        if words + nearness <= 0:  # no search returned the chunk: its evidence is its vector's
            nearness = 1.0 if evidence.dense is not None else 0.0
            words = 1.0 - nearness
        sure = self.unlearned_confidence * (score_now - learned) / unlearned
        from_words = sure * direct * words / (words + nearness)
        return Causes(
            lexical=from_words,
            dense=sure * direct - from_words,
            graph=score_now - learned - sure * direct,
            learned=learned,
        )


def spreading_of(recaller: Recaller) -> Spreading:
    """Return the recaller's spreading strategy."""
    spreading = recaller.strategy("spreading")
    assert isinstance(spreading, Spreading)
    return spreading


def position(activation: Activation, slot: int) -> int | None:
    """Return the position of a chunk among the active ones, or None."""
    at = int(np.searchsorted(activation.chunks, slot))
    return at if at < len(activation.chunks) and activation.chunks[at] == slot else None


def _score(activation: Activation, slot: int, confidence: float) -> float:
    at = position(activation, slot)
    return 0.0 if at is None else confidence * float(activation.scores[at])
