"""Each paper's own experiment, run as published and then with what makes it work.

``hebbgraph bench --paper NAME [DATASET_DIR...]``. A paper is a module of this package with
a function ``run`` (:class:`PaperRunner`) and its name in :data:`PAPERS`; the module is
imported only when it is asked for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

from rich.console import Console

from hebbgraph.errors import ParameterError
from hebbgraph.protocols import Embedder

__all__ = ["PAPERS", "PaperRunner", "bench_paper"]

PAPERS: Mapping[str, str] = {
    "bambookg": "hebbgraph.evaluation.papers.bambookg",
    "bio-rag": "hebbgraph.evaluation.papers.bio_rag",
    "nakg": "hebbgraph.evaluation.papers.nakg",
}
"""Names on the command line, and the modules that answer to them."""


class PaperRunner(Protocol):
    """What the ``run`` of a paper's module takes."""

    def __call__(
        self,
        datasets: Sequence[str | Path],
        /,
        *,
        embedder: Embedder | None,
        cache: str | Path | None,
        k: int,
        seed: int,
        queries: int | None,
        plots: str | Path | None,
        json_path: str | Path | None,
        console: Console | None,
    ) -> Any:
        """Measure, show tables on ``console``, write figures and plots, return the results."""
        ...


def bench_paper(
    name: str,
    datasets: Sequence[str | Path] = (),
    *,
    embedder: Embedder | None = None,
    cache: str | Path | None = None,
    k: int = 10,
    seed: int = 0,
    queries: int | None = None,
    plots: str | Path | None = None,
    json_path: str | Path | None = None,
    console: Console | None = None,
) -> Any:
    """Run a paper's experiment; return what its module returns.

    Parameters
    ----------
    name : str
        One of :data:`PAPERS`.
    datasets : sequence of str or Path
        Sets that the paper is also, or only, measured on.
    embedder : Embedder, optional
    cache : str or Path, optional
        A directory in which vectors are kept for the next run.
    k, seed : int
    queries : int, optional
        Draw at most so many questions of each set.
    plots : str or Path, optional
        A directory for curves as PNG (extra ``plots``).
    json_path : str or Path, optional
        Where the figures go; the tables go beside it as Markdown.
    console : rich.console.Console, optional

    Raises
    ------
    ParameterError
        If no paper has that name.
    """
    if name not in PAPERS:
        raise ParameterError(f"--paper is one of {', '.join(sorted(PAPERS))}; got {name!r}")
    run: PaperRunner = import_module(PAPERS[name]).run
    return run(
        datasets,
        embedder=embedder,
        cache=cache,
        k=k,
        seed=seed,
        queries=queries,
        plots=plots,
        json_path=json_path,
        console=console,
    )
