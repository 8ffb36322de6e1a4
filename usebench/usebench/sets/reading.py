"""Reading JSON files, cutting texts, and cards of sets."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from usebench.errors import SetError

__all__ = ["Card", "cut", "read_json", "read_lines", "squeezed"]

_SPACES = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class Card:
    """A card: what a set can show and what it cannot.

    Parameters
    ----------
    name, source, licence : str
    feedback : str
        Where it comes from.
    shows, hides : str
    """

    name: str
    source: str
    licence: str
    feedback: str
    shows: str
    hides: str

    def __str__(self) -> str:
        """The card as a paragraph of Markdown."""
        return (
            f"### {self.name}\n\n- **Source**: {self.source}. {self.licence}\n"
            f"- **Feedback**: {self.feedback}\n- **Shows**: {self.shows}\n"
            f"- **Does not show**: {self.hides}"
        )


def read_json(path: Path) -> Any:
    """Read a JSON file.

    Raises
    ------
    SetError
        If it is missing or broken.
    """
    if not path.is_file():
        raise SetError(f"{path}: expected this file; name the folder of the clone that holds it")
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise SetError(f"{path}: expected JSON; {error}") from error


def read_lines(
    path: Path,
    *,
    fields: Iterable[str] = (),
    hint: str = "name the folder of the clone that holds it",
) -> Iterator[dict[str, Any]]:
    """Read a file with a JSON object a line.

    Parameters
    ----------
    path : Path
    fields : iterable of str
        Required in each object.
    hint : str
        Ends the message if the file is missing.

    Raises
    ------
    SetError
        If the file is missing, or a line is invalid.
    """
    if not path.is_file():
        raise SetError(f"{path}: expected this file; {hint}")
    with path.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                row = json.loads(line)
            except ValueError as error:
                raise SetError(f"{path}:{number}: expected JSON, got {line[:60]!r}") from error
            if not isinstance(row, dict):
                raise SetError(f"{path}:{number}: expected an object, got {line[:60]!r}")
            for name in fields:
                if name not in row:
                    raise SetError(f"{path}:{number}: expected a field {name!r}, got {line[:60]!r}")
            yield row


def cut(text: str, characters: int = 1000) -> list[str]:
    """Cut a text into pieces of about so many characters, at the ends of paragraphs or sentences.

    Examples
    --------
    >>> cut("One. Two three. Four.", 10)
    ['One.', 'Two three.', 'Four.']
    """
    pieces = [""]
    for part in re.split(r"(?<=[.!?])\s+|\n{2,}", text.strip()):
        if pieces[-1] and len(pieces[-1]) + len(part) >= characters:
            pieces.append("")
        pieces[-1] = f"{pieces[-1]} {part}".strip()
    return [piece for piece in pieces if piece]


def squeezed(text: str) -> str:
    """Remove white space, to compare passages that were wrapped differently."""
    return _SPACES.sub("", text)
