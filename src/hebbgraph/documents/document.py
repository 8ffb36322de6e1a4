"""Read one file as a document: its text in Markdown, within limits of time, memory and output."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import posixpath
import re
import signal
import stat
import subprocess
import sys
import threading
import time
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeAlias

from hebbgraph import __version__
from hebbgraph.errors import ConversionError, MissingExtraError
from hebbgraph.protocols import Closing
from hebbgraph.records import Chunk, Record
from hebbgraph.splitter import Splitter

_Path: TypeAlias = str | os.PathLike[str]
_LETTER = re.compile(r"[^\W\d_]")
_HEADING = re.compile(r"(?m)^#{1,6} .*$")


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Limits of reading one file: seconds, bytes of memory, of Markdown and of the file."""

    seconds: float = 60.0
    memory: int = 2 << 30
    output: int = 20_000_000
    size: int = 50_000_000


class Document(Record):
    """The text of a file, in Markdown.

    ``document_id`` is its place, the path below a base. ``title`` is its main heading, its declared
    title, or its name; where these say nothing ("index", "README"), its first heading or the name
    of its folder. ``digest`` is that of its bytes and of the version that read them, ``@``, and
    that of a file's base, or nothing for an upload. ``anchors`` and ``links`` are those besides
    Markdown's, with their offsets.
    """

    document_id: str
    title: str
    text: str
    digest: str
    anchors: tuple[tuple[int, str], ...] = ()
    links: tuple[tuple[int, str], ...] = ()

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
        if spoken := [chunk for chunk in chunks if _LETTER.search(_HEADING.sub("", chunk.text))]:
            known = {**spoken[-1].metadata, "digest": self.digest}  # written last, so all are there
            spoken[-1] = spoken[-1].model_copy(update={"metadata": known})
        return spoken


def read(path: _Path, *, base: _Path | None = None, limits: Limits | None = None) -> Document:
    """Read a file as the document of its place, see :func:`place_of`.

    Raises
    ------
    ConversionError, MissingExtraError
        With the place and the reason.
    """
    with Converter(limits) as converter:
        place = place_of(path, base)
        return converter.convert(converter.data(Path(path), place), place, base_of(path, base))


def convert(data: bytes, name: str, *, limits: Limits | None = None) -> Document:
    """Read bytes, such as an upload, as the document of the place ``name``; as :func:`read`."""
    place = posixpath.normpath("/" + name.replace("\\", "/")).lstrip("/")
    with Converter(limits) as converter:
        return converter.convert(data, place)


def place_of(path: _Path, base: _Path | None = None) -> str:
    """Return the place of a file or folder, as people know it: its path below :func:`base_of`.

    >>> place_of("/srv/docs/a.md", base="/srv"), place_of("/srv/docs/a.md")
    ('docs/a.md', 'docs/a.md')
    """
    full, root = Path(os.path.abspath(path)), base_of(path, base)
    if not full.is_relative_to(root):
        raise ConversionError(f"{full.name}: does not lie below the base {root.name}")
    return os.fsencode(full.relative_to(root).as_posix()).decode("utf-8", "replace")


def base_of(path: _Path, base: _Path | None = None) -> Path:
    """Return the folder from which the place of a path is counted; no absolute path is stored.

    By default it is the current directory if the path lies below it, else the folder around a
    folder, or around that of a file.
    """
    full, here = Path(os.path.abspath(path)), Path.cwd()
    if base is not None:
        return Path(os.path.abspath(base))
    if full.is_relative_to(here):
        return here
    return full.parent if full.is_dir() else full.parent.parent


class Converter(Closing):
    """Converts files in a process of its own, which is ended when a limit is passed."""

    def __init__(self, limits: Limits | None = None) -> None:
        self.limits = limits or Limits()
        self._child: subprocess.Popen[bytes] | None = None

    def close(self) -> None:
        """End the process, and what it runs."""
        child, self._child = self._child, None
        if child is not None:
            _kill(child)
            child.communicate()

    def data(self, path: Path, place: str) -> bytes:
        """Return the bytes of a regular file that is not too large."""
        try:
            # Opening a pipe would wait, and reading a device would not end.
            if not stat.S_ISREG(path.stat().st_mode):
                raise ConversionError(f"{place}: is not a regular file")
            with path.open("rb") as file:
                return file.read(self.limits.size + 1)
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            raise ConversionError(f"{place}: cannot be read: {reason}") from error

    def convert(self, data: bytes, name: str, base: Path | None = None) -> Document:
        """Read the bytes of an upload, or of a file below a base, as the document of a place."""
        if len(data) > self.limits.size:
            raise ConversionError(f"{name}: is larger than {self.limits.size:,} bytes")
        if not data.strip():
            raise ConversionError(f"{name}: is empty")
        answer = self._ask(data, name)
        if "error" in answer:
            error = MissingExtraError if answer["extra"] else ConversionError
            raise error(f"{name}: {answer['error']}")
        return Document(document_id=name, digest=digest_of(data, base), **answer)

    def _ask(self, data: bytes, name: str) -> dict[str, Any]:
        """Send a file to the process, starting it if there is none, and return its answer."""
        if self._child is None:
            self._child = subprocess.Popen(
                [sys.executable, "-Pc", "from hebbgraph.documents.kinds import serve; serve()"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
                start_new_session=True,
            )
        child = self._child
        assert child.stdin
        assert child.stdout
        request = {"name": name, "data": b64encode(data).decode(), **asdict(self.limits)}
        deadline = time.monotonic() + self.limits.seconds
        timer = threading.Timer(self.limits.seconds, _kill, [child])
        timer.start()
        try:
            child.stdin.write(json.dumps(request).encode() + b"\n")
            child.stdin.flush()
            return dict(json.loads(child.stdout.readline()))
        except (OSError, ValueError):  # it has ended
            self.close()
            reason = "took more memory than allowed, or broke the converter"
            if time.monotonic() >= deadline:
                reason = f"took longer than {self.limits.seconds:g} seconds"
            raise ConversionError(f"{name}: {reason}") from None
        except BaseException:  # Ctrl-C
            self.close()
            raise
        finally:
            timer.cancel()


def _kill(child: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError):
        if os.name == "posix":
            os.killpg(child.pid, signal.SIGKILL)
    child.kill()


def digest_of(data: bytes, base: Path | None = None) -> str:
    """Return what identifies bytes, the version that reads them, and the base of a file."""
    return hashlib.sha256(__version__.encode() + b"\0" + data).hexdigest()[:32] + mark_of(base)


def mark_of(base: Path | None) -> str:
    """Return the end of the digests of files below a base, or of uploads."""
    return f"@{hashlib.sha256(os.fsencode(base)).hexdigest()[:16] if base else ''}"
