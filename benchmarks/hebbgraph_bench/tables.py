"""A table of ready-made cells: for the terminal, and in Markdown for the docs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.box import SIMPLE_HEAD
from rich.markup import escape
from rich.table import Table

__all__ = ["Grid"]


@dataclass(frozen=True, slots=True)
class Grid:
    """Rows of text under headings; the first column names the row.

    Examples
    --------
    >>> print(Grid("boats", ("name", "length"), [("Petrel", "9 m")]).markdown(), end="")
    | name | length |
    |---|---:|
    | Petrel | 9 m |
    """

    title: str
    headings: Sequence[str]
    rows: Sequence[Sequence[str]]

    def table(self) -> Table:
        """Lay it out for the terminal."""
        table = Table(title=escape(self.title), title_justify="left", title_style="bold")
        table.box, table.padding, table.pad_edge = SIMPLE_HEAD, (0, 1, 0, 0), False
        for at, heading in enumerate(self.headings):
            table.add_column(escape(heading), justify="left" if at == 0 else "right")
        for row in self.rows:
            table.add_row(*map(escape, row))
        return table

    def markdown(self) -> str:
        """Write it in Markdown, without its title."""
        rule = "|".join(("", "---", *("---:" for _ in self.headings[1:]), ""))
        lines = [self._line(self.headings), rule, *map(self._line, self.rows)]
        return "\n".join(lines) + "\n"

    def _line(self, cells: Sequence[str]) -> str:
        return f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |"
