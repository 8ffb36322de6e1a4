"""Peak memory of a stretch of work, without slowing it."""

from __future__ import annotations

import ctypes
import gc
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

__all__ = ["PeakMemory", "allocated_bytes"]

_STATUS = Path("/proc/self/status")
_RESET = Path("/proc/self/clear_refs")


class PeakMemory:
    """Measures how far the process's resident memory rises above its level at entry.

    On Linux the kernel keeps the high-water mark (``VmHWM``) and resets it on request, so this
    costs nothing and misses no peak, native libraries included. At entry, garbage is collected
    and freed heap pages are returned, so memory left by one system does not hide the growth of
    the next. Pages of memory-mapped files count once read. Elsewhere ``megabytes`` stays None.

    Attributes
    ----------
    megabytes : float or None
        Set at exit; 1 MB is 10**6 bytes.

    Examples
    --------
    >>> with PeakMemory() as peak:
    ...     block = b"x" * 20_000_000
    >>> peak.megabytes is None or peak.megabytes > 15
    True
    """

    def __init__(self) -> None:
        self.megabytes: float | None = None
        self._before: int | None = None

    def __enter__(self) -> Self:
        gc.collect()
        with suppress(AttributeError, OSError, TypeError):  # not glibc
            ctypes.CDLL(None).malloc_trim(0)
        try:
            _RESET.write_text("5")
        except OSError:  # not Linux, or not allowed
            return self
        self._before = _read_kilobytes("VmRSS")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        after = _read_kilobytes("VmHWM")
        if self._before is not None and after is not None:
            self.megabytes = max(after - self._before, 0) * 1024 / 1e6


def _read_kilobytes(field: str) -> int | None:
    try:
        lines = _STATUS.read_text().splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) for line in lines if line.startswith(f"{field}:")), None)


def allocated_bytes() -> int | None:
    """Return resident memory without mapped files; None if unknown."""
    gc.collect()
    kilobytes = _read_kilobytes("RssAnon")
    return None if kilobytes is None else kilobytes * 1024
