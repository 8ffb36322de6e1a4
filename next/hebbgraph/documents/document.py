"""Read one file as a document: its text in Markdown, within limits of time, memory and output."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import posixpath
import re
import stat
import subprocess
import sys
import threading
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any, Self

from hebbgraph import __version__
from hebbgraph.documents.markup import take_marks
from hebbgraph.errors import ConversionError, MissingExtraError
from hebbgraph.index import HebbianIndex
from hebbgraph.records import Chunk, Record
from hebbgraph.splitter import Splitter
from hebbgraph.text.markdown import read_sections, sole_title

__all__ = ["Change", "Converter", "Document", "Limits", "convert", "place_of", "preview", "read"]

_VAGUE = re.compile(
    r"(?i)(?:index|readme|default|home|main|__init__|untitled|document|contents?|table of contents"
    r"|welcome)?"
)
_LETTER = re.compile(r"[^\W\d_]")
_HEADING = re.compile(r"(?m)^#{1,6} .*$")


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Limits of reading one file: seconds, bytes of memory, of Markdown and of the file."""

    seconds: float = 60.0
    memory: int = 2 << 30
    output: int = 20_000_000
    size: int = 50_000_000


@dataclass(frozen=True)
class Document:
    """The text of a file, in Markdown.

    ``document_id`` is its place, the path below a base. ``title`` is its main heading, its declared
    title, or its name; where these say nothing ("index", "README"), its first heading or the name
    of its folder. ``digest`` is that of its bytes and of the version that read them. ``anchors``
    and ``links`` are those besides Markdown's, with their offsets.
    """

    document_id: str
    title: str
    text: str
    digest: str
    anchors: list[tuple[int, str]] = field(default_factory=list, repr=False)
    links: list[tuple[int, str]] = field(default_factory=list, repr=False)

    def chunks(
        self, splitter: Splitter | None = None, *, metadata: Mapping[str, Any] | None = None
    ) -> list[Chunk]:
        """Return the passages of the document, for ``index.refresh``; none if it says nothing."""
        chunks = (splitter or Splitter()).split(
            self.text,
            title=self.title,
            document_id=self.document_id,
            metadata={**(metadata or {}), "source": self.document_id},
            address=self.document_id,
            anchors=self.anchors,
            links=self.links,
        )
        spoken = [chunk for chunk in chunks if _LETTER.search(_HEADING.sub("", chunk.text))]
        if spoken:
            known = {**spoken[0].metadata, "digest": self.digest}
            spoken[0] = spoken[0].model_copy(update={"metadata": known})
        return spoken


class Change(Record):
    """What ``index.refresh(document.chunks())`` would do.

    ``replaces`` is the number of chunks that the document has now; ``added``, ``unchanged`` and
    ``deleted`` count chunks by id.
    """

    document_id: str
    title: str
    replaces: int
    added: int
    unchanged: int
    deleted: int
    is_unchanged: bool


def read(
    path: str | os.PathLike[str],
    *,
    base: str | os.PathLike[str] | None = None,
    limits: Limits | None = None,
) -> Document:
    """Read a file as the document of its place, see :func:`place_of`.

    Raises
    ------
    ConversionError, MissingExtraError
        With the place and the reason.
    """
    with Converter(limits) as converter:
        place = place_of(path, base)
        return converter.convert(converter.data(Path(path), place), place)


def convert(data: bytes, name: str, *, limits: Limits | None = None) -> Document:
    """Read bytes, such as an upload, as the document of the place ``name``; as :func:`read`."""
    place = posixpath.normpath("/" + name.replace("\\", "/")).lstrip("/")
    with Converter(limits) as converter:
        return converter.convert(data, place)


def preview(document: Document, index: HebbianIndex) -> Change:
    """Return what replacing the document of this place would change; nothing is written."""
    new = {chunk.id for chunk in document.chunks()}
    old = set(index.ids({"$document_id": document.document_id}))
    return Change(
        document_id=document.document_id,
        title=document.title,
        replaces=len(old),
        added=len(new - old),
        unchanged=len(new & old),
        deleted=len(old - new),
        is_unchanged=new == old and bool(index.ids({"digest": document.digest})),
    )


def place_of(path: str | os.PathLike[str], base: str | os.PathLike[str] | None = None) -> str:
    """Return the place of a file or folder, as people know it; never an absolute path.

    It is the path below ``base``: by default the current directory if the path lies below it,
    else the folder around the path, or around the folder of a file.

    >>> place_of("/srv/docs/a.md", base="/srv"), place_of("/srv/docs/a.md")
    ('docs/a.md', 'docs/a.md')
    """
    full = Path(os.path.abspath(path))
    root = Path(os.path.abspath(base)) if base is not None else Path.cwd()
    if not full.is_relative_to(root):
        if base is not None:
            raise ConversionError(f"{full.name}: does not lie below the base {root.name}")
        root = full.parent if full.is_dir() else full.parent.parent
    place = full.relative_to(root).as_posix()
    return os.fsencode(place).decode("utf-8", "replace")


class Converter:
    """Converts files in a process of its own, which is ended when a limit is passed."""

    def __init__(self, limits: Limits | None = None) -> None:
        self.limits = limits or Limits()
        self._child: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """End the process, and what it runs."""
        child, self._child = self._child, None
        if child is None:
            return
        if os.name == "posix":
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child.pid, 9)
        child.kill()
        child.communicate()

    def data(self, path: Path, place: str) -> bytes:
        """Return the bytes of a regular file that is not too large."""
        try:
            # Opening a pipe would wait, and reading a device would not end.
            if not stat.S_ISREG(path.stat().st_mode):
                raise ConversionError(f"{place}: is no regular file")
            with path.open("rb") as file:
                data = file.read(self.limits.size + 1)
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            raise ConversionError(f"{place}: cannot be read: {reason}") from error
        return data

    def convert(self, data: bytes, name: str) -> Document:
        """Read the bytes of a file as the document of a place."""
        if len(data) > self.limits.size:
            raise ConversionError(f"{name}: is larger than {self.limits.size:,} bytes")
        if not data.strip():
            raise ConversionError(f"{name}: is empty")
        answer = self._ask(data, name)
        if answer.get("extra"):
            raise MissingExtraError(f"{name}: {answer['error']}")
        if "error" in answer:
            raise ConversionError(f"{name}: {answer['error']}")
        marked = take_marks(answer["text"])
        title = _title(name, answer["title"], marked.text)
        return Document(name, title, marked.text, digest_of(data), marked.anchors, marked.links)

    def _ask(self, data: bytes, name: str) -> dict[str, Any]:
        """Send a file to the process, starting it if there is none, and return its answer."""
        if self._child is None:
            self._child = subprocess.Popen(
                [sys.executable, "-c", "from hebbgraph.documents.kinds import serve; serve()"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
                start_new_session=True,
            )
        child, late = self._child, threading.Event()
        assert child.stdin
        assert child.stdout
        request = {
            "name": name,
            "data": b64encode(data).decode(),
            "memory": self.limits.memory,
            "output": self.limits.output,
        }

        def end() -> None:
            late.set()
            self.close()

        timer = threading.Timer(self.limits.seconds, end)
        timer.start()
        try:
            child.stdin.write(json.dumps(request).encode() + b"\n")
            child.stdin.flush()
            return dict(json.loads(child.stdout.readline()))
        except (OSError, ValueError):  # it has ended
            self.close()
            if late.is_set():
                return {"error": f"took longer than {self.limits.seconds:g} seconds"}
            return {"error": "took more memory than allowed, or broke the converter"}
        except BaseException:  # Ctrl-C
            self.close()
            raise
        finally:
            timer.cancel()


def digest_of(data: bytes) -> str:
    """Return what identifies the bytes of a file, and the version that reads them."""
    return hashlib.sha256(__version__.encode() + b"\0" + data).hexdigest()[:32]


def _title(name: str, declared: str, text: str) -> str:
    """Return the first title that says something.

    >>> _title("guide/index.md", "", "# README"), _title("ice_trade.txt", "", "It floats.")
    ('guide', 'ice trade')
    """
    sections = read_sections(text)
    path = PurePosixPath(name.replace("\\", "/"))
    headings = [section.blocks[0] for section in sections if section.path]
    first = headings[0].title if headings else ""
    main = first if headings and headings[0].level == 1 else ""
    stem = re.sub(r"[_-]+", " ", path.stem)
    for title in (sole_title(sections), declared, main, stem, first, path.parent.name):
        title = " ".join(title.split())[:300]
        if len(re.findall(r"[^\W\d_]", title)) > 1 and not _VAGUE.fullmatch(title):
            return title
    return path.name
