"""Print for people and for programs; texts from anywhere cannot fool a terminal."""

from __future__ import annotations

import json
import re
import shutil
import sys
import textwrap
from collections.abc import Iterable, Iterator
from typing import Any

from hebbgraph.records import Hit, Lesson, Recall

__all__ = ["complain", "counted", "hit_lines", "lesson_line", "show", "show_progress", "visible"]

#: Controls, overrides of direction and line separators could move the cursor, show a name
#: backwards, or forge a line of output.
_UNSAFE = re.compile(
    "[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)
_EXCERPT, _READ = 300, 100_000  # characters shown of a text, and looked at
_INDENT = "   "


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
    print(visible(message), file=sys.stderr)


def show(record: Any, lines: Iterable[str], *, as_json: bool) -> None:
    """Print lines for people, or a record as JSON."""
    if as_json:
        text = json.dumps(record, ensure_ascii=False, indent=2)
        lines = [_UNSAFE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)]
    for line in lines:
        print(line)


def hit_lines(found: Recall, with_path: bool = False) -> Iterator[str]:
    """Yield what people see of a recall.

    On a terminal, texts are cut and wrapped. In a pipe each text is one whole line.
    """
    for hit in found:
        place = f"  {visible(hit.document_id)}" if hit.document_id else ""
        yield f"{hit.rank}. {visible(hit.label)}  {hit.score:.3f}{place}"
        yield f"{_INDENT}{visible(hit.why)}"
        if with_path:
            yield f"{_INDENT}{visible(hit.path_text)}"
        if not sys.stdout.isatty():
            yield f"{_INDENT}{visible(hit.text)}"
            continue
        width = max(shutil.get_terminal_size().columns - 1, 40)
        yield textwrap.fill(_excerpt(hit), width, initial_indent=_INDENT, subsequent_indent=_INDENT)


def _excerpt(hit: Hit) -> str:
    """Return the sentences that hold the most words of the question."""
    words = re.compile(rf"(?i)\b(?:{'|'.join(map(re.escape, hit.has)) or '(?!)'})\w*")
    text = visible(hit.text[:_READ])
    starts = (0, *(end.end() for end in re.finditer(r"[.!?]\s", text)))
    best = max(starts, key=lambda start: len(set(words.findall(text, start, start + _EXCERPT))))
    stop = best + _EXCERPT
    return ("… " if best else "") + text[best:stop] + ("…" if len(text) > stop else "")


def lesson_line(lesson: Lesson) -> str:
    """Return what people see of a lesson."""
    parts: list[str | None] = [lesson.id, lesson.question and f"“{lesson.question}”"]
    parts += [f"answered by {id_}" for id_ in lesson.cited]
    parts += [f"wrong: {id_}" for id_ in lesson.rejected]
    parts += [lesson.actor and f"by {lesson.actor}", lesson.reason, lesson.note]
    return visible("; ".join(filter(None, parts)))


def show_progress(done: int, total: int) -> None:
    """Show how many files are read: one line that changes on a terminal, else a line a tenth."""
    if sys.stderr.isatty():
        end = "\r\x1b[K" if done == total else ""
        print(f"\rread {done:,} of {total:,} files{end}", end="", file=sys.stderr, flush=True)
    elif total >= 20 and done * 10 // total > (done - 1) * 10 // total:
        complain(f"read {done:,} of {total:,} files")
