"""A served corpus, asked in this process."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="the extra serve is not installed")

from hebbgraph_server import ServerSettings, Token, create_app, make_token
from hebbgraph_server.app import open_index
from manuals import MANUALS
from starlette.testclient import TestClient

from hebbgraph import HebbianIndex

Serve = Callable[..., TestClient]


def secret(name: str) -> str:
    return f"secret-of-{name}-0123456789"


def token(name: str, **fields: Any) -> Token:
    return make_token(name, secret=secret(name), **fields)[0]


@pytest.fixture
def location(tmp_path: Path) -> Path:
    """An index with the manuals in ``default``, and one chunk in ``other``."""
    place = tmp_path / "served"
    settings = ServerSettings(index=str(place))
    with open_index(settings) as index:
        index.add(MANUALS)
    with HebbianIndex.open(place, namespace="other", settings=index.settings) as other:
        other.add([{"id": "secret", "title": "Secret", "text": "The other tenant's secret."}])
    return place


@pytest.fixture
def serve(location: Path) -> Iterator[Serve]:
    """Serve the index with some settings; ``as_`` names the token of the client."""
    with ExitStack() as stack:

        def start(*, as_: str | None = None, **settings: Any) -> TestClient:
            chosen = ServerSettings(index=str(location), **settings)
            app = create_app(open_index(chosen), chosen)
            client = stack.enter_context(TestClient(app, base_url="http://localhost"))
            return client if as_ is None else caller(client, as_)

        yield start


def caller(client: TestClient, name: str) -> TestClient:
    """A client of the same app with the token of this name."""
    headers = {"Authorization": f"Bearer {secret(name)}"}
    return TestClient(client.app, base_url="http://localhost", headers=headers)


@pytest.fixture
def api(serve: Serve) -> TestClient:
    return serve()


def ask(client: TestClient, question: str, **more: Any) -> Any:
    answer = client.post("/v1/recalls", json={"question": question, **more})
    assert answer.status_code == 200, answer.text
    return answer.json()
