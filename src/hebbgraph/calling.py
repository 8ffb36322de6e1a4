"""Timeouts, rate limits and retries for calls of models, and their native async methods.

asyncio is slow to import and loads ssl, so functions import it only where an event loop exists.
"""

from __future__ import annotations

import contextlib
import contextvars
import functools
import os
import queue
import threading
import time
from abc import abstractmethod
from collections.abc import Awaitable, Callable, Coroutine, Generator
from types import TracebackType
from typing import TYPE_CHECKING, Any, ParamSpec, Self, TypeAlias, TypeVar

from hebbgraph.extras import require

if TYPE_CHECKING:
    import asyncio
    from concurrent.futures import ThreadPoolExecutor

__all__ = [
    "CALLER",
    "Closing",
    "RateLimiter",
    "StalledError",
    "Steps",
    "astep",
    "call",
    "call_with_timeout",
    "in_thread",
    "on_event_loop",
    "retrying",
    "step",
    "twins",
]

_MOST_THREADS = 32

_P = ParamSpec("_P")
_T = TypeVar("_T")

#: The event loop that waits for this thread, if an async method started the call.
CALLER: contextvars.ContextVar[asyncio.AbstractEventLoop | None] = contextvars.ContextVar(
    "hebbgraph_caller", default=None
)


def call(model: Any, method: str, argument: Any) -> Any:
    """Call a method of a model.

    In a thread that an event loop waits for, run the method's async twin on that loop if there is
    one (``aembed_query`` for ``embed_query``), since API clients are bound to a loop.
    """
    native = getattr(model, f"a{method}", None)
    loop = CALLER.get()
    if native is None or loop is None or not loop.is_running() or on_event_loop():
        return getattr(model, method)(argument)
    import asyncio

    return asyncio.run_coroutine_threadsafe(native(argument), loop).result()


def on_event_loop() -> bool:
    """Return whether this code runs on an event loop, which it must not block."""
    import asyncio

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def _new_threads(most: int) -> ThreadPoolExecutor:
    from concurrent.futures import ThreadPoolExecutor

    return ThreadPoolExecutor(most, thread_name_prefix="hebbgraph")


@functools.cache
def _threads() -> ThreadPoolExecutor:
    """Return the threads of this process in which async methods run.

    The event loop's own threads would not do: a model's async method often needs one of them while
    a thread of ours waits for it, so with a shared pool, enough concurrent questions would
    deadlock.
    """
    return _new_threads(_MOST_THREADS)


if hasattr(os, "register_at_fork"):  # a forked process has none of its parent's threads
    os.register_at_fork(after_in_child=_threads.cache_clear)


def in_thread(method: Callable[_P, _T]) -> Callable[_P, Coroutine[Any, Any, _T]]:
    """Make the async twin of a method, which runs it in a thread that knows the waiting loop."""

    @functools.wraps(method)
    async def twin(*args: _P.args, **kwargs: _P.kwargs) -> _T:
        import asyncio

        loop = asyncio.get_running_loop()
        # If a model in turn queries an index, a pool thread already waits for it: use another one.
        is_nested = CALLER.get() is not None
        threads = _new_threads(1) if is_nested else _threads()
        context = contextvars.copy_context()
        context.run(CALLER.set, loop)
        try:
            return await loop.run_in_executor(
                threads, functools.partial(context.run, method, *args, **kwargs)
            )
        finally:
            if is_nested:
                threads.shutdown(wait=False)

    twin.__name__ = twin.__qualname__ = f"a{method.__name__}"
    twin.__doc__ = f"Async twin of :meth:`{method.__name__}`."
    return twin


Steps: TypeAlias = Generator[tuple[Callable[[], Any], Callable[[], Awaitable[Any]]], Any, _T]
"""The body of a method and its async twin: it yields each foreign call in both forms."""


def step(steps: Steps[_T]) -> _T:
    """Run steps with their synchronous calls.

    Examples
    --------
    >>> def greeting(name):
    ...     upper = yield name.upper, None
    ...     return f"Hello {upper}"
    >>> step(greeting("Ida"))
    'Hello IDA'
    """
    value = None
    while True:
        try:
            plain, _ = steps.send(value)
        except StopIteration as done:
            result: _T = done.value
            return result
        value = plain()


async def astep(steps: Steps[_T]) -> _T:
    """Run steps with their async calls."""
    value = None
    while True:
        try:
            _, native = steps.send(value)
        except StopIteration as done:
            result: _T = done.value
            return result
        value = await native()


def twins(target: Any, method: str, /, *args: Any, **kwargs: Any) -> Any:
    """Return the call of a method and of its async twin, for :data:`Steps` to yield.

    Examples
    --------
    >>> def greeting(name):
    ...     return (yield twins(name, "upper"))
    >>> class Name(str):
    ...     async def aupper(self): ...
    >>> step(greeting(Name("Ida")))
    'IDA'
    """
    methods = (getattr(target, method), getattr(target, f"a{method}"))
    return tuple(functools.partial(call, *args, **kwargs) for call in methods)


class Closing:
    """Mixin for classes with ``close``: adds ``aclose``, ``with`` and ``async with``."""

    @abstractmethod
    def close(self) -> None:
        """Release all resources; closing twice is fine."""

    async def aclose(self) -> None:
        """Async twin of :meth:`close`."""
        await in_thread(self.close)()

    @contextlib.contextmanager
    def _closed_on_error(self) -> Generator[None]:
        """Close this object if the block raises, since the caller will not get it."""
        try:
            yield
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.aclose()


class StalledError(TimeoutError):
    """A call exceeded its timeout."""


def call_with_timeout(seconds: float, call: Callable[[], _T]) -> _T:
    """Run a call with a timeout; raise StalledError when it is exceeded.

    A thread cannot be killed, so a stalled call continues in a daemon thread and its answer is
    dropped.

    Examples
    --------
    >>> call_with_timeout(5.0, lambda: 7)
    7
    """
    done: queue.SimpleQueue[tuple[Any, BaseException | None]] = queue.SimpleQueue()

    def run() -> None:
        try:
            done.put((call(), None))
        except BaseException as error:
            done.put((None, error))

    context = contextvars.copy_context()
    threading.Thread(target=context.run, args=(run,), name="hebbgraph-call", daemon=True).start()
    try:
        value, error = done.get(timeout=seconds)
    except queue.Empty:
        raise StalledError(f"no answer within {seconds:g} s") from None
    if error is not None:
        raise error
    result: _T = value
    return result


class RateLimiter:
    """Spaces calls evenly over time, across all threads.

    Parameters
    ----------
    per_minute : float or None
        Maximal number of calls per minute; None for no limit.
    """

    def __init__(self, per_minute: float | None) -> None:
        self._interval = 60.0 / per_minute if per_minute else 0.0
        self._lock = threading.Lock()
        self._next = 0.0

    def wait(self, stop: threading.Event) -> None:
        """Sleep until the next call may start, or ``stop`` is set."""
        if not self._interval:
            return
        with self._lock:
            start = max(self._next, time.monotonic())
            self._next = start + self._interval
        stop.wait(max(0.0, start - time.monotonic()))


def retrying(retries: int, wait_seconds: float, stop: threading.Event) -> Any:
    """Return a tenacity retry loop with jittered exponential backoff, up to a minute.

    Raises
    ------
    MissingExtraError
        If tenacity is not installed.
    """
    tenacity = require("tenacity", extra="llm", purpose="tagging with a language model")
    return tenacity.Retrying(
        stop=tenacity.stop_any(
            tenacity.stop_after_attempt(retries + 1), tenacity.stop_when_event_set(stop)
        ),
        wait=tenacity.wait_random_exponential(multiplier=wait_seconds, max=60.0),
        sleep=tenacity.sleep_using_event(stop),
        retry=tenacity.retry_if_exception_type(Exception),
        reraise=True,
    )
