"""Replicas behind Ray Serve while clients ask, teach and add, and a node is killed.

``python -m hebbgraph_bench.scale.storm FOLDER DATABASE_URL [--seconds N] [--tenants N] ...``

Two Ray nodes of one processor each on this machine; the second is killed after half of the time.
Then it is counted: answers that hold another tenant's chunk, acknowledged feedback and chunks
that the database lacks, questions that failed and when, and answers of the replicas that differ
from those of a process that derives everything anew. Needs ``hebbgraph[serving]``, and a database
without these tenants.
"""

from __future__ import annotations

import argparse
import io
import json
import random
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hebbgraph.extras import require
from hebbgraph.hebbian_index import HebbianIndex
from hebbgraph_scale import publish
from hebbgraph_scale.serving import ServingConfig, run

__all__ = ["main"]

_PORT = 4329
_LAMPS = 17
_ADDED_SHARE, _TAUGHT_SHARE = 0.05, 0.3
_TIMEOUT = 30.0


def _chunk(tenant: str, number: int) -> dict[str, str]:
    keeper, lamp = f"Keeper {number}", f"lamp {number % _LAMPS}"
    text = f"{keeper} kept {lamp} and wrote to Keeper {number * 7 % 101}. Told by {tenant}."
    return {"id": f"{tenant}-{number}", "title": keeper, "text": text}


def _asked(tenant: str, verb: str, body: dict[str, Any]) -> Any:
    request = urllib.request.Request(
        f"http://127.0.0.1:{_PORT}/v1/{verb}?namespace={tenant}",
        json.dumps(body).encode(),
        {"content-type": "application/json", "serve_multiplexed_model_id": tenant},
    )
    with urllib.request.urlopen(request, timeout=_TIMEOUT) as answer:
        return json.load(answer)


def _ranked(hits: Sequence[Any]) -> list[tuple[str, float]]:
    return [(hit["chunk"]["id"], round(hit["score"], 9)) for hit in hits]


@dataclass
class _Storm:
    """What the clients saw; appending to a list is one step in Python."""

    tenants: list[str]
    until: float
    asked: list[float] = field(default_factory=list)
    failed: list[tuple[float, str]] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    taught: list[tuple[str, str]] = field(default_factory=list)
    added: list[tuple[str, str]] = field(default_factory=list)

    def client(self, seed: int, first: int) -> None:
        """Ask, teach and add until the end; what is not acknowledged is not counted."""
        rng, number = random.Random(seed), first
        while time.monotonic() < self.until:
            tenant, began = rng.choice(self.tenants), time.monotonic()
            try:
                if rng.random() < _ADDED_SHARE:
                    chunk = _chunk(tenant, number)
                    number += 1
                    _asked(tenant, "add", {"chunks": [chunk]})
                    self.added.append((tenant, chunk["id"]))
                    continue
                question = f"Who kept lamp {rng.randrange(_LAMPS)}?"
                recall = _asked(tenant, "recall", {"query": question, "k": 5})
                self.asked.append(time.monotonic() - began)
                texts = [hit["chunk"]["text"] for hit in recall["hits"]]
                self.wrong += [one for one in texts if f"Told by {tenant}." not in one]
                if texts and rng.random() < _TAUGHT_SHARE:
                    cited = [rng.choice(recall["hits"])["chunk"]["id"]]
                    taught = _asked(tenant, "reinforce", {"recall": recall, "cited": cited})
                    self.taught.append((tenant, taught["id"]))
            except (OSError, ValueError) as error:
                said = error.read()[:200] if isinstance(error, urllib.error.HTTPError) else b""
                told = f"{error} {said.decode(errors='replace')}"
                self.failed.append((time.monotonic(), f"{type(error).__name__}: {told}"))
                time.sleep(0.05)


def _checked(storm: _Storm, database: str, folder: Path) -> dict[str, int]:
    """Compare what was acknowledged with the database, and replicas with a rebuild."""
    lost = {"feedback lost": 0, "chunks lost": 0, "answers unlike a rebuild's": 0}
    for tenant in storm.tenants:
        with HebbianIndex.open(
            database, cache_dir=folder / "rebuilt", namespace=tenant, settings="saved"
        ) as index:
            log = io.StringIO()
            index.log.export(log)
            held = {json.loads(line)["id"] for line in log.getvalue().splitlines()}
            ids = set(index.ids())
            lost["feedback lost"] += sum(
                one not in held for whose, one in storm.taught if whose == tenant
            )
            lost["chunks lost"] += sum(
                one not in ids for whose, one in storm.added if whose == tenant
            )
            for lamp in range(3):
                question = f"Who kept lamp {lamp}?"
                expected = _ranked(index.recall(question, k=5).model_dump(mode="json")["hits"])
                for _ in range(4):
                    answer = _asked(tenant, "recall", {"query": question, "k": 5})
                    lost["answers unlike a rebuild's"] += _ranked(answer["hits"]) != expected
    return lost


def _seeded(given: argparse.Namespace, tenants: Sequence[str], bucket: str) -> None:
    for tenant in tenants:
        with HebbianIndex.open(
            given.database, cache_dir=given.folder / "seeding", namespace=tenant
        ) as index:
            index.add([_chunk(tenant, number) for number in range(given.chunks)])
            publish(index, bucket)


def _raged(given: argparse.Namespace, cluster: Any, node: Any, storm: _Storm) -> float:
    """Run all clients, and kill the node in the middle; return when."""
    clients = [
        threading.Thread(target=storm.client, args=(seed, (seed + 1) * 1_000_000))
        for seed in range(given.clients)
    ]
    for one in clients:
        one.start()
    time.sleep(given.seconds / 2)
    killed = time.monotonic()
    cluster.remove_node(node, allow_graceful=False)
    for one in clients:
        one.join()
    return killed


def main(arguments: Sequence[str] | None = None) -> int:
    """Run it, and write one object of JSON; 1 if anything was lost or wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("database")
    parser.add_argument("--seconds", type=float, default=300.0)
    parser.add_argument("--tenants", type=int, default=20)
    parser.add_argument("--replicas", type=int, default=4)
    parser.add_argument("--clients", type=int, default=16)
    parser.add_argument("--chunks", type=int, default=200, help="of each tenant, at first")
    given = parser.parse_args(arguments)
    ray = require("ray", extra="serving", purpose="the storm")
    cluster_utils = require("ray.cluster_utils", extra="serving", purpose="the storm")
    tenants = [f"tenant{number}" for number in range(given.tenants)]
    bucket = str(given.folder / "bucket")
    _seeded(given, tenants, bucket)
    cluster = cluster_utils.Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    try:
        node = cluster.add_node(num_cpus=1)
        ray.init(address=cluster.address, log_to_driver=False)
        config = ServingConfig(
            database=given.database,
            cache_dir=str(given.folder / "cache"),
            snapshots=bucket,
            port=_PORT,
            min_replicas=given.replicas,
            max_replicas=given.replicas,
            cpus=1 / given.replicas,
            server={"requests_per_minute": None},
        )
        run(config, blocking=False)
        storm = _Storm(tenants, time.monotonic() + given.seconds)
        killed = _raged(given, cluster, node, storm)
        checked = _checked(storm, given.database, given.folder)
    finally:
        ray.shutdown()
        cluster.shutdown()
    asked, failed = sorted(storm.asked), [at - killed for at, _ in storm.failed]
    told = {
        "asked": len(asked),
        "median_s": round(asked[len(asked) // 2], 3) if asked else None,
        "taught": len(storm.taught),
        "added": len(storm.added),
        "failed": len(failed),
        "failed from, to, in seconds after the kill": [
            round(one, 1) for one in ((min(failed), max(failed)) if failed else ())
        ],
        "failures": sorted({text[:240] for _, text in storm.failed})[:20],
        "of another tenant": len(storm.wrong),
        **checked,
    }
    sys.stdout.write(f"{json.dumps(told)}\n")
    return int(bool(storm.wrong or any(checked.values())))


if __name__ == "__main__":
    raise SystemExit(main())
