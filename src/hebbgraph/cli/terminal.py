"""Make untrusted text safe to print on a terminal.

Texts, titles and ids come from anywhere. An escape sequence in one could move the cursor or
rename the window, a bidirectional override could show a file name backwards, and a line
separator could forge a line of output.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from rich.markup import escape

from hebbgraph.labels import counted

__all__ = ["as_json", "counted", "harmless", "most_frequent", "without_controls"]

_BIDI = "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
_LINES = "\u2028\u2029"
_SURROGATES = "\ud800-\udfff"
#: All control characters of C0 and C1 except tab and newline.
_CONTROLS = "\0-\x08\x0b-\x1f\x7f-\x9f"
_STRIPPED = re.compile(f"[{_CONTROLS}{_BIDI}{_SURROGATES}]")
_SEPARATOR = re.compile(f"[{_LINES}]")
#: JSON escapes the other control characters itself.
_ESCAPED = re.compile(f"[\x7f-\x9f{_BIDI}{_LINES}{_SURROGATES}]")


def harmless(text: str) -> str:
    r"""Return a text without control characters and overrides, escaped for rich's markup.

    Examples
    --------
    >>> harmless("\x1b[red]exe.\u202egpj")
    '\\[red]exe.gpj'
    """
    return escape(without_controls(text))


def without_controls(text: str) -> str:
    r"""Return a text without control characters and overrides, not escaped for rich's markup.

    Examples
    --------
    >>> without_controls("\x1b[red]exe.\u202egpj")
    '[red]exe.gpj'
    """
    return _STRIPPED.sub("", _SEPARATOR.sub(" ", text))


def most_frequent(numbers: Mapping[str, int], limit: int = 8) -> str:
    """Return the largest numbers with their names, escaped for rich's markup.

    Examples
    --------
    >>> most_frequent({"": 5, ".log": 12, ".png": 70, ".zip": 1}, limit=3)
    '.png: 70, .log: 12, none: 5 and 1 more'
    """
    names = sorted(numbers, key=lambda name: (-numbers[name], name))
    more = f" and {len(names) - limit:,} more" if len(names) > limit else ""
    return harmless(
        ", ".join(f"{name or 'none'}: {numbers[name]:,}" for name in names[:limit]) + more
    )


def as_json(value: Any) -> str:
    r"""Return a value as readable JSON in which such characters are escaped.

    Examples
    --------
    >>> as_json("a\u202eb")
    '"a\\u202eb"'
    """
    text = json.dumps(value, ensure_ascii=False, indent=2)
    return _ESCAPED.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
