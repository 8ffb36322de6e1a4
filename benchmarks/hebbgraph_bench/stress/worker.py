"""One process of a load: it asks, cites, adds and deletes, and keeps account."""

from __future__ import annotations

import random
import time
from dataclasses import dataclass, field
from pathlib import Path

from hebbgraph.errors import HebbgraphError, IndexLockedError
from hebbgraph.index import HebbianIndex
from hebbgraph.records import Recall
from hebbgraph.settings import Settings

__all__ = ["Account", "Plan", "work"]

_NAMES = (
    "Ada", "Brisk", "Corin", "Dun", "Ebba", "Fenn", "Gull", "Harrow",
    "Isolde", "Jory", "Kestrel", "Lorn", "Moss", "Nessa", "Orrin", "Petrel",
    "Quill", "Rook", "Sedge", "Tarn", "Una", "Vale", "Wren", "Yarrow",
)  # fmt: skip
_PLACES = ("Hollow", "Rock", "Bridge", "Mill", "Point", "Bay", "Abbey", "Wharf", "Moor", "Ferry")
_SAMPLE_SECONDS = 5.0
_MOST_IN_A_BATCH = 20
#: A writer: of a hundred operations, so many adds, deletes and feedbacks; the rest recalls.
_WRITER_SHARES = {"add": 45, "delete": 20, "reinforce": 10}
_READER_SHARES = {"reinforce": 10}
#: Sent twice, like an impatient client does it; it must count once.
_TWICE = 0.1
_K = 10


@dataclass(frozen=True)
class Plan:
    """What one process does.

    ``chunks`` is about how many a writer keeps: above, it deletes more than it adds.
    """

    location: str
    cache_dir: Path | None
    namespace: str
    number: int
    is_writer: bool
    seconds: float
    chunks: int
    seed: int
    wait_seconds: float


@dataclass
class Account:
    """What one process did, and what it was told.

    Times are in seconds. ``held`` is the text of each chunk that this process was told is
    there; ``unsure`` names chunks of writes that ended in an error.
    """

    number: int
    seconds: dict[str, list[float]] = field(default_factory=dict)
    held: dict[str, str] = field(default_factory=dict)
    unsure: set[str] = field(default_factory=set)
    feedbacks: set[str] = field(default_factory=set)
    waits: int = 0
    errors: list[str] = field(default_factory=list)
    memory: list[tuple[float, int]] = field(default_factory=list)


def name(rng: random.Random) -> str:
    """Draw a name; some are much more frequent than others."""
    first = _NAMES[int(len(_NAMES) * rng.random() ** 2)]
    return f"{first} {rng.choice(_PLACES)}"


def make_text(rng: random.Random) -> str:
    """Write a few sentences in which names meet."""
    return " ".join(
        f"{name(rng)} met {name(rng)} at {name(rng)} in {rng.randrange(1700, 1900)}."
        for _ in range(rng.randint(1, 4))
    )


class _Worker:
    def __init__(self, plan: Plan, index: HebbianIndex) -> None:
        self.plan = plan
        self.index = index
        self.rng = random.Random(f"{plan.seed} {plan.number}")
        self.account = Account(plan.number)
        self.recalls: list[Recall] = []
        self.n_made = 0

    def choose(self) -> str:
        shares = dict(_WRITER_SHARES if self.plan.is_writer else _READER_SHARES)
        if len(self.account.held) > self.plan.chunks:
            shares["add"], shares["delete"] = shares["delete"] // 2, shares["add"]
        draw = self.rng.uniform(0, 100)
        for what, share in shares.items():
            if (draw := draw - share) < 0:
                return what
        return "recall"

    def recall(self) -> None:
        question = f"Who met {name(self.rng)} at {name(self.rng)}?"
        recall = self.index.recall(question, k=_K)
        if len(recall.hits) > 1:
            self.recalls = [*self.recalls[-20:], recall]

    def reinforce(self) -> None:
        if not self.recalls:
            return self.recall()
        recall = self.rng.choice(self.recalls)
        cited = [self.rng.choice(recall.hits).chunk.id]
        times = 2 if self.rng.random() < _TWICE else 1
        ids = {self.index.reinforce(recall, cited).id for _ in range(times)}
        if len(ids) > 1:
            self.account.errors.append(f"one feedback was kept {len(ids)} times")
        self.account.feedbacks |= ids
        return None

    def add(self) -> None:
        fresh = {}
        for _ in range(self.rng.randint(1, _MOST_IN_A_BATCH)):
            if self.account.held and self.rng.random() < 0.1:  # replace
                id_ = self.rng.choice(list(self.account.held))
            else:
                id_ = f"w{self.plan.number}-{self.n_made}"
                self.n_made += 1
            fresh[id_] = make_text(self.rng)
        self.account.unsure |= fresh.keys()
        self.index.add(
            [
                {
                    "id": id_,
                    "title": name(self.rng) if self.rng.random() < 0.3 else "",
                    "text": text,
                }
                for id_, text in fresh.items()
            ]
        )
        self.account.held |= fresh
        self.account.unsure -= fresh.keys()

    def delete(self) -> None:
        if not self.account.held:
            return self.add()
        count = min(len(self.account.held), self.rng.randint(1, _MOST_IN_A_BATCH))
        ids = self.rng.sample(sorted(self.account.held), count)
        self.account.unsure |= set(ids)
        deleted = self.index.delete(ids)
        if deleted != len(ids):
            self.account.errors.append(f"deleted {deleted} of {len(ids)} chunks that were there")
        for id_ in ids:
            del self.account.held[id_]
        self.account.unsure -= set(ids)
        return None

    def run(self) -> Account:
        started = sampled = time.monotonic()
        while (now := time.monotonic()) - started < self.plan.seconds:
            what = self.choose()
            before = time.perf_counter()
            try:
                getattr(self, what)()
            except IndexLockedError:
                self.account.waits += 1
            except HebbgraphError as error:
                self.account.errors.append(f"{what}: {type(error).__name__}: {error}")
            except Exception as error:
                self.account.errors.append(f"{what}: unexpected {type(error).__name__}: {error}")
            self.account.seconds.setdefault(what, []).append(time.perf_counter() - before)
            if now >= sampled:
                sampled = now + _SAMPLE_SECONDS
                self.account.memory.append((now - started, resident_bytes()))
        return self.account


def resident_bytes() -> int:
    """Return the resident memory of this process; 0 where the system does not tell."""
    try:
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    return 0


def work(plan: Plan) -> Account:
    """Do it, for as long as the plan says."""
    settings = Settings(write_wait_seconds=plan.wait_seconds)
    with HebbianIndex.open(
        plan.location, namespace=plan.namespace, cache_dir=plan.cache_dir, settings=settings
    ) as index:
        return _Worker(plan, index).run()
