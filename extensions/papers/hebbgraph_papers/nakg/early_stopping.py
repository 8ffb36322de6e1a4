"""Early stopping: train until the loss on held-back examples stops improving."""

from __future__ import annotations

import copy
import logging
from collections.abc import Callable

from hebbgraph_papers.nakg.modules import Nakg
from hebbgraph_papers.nakg.report import PhaseReport

__all__ = ["OnEpoch", "train_with_early_stopping"]

logger = logging.getLogger(__name__)

OnEpoch = Callable[[str, int, int], object]


def train_with_early_stopping(
    model: Nakg,
    epoch: Callable[[], None],
    judge: Callable[[], float | None],
    at_most: int,
    patience: int,
    phase: str,
    on_epoch: OnEpoch | None,
) -> PhaseReport:
    """Train until the held-back loss has not improved for ``patience`` epochs.

    The model ends in its best state. If nothing was held back, ``judge`` returns None and all
    epochs run.
    """
    before = best = judge()
    best_state = copy.deepcopy(model.state_dict())
    since = done = 0
    for done in range(1, at_most + 1):
        model.train()
        epoch()
        model.eval()
        now = judge()
        if on_epoch is not None:
            on_epoch(phase, done, at_most)
        logger.debug("%s: epoch %d, held-back loss %s", phase, done, now)
        if now is None or best is None:
            continue
        if now < best - 1e-4:
            best, since = now, 0
            best_state = copy.deepcopy(model.state_dict())
        else:
            since += 1
            if since >= patience:
                break
    if best is not None:
        model.load_state_dict(best_state)
    return PhaseReport(epochs=done, before=before, after=best)
