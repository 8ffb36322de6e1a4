"""How a paper's experiment is run, whichever paper it is."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from hebbgraph.protocols import Embedder
from rich.console import Console

from hebbgraph_bench.datasets import Dataset, load
from hebbgraph_bench.embedding import CachingEmbedder, caching
from hebbgraph_bench.output import Output

__all__ = ["PaperOptions"]


@dataclass(frozen=True, kw_only=True)
class PaperOptions:
    """What every paper's ``run`` takes beside the sets.

    Parameters
    ----------
    embedder : Embedder, optional
    cache : str or Path, optional
        A directory in which vectors are kept for the next run.
    k : int, at least 1
        How many chunks are found, where the paper does not say.
    seed : int
    queries : int, optional
        Draw at most so many questions of each set.
    plots : str or Path, optional
        A directory for curves as PNG (extra ``plots``).
    json_path : str or Path, optional
        Where the figures go; the tables go beside it as Markdown.
    console : rich.console.Console, optional
    """

    embedder: Embedder | None = None
    cache: str | Path | None = None
    k: int = 10
    seed: int = 0
    queries: int | None = None
    plots: str | Path | None = None
    json_path: str | Path | None = None
    console: Console | None = None

    def load(self, datasets: Iterable[str | Path], *, queries: int | None = None) -> list[Dataset]:
        """Read sets; ``queries`` is how many questions are drawn unless the options say."""
        at_most = self.queries or queries
        return [load(path, seed=self.seed, queries=at_most) for path in datasets]

    def output(self) -> Output:
        """Return where tables and figures go."""
        return Output(self.json_path, self.console)

    def vectors(self) -> AbstractContextManager[CachingEmbedder | None]:
        """Open the embedder over its cache; None without one."""
        return caching(self.embedder, self.cache)
