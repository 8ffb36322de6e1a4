"""Print for people and for programs; texts from anywhere cannot fool a terminal."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import textwrap
import time
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from hebbgraph import HebbianIndex
from hebbgraph.records import Hit, Lesson, Recall

#: Controls, overrides of direction and line separators could move the cursor, show a name
#: backwards, or forge a line of output.
_UNSAFE = re.compile(
    "[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)
_HEADING = re.compile(r"(?m)^#{1,6} +(.*?)[ #:]*$")
_EXCERPT, _READ = 300, 100_000  # characters shown of a text, and looked at
_INDENT = "   "


def visible(text: str) -> str:
    r"""Return a text on one line, without what could fool a terminal.

    >>> visible("\x1b[31mexe.\u202egpj\n2")
    '[31mexe.gpj 2'
    """
    return _UNSAFE.sub("", " ".join(text.split()))


def counted(number: int, noun: str) -> str:
    """Return a number with its noun: 1 chunk, 2,000 chunks."""
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


def hit_lines(found: Recall, *, with_path: bool = False, full: bool = False) -> Iterator[str]:
    """Yield what people see of a recall: excerpts or full texts, one line each in a pipe."""
    for hit in found:
        place = f"  {visible(hit.document_id)}" if hit.document_id else ""
        yield f"{hit.rank}. {visible(hit.label)}  {hit.score:.3f}{place}"
        yield f"{_INDENT}{visible(hit.why)}"
        if with_path:
            yield f"{_INDENT}{visible(hit.path_text)}"
        text = f"{_INDENT}{visible(hit.text) if full else _excerpt(hit)}"
        if sys.stdout.isatty():
            width = max(shutil.get_terminal_size().columns - 1, 40)
            text = textwrap.fill(text, width, subsequent_indent=_INDENT)
            if not os.environ.get("NO_COLOR"):
                text = _words_of(hit).sub("\x1b[1;31m\\g<0>\x1b[0m", text)
        yield text


def _words_of(hit: Hit) -> re.Pattern[str]:
    return re.compile(rf"(?i)\b(?:{'|'.join(map(re.escape, hit.has)) or '(?!)'})\w*")


def _excerpt(hit: Hit) -> str:
    """Return what holds the most words of the question: from the start of a sentence if it can."""
    words, text = _words_of(hit), visible(_HEADING.sub(r"\1:", hit.text[:_READ]))
    starts = [0, *(end.end() for end in re.finditer(r"[.!?]\s", text))]
    starts += [max(word.start() - 100, 0) for word in islice(words.finditer(text), 100)]
    best = max(starts, key=lambda start: len(set(words.findall(text, start, start + _EXCERPT))))
    stop = best + _EXCERPT
    return ("… " if best else "") + text[best:stop] + ("…" if len(text) > stop else "")


def lesson_lines(lesson: Lesson, index: HebbianIndex) -> Iterator[str]:
    """Yield what people see of a lesson: when, by whom, on which question, and which chunks."""
    when = time.strftime("%Y-%m-%d %H:%M", time.localtime(lesson.created))
    parts: list[str | None] = [lesson.id[:8], when, lesson.actor and f"by {lesson.actor}"]
    parts += [lesson.question and f"“{lesson.question}”", lesson.reason, lesson.note]
    yield visible("; ".join(filter(None, parts)))
    for said, ids in (("answered by", lesson.cited), ("wrong:", lesson.rejected)):
        for id_, digest in ids.items():
            name = f"{id_} (deleted)"
            for chunk in index.get(id_) or index.get(index.ids({"$digest": digest})[:1]):
                place = f" ({chunk.document_id})" if chunk.document_id else ""
                name = (chunk.title or chunk.text[:60]) + place
            yield f"{_INDENT}{said} {visible(name)}"


def show_progress(done: int, total: int) -> None:
    """Show how many files are read: one line that changes on a terminal, else a line a tenth."""
    if sys.stderr.isatty():
        end = "\r\x1b[K" if done == total else ""
        print(f"\rread {done:,} of {total:,} files{end}", end="", file=sys.stderr, flush=True)
    elif total >= 20 and done * 10 // total > (done - 1) * 10 // total:
        complain(f"read {done:,} of {total:,} files")
