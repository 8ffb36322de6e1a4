"""Worker processes for converting files that may be hostile.

A worker starts on demand and converts one file after another. It is killed when it takes too long,
and replaced when it crashes or keeps too much memory.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, cast

from hebbgraph import errors
from hebbgraph.errors import (
    ConversionError,
    HebbgraphError,
    MissingExtraError,
    ParameterError,
)
from hebbgraph.limits import (
    CONVERSION_CHARACTERS,
    CONVERSION_CHUNKS,
    CONVERSION_MEMORY_BYTES,
    CONVERSION_SECONDS,
)

from hebbgraph_documents.convert import Document, media_type_of, shown_path
from hebbgraph_documents.outline import one_line
from hebbgraph_documents.worker_main import IDLE_SECONDS
from hebbgraph_documents.worker_protocol import ProtocolError, headings_of, marks_of, receive, send

__all__ = ["DEFAULT_LIMITS", "ConversionLimits", "ConversionWorker", "convert_apart"]

_START_SECONDS = 120.0
_STOP_SECONDS = 5.0
_MOST_IDLE = 4
# Skip the __init__ of both packages: it would load the index and its databases, half a
# second and 60 MB that a worker does not need.
_PROGRAM = """
import json, sys, types
sys.path[:] = json.loads(sys.argv[1])
for name, folder in json.loads(sys.argv[2]).items():
    sys.modules[name] = types.ModuleType(name)
    sys.modules[name].__path__ = [folder]
from hebbgraph_documents.worker_main import serve
serve()
"""
_PACKAGES = {
    "hebbgraph": str(Path(errors.__file__).resolve().parent),
    "hebbgraph_documents": str(Path(__file__).resolve().parent),
}
_FAILURES = {"file": ConversionError, "extra": MissingExtraError, "parameter": ParameterError}


_LEAST_MEMORY = 100_000_000
"""A worker process needs up to 80 MB for itself and its libraries."""


@dataclass(frozen=True, kw_only=True)
class ConversionLimits:
    """Limits of the conversion of one file.

    Parameters
    ----------
    seconds : float
        Wall time of the conversion.
    memory_bytes : int
        Address space of the worker process, including its own 80 MB. Enforced on Linux alone.
    output_characters : int
        Of the text. A text no longer than the file always passes.
    chunks : int
        Chunks per file; see :func:`~hebbgraph_documents.ingest`.

    Raises
    ------
    ParameterError
        If a limit is not positive, or ``memory_bytes`` is too low for any file.

    Examples
    --------
    >>> ConversionLimits(seconds=10).seconds
    10
    """

    seconds: float = CONVERSION_SECONDS
    memory_bytes: int = CONVERSION_MEMORY_BYTES
    output_characters: int = CONVERSION_CHARACTERS
    chunks: int = CONVERSION_CHUNKS

    def __post_init__(self) -> None:
        # A timer overflows after some 292 years.
        if not 0 < self.seconds <= 86_400:
            raise ParameterError(
                f"seconds must be positive and at most 86,400, got {self.seconds!r}"
            )
        if self.memory_bytes < _LEAST_MEMORY:
            raise ParameterError(
                f"memory_bytes must be at least {_LEAST_MEMORY:,}, got {self.memory_bytes!r}; "
                "the process that converts needs 80 MB for itself"
            )
        if self.output_characters < 1 or self.chunks < 1:
            raise ParameterError(
                "output_characters and chunks must be positive, "
                f"got {self.output_characters!r} and {self.chunks!r}"
            )


DEFAULT_LIMITS = ConversionLimits()


class ConversionWorker:
    """One worker process; not thread-safe. :func:`convert_apart` keeps a pool of them.

    Parameters
    ----------
    command : sequence of str, optional
        The program to start instead of this Python.
    """

    def __init__(self, command: Sequence[str] | None = None) -> None:
        self._command = command
        self._process: subprocess.Popen[bytes] | None = None
        self._last_used = 0.0

    def convert(
        self,
        data: bytes,
        *,
        path: str | os.PathLike[str],
        max_bytes: int,
        encoding: str | None,
        limits: ConversionLimits,
    ) -> Document:
        """Convert the bytes of a file.

        Raises
        ------
        ConversionError
            If the file cannot be converted within the limits.
        MissingExtraError
            If the extra ``documents`` is not installed.
        """
        media_type = media_type_of(path)
        most = max(limits.output_characters, len(data))
        request = {"path": os.fspath(path), "max_bytes": max_bytes, "encoding": encoding}
        process = self._running()
        deadline = _Deadline(process, limits.seconds)
        try:
            with deadline:
                send(_pipe(process.stdin), {**request, **vars(limits)}, data)
                # At most four bytes a character.
                answer, text = receive(_pipe(process.stdout), max_body=4 * most)
            if answer.get("last") or deadline.expired:
                self.close()
            self._last_used = time.monotonic()
            return _document(answer, text, media_type, path, limits)
        except HebbgraphError:  # the worker's regular answer; it lives on
            raise
        except (EOFError, OSError, ProtocolError) as error:
            if not isinstance(error, ProtocolError):  # the worker is exiting; wait for its code
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(_STOP_SECONDS)
            self.close()
            reason = _why(process.returncode, deadline.expired, limits, error)
            raise ConversionError(f"{shown_path(path)}: {reason}") from error
        except BaseException:  # a late answer would count as the next file's
            self.close()
            raise

    def close(self) -> None:
        """Kill the process."""
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        for pipe in (process.stdin, process.stdout):
            with contextlib.suppress(OSError):  # from unsent data
                _pipe(pipe).close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_STOP_SECONDS)

    def abandon(self) -> None:
        """Forget the process without killing it: after a fork, it belongs to the parent."""
        if self._process is not None:
            self._process.returncode = 0  # keeps Popen from waiting for it with a warning
            self._process = None

    def _running(self) -> subprocess.Popen[bytes]:
        is_old = time.monotonic() - self._last_used > IDLE_SECONDS / 2
        if self._process is not None and (is_old or self._process.poll() is not None):
            self.close()
        if self._process is None:
            self._process = self._started()
        return self._process

    def _started(self) -> subprocess.Popen[bytes]:
        try:
            process = subprocess.Popen(
                self._command or _python(),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                # glibc reserves 64 MB of address space for every thread that allocates.
                env={**os.environ, "MALLOC_ARENA_MAX": "1"},
            )
        except OSError as error:
            raise ConversionError(f"{_NO_PROCESS}: {error}; {_ADVICE}") from error
        self._process = process
        try:
            with _Deadline(process, _START_SECONDS):
                receive(_pipe(process.stdout), max_body=0)
        except (EOFError, OSError, ProtocolError) as error:
            self.close()
            raise ConversionError(
                f"{_NO_PROCESS}: it ended with {process.returncode}; {_ADVICE}"
            ) from error
        except BaseException:
            self.close()
            raise
        return process


class _Deadline:
    """Kills a process after a time, which unblocks reads of its pipes."""

    def __init__(self, process: subprocess.Popen[bytes], seconds: float) -> None:
        self.expired = False
        self._process = process
        self._timer = threading.Timer(seconds, self._expire)
        self._timer.daemon = True

    def __enter__(self) -> _Deadline:
        self._timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()
        self._timer.join()

    def _expire(self) -> None:
        self.expired = True
        self._process.kill()


_NO_PROCESS = "cannot start the process that converts files"
_ADVICE = "limits=None converts files in this one"
_idle: list[ConversionWorker] = []
_lock = threading.Lock()


def convert_apart(
    data: bytes,
    *,
    path: str | os.PathLike[str],
    max_bytes: int,
    encoding: str | None,
    limits: ConversionLimits,
) -> Document:
    """Convert the bytes of a file in a pooled worker process."""
    with _lock:
        worker = _idle.pop() if _idle else ConversionWorker()
    try:
        return worker.convert(
            data, path=path, max_bytes=max_bytes, encoding=encoding, limits=limits
        )
    finally:
        with _lock:
            keep = len(_idle) < _MOST_IDLE
            if keep:
                _idle.append(worker)
        if not keep:
            worker.close()


@atexit.register
def _close_idle() -> None:
    while _idle:
        _idle.pop().close()


def _forget_idle() -> None:
    global _lock
    _lock = threading.Lock()
    while _idle:
        _idle.pop().abandon()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_idle)


def _python() -> list[str]:
    if not sys.executable or getattr(sys, "frozen", False):
        raise ConversionError(f"{_NO_PROCESS}: there is no Python to run; {_ADVICE}")
    path = [folder for folder in sys.path if isinstance(folder, str)]
    # -P: nothing from the working directory, before sys.path is set.
    return [sys.executable, "-P", "-c", _PROGRAM, json.dumps(path), json.dumps(_PACKAGES)]


def _pipe(stream: IO[bytes] | None) -> Any:
    return cast("IO[bytes]", stream)


def _document(
    answer: dict[str, Any],
    text: bytes,
    media_type: str,
    path: str | os.PathLike[str],
    limits: ConversionLimits,
) -> Document:
    """Return the Document of a valid answer; raise the error of a failure."""
    failed = answer.get("failed")
    if failed == "memory":
        raise ConversionError(
            f"{shown_path(path)}: takes more than {limits.memory_bytes:,} bytes of memory to "
            "convert; split it, or raise the limit memory_bytes"
        )
    if failed is not None:
        reason = answer.get("reason")
        error = _FAILURES.get(failed) if isinstance(failed, str) else None
        if error is None or not isinstance(reason, str):
            raise ProtocolError("no reason for a failure")
        raise error(reason)
    title = answer.get("title")
    if not isinstance(title, str):
        raise ProtocolError("no title")
    try:
        decoded = text.decode()
    except UnicodeDecodeError as error:
        raise ProtocolError("no UTF-8") from error
    lines = decoded.count("\n") + 1
    headings = headings_of(answer.get("headings"), lines=lines)
    marks = marks_of(answer.get("marks", []), lines=lines)
    return Document(decoded, one_line(title), media_type, headings, marks)


def _why(code: int | None, expired: bool, limits: ConversionLimits, error: Exception) -> str:
    """Explain why a process that exited with ``code`` did not answer."""
    if expired or (hasattr(signal, "SIGXCPU") and code == -signal.SIGXCPU):
        return (
            f"takes longer than {limits.seconds:g} seconds to convert; split it, or raise the "
            "limit seconds"
        )
    if isinstance(error, ProtocolError):
        return f"the converter returned invalid output ({error}); the file is damaged or hostile"
    return (
        f"crashed the process that converts it ({_ending(code)}); it is damaged, or takes more "
        f"than {limits.memory_bytes:,} bytes of memory"
    )


def _ending(code: int | None) -> str:
    if code is not None and code < 0:
        with contextlib.suppress(ValueError):
            return signal.Signals(-code).name
    return f"exit code {code}"
