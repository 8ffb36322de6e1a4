"""A table of formatted cells, for a terminal, a pipe or Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

__all__ = ["Grid"]

#: In a terminal the first column shrinks to make room for figures, to this many characters:
#: preferably, and if a figure would not fit otherwise.
_NAME, _SHORTEST = 20, 6
_GAP = 2


@dataclass(frozen=True, slots=True)
class Grid:
    """Rows of text under headings; the first column names the row.

    Attributes
    ----------
    title : str
    headings : sequence of str
    rows : sequence of sequences of str
    best : frozenset of (row, column)
        Cells to highlight in the terminal.

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
    best: frozenset[tuple[int, int]] = frozenset()

    def print(self, console: Console) -> None:
        """Print the table without cutting figures.

        A terminal gets as many tables as its width requires, each with the first column. A pipe or
        file gets one line per row of any length, since its width cannot be changed later.
        """
        if not console.is_terminal:
            # Without rich's layout, which would cut at 80 characters.
            console.print(Text(self.plain()), soft_wrap=True)
            return
        for number, columns in enumerate(self._parts(console.width)):
            table = self._table(columns, self.title if number == 0 else "")
            console.print(table, soft_wrap=False)

    def plain(self) -> str:
        """Lay out one line per row, regardless of width.

        Examples
        --------
        >>> print(Grid("boats", ("name", "length"), [("Petrel", "9 m")]).plain())
        boats
        name    length
        Petrel     9 m
        """
        lines = [self.headings, *self.rows]
        widths = [max(map(cell_len, column)) for column in zip(*lines, strict=True)]
        laid_out = [self.title] if self.title else []
        for line in lines:
            padding = [width - cell_len(cell) for cell, width in zip(line, widths, strict=True)]
            cells = [line[0] + " " * padding[0]]
            cells += [" " * pad + cell for cell, pad in zip(line[1:], padding[1:], strict=True)]
            laid_out.append((" " * _GAP).join(cells).rstrip())
        return "\n".join(laid_out)

    def markdown(self) -> str:
        """Format the table as Markdown, without its title."""
        rule = "|".join(("", "---", *("---:" for _ in self.headings[1:]), ""))
        lines = [self._line(self.headings), rule, *map(self._line, self.rows)]
        return "\n".join(lines) + "\n"

    def _parts(self, width: int) -> Iterator[list[int]]:
        """Yield the columns of each table that fit beside the first column."""
        first = self._width(0)
        widths = {column: self._width(column) + _GAP for column in range(1, len(self.headings))}
        if first + sum(widths.values()) > width:
            first = min(first, max(_NAME, self._longest_word()))
            first = min(first, max(_SHORTEST, width - max(widths.values())))
        part: list[int] = []
        room = width - first
        for column, needed in widths.items():
            if part and needed > room:
                yield part
                part, room = [], width - first
            part.append(column)
            room -= needed
        yield part

    def _width(self, column: int) -> int:
        """Return the width of a column; only its heading may wrap."""
        words = self.headings[column].split() if column else [self.headings[0]]
        return max(map(cell_len, (*words, *(row[column] for row in self.rows))), default=0)

    def _longest_word(self) -> int:
        names = (self.headings[0], *(row[0] for row in self.rows))
        return max(cell_len(word) for name in names for word in (name.split() or [""]))

    def _table(self, columns: Sequence[int], title: str) -> Table:
        table = Table(title=escape(title) or None, title_justify="left", title_style="bold")
        table.box, table.padding = SIMPLE_HEAD, (0, 1, 0, 0)
        table.pad_edge = table.show_edge = False
        table.add_column(escape(self.headings[0]), overflow="fold")
        for column in columns:
            table.add_column(
                escape(self.headings[column]), justify="right", width=self._width(column)
            )
        for number, row in enumerate(self.rows):
            cells = [
                Text(row[column], "bold" * ((number, column) in self.best)) for column in columns
            ]
            table.add_row(escape(row[0]), *cells)
        return table

    def _line(self, cells: Sequence[str]) -> str:
        return f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |"
