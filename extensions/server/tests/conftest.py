"""A served corpus, asked in this process."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hebbgraph import Chunk, HebbianIndex, IndexPool
from hypothesis import settings
from model_stub import Stub
from serving import Served
from ship_corpus import CORPUS

from hebbgraph_server.client import HebbianClient

if TYPE_CHECKING:
    from starlette.testclient import TestClient

    from hebbgraph_server import ServerSettings

    Serve = Callable[..., TestClient]

#: A program for another version of the SDK, which a test runs.
collect_ignore = ["mcp1_client.py"]


# The same examples in every run.
settings.register_profile("deterministic", derandomize=True, deadline=None)
settings.load_profile("deterministic")


@pytest.fixture(scope="session")
def corpus() -> list[Chunk]:
    return list(CORPUS)


@pytest.fixture
def location(tmp_path: Path, corpus: list[Chunk]) -> Path:
    """An index with the corpus in ``default``, and one chunk in ``other``."""
    with HebbianIndex.open(tmp_path / "served") as index:
        index.add(corpus)
    with HebbianIndex.open(tmp_path / "served", namespace="other") as index:
        index.add([Chunk(id="secret", title="Secret", text="The other tenant's secret.")])
    return tmp_path / "served"


@pytest.fixture
def serve(location: Path) -> Iterator[Serve]:
    """Serve the index with some settings."""
    pytest.importorskip("fastapi", reason="the extra server is not installed")
    from starlette.testclient import TestClient

    from hebbgraph_server import ServerSettings, create_app

    with ExitStack() as stack:

        def start(*, token: str | None = None, **settings: Any) -> TestClient:
            chosen = ServerSettings(**settings)
            pool = stack.enter_context(IndexPool(location, max_open=chosen.open_namespaces))
            app = create_app(pool, chosen)
            headers = {} if token is None else {"Authorization": f"Bearer {token}"}
            client = TestClient(app, base_url="http://localhost", headers=headers)
            return stack.enter_context(client)

        yield start


@pytest.fixture
def api(serve: Serve) -> TestClient:
    return serve()


@pytest.fixture
def stub() -> Iterator[Stub]:
    """A model behind a URL."""
    made = Stub()
    yield made
    made.stop()


class Connect:
    """Serves an index, and connects a client to it."""

    def __init__(self, pool: IndexPool, stack: ExitStack) -> None:
        self._pool = pool
        self._stack = stack
        self._served: dict[HebbianClient, tuple[Served, ServerSettings]] = {}

    def __call__(
        self,
        *,
        role: str | None = None,
        namespaces: list[str] | None = None,
        actor: str | None = None,
        namespace: str = "default",
        **settings: Any,
    ) -> HebbianClient:
        from hebbgraph_server import ServerSettings, create_app
        from hebbgraph_server.access import token_of

        secret = None
        if role is not None:
            secret = "secret-of-the-client"
            token = token_of(secret, role=role, namespaces=namespaces, actor=actor)
            settings["tokens"] = (token,)
        chosen = ServerSettings(**settings)
        served = Served(create_app(self._pool, chosen))
        client = HebbianClient(f"http://127.0.0.1:{served.port}", token=secret, namespace=namespace)
        self._served[client] = (served, chosen)
        self._stack.callback(self.stop, client)
        return client

    def stop(self, client: HebbianClient) -> None:
        self._served[client][0].stop()

    def restart(self, client: HebbianClient) -> None:
        from hebbgraph_server import create_app

        served, chosen = self._served[client]
        served.stop()
        self._served[client] = (Served(create_app(self._pool, chosen), served.port), chosen)


@pytest.fixture
def connect(location: Path) -> Iterator[Connect]:
    """Connect clients, each to a server of its own over the same pool."""
    pytest.importorskip("fastapi", reason="the extra server is not installed")
    with IndexPool(location) as pool, ExitStack() as stack:
        yield Connect(pool, stack)
