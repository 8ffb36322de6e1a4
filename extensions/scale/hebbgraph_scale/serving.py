"""Replicas by Ray Serve: the server of hebbgraph-server, in as many copies as there is to do.

``hebbgraph scale serve CONFIG``, or with Ray's own tools, also in a cluster's config file::

    serve run hebbgraph_scale.serving:app database=postgresql+psycopg://... cache_dir=...

Ray starts, watches, scales and replaces the replicas, and routes requests. What they know lies in
PostgreSQL; each machine keeps derived parts in ``cache_dir``, which its replicas share.
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
#: Ray's HAProxy takes requests in place of its proxies, and tells no replica who sent them.
_HAPROXY = "RAY_SERVE_ENABLE_HA_PROXY"


class ServingConfig(BaseModel):
    """What is served, and by how many.

    Attributes
    ----------
    database : str
        A URL of PostgreSQL; a directory, where all replicas run on one machine.
    cache_dir : str
        A folder of each machine; ``~`` and ``$VARIABLE`` are those of the machine.
    snapshots : str, optional
        Where snapshots are published: replicas start from them.
    embedder : str, optional
        A model of sentence-transformers.
    tokens : str, optional
        A TOML file of tokens, on each machine. Without one, only this machine is listened to.
    host, port
        Where Ray's proxies listen.
    server : dict
        Further settings of :class:`hebbgraph_server.ServerSettings`, such as ``allowed_hosts``.
    min_replicas, max_replicas : int
        Ray adds and removes replicas between them.
    ongoing : float
        Requests at once that each replica should have.
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
        """Return the settings of the server; tokens are read here."""
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
        If it cannot be read, or names what there is not.
    """
    try:
        if path.suffix.lower() in (".yaml", ".yml"):
            yaml = require("yaml", extra="serving", purpose=f"reading {path}")
            held = yaml.safe_load(path.read_text("utf-8"))
        else:
            held = tomllib.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise ParameterError(f"{path}: {error}") from error
    except Exception as error:
        if type(error).__module__.startswith("yaml"):
            raise ParameterError(f"{path}: {error}") from error
        raise
    return _config(held, str(path))


def _config(held: Any, where: str) -> ServingConfig:
    if not isinstance(held, dict):
        raise ParameterError(f"{where} holds no settings; write database = ... and cache_dir = ...")
    try:
        return ServingConfig(**held)
    except ValidationError as error:
        problems = "; ".join(
            f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors()
        )
        raise ParameterError(f"{where}: {problems}") from error


class ReplicaPool(IndexPool):
    """An IndexPool whose indexes start from published snapshots.

    If the storage cannot be reached, they are built from the database, and the log says so.
    """

    def __init__(self, location: str, *, replica_of: str | None, **options: Any) -> None:
        super().__init__(location, **options)
        self._replica_of = replica_of
        self._starting: dict[str, threading.Lock] = {}
        self._begun: set[str] = set()

    @contextmanager
    def lend(self, namespace: str) -> Iterator[HebbianIndex]:
        """Yield the open index of a namespace, begun from a snapshot when it is first opened."""
        with super().lend(namespace) as index:
            if self._replica_of is not None and namespace not in self._begun:
                with self._starting.setdefault(namespace, threading.Lock()):
                    if namespace not in self._begun:
                        self._begin(index, self._replica_of)
                        self._begun.add(namespace)
            yield index

    def _begin(self, index: HebbianIndex, url: str) -> None:
        try:
            fetched = fetch(index, url)
        except StorageError as error:
            logger.warning("%s: building from the database: %s", url, error)
        else:
            logger.info("%s: begun from %s", index.namespace, fetched.name)


def app(args: dict[str, str] | ServingConfig) -> Any:
    """Return the application of Ray Serve.

    Parameters
    ----------
    args : dict or ServingConfig
        Ray passes what stands under ``args:`` in its config file, or after ``serve run``.
    """
    serve = require("ray.serve", extra="serving", purpose="serving by Ray")
    config = args if isinstance(args, ServingConfig) else _config(args, "args")
    if not is_url(config.database):
        logger.warning("%s is a directory: all replicas must run on this machine", config.database)
    settings = config.settings()
    most = settings.open_namespaces
    ours = isinstance(args, ServingConfig)  # then proxies listen where the settings say

    class Replica:
        """One replica: a pool of tenants behind the routes, the page and MCP."""

        def __init__(self) -> None:
            from hebbgraph_server import create_app
            from hebbgraph_server.indexes import Indexes

            if not (settings.tokens or ours):
                _check_addresses_are_known()
            cache = os.path.expandvars(os.path.expanduser(config.cache_dir))
            options: dict[str, Any] = {"cache_dir": cache, "settings": "saved"}
            if config.embedder is not None:
                options["embedder"] = SentenceTransformerEmbedder(config.embedder)
            self.pool = ReplicaPool(
                config.database, replica_of=config.snapshots, max_open=most, **options
            )
            self._served = create_app(Indexes(self.pool), settings, sessions=False)
            self.id = serve.get_replica_context().replica_id.unique_id

        def __serve_build_asgi_app__(self) -> Any:
            return _Tenants(self._served, self, open_here=not settings.tokens)

        @serve.multiplexed(max_num_models_per_replica=most)  # type: ignore[untyped-decorator]
        async def tenant(self, namespace: str) -> str:
            """Tell Ray that this replica has a tenant open; the pool opens and closes it."""
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


def _check_addresses_are_known() -> None:
    """Raise ParameterError where Ray's proxies tell no replica who asks."""
    if os.environ.get(_HAPROXY) == "1":
        raise ParameterError(
            f"behind HAProxy ({_HAPROXY}=1) nobody's address is known, so everyone on the network "
            "could read and write; name a file of tokens: tokens = FILE"
        )


class _Tenants:
    """Tells Ray which tenants are open here, once a request of one was allowed and answered.

    The header ``x-replica`` of an answer names the replica that gave it. Without tokens
    (``open_here``), only this machine is answered: where Ray's proxies listen is Ray's to say under
    ``serve deploy``, and by default that is everywhere.
    """

    def __init__(self, app: Any, replica: Any, *, open_here: bool) -> None:
        self.app, self.replica, self.open_here = app, replica, open_here

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if self.open_here and scope["type"] == "http" and not _is_from_here(scope):
            await _refusal()(scope, receive, send)
            return
        answered = []

        async def sending(message: Any) -> None:
            if message["type"] == "http.response.start":
                answered.append(message["status"])
                who = (b"x-replica", self.replica.id.encode())
                message = {**message, "headers": [*message["headers"], who]}
            await send(message)

        await self.app(scope, receive, sending)
        if scope["type"] == "http" and answered and answered[0] < _FAILED:
            asked = parse_qs(scope["query_string"].decode("latin-1")).get("namespace")
            if scope["path"].startswith("/v1/") and asked:
                await self.replica.tenant(asked[0])


def _is_from_here(scope: Any) -> bool:
    access = require("hebbgraph_server.settings", extra="serving", purpose="serving")
    client = scope.get("client")
    return bool(client) and bool(access.is_loopback(client[0]))


def _refusal() -> Any:
    """Return what a request over the network gets where there are no tokens."""
    problems = require("hebbgraph_server.problems", extra="serving", purpose="serving")
    detail = (
        "without a token only the machine itself is answered, as everyone on the network could "
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
