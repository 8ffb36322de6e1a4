"""Tasks on a Ray cluster, or with Ray on this machine.

Each build task runs as a Ray task, and Ray repeats it if its worker or node died. Results go
through the shelf, a folder that all nodes share; Ray only carries their summaries. If the cluster
has GPUs, an actor on each holds the model and embeds.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any, Generic, TypeVar

from hebbgraph.errors import BuildError, ParameterError
from hebbgraph.extras import require

__all__ = ["RayTasks"]

_R = TypeVar("_R")
_RETRIES = 3


class _Remote(Generic[_R]):
    def __init__(self, ray: Any, reference: Any) -> None:
        self._ray, self._reference = ray, reference

    def result(self) -> _R:
        try:
            value: _R = self._ray.get(self._reference)
            return value
        except self._ray.exceptions.RayTaskError as error:
            raise (error.cause or error) from error
        except self._ray.exceptions.RayError as error:
            raise BuildError(
                f"Ray gave up a task after {_RETRIES} attempts ({type(error).__name__}); build "
                "again: what is whole is not repeated"
            ) from error


class _OnGpu:
    """An actor: its process keeps the model between calls."""

    def run(self, function: Callable[..., _R], *arguments: Any) -> _R:
        return function(*arguments)


class RayTasks:
    """Ray tasks, and actors that embed.

    Parameters
    ----------
    workers : int, optional
        The number of tasks that run at once; by default the cluster's processors.
    address : str, optional
        ``"auto"``, or the address of a cluster; by default Ray starts on this machine, unless
        this process is already connected.
    gpus : int, optional
        The number of actors that embed, each on its own GPU; by default as many as the cluster has
        now. With 0, tasks embed on processors. If the cluster has fewer, actors wait for more.

    Raises
    ------
    ParameterError
        If an address is passed and this process is already connected.
    """

    def __init__(
        self,
        workers: int | None = None,
        address: str | None = None,
        gpus: int | None = None,
    ) -> None:
        self._ray = require("ray", extra="ray", purpose='engine="ray"')
        self._started = not self._ray.is_initialized()
        if address is not None and not self._started:
            raise ParameterError(
                f"this process is connected to Ray already, got address={address!r}; leave it out, "
                "or call ray.shutdown() before"
            )
        if self._started:
            options = {"num_cpus": workers} if address is None else {"address": address}
            self._ray.init(**options, log_to_driver=False, include_dashboard=False)
        resources = self._ray.cluster_resources()
        self.workers = workers or max(1, int(resources.get("CPU", 1)))
        self._gpus = int(resources.get("GPU", 0)) if gpus is None else gpus
        self._actors: Iterator[Any] | None = None
        self._remotes: dict[Callable[..., Any], Any] = {}

    def submit(self, function: Callable[..., _R], /, *arguments: Any) -> _Remote[_R]:
        """Start a task on a node with a free processor."""
        remote = self._remotes.get(function)
        if remote is None:
            remote = self._ray.remote(max_retries=_RETRIES, num_cpus=1)(function)
            self._remotes[function] = remote
        return _Remote(self._ray, remote.remote(*arguments))

    def submit_embedding(self, function: Callable[..., _R], /, *arguments: Any) -> _Remote[_R]:
        """Start a call in the next actor; without GPUs, in a task.

        Actors reserve no processor, so tasks never wait for them.
        """
        if not self._gpus:
            return self.submit(function, *arguments)
        if self._actors is None:
            actor = self._ray.remote(
                num_cpus=0, num_gpus=1, max_restarts=_RETRIES, max_task_retries=_RETRIES
            )(_OnGpu)
            self._actors = itertools.cycle([actor.remote() for _ in range(self._gpus)])
        return _Remote(self._ray, next(self._actors).run.remote(function, *arguments))

    def close(self) -> None:
        """End the actors, and disconnect from Ray if this engine connected."""
        self._actors = None  # unreferenced actors end
        if self._started:
            self._ray.shutdown()
