"""Tokens, clients and processes of servers, for tests."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hebbgraph_server.tokens import Token, make_token
from starlette.testclient import TestClient

__all__ = ["ask", "caller", "secret", "served_process", "token"]

_MAIN = """
import argparse, sys
from hebbgraph_server.commands import add_commands
parser = argparse.ArgumentParser()
add_commands(parser.add_subparsers(required=True))
arguments = parser.parse_args()
sys.exit(arguments.run(arguments))
"""


def secret(name: str) -> str:
    """Return the secret of the token of a name."""
    return f"secret-of-{name}-0123456789"


def token(name: str, **fields: Any) -> Token:
    """Return a token whose secret is known by its name."""
    return make_token(name, secret=secret(name), **fields)[0]


def caller(served: TestClient, name: str, **options: Any) -> TestClient:
    """Return a client of the same app with the token of this name."""
    headers = {"Authorization": f"Bearer {secret(name)}"}
    client = TestClient(served.app, base_url="http://localhost", headers=headers, **options)
    client.portal = served.portal  # one event loop, as in a server
    return client


def ask(client: TestClient, question: str, **more: Any) -> Any:
    """Return the answer to a question."""
    answer = client.post("/v1/recalls", json={"question": question, **more})
    assert answer.status_code == 200, answer.text
    return answer.json()


@contextmanager
def served_process(index: Path, *options: str, **environment: str) -> Iterator[Any]:
    """Yield a running ``serve`` as a process, and its URL once it listens."""
    command = [sys.executable, "-c", _MAIN, "serve", str(index), "--port", "0", *options]
    path = os.pathsep.join(filter(None, sys.path))
    process = subprocess.Popen(
        command,
        env={**os.environ, "PYTHONPATH": path, **environment},
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    try:
        before = []
        for line in process.stderr:
            before.append(line)
            if found := re.search(r"serving .* on (http\S+)/", line):
                yield process, found[1], before
                return
        raise AssertionError("".join(before))
    finally:
        if process.poll() is None:
            process.terminate()
        process.communicate(timeout=60)
