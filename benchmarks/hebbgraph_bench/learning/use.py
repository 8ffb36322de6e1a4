"""What use teaches hebbgraph and simple baselines: runs of usebench."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from hebbgraph.embedders import embedder_name
from usebench.embedders import Vectors
from usebench.experiment import run
from usebench.ranking import unit
from usebench.sets.plain import read_set
from usebench.systems import System, systems

from hebbgraph_bench.embedding import CachingEmbedder
from hebbgraph_bench.usebench_systems import Hebbgraph

__all__ = ["OURS", "SYSTEMS", "VECTOR_SYSTEMS", "measure_use"]

OURS = "hebbgraph"
#: The baselines, without and with a model.
SYSTEMS = ("bm25", "cache", "expansion", "rm3")
VECTOR_SYSTEMS = (
    "dense",
    "fusion",
    "weighted",
    "erm",
    "rocchio",
    "weighted+expansion",
    "weighted+expansion+erm",
)


def measure_use(
    folder: str | Path,
    *,
    embedder: CachingEmbedder | None = None,
    order: str | None = None,
    frozen: bool = False,
    kinds: Sequence[str] = ("right",),
    k: int = 10,
    seed: int = 0,
    at_most: int | None = None,
    metric: str = "nDCG@10",
    on_system: Callable[[str], object] | None = None,
) -> dict[str, Any]:
    """Run hebbgraph and the simple baselines over the stream of a set.

    Parameters
    ----------
    folder : str or Path
    embedder : CachingEmbedder, optional
        For hebbgraph and the baselines that use vectors; without it, those do not run.
    order, frozen, at_most, seed
        As for :func:`usebench.sets.plain.read_set`.
    kinds, k, metric, on_system
        As for :func:`usebench.experiment.run`.

    Returns
    -------
    dict
        As :mod:`usebench.tables` reads it.
    """
    uses = read_set(folder, order=order, frozen=frozen, at_most=at_most, seed=seed)
    if embedder is None:
        ours = System(OURS, Hebbgraph)
        arms = systems(SYSTEMS)
    else:
        model = partial(_Cached, embedder)
        ours = System(OURS, lambda: Hebbgraph(model()))
        arms = systems((*SYSTEMS, *VECTOR_SYSTEMS), model=model)
    return run(
        uses,
        [ours, *arms],
        kinds=kinds,
        k=k,
        seed=seed,
        metric=metric,
        unlearning=False,
        on_system=on_system,
    )


class _Cached:
    """Adapts an embedder of hebbgraph to usebench."""

    def __init__(self, inner: CachingEmbedder) -> None:
        self.name = embedder_name(inner)
        self.model_calls = 0
        self.model_seconds = 0.0
        self._inner = inner

    def prepare(self, texts: Sequence[str], /) -> None:
        """Do nothing: a model needs no corpus."""

    def embed(self, texts: Sequence[str], /) -> Vectors:
        """Embed, each text once per run."""
        self.model_calls += len(texts)
        return unit(np.asarray(self._inner.embed_documents(list(texts)), dtype=np.float32))
