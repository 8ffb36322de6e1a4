"""Options of every paper's experiment."""

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
    """What every paper's ``run`` takes besides the sets.

    Parameters
    ----------
    embedder : Embedder, optional
    cache : str or Path, optional
        Keep vectors in this directory for the next run.
    k : int, at least 1
        Chunks to retrieve, unless the paper says.
    seed : int
    queries : int, optional
        Sample at most this many questions per set.
    plots : str or Path, optional
        Write curves into this directory, as PNG (extra ``plots``).
    json_path : str or Path, optional
        Write the figures here, and the tables beside it as Markdown.
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
        """Read sets; ``queries`` is the default size of the sample of questions."""
        at_most = self.queries or queries
        return [load(path, seed=self.seed, queries=at_most) for path in datasets]

    def output(self) -> Output:
        """Return the output for tables and figures."""
        return Output(self.json_path, self.console)

    def vectors(self) -> AbstractContextManager[CachingEmbedder | None]:
        """Open the embedder over its cache; None without one."""
        return caching(self.embedder, self.cache)
