"""Early stopping: train until the loss on held-back examples stops improving."""

from __future__ import annotations

import copy
import logging
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from hebbgraph.neural.modules import Nakg

__all__ = ["OnEpoch", "Phase", "train_with_early_stopping"]

logger = logging.getLogger(__name__)

OnEpoch = Callable[[str, int, int], object]


@dataclass(frozen=True)
class Phase:
    """The outcome of one training phase.

    Attributes
    ----------
    epochs : int
        Epochs run, including those after the best one.
    examples, held_back : int
        Number of pairs or questions trained on, and held back for early stopping.
    before, after : float
        Held-back loss before the phase and at its best; NaN if nothing was held back.
    """

    epochs: int = 0
    examples: int = 0
    held_back: int = 0
    before: float = float("nan")
    after: float = float("nan")


def train_with_early_stopping(
    model: Nakg,
    epoch: Callable[[], None],
    judge: Callable[[], float],
    at_most: int,
    patience: int,
    phase: str,
    on_epoch: OnEpoch | None,
) -> tuple[float, float, int]:
    """Train until the held-back loss has not improved for ``patience`` epochs.

    The model ends in its best state. Returns the loss before, the best loss, and the
    number of epochs run.
    """
    before = best = judge()
    kept = copy.deepcopy(model.state_dict())
    since = done = 0
    for done in range(1, at_most + 1):
        model.train()
        epoch()
        model.eval()
        now = judge()
        if on_epoch is not None:
            on_epoch(phase, done, at_most)
        logger.debug("%s: pass %d, held-back loss %.4f", phase, done, now)
        if np.isnan(now):  # nothing held back: run all epochs
            continue
        if now < best - 1e-4:
            best, since = now, 0
            kept = copy.deepcopy(model.state_dict())
        else:
            since += 1
            if since >= patience:
                break
    if not np.isnan(best):
        model.load_state_dict(kept)
    return before, best, done
