"""Ray: the same tasks on a cluster, or on this machine.

Each task of a build is one of Ray Core, which runs it again if its worker or node died. Results go
through the shelf, a folder that all nodes share, so only their summaries travel.
"""

from __future__ import annotations

from collections.abc import Callable
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


class RayTasks:
    """Tasks of Ray.

    Parameters
    ----------
    workers : int, optional
        How many tasks run at once; by default as many as the cluster has processors.
    address : str, optional
        ``"auto"``, or that of a cluster; by default Ray is started on this machine, unless
        this process is connected already.

    Raises
    ------
    ParameterError
        If an address is given and this process is connected already.
    """

    def __init__(self, workers: int | None = None, address: str | None = None) -> None:
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
        self.workers = workers or max(1, int(self._ray.cluster_resources().get("CPU", 1)))
        self._remotes: dict[Callable[..., Any], Any] = {}

    def submit(self, function: Callable[..., _R], /, *arguments: Any) -> _Remote[_R]:
        """Start a task on a node with a free processor."""
        remote = self._remotes.get(function)
        if remote is None:
            remote = self._ray.remote(max_retries=_RETRIES, num_cpus=1)(function)
            self._remotes[function] = remote
        return _Remote(self._ray, remote.remote(*arguments))

    def close(self) -> None:
        """Disconnect from Ray, if this engine connected."""
        if self._started:
            self._ray.shutdown()
