"""Replicas behind Ray Serve; what needs Ray is opt-in (HEBBGRAPH_SOAK)."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import sys
import urllib.request
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from hebbgraph import HebbianIndex
from hebbgraph.errors import ParameterError
from pg_server import PostgresServer

from hebbgraph_scale import publish
from hebbgraph_scale.serving import (
    ReplicaPool,
    ServingConfig,
    _Tenants,
    app,
    read_config,
    run,
)

CHUNKS = [
    {"id": f"c{n}", "title": f"Keeper {n}", "text": f"Keeper {n} kept lamp {n % 7}."}
    for n in range(40)
]
QUESTION = "Who kept lamp 3?"


@pytest.mark.parametrize("suffix", ["toml", "yaml"])
def test_a_file_of_settings(suffix: str, tmp_path: Path) -> None:
    file = tmp_path / f"serve.{suffix}"
    sign = " =" if suffix == "toml" else ":"
    file.write_text(f'database{sign} "a"\ncache_dir{sign} "b"\nmin_replicas{sign} 2\n')
    assert read_config(file) == ServingConfig(database="a", cache_dir="b", min_replicas=2)
    file.write_text(f'database{sign} "a"\nreplicas{sign} 0\n')
    with pytest.raises(ParameterError, match=r"cache_dir.*replicas") as caught:
        read_config(file)
    assert str(file) in str(caught.value)
    file.write_text("database = [" if suffix == "toml" else "database: [")
    with pytest.raises(ParameterError, match="serve"):
        read_config(file)


def test_the_network_is_listened_to_with_tokens_alone(tmp_path: Path) -> None:
    pytest.importorskip("fastapi", reason="the extra server is not installed")
    config = ServingConfig(database="a", cache_dir="b", host="0.0.0.0")
    with pytest.raises(ParameterError, match="without a token"):
        config.settings()


@pytest.mark.parametrize(
    ("client", "local_only", "status"),
    [
        (("127.0.0.1", 5000), True, 200), (("::1", 5000), True, 200),
        (("192.0.2.7", 5000), True, 403), (None, True, 403), (("192.0.2.7", 5000), False, 200),
    ],
)  # fmt: skip
def test_without_tokens_only_this_machine_is_answered(
    client: tuple[str, int] | None, local_only: bool, status: int
) -> None:
    pytest.importorskip("fastapi", reason="the extra server is not installed")
    sent: list[Any] = []

    async def served(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {"type": "http", "path": "/v1/stats", "query_string": b"", "client": client}
    replica = SimpleNamespace(id="r1")
    asyncio.run(_Tenants(served, replica, local_only=local_only)(scope, None, send))
    assert sent[0]["status"] == status
    assert ((b"x-replica", b"r1") in sent[0]["headers"]) is (status == 200)


@pytest.mark.parametrize(
    ("args", "proxy", "refused"),
    [
        ({}, "1", True), ({}, "0", False), ({"tokens": "tokens.toml"}, "1", False),
        # Where we start the proxies, they listen on this machine alone.
        (ServingConfig(database="a", cache_dir="cache"), "1", False),
    ],
)  # fmt: skip
def test_behind_haproxy_tokens_are_needed(
    args: Any, proxy: str, refused: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replica = _replica(args, tmp_path, monkeypatch)
    monkeypatch.setenv("RAY_SERVE_ENABLE_HA_PROXY", proxy)
    if refused:
        with pytest.raises(ParameterError, match="name a file of tokens"):
            replica()
    else:
        replica().pool.close()


def test_mcp_takes_a_token_behind_ray(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with HebbianIndex.open(tmp_path / "a") as index:
        index.add(CHUNKS)
    replica = _replica({"tokens": "tokens.toml"}, tmp_path, monkeypatch)()
    from starlette.testclient import TestClient

    listing = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
    asking = {
        "jsonrpc": "2.0", "id": 2, "method": "tools/call",
        "params": {"name": "recall", "arguments": {"query": QUESTION, "k": 2}},
    }  # fmt: skip
    accepts = {
        "accept": "application/json, text/event-stream",
        "mcp-protocol-version": "2025-06-18",
    }
    served = replica.__serve_build_asgi_app__()
    with replica.pool, TestClient(served, base_url="http://localhost") as client:
        assert client.post("/mcp", json=listing, headers=accepts).status_code == 401
        wrong = {**accepts, "authorization": "Bearer another"}
        assert client.post("/mcp", json=listing, headers=wrong).status_code == 401
        right = {**accepts, "authorization": "Bearer secret-of-a-reader"}
        listed = client.post("/mcp", json=listing, headers=right)
        assert (listed.status_code, listed.headers["x-replica"]) == (200, "r1")
        assert '"recall"' in listed.text
        assert '"cite"' not in listed.text  # the token may read alone
        assert "Keeper" in client.post("/mcp", json=asking, headers=right).text


def _replica(args: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return the class that Ray would start, without Ray."""
    pytest.importorskip("fastapi", reason="the extra server is not installed")
    monkeypatch.chdir(tmp_path)
    Path("tokens.toml").write_text('[reader]\nsecret = "secret-of-a-reader"\nrole = "read"\n')
    made: list[Any] = []

    def deployment(**_: Any) -> Any:
        return lambda kind: made.append(kind) or SimpleNamespace(bind=lambda: None)

    context = SimpleNamespace(replica_id=SimpleNamespace(unique_id="r1"))
    ray = ModuleType("ray.serve")
    ray.__dict__.update(
        deployment=deployment,
        ingress=lambda: lambda kind: kind,
        multiplexed=lambda **_: lambda method: method,
        get_replica_context=lambda: context,
    )
    monkeypatch.setitem(sys.modules, "ray", ModuleType("ray"))
    monkeypatch.setitem(sys.modules, "ray.serve", ray)
    if isinstance(args, dict):
        args = {"database": "a", "cache_dir": "cache", **args}
    app(args)
    return made[0]


@pytest.mark.parametrize("reached", [True, False])
def test_tenants_of_a_pool_begin_from_snapshots(
    reached: bool, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    bucket = tmp_path / "bucket"
    for tenant in ("anna", "bert"):
        with HebbianIndex.open(tmp_path / "index", namespace=tenant) as index:
            index.add([{**chunk, "text": f"{chunk['text']} Told by {tenant}."} for chunk in CHUNKS])
            publish(index, str(bucket))
    if not reached:
        bucket = tmp_path / "file"
        bucket.touch()
    with ReplicaPool(
        tmp_path / "index", replica_of=str(bucket), max_open=1, cache_dir=tmp_path / "replica"
    ) as pool:
        for tenant in ("anna", "bert", "anna"):
            hits = pool[tenant].recall(QUESTION, k=3).hits
            assert all(f"Told by {tenant}." in hit.chunk.text for hit in hits)
            assert len(hits) == 3
    built = [one for one in caplog.messages if "building from the database" in one]
    assert bool(built) is not reached


@pytest.mark.skipif(not os.environ.get("HEBBGRAPH_SOAK"), reason="starts Ray; make soak runs it")
def test_two_replicas_answer_alike_and_learn_from_each_other(tmp_path: Path) -> None:
    ray = pytest.importorskip("ray")
    serve = pytest.importorskip("ray.serve")
    server = PostgresServer()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]

    def post(verb: str, body: dict[str, Any]) -> Any:
        request = urllib.request.Request(
            f"http://127.0.0.1:{port}/v1/{verb}?namespace=anna",
            json.dumps(body).encode(),
            {"content-type": "application/json"},
        )
        with urllib.request.urlopen(request) as answer:
            return json.load(answer)

    def scores() -> set[tuple[tuple[str, float], ...]]:
        recalls = [post("recall", {"query": QUESTION, "k": 3}) for _ in range(12)]
        return {
            tuple((hit["chunk"]["id"], round(hit["score"], 9)) for hit in one["hits"])
            for one in recalls
        }

    try:
        url = server.url(server.new_schema())
        with HebbianIndex.open(url, cache_dir=tmp_path / "built", namespace="anna") as index:
            index.add(CHUNKS)
            publish(index, str(tmp_path / "bucket"))
        ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
        config = ServingConfig(
            database=url,
            cache_dir=str(tmp_path / "cache"),
            snapshots=str(tmp_path / "bucket"),
            port=port,
            min_replicas=2,
            max_replicas=2,
            cpus=0.5,
        )
        run(config, blocking=False)
        before = scores()
        assert len(before) == 1
        recall = post("recall", {"query": QUESTION, "k": 3})
        post("reinforce", {"recall": recall, "cited": [recall["hits"][2]["chunk"]["id"]]})
        after = scores()
        assert len(after) == 1
        assert after != before
    finally:
        serve.shutdown()
        ray.shutdown()
        server.remove()
