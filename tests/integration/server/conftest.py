"""A served corpus, asked in this process."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from hebbgraph import Chunk, HebbianIndex, IndexPool

if TYPE_CHECKING:
    from starlette.testclient import TestClient

    Serve = Callable[..., TestClient]


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

    from hebbgraph.server import ServerSettings, create_app

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
