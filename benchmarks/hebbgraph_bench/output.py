"""Where the tables, JSON and Markdown of a study go."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hebbgraph.errors import ParameterError
from rich.console import Console
from rich.status import Status

from hebbgraph_bench.report import environment, write_json
from hebbgraph_bench.tables import Grid

__all__ = ["Output"]


class Output:
    """Tables on a console, JSON in a file, Markdown beside it (``x.json`` → ``x.md``).

    Parameters
    ----------
    json_path : str or Path, optional
        Rewritten at each :meth:`write`.
    console : rich.console.Console, optional
        Without it nothing is shown.

    Raises
    ------
    ParameterError
        If the directory of ``json_path`` does not exist.
    """

    def __init__(self, json_path: str | Path | None, console: Console | None) -> None:
        self._json = None if json_path is None else Path(json_path)
        self._console = console
        if self._json is not None and not self._json.absolute().parent.is_dir():
            raise ParameterError(f"{json_path}: expected a file in a directory that exists")

    @contextmanager
    def status(self, text: str) -> Iterator[Status | None]:
        """Show the current step."""
        if self._console is None:
            yield None
        else:
            with self._console.status(text) as status:
                yield status

    def show(self, grids: Sequence[Grid]) -> None:
        """Show tables."""
        if self._console is not None:
            for grid in grids:
                grid.print(self._console)

    def write(self, grids: Sequence[Grid], content: Mapping[str, Any]) -> None:
        """Write the figures as JSON and the tables as Markdown."""
        self.write_text(
            "\n".join(f"**{grid.title}**\n\n{grid.markdown()}" for grid in grids), content
        )

    def tables(self, grids: Sequence[Grid]) -> None:
        """Show tables and write their cells, if a study has no other figures."""
        self.show(grids)
        self.write(
            grids, {grid.title: [list(grid.headings), *map(list, grid.rows)] for grid in grids}
        )

    def show_text(self, markdown: str) -> None:
        """Show tables that are already Markdown."""
        if self._console is not None:
            self._console.print(markdown, markup=False, highlight=False, soft_wrap=True)

    def write_text(self, markdown: str, content: Mapping[str, Any]) -> None:
        """Write the figures, and tables that are already Markdown."""
        if self._json is not None:
            write_json(self._json, {"environment": environment(), **content})
            self._json.with_suffix(".md").write_text(markdown, encoding="utf-8")
