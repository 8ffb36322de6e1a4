"""Report the progress of a long call."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["progress"]


@contextmanager
def progress(
    show: bool, on_progress: Callable[[int, int | None], Any] | None, *, what: str = "chunks"
) -> Iterator[Callable[[int, int | None], None]]:
    """Yield a function to call with (done, total or None).

    Parameters
    ----------
    show : bool
        Draw a progress bar on standard error.
    on_progress : callable, optional
        Called with the same arguments.
    what : str
        The unit that is counted, shown beside the bar.
    """
    if not show:
        yield lambda done, total: on_progress(done, total) if on_progress else None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn(what), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(what, total=None)

        def tell(done: int, total: int | None) -> None:
            bar.update(task, completed=done, total=total)
            if on_progress:
                on_progress(done, total)

        yield tell
