"""Progress of long calls: a progress bar, a callable, or both."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

from hebbgraph.errors import ParameterError

__all__ = ["OnProgress", "part_of", "progress"]

OnProgress: TypeAlias = Callable[[int, int | None], Any] | None


@contextlib.contextmanager
def progress(
    show: bool, on_progress: OnProgress, *, what: str = "chunks"
) -> Iterator[Callable[[int, int | None], None]]:
    """Yield a function to call with (done, total or None).

    Parameters
    ----------
    show : bool
        Draw a progress bar on standard error.
    on_progress : callable, optional
        Called with the same arguments.
    what : str
        The unit, shown beside the bar.
    """
    if not (on_progress is None or callable(on_progress)):
        raise ParameterError(f"on_progress is a callable, got {on_progress!r:.80}")
    if not show:
        yield lambda done, total: on_progress(done, total) if on_progress else None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn(what), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(what, total=None)

        def report(done: int, total: int | None) -> None:
            bar.update(task, completed=done, total=total)
            if on_progress:
                on_progress(done, total)

        yield report


def part_of(
    report: Callable[[int, int | None], object], before: int, total: int | None
) -> Callable[[int], object]:
    """Return a function that reports progress within a batch as part of the whole."""
    return lambda done: report(before + done, total)
