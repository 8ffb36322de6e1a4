"""A served corpus, asked in this process."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from manuals import MANUALS

from hebbgraph import HebbianIndex

pytest.importorskip("fastapi", reason="the extra serve is not installed")

if TYPE_CHECKING:
    from starlette.testclient import TestClient

    Serve = Callable[..., TestClient]


@pytest.fixture
def location(tmp_path: Path) -> Path:
    """An index with the manuals in ``default``, and one chunk in ``other``."""
    from hebbgraph_server.app import open_index
    from hebbgraph_server.settings import ServerSettings

    place = tmp_path / "served"
    with open_index(ServerSettings(index=str(place))) as index:
        index.add(MANUALS)
    with HebbianIndex.open(place, namespace="other") as other:
        other.add([{"id": "secret", "title": "Secret", "text": "The other tenant's secret."}])
    return place


@pytest.fixture
def serve(location: Path) -> Iterator[Serve]:
    """Serve the index with some settings; ``as_`` names the token of the client."""
    from hebbgraph_server.app import create_app, open_index
    from hebbgraph_server.settings import ServerSettings
    from served import caller
    from starlette.testclient import TestClient

    with ExitStack() as stack:

        def start(*, as_: str | None = None, **settings: Any) -> TestClient:
            chosen = ServerSettings(index=str(location), **settings)
            app = create_app(open_index(chosen), chosen)
            client = stack.enter_context(TestClient(app, base_url="http://localhost"))
            return client if as_ is None else caller(client, as_)

        yield start


@pytest.fixture
def api(serve: Serve) -> TestClient:
    return serve()
