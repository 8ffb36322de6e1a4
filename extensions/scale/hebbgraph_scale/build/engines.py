"""Engines run tasks: in this process, in other processes, or on a Ray cluster.

An engine takes an importable function and picklable arguments, and returns a :class:`Task`. It
repeats tasks whose worker died.
"""

from __future__ import annotations

import contextlib
import logging
import multiprocessing
import os
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Any, Generic, Literal, Protocol, TypeAlias, TypeVar

from hebbgraph.errors import BuildError, ParameterError

__all__ = ["Engine", "EngineName", "InProcessEngine", "Processes", "Task", "engine_named"]

logger = logging.getLogger(__name__)

_R = TypeVar("_R")
_R_co = TypeVar("_R_co", covariant=True)
EngineName: TypeAlias = Literal["processes", "ray"]
_ATTEMPTS = 3
#: Guards ``__main__`` while :func:`_without_program` changes it.
_MAIN_LOCK = threading.Lock()


class Task(Protocol[_R_co]):
    """A running call."""

    def result(self) -> _R_co:
        """Wait for the call; return its result or raise its error."""
        ...


class Engine(Protocol):
    """Runs tasks.

    Attributes
    ----------
    workers : int
        The number of tasks that run at once.
    """

    workers: int

    def submit(self, function: Callable[..., _R], /, *arguments: Any) -> Task[_R]:
        """Start a call once a worker is free."""
        ...

    def submit_embedding(self, function: Callable[..., _R], /, *arguments: Any) -> Task[_R]:
        """Start a call that runs a model; on a GPU, if the engine has one."""
        ...

    def close(self) -> None:
        """End all workers, and abandon unfinished tasks."""
        ...


class _FinishedTask(Generic[_R]):
    def __init__(self, value: _R) -> None:
        self._value = value

    def result(self) -> _R:
        return self._value


class InProcessEngine:
    """Runs each task in this process, as it is submitted."""

    workers = 1

    def submit(self, function: Callable[..., _R], /, *arguments: Any) -> Task[_R]:
        """Run the call now."""
        return _FinishedTask(function(*arguments))

    submit_embedding = submit

    def close(self) -> None:
        """Do nothing."""


class Processes:
    """Processes of this machine.

    They are spawned and do not import the calling program, so it needs no
    ``if __name__ == "__main__":``; an embedder's factory must be importable from another module.

    Parameters
    ----------
    workers : int
    """

    def __init__(self, workers: int) -> None:
        self.workers = workers
        self._pool: ProcessPoolExecutor | None = None
        self._generation = 0

    def submit(self, function: Callable[..., _R], /, *arguments: Any) -> Task[_R]:
        """Start a call in the next free process."""
        return _Submitted(self, function, arguments)

    submit_embedding = submit

    def start(self, function: Callable[..., _R], arguments: Any) -> tuple[Future[_R], int]:
        """Start a call; return its future, and the generation of its pool."""
        if self._pool is None:
            context = multiprocessing.get_context("spawn")
            self._pool = ProcessPoolExecutor(self.workers, mp_context=context, initializer=_set_up)
        with _without_program():  # submitting may start a process
            return self._pool.submit(function, *arguments), self._generation

    def replace(self, generation: int) -> None:
        """Drop a pool whose process died, unless that was done."""
        if generation == self._generation:
            self._generation += 1
            # A process that was starting when another one died would keep the pool waiting forever.
            if self._pool is not None:
                for process in list((self._pool._processes or {}).values()):
                    process.kill()
            self.close()

    def close(self) -> None:
        """End the processes."""
        pool, self._pool = self._pool, None
        if pool is not None:
            pool.shutdown(wait=True, cancel_futures=True)


@contextlib.contextmanager
def _without_program() -> Iterator[None]:
    """Keep processes that start meanwhile from importing ``__main__``."""
    main = sys.modules["__main__"].__dict__
    names = ("__spec__", "__file__")
    with _MAIN_LOCK:
        saved: dict[str, Any] = {name: main.pop(name) for name in names if name in main}
        main["__spec__"] = None
        try:
            yield
        finally:
            main.update(saved)


def _set_up() -> None:
    """Limit numerical libraries to one thread, and end this worker with the driver."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(name, "1")


def _end_with_parent() -> None:
    """Exit when the driver ends, even if it was killed."""
    if (parent := multiprocessing.parent_process()) is not None:
        parent.join()
        os._exit(1)


class _Submitted(Generic[_R]):
    def __init__(self, engine: Processes, function: Callable[..., _R], arguments: Any) -> None:
        self._engine = engine
        self._call = function, arguments
        try:
            self._future, self._pool = engine.start(*self._call)
        except BrokenProcessPool:
            engine.replace(engine._generation)
            self._future, self._pool = engine.start(*self._call)

    def result(self) -> _R:
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                return self._future.result()
            except BrokenProcessPool as error:
                # A dead process breaks all tasks of its pool. Complete results stay on the shelf.
                if attempt == _ATTEMPTS:
                    raise BuildError(
                        f"workers died {attempt} times in a row, for lack of memory perhaps; build "
                        "again with fewer workers: what is whole is not repeated"
                    ) from error
                logger.warning("a worker died; its tasks are run again (%d)", attempt)
                self._engine.replace(self._pool)
                self._future, self._pool = self._engine.start(*self._call)
        raise AssertionError("unreachable")


def engine_named(
    name: EngineName,
    workers: int | None = None,
    address: str | None = None,
    gpus: int | None = None,
) -> Engine:
    """Return an engine.

    Parameters
    ----------
    name : {"processes", "ray"}
    workers : int, optional
        By default one for each processor of the machine or cluster.
    address : str, optional
        Of a Ray cluster; by default Ray starts on this machine.
    gpus : int, optional
        The number of GPUs of a Ray cluster that embed; by default all.

    Raises
    ------
    ParameterError
        If a value is invalid, or ``address`` or ``gpus`` is passed with processes.
    """
    if workers is not None and not (type(workers) is int and workers >= 1):
        raise ParameterError(f"workers is a positive int, got {workers!r}")
    if gpus is not None and not (type(gpus) is int and gpus >= 0):
        raise ParameterError(f"gpus is 0 or more, got {gpus!r}")
    if name == "ray":
        from hebbgraph_scale.build.ray_engine import RayTasks

        return RayTasks(workers, address, gpus)
    if name != "processes":
        raise ParameterError(f"engine is 'processes' or 'ray', got {name!r}")
    for option, value in (("address", address), ("gpus", gpus)):
        if value is not None:
            raise ParameterError(f"{option} goes with the engine 'ray'")
    workers = workers or _processors()
    return InProcessEngine() if workers == 1 else Processes(workers)


def _processors() -> int:
    """Return the number of processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
