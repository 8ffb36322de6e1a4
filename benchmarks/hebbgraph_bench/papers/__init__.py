"""Each paper's own experiment, as published, and then with the changes that make it work.

``hebbgraph bench --paper NAME [DATASET_DIR...]``. A paper is a module of this package with
a function ``run`` (:class:`PaperRunner`) and its name in :data:`PAPERS`; the module is
imported only when requested.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

from hebbgraph.errors import ParameterError

from hebbgraph_bench.papers.options import PaperOptions

__all__ = ["PAPERS", "PaperOptions", "PaperRunner", "bench_paper"]

PAPERS: Mapping[str, str] = {
    "bambookg": "hebbgraph_bench.papers.bambookg",
    "bio-rag": "hebbgraph_bench.papers.bio_rag",
    "nakg": "hebbgraph_bench.papers.nakg",
}
"""Names on the command line, and their modules."""


class PaperRunner(Protocol):
    """The ``run`` function of a paper's module."""

    def __call__(self, datasets: Sequence[str | Path], options: PaperOptions, /) -> Any:
        """Measure, show tables, write figures and plots, return the results."""
        ...


def bench_paper(
    name: str,
    datasets: Sequence[str | Path] = (),
    options: PaperOptions | None = None,
) -> Any:
    """Run a paper's experiment; return what its module returns.

    Parameters
    ----------
    name : str
        One of :data:`PAPERS`.
    datasets : sequence of str or Path
        Sets to measure on, besides the paper's own data if there is any.
    options : PaperOptions, optional

    Raises
    ------
    ParameterError
        If no paper has that name.
    """
    if name not in PAPERS:
        raise ParameterError(f"--paper is one of {', '.join(sorted(PAPERS))}; got {name!r}")
    run: PaperRunner = import_module(PAPERS[name]).run
    return run(datasets, options or PaperOptions())
