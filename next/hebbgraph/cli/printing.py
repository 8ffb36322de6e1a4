"""Print for people and for programs; texts from anywhere cannot fool a terminal."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

import typer
from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from hebbgraph.records import Hit, Recall

__all__ = ["complain", "count_lines", "counted", "err", "hit_lines", "show", "visible"]

#: Lines are not wrapped, so that paths and commands can be copied, and pipes get whole lines.
out = Console(soft_wrap=True, highlight=False, markup=False, emoji=False)
err = Console(soft_wrap=True, highlight=False, markup=False, emoji=False, stderr=True)

#: Controls, overrides of direction and line separators could move the cursor, show a name
#: backwards, or forge a line of output.
_UNSAFE = re.compile(
    "[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)
_EXCERPT, _READ = 300, 100_000  # characters shown of a text, and looked at


def visible(text: str) -> str:
    r"""Return a text on one line, without what could fool a terminal.

    Examples
    --------
    >>> visible("\x1b[31mexe.\u202egpj\n2")
    '[31mexe.gpj 2'
    """
    return _UNSAFE.sub("", " ".join(text.split()))


def counted(number: int, noun: str) -> str:
    """Return a number with its noun.

    >>> counted(1, "chunk"), counted(2000, "chunk")
    ('1 chunk', '2,000 chunks')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def complain(message: str) -> None:
    """Print one line to standard error."""
    err.print(visible(message))


def show(record: Any, lines: Iterable[str | Text | Padding], *, as_json: bool) -> None:
    """Print lines for people, or a record as JSON."""
    if as_json:
        text = json.dumps(record, ensure_ascii=False, indent=2)
        typer.echo(_UNSAFE.sub(lambda match: f"\\u{ord(match[0]):04x}", text))
        return
    for line in lines:
        out.print(line, soft_wrap=not isinstance(line, Padding))


def indented(text: str | Text, style: str = "") -> Text | Padding:
    """Return a paragraph below a heading: wrapped on a terminal, one line in a pipe."""
    paragraph = Text(visible(text), style=style) if isinstance(text, str) else text
    return Padding(paragraph, (0, 0, 0, 3)) if out.is_terminal else Text("   ") + paragraph


def hit_lines(found: Recall, with_path: bool) -> Iterator[Text | Padding]:
    """Return what people see of a recall: its hits, with the path to each if asked for."""
    for hit in found:
        yield Text.assemble(
            f"{hit.rank}. ",
            (visible(hit.label), "bold"),
            (f"  {hit.score:.3f}", "cyan"),
            (f"  {visible(hit.id)}", "dim"),
        )
        if hit.document_id:
            yield indented(hit.document_id, "dim")
        yield indented(_excerpt(hit))
        if with_path:
            yield indented(hit.path_text, "green")


def count_lines(rows: Iterable[tuple[int, str]]) -> Iterator[str]:
    """Return a table of numbers and names."""
    return (f"{number:>8,}  {visible(name)}" for number, name in rows)


def _excerpt(hit: Hit) -> Text:
    """Return the sentences that hold the most words of the question, with these in bold."""
    text = visible(hit.text[:_READ])
    words = re.compile(rf"(?i)\b(?:{'|'.join(map(re.escape, hit.has)) or '(?!)'})")
    lower = text.lower()
    best, most = 0, -1
    for start in (0, *(end.end() for end in re.finditer(r"[.!?]\s", text))):
        if (found := len(set(words.findall(lower, start, start + _EXCERPT)))) > most:
            best, most = start, found
    stop = best + _EXCERPT
    shown = Text(("… " if best else "") + text[best:stop] + ("…" if len(text) > stop else ""))
    shown.highlight_regex(words, style="bold")
    return shown
