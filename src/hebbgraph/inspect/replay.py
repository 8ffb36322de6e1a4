"""A recall, spread again on the index as it is now: with what was learned, and without."""

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
    """What spreading finds for a request now.

    Attributes
    ----------
    request : Request
    found, unlearned : Activation
        With past citations, and as if there had been none.
    confidence, unlearned_confidence : float
        Scores of hits are shares of it.
    """

    request: Request
    found: Activation
    unlearned: Activation
    confidence: float
    unlearned_confidence: float

    @classmethod
    def of(cls, recaller: Recaller, request: Request) -> Replay:
        """Spread activation; the caller holds graph and learned weights."""
        spreading = spreading_of(recaller)
        found = spreading.spread(request)
        confidence = spreading.confidence(request, found)
        unlearned = found.unlearned or found
        return cls(request, found, unlearned, confidence, spreading.confidence(request, unlearned))

    def score(self, slot: int) -> float:
        """Return the score of a chunk."""
        return _score(self.found, slot, self.confidence)

    def unlearned_score(self, slot: int) -> float:
        """Return the score of a chunk without any feedback."""
        return _score(self.unlearned, slot, self.unlearned_confidence)

    def causes(self, slot: int) -> Causes:
        """Return what the score of a chunk is made of.

        Direct evidence d and activation a combine as d + (1 - d) a: to the graph goes what it
        adds to d. d is divided as the evidence it is a power of. To learning goes what memory
        adds to this chunk or takes from it; what is left is divided as without it.
        """
        score_now, unlearned = self.score(slot), self.unlearned_score(slot)
        at, now = position(self.unlearned, slot), position(self.found, slot)
        if at is None or now is None or not unlearned:
            return Causes(learned=score_now)
        gained = 0.0 if self.found.gained is None else float(self.found.gained[now])
        learned = score_now - unlearned if (score_now - unlearned) * gained > 0 else 0.0
        score, arrived = float(self.unlearned.scores[at]), float(self.unlearned.arrived[at])
        # Not of ``direct``, which is 0 for chunks that no search returned.
        direct = (score - arrived) / (1.0 - arrived) if arrived < 1.0 else 0.0
        evidence = self.request.evidence
        lexical, dense = evidence.parts(slot)
        share = evidence.dense_share
        words, nearness = (1.0 - share) * (lexical or 0.0), share * (dense or 0.0)
        if words + nearness <= 0:  # what no search returned has its evidence by its vector, if any
            nearness = 1.0 if evidence.dense is not None else 0.0
            words = 1.0 - nearness
        sure = self.unlearned_confidence * (score_now - learned) / unlearned
        of_words = sure * direct * words / (words + nearness)
        return Causes(
            lexical=of_words,
            dense=sure * direct - of_words,
            graph=score_now - learned - sure * direct,
            learned=learned,
        )


def spreading_of(recaller: Recaller) -> Spreading:
    """Return the strategy that replays."""
    spreading = recaller.strategy("spreading")
    assert isinstance(spreading, Spreading)
    return spreading


def position(found: Activation, slot: int) -> int | None:
    """Return where a chunk is among those that activation found, or None."""
    at = int(np.searchsorted(found.chunks, slot))
    return at if at < len(found.chunks) and found.chunks[at] == slot else None


def _score(found: Activation, slot: int, confidence: float) -> float:
    at = position(found, slot)
    return 0.0 if at is None else confidence * float(found.scores[at])
