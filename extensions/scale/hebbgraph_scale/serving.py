"""Replicas of hebbgraph-server behind Ray Serve.

Start them with ``hebbgraph scale serve CONFIG``, with Ray's config file, or::

    serve run hebbgraph_scale.serving:app database=postgresql+psycopg://... cache_dir=...

Ray starts, watches, scales and replaces replicas, and routes requests. PostgreSQL holds the data;
each machine keeps derived parts in ``cache_dir``, which its replicas share.
"""

from __future__ import annotations

import logging
import os
import threading
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

from hebbgraph.embedders import SentenceTransformerEmbedder
from hebbgraph.errors import ParameterError, StorageError
from hebbgraph.extras import require
from hebbgraph.hebbian_index import HebbianIndex
from hebbgraph.pool import IndexPool
from hebbgraph.store.places import is_url
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from hebbgraph_scale.replicas import fetch

__all__ = ["ReplicaPool", "ServingConfig", "app", "read_config", "run"]

logger = logging.getLogger(__name__)

_FAILED = 400
#: Makes Ray route requests by HAProxy, which hides the client's address from replicas.
_HAPROXY = "RAY_SERVE_ENABLE_HA_PROXY"


class ServingConfig(BaseModel):
    """The index to serve, and the number of replicas.

    Attributes
    ----------
    database : str
        A PostgreSQL URL, or a directory if all replicas run on one machine.
    cache_dir : str
        A folder of each machine; may hold ``~`` and ``$VARIABLE``.
    snapshots : str, optional
        Where snapshots are published; replicas start from them.
    embedder : str, optional
        A sentence-transformers model.
    tokens : str, optional
        A TOML file of tokens on each machine. Without it, replicas answer only their own machine.
    host, port
        Where Ray's proxies listen.
    server : dict
        Further settings of :class:`hebbgraph_server.ServerSettings`, such as ``allowed_hosts``.
    min_replicas, max_replicas : int
    ongoing : float
        Ray aims at this number of concurrent requests a replica.
    cpus : float
        Processors that Ray reserves for a replica; .5 puts two on one.
    """

    model_config = ConfigDict(extra="forbid")

    database: str
    cache_dir: str
    snapshots: str | None = None
    embedder: str | None = None
    tokens: str | None = None
    host: str = "127.0.0.1"
    port: int = Field(default=4321, ge=1, le=65535)
    server: dict[str, Any] = {}
    min_replicas: int = Field(default=1, ge=1)
    max_replicas: int = Field(default=4, ge=1)
    ongoing: float = Field(default=4.0, gt=0)
    cpus: float = Field(default=1.0, gt=0)

    def settings(self) -> Any:
        """Read the tokens; return the settings of the server."""
        server = require("hebbgraph_server", extra="serving", purpose="serving")
        access = require("hebbgraph_server.access", extra="serving", purpose="serving")
        tokens = () if self.tokens is None else tuple(access.read_tokens(Path(self.tokens)))
        settings = server.ServerSettings(
            host=self.host, port=self.port, tokens=tokens, **self.server
        )
        settings.check()
        return settings


def read_config(path: Path) -> ServingConfig:
    """Read a TOML or YAML file.

    Raises
    ------
    ParameterError
        If it cannot be read, or holds unknown or invalid settings.
    """
    try:
        if path.suffix.lower() in (".yaml", ".yml"):
            yaml = require("yaml", extra="serving", purpose=f"reading {path}")
            settings = yaml.safe_load(path.read_text("utf-8"))
        else:
            settings = tomllib.loads(path.read_text("utf-8"))
    except Exception as error:
        if isinstance(error, OSError | ValueError) or type(error).__module__.startswith("yaml"):
            raise ParameterError(f"{path}: {error}") from error
        raise
    return _config(settings, str(path))


def _config(settings: Any, source: str) -> ServingConfig:
    if not isinstance(settings, dict):
        raise ParameterError(f"{source} holds no settings; add database = ... and cache_dir = ...")
    try:
        return ServingConfig(**settings)
    except ValidationError as error:
        problems = [f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors()]
        raise ParameterError(f"{source}: {'; '.join(problems)}") from error


class ReplicaPool(IndexPool):
    """An IndexPool whose indexes start from published snapshots.

    If the storage cannot be reached, it logs a warning and builds them from the database.
    """

    def __init__(self, location: str, *, replica_of: str | None, **options: Any) -> None:
        super().__init__(location, **options)
        self._replica_of = replica_of
        self._locks: dict[str, threading.Lock] = {}
        self._started: set[str] = set()

    @contextmanager
    def lend(self, namespace: str) -> Iterator[HebbianIndex]:
        """Yield the open index of a namespace; fetch its snapshot first, once."""
        with super().lend(namespace) as index:
            if self._replica_of is not None and namespace not in self._started:
                with self._locks.setdefault(namespace, threading.Lock()):
                    if namespace not in self._started:
                        self._fetch(index, self._replica_of)
                        self._started.add(namespace)
            yield index

    def _fetch(self, index: HebbianIndex, url: str) -> None:
        try:
            name = fetch(index, url).name
            logger.info("%s: started from snapshot %s", index.namespace, name)
        except StorageError as error:
            logger.warning("%s: building from the database: %s", url, error)


def app(args: dict[str, str] | ServingConfig) -> Any:
    """Return the Ray Serve application.

    Parameters
    ----------
    args : dict or ServingConfig
        Ray passes ``args:`` of its config file, or the arguments of ``serve run``.
    """
    serve = require("ray.serve", extra="serving", purpose="serving by Ray")
    config = args if isinstance(args, ServingConfig) else _config(args, "args")
    if not is_url(config.database):
        logger.warning("%s is a directory: all replicas must run on this machine", config.database)
    settings = config.settings()
    max_open = settings.open_namespaces
    is_ours = isinstance(args, ServingConfig)  # run() makes the proxies listen on config.host

    class Replica:
        """A pool of tenants behind the routes, the page and MCP."""

        def __init__(self) -> None:
            from hebbgraph_server import create_app
            from hebbgraph_server.indexes import Indexes

            if not (settings.tokens or is_ours) and os.environ.get(_HAPROXY) == "1":
                raise ParameterError(
                    f"HAProxy ({_HAPROXY}=1) hides who asks, so everyone on the network could read "
                    "and write; name a file of tokens: tokens = FILE"
                )
            cache = os.path.expandvars(os.path.expanduser(config.cache_dir))
            options: dict[str, Any] = {"cache_dir": cache, "settings": "saved"}
            if config.embedder is not None:
                options["embedder"] = SentenceTransformerEmbedder(config.embedder)
            self.pool = ReplicaPool(
                config.database, replica_of=config.snapshots, max_open=max_open, **options
            )
            self._app = create_app(Indexes(self.pool), settings, sessions=False)
            self.id = serve.get_replica_context().replica_id.unique_id

        def __serve_build_asgi_app__(self) -> Any:
            return _Tenants(self._app, self, local_only=not settings.tokens)

        @serve.multiplexed(max_num_models_per_replica=max_open)  # type: ignore[untyped-decorator]
        async def tenant(self, namespace: str) -> str:
            """Tell Ray that this replica has a tenant open."""
            return namespace

    deployment = serve.deployment(
        name="hebbgraph",
        ray_actor_options={"num_cpus": config.cpus},
        max_ongoing_requests=max(8, round(4 * config.ongoing)),
        autoscaling_config={
            "min_replicas": config.min_replicas,
            "max_replicas": max(config.min_replicas, config.max_replicas),
            "target_ongoing_requests": config.ongoing,
        },
    )
    return deployment(serve.ingress()(Replica)).bind()


class _Tenants:
    """Middleware that tells Ray which tenants this replica has open.

    It adds the header ``x-replica``. With ``local_only`` it refuses other machines: under ``serve
    deploy`` Ray decides where proxies listen, by default everywhere.
    """

    def __init__(self, app: Any, replica: Any, *, local_only: bool) -> None:
        self.app, self.replica, self.local_only = app, replica, local_only

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if self.local_only and scope["type"] == "http" and not _is_local(scope):
            await _refusal()(scope, receive, send)
            return
        status = _FAILED

        async def send_named(message: Any) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                header = (b"x-replica", self.replica.id.encode())
                message = {**message, "headers": [*message["headers"], header]}
            await send(message)

        await self.app(scope, receive, send_named)
        if scope["type"] == "http" and status < _FAILED and scope["path"].startswith("/v1/"):
            query = parse_qs(scope["query_string"].decode("latin-1"))
            if namespaces := query.get("namespace"):
                await self.replica.tenant(namespaces[0])


def _is_local(scope: Any) -> bool:
    settings = require("hebbgraph_server.settings", extra="serving", purpose="serving")
    client = scope.get("client")
    return bool(client) and bool(settings.is_loopback(client[0]))


def _refusal() -> Any:
    """Return the answer to a request over the network without tokens."""
    problems = require("hebbgraph_server.problems", extra="serving", purpose="serving")
    detail = (
        "without tokens only the machine itself is answered, as everyone on the network could "
        "read and write; name a file of tokens in the settings: tokens = FILE"
    )
    return problems.response(problems.problem(403, "AccessError", detail))


def run(config: ServingConfig, *, address: str | None = None, blocking: bool = True) -> None:
    """Start Ray here, or join a cluster, and serve until interrupted."""
    ray = require("ray", extra="serving", purpose="serving by Ray")
    serve = require("ray.serve", extra="serving", purpose="serving by Ray")
    application = app(config)
    ray.init(address=address, ignore_reinit_error=True, log_to_driver=False)
    serve.start(http_options={"host": config.host, "port": config.port})
    serve.run(application, name="hebbgraph", route_prefix="/", blocking=blocking)
