"""The main loop of a worker process: requests on stdin, answers on stdout.

:mod:`hebbgraph_documents.worker` starts it and enforces the time limit. The worker itself limits
its memory and processor time for each file.
"""

from __future__ import annotations

import contextlib
import math
import os
import signal
import sys
import threading
import time
from typing import Any, BinaryIO

from hebbgraph.errors import ConversionError, MissingExtraError, ParameterError

from hebbgraph_documents.convert import Document, convert_bytes
from hebbgraph_documents.outline import one_line
from hebbgraph_documents.worker_protocol import MAX_HEADER, receive, send

__all__ = ["IDLE_SECONDS", "serve"]

IDLE_SECONDS = 600.0
"""A worker exits when idle for so long."""

_GRACE_SECONDS = 5
# The worker exits when earlier files have leaked more than this share of the memory limit.
_LEAKED = 0.25
_LONGEST_REASON = 2_000
_HEADING_BYTES = 30  # of JSON, besides its text
_CHARACTER_BYTES = 12  # of JSON at most


def serve() -> None:
    """Convert files until the input ends."""
    if threading.current_thread() is threading.main_thread():
        # Ctrl-C also reaches the parent, which ends this process.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    requests, answers = _private_streams()
    send(answers, {"ready": True})
    at_start = _address_space()
    while True:
        idle = threading.Timer(IDLE_SECONDS, os._exit, (0,))
        idle.daemon = True
        idle.start()
        try:
            request, data = receive(requests, max_body=sys.maxsize)
        except EOFError:
            return
        finally:
            idle.cancel()
        _set_limits(request["memory_bytes"], request["seconds"])
        answer, text = _answer(request, data)
        del data
        leaked = _address_space() - at_start
        answer["last"] = (
            answer.get("failed") == "memory" or leaked > _LEAKED * request["memory_bytes"]
        )
        with contextlib.suppress(BrokenPipeError):
            send(answers, answer, text)
        if answer["last"]:
            return


def _private_streams() -> tuple[BinaryIO, BinaryIO]:
    """Reserve stdin and stdout for the protocol, and discard what libraries print."""
    requests = os.fdopen(os.dup(0), "rb")
    answers = os.fdopen(os.dup(1), "wb")
    nowhere = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(nowhere, standard)
    os.close(nowhere)
    return requests, answers


def _answer(request: dict[str, Any], data: bytes) -> tuple[dict[str, Any], bytes]:
    try:
        document = convert_bytes(
            data,
            path=request["path"],
            max_bytes=request["max_bytes"],
            encoding=request["encoding"],
            max_characters=request["output_characters"],
        )
        return _packed(document)
    except MemoryError:
        return {"failed": "memory"}, b""
    except ConversionError as error:
        if isinstance(error.__cause__, MemoryError):
            return {"failed": "memory"}, b""
        kind, reason = "file", str(error)
    except MissingExtraError as error:
        kind, reason = "extra", str(error)
    except ParameterError as error:
        kind, reason = "parameter", str(error)
    return {"failed": kind, "reason": one_line(reason, limit=_LONGEST_REASON)}, b""


def _packed(document: Document) -> tuple[dict[str, Any], bytes]:
    headings = document.headings
    size = sum(len(heading.text) + _HEADING_BYTES for heading in headings) * 2
    if size > MAX_HEADER:
        raise ConversionError(f"has {len(headings):,} headings, which is too many; split it")
    marks = []
    for mark in document.marks:  # only the first, if there are too many
        size += _CHARACTER_BYTES * len(mark.target) + _HEADING_BYTES
        if size > MAX_HEADER:
            break
        marks.append(list(mark))
    return {
        "title": document.title,
        "headings": [[h.level, h.text, h.start, h.stop] for h in headings],
        "marks": marks,
    }, document.text.encode()


def _set_limits(memory_bytes: int, seconds: float) -> None:
    """Limit processor time and address space for the next file, where supported."""
    try:
        import resource
    except ImportError:  # Windows
        return
    cpu_seconds = math.ceil(time.process_time() + seconds) + _GRACE_SECONDS
    for kind, soft in ((resource.RLIMIT_CPU, cpu_seconds), (resource.RLIMIT_AS, memory_bytes)):
        _, hard = resource.getrlimit(kind)
        if hard != resource.RLIM_INFINITY:
            soft = min(soft, hard)
        with contextlib.suppress(OSError, ValueError):  # a system without this limit
            resource.setrlimit(kind, (soft, hard))


def _address_space() -> int:
    """Return the size of the address space in bytes; 0 where unknown."""
    try:
        with open("/proc/self/statm", "rb") as file:
            return int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return 0
