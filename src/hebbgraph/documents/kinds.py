"""Convert the bytes of one file to Markdown. This runs in the process of a Converter.

Markdown, tables, notebooks, JSON, source code and plain text need nothing installed; the others
are read by pandoc, HTML without its menus and PDF by `pages`.
"""

from __future__ import annotations

import codecs
import contextlib
import csv
import importlib
import io
import json
import os
import re
import signal
import subprocess
import sys
from base64 import b64decode
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from typing import Any

from hebbgraph.documents.markup import clean_markdown, mark_directives, take_marks
from hebbgraph.errors import ConversionError, MissingExtraError
from hebbgraph.text.blocks import Page

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]

#: Markdown with private marks (:mod:`hebbgraph.documents.markup`), and a declared title.
Converted = tuple[str, str]

_PANDOC = {".tex": "latex", ".typ": "typst", ".wiki": "mediawiki"}
for _name in ("docx", "epub", "fb2", "ipynb", "odt", "org", "pptx", "rst", "rtf", "xlsx"):
    _PANDOC[f".{_name}"] = _name
_PACKED = {".docx", ".epub", ".odt", ".pptx", ".xlsx"}
_MARKDOWN = {".md", ".markdown", ".mdown", ".mkd", ".qmd", ".rmd"}
_TEXT = {"", ".txt", ".text", ".log", ".adoc", ".srt", ".vtt"}
#: Source code and configuration, where a line that begins with # is no heading.
CODE = frozenset({
    ".bash", ".c", ".cc", ".cfg", ".clj", ".conf", ".cpp", ".cs", ".cmake", ".ex", ".exs", ".f90",
    ".fish", ".go", ".gradle", ".h", ".hpp", ".hs", ".ini", ".java", ".jl", ".js", ".jsx", ".kt",
    ".lua", ".m", ".mjs", ".ml", ".php", ".pl", ".pm", ".proto", ".ps1", ".py", ".pyi", ".pyx",
    ".r", ".rb", ".rs", ".scala", ".sh", ".sql", ".swift", ".tcl", ".tf", ".toml", ".ts", ".tsx",
    ".vue", ".xml", ".yaml", ".yml", ".zig", ".zsh",
})  # fmt: skip
_PRIVATE = re.compile("[\ue000-\ue002]")  # marks are made of these
_MOST_LINE = 5_000  # ASCII characters of a line of text, on average; others need no spaces
_ENCODING = re.compile(rb"""(?i)<(?:meta|\?xml)[^<>]{0,200}?(?:charset|encoding)=["']?([\w-]+)""")
#: Titles that say nothing.
_VAGUE = re.compile(
    r"(?i)(?:index|readme|default|home|main|__init__|untitled|document|contents?|table of contents"
    r"|welcome)?"
)
#: Anchors on a line of their own go before the text that they belong to.
_LONE_MARKS = re.compile("(?m)^([ \t]*(?:\ue000[^\ue000-\ue002\n]*\ue002)+)\n+[ \t]*(?=\\S)")


def can_convert(name: str) -> bool:
    """Return whether the suffix of a file's name is one that is read."""
    return PurePosixPath(name).suffix.lower() in _READERS


def _decode(data: bytes, declared: str = "") -> str:
    """Decode a text: by its mark or declared encoding, as UTF-8, or else as Windows-1252."""
    is_utf16 = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    if b"\0" in data[:8192] and not is_utf16:
        raise ConversionError("is binary, not text")
    text = data.decode("cp1252", "replace")
    for encoding in ("utf-16" if is_utf16 else "utf-8-sig", declared or "cp1252"):
        with contextlib.suppress(UnicodeDecodeError, LookupError):
            text = data.decode(encoding)
            break
    return _PRIVATE.sub("", text)


def _plain(data: bytes, suffix: str = "") -> Converted:
    """Return a text as it is, unless a program has written it for programs."""
    text = _decode(data)
    lines, n_ascii = text.count("\n") + 1, len(text.encode("ascii", "ignore"))
    if n_ascii > lines * _MOST_LINE and text.count(" ") * 10 < n_ascii:
        raise ConversionError("has long lines without spaces, such as minified code")
    return text, ""


def _code(data: bytes, suffix: str) -> Converted:
    text, _ = _plain(data)
    fence = "`" * max([3, *(len(ticks) + 1 for ticks in re.findall("`+", text))])
    return f"{fence}{suffix[1:]}\n{text}\n{fence}", ""


def _table(data: bytes, suffix: str) -> Converted:
    text = _decode(data)
    head = text[: text.find("\n") + 1 or None]
    delimiter = "\t" if suffix == ".tsv" else max(",;\t|", key=head.count)
    lines = []
    try:
        for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True):
            if any(row):
                cells = (" ".join(cell.split()).replace("|", r"\|") for cell in row)
                lines.append(f"| {' | '.join(cells)} |")
                if len(lines) == 1:
                    lines.append(f"|{'---|' * len(row)}")
    except csv.Error as error:
        raise ConversionError(f"cannot be read as a table: {error}") from error
    return "\n".join(lines), ""


def _json(data: bytes, suffix: str) -> Converted:
    """Return JSON with a name or value on each line; line ends in texts are as they were."""
    try:
        text = json.dumps(json.loads(_decode(data)), ensure_ascii=False, indent=1)
    except (ValueError, RecursionError) as error:
        raise ConversionError(f"is not valid JSON: {error}") from error
    return re.sub(r"(\\\\)|\\n", lambda match: match[1] or "\n", text), ""


def _html(data: bytes, suffix: str) -> Converted:
    declared = _ENCODING.search(data[:4096])
    text = _decode(data, declared[1].decode() if declared else "")
    page, title = _extra("hebbgraph.documents.pages").read_html(text)
    return _pandoc(page.encode("utf-8", "replace"), "html"), title


def _by_pandoc(data: bytes, suffix: str) -> Converted:
    if suffix not in _PACKED:
        text = _decode(data)
        data = (mark_directives(text) if suffix == ".rst" else text).encode("utf-8", "replace")
    text = _pandoc(data, _PANDOC[suffix])
    if suffix == ".rst":  # a label is known in all documents
        text = re.sub("\ue000([^\ue002:]+)\ue002", _with_label, text)
    return text, ""


def _with_label(mark: re.Match[str]) -> str:
    return f"{mark[0]}\ue000label:{re.sub(r'[_ ]+', '-', mark[1].lower())}\ue002"


def _pandoc(data: bytes, kind: str) -> str:
    """Run pandoc, which may read no other file and reach no network."""
    filter_file = Path(__file__).with_name("plain.lua")
    command = [_extra("pypandoc").get_pandoc_path(), "+RTS", "-M1g", "-RTS", "--sandbox"]
    command += ["-f", kind, "-t", "gfm", "--wrap=none", "-L", str(filter_file)]
    done = subprocess.run(command, input=data, capture_output=True, check=False)
    if done.returncode:
        reason = " ".join(done.stderr.decode("utf-8", "replace").split()) or "no reason given"
        raise ConversionError(f"cannot be read by pandoc: {reason[:200]}")
    text = _LONE_MARKS.sub(r"\1", done.stdout.decode("utf-8", "replace"))
    # Rows of tables lose the spaces and dashes that align them.
    return re.sub(r"(?m)^\|.*\|$", lambda row: re.sub(r"( ) +|(---)-+", r"\1\2", row[0]), text)


def _extra(module: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingExtraError(
            'this kind of file needs: pip install "hebbgraph[documents]"'
        ) from error


_READERS: dict[str, Callable[[bytes, str], Converted]] = {
    **dict.fromkeys(_TEXT, _plain),
    **dict.fromkeys(CODE, _code),
    **dict.fromkeys(_MARKDOWN, lambda data, _: clean_markdown(_decode(data), jsx=False)),
    ".mdx": lambda data, _: clean_markdown(_decode(data), jsx=True),
    **dict.fromkeys((".html", ".htm", ".xhtml"), _html),
    **dict.fromkeys((".csv", ".tsv"), _table),
    **dict.fromkeys(_PANDOC, _by_pandoc),
    ".json": _json,
    ".pdf": lambda data, _: _extra("hebbgraph.documents.pages").read_pdf(data),
}


def serve() -> None:
    """Answer the requests of a :class:`~hebbgraph.documents.document.Converter`, a line each."""
    answers = os.fdopen(os.dup(1), "w", encoding="ascii")
    os.dup2(2, 1)  # what a library prints is no answer
    for line in sys.stdin.buffer:
        request = json.loads(line)
        if resource is not None:  # the alarm ends a process whose parent was killed
            signal.alarm(int(request["seconds"]) + 5)
            resource.setrlimit(resource.RLIMIT_DATA, (request["memory"], request["memory"]))
        print(json.dumps(_answer(request)), file=answers, flush=True)
        if resource is not None:
            signal.alarm(0)


def _answer(request: dict[str, Any]) -> dict[str, Any]:
    try:
        suffix = PurePosixPath(request["name"]).suffix.lower()
        converted, declared = _READERS.get(suffix, _plain)(b64decode(request["data"]), suffix)
        if len(converted) > request["output"]:
            raise ConversionError(f"holds more than {request['output']:,} characters of text")
        text, anchors, links = take_marks(converted)
        title = _title(request["name"], declared, text)
    except (ConversionError, MissingExtraError) as error:
        return {"error": str(error), "extra": isinstance(error, MissingExtraError)}
    except (MemoryError, RecursionError):
        return {"error": "takes more memory than allowed", "extra": False}
    except Exception as error:
        return {"error": f"cannot be read: {type(error).__name__}: {error}", "extra": False}
    return {"text": text, "title": title, "anchors": anchors, "links": links}


def _title(name: str, declared: str, text: str) -> str:
    """Return the first title that says something."""
    page = Page(text)
    path = PurePosixPath(name)
    headings = [section.blocks[0] for section in page.sections if section.path]
    first = headings[0].title if headings else ""
    main = first if headings and headings[0].level == 1 else ""
    stem = re.sub(r"[_-]+", " ", path.stem)
    for title in (page.title, declared, main, stem, first, path.parent.name):
        title = " ".join(title.split())[:300]
        if len(re.findall(r"[^\W\d_]", title)) > 1 and not _VAGUE.fullmatch(title):
            return title
    return path.name
