"""What builders share: reading files of a clone, cutting texts, and cards."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from usebench.errors import SetError

__all__ = ["Card", "cut", "read_json", "read_lines", "squeezed"]

_SPACES = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class Card:
    """What a set can show and what it cannot.

    Parameters
    ----------
    name, source, licence : str
    feedback : str
        Whose it is.
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


def read_lines(path: Path) -> Iterator[dict[str, Any]]:
    """Read a file with an object of JSON a line.

    Raises
    ------
    SetError
        If it is missing or a line is broken.
    """
    if not path.is_file():
        raise SetError(f"{path}: expected this file; name the folder of the clone that holds it")
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if line.strip():
            try:
                yield json.loads(line)
            except ValueError as error:
                raise SetError(f"{path}:{number}: expected JSON; {error}") from error


def cut(text: str, characters: int = 1000) -> list[str]:
    """Cut a text at the ends of paragraphs or sentences into pieces of about so many characters.

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
    """Return a text without white space, to compare passages that were wrapped differently."""
    return _SPACES.sub("", text)
