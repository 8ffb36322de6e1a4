"""One process of a load: it asks, cites, adds and deletes, and records everything."""

from __future__ import annotations

import random
import time
from dataclasses import dataclass
from pathlib import Path

from hebbgraph.errors import HebbgraphError, IndexLockedError
from hebbgraph.hebbian_index import HebbianIndex
from hebbgraph.records import Recall
from hebbgraph.settings import Settings

from hebbgraph_bench.stress.account import Journal
from hebbgraph_bench.stress.embedder import HashEmbedder

__all__ = ["Plan", "make_question", "make_text", "work"]

_NAMES = (
    "Ada", "Brisk", "Corin", "Dun", "Ebba", "Fenn", "Gull", "Harrow",
    "Isolde", "Jory", "Kestrel", "Lorn", "Moss", "Nessa", "Orrin", "Petrel",
    "Quill", "Rook", "Sedge", "Tarn", "Una", "Vale", "Wren", "Yarrow",
)  # fmt: skip
_PLACES = ("Hollow", "Rock", "Bridge", "Mill", "Point", "Bay", "Abbey", "Wharf", "Moor", "Ferry")
_SAMPLE_SECONDS = 5.0
_MOST_IN_A_BATCH = 20
#: Percentages of adds, deletes and feedbacks of a writer; the rest are recalls.
_WRITER_SHARES = {"add": 45, "delete": 20, "reinforce": 10}
_READER_SHARES = {"reinforce": 10}
#: Share of feedbacks that are sent twice, as by an impatient client; each must count once.
_TWICE = 0.1
_K = 10


@dataclass(frozen=True)
class Plan:
    """What one process does.

    ``chunks`` is about how many chunks a writer keeps: above it, more are deleted than added.
    """

    location: str
    cache_dir: Path | None
    journal: Path
    namespace: str
    number: int
    is_writer: bool
    seconds: float
    chunks: int
    seed: int
    wait_seconds: float


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


def make_question(rng: random.Random) -> str:
    """Ask about two names."""
    return f"Who met {name(rng)} at {name(rng)}?"


class _Worker:
    def __init__(self, plan: Plan, index: HebbianIndex, journal: Journal) -> None:
        self.plan = plan
        self.index = index
        self.journal = journal
        self.account = journal.account
        self.rng = random.Random(f"{plan.seed} {plan.number} {self.account.lives}")
        self.recalls: list[Recall] = []
        self.n_made = 0

    def choose(self) -> str:
        shares = dict(_WRITER_SHARES if self.plan.is_writer else _READER_SHARES)
        if len(self.account.held) > self.plan.chunks:
            shares["add"], shares["delete"] = shares["delete"] // 2, shares["add"]
        draw = self.rng.uniform(0, 100)
        for operation, share in shares.items():
            if (draw := draw - share) < 0:
                return operation
        return "recall"

    @property
    def sure(self) -> list[str]:
        """The chunks that are there without a doubt."""
        return sorted(self.account.held.keys() - self.account.unsure)

    def recall(self) -> None:
        recall = self.index.recall(make_question(self.rng), k=_K)
        if len(recall.hits) > 1:
            self.recalls = [*self.recalls[-20:], recall]

    def reinforce(self) -> None:
        if not self.recalls:
            return self.recall()
        # Once each: a second feedback on a recall would replace the first.
        recall = self.recalls.pop(self.rng.randrange(len(self.recalls)))
        cited = [self.rng.choice(recall.hits).chunk.id]
        times = 2 if self.rng.random() < _TWICE else 1
        self.journal.tell(feeding=1)
        ids = {self.index.reinforce(recall, cited).id for _ in range(times)}
        self.journal.tell(fed=sorted(ids))
        if len(ids) > 1:
            self.journal.tell(error=f"one feedback was kept {len(ids)} times")
        return None

    def add(self) -> None:
        fresh, sure = {}, self.sure
        for _ in range(self.rng.randint(1, _MOST_IN_A_BATCH)):
            if sure and self.rng.random() < 0.1:  # replace
                id_ = self.rng.choice(sure)
            else:
                id_ = f"w{self.plan.number}-{self.account.lives}-{self.n_made}"
                self.n_made += 1
            fresh[id_] = make_text(self.rng)
        self.journal.tell(begun=list(fresh))
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
        self.journal.tell(held=fresh)

    def delete(self) -> None:
        if not (sure := self.sure):
            return self.add()
        ids = self.rng.sample(sure, min(len(sure), self.rng.randint(1, _MOST_IN_A_BATCH)))
        self.journal.tell(begun=ids)
        deleted = self.index.delete(ids)
        if deleted != len(ids):
            self.journal.tell(error=f"deleted {deleted} of {len(ids)} chunks that were there")
        self.journal.tell(gone=ids)
        return None

    def run(self) -> None:
        started = sampled = time.monotonic()
        n_repairs = 0
        while (now := time.monotonic()) - started < self.plan.seconds:
            operation = self.choose()
            before = time.perf_counter()
            try:
                getattr(self, operation)()
            except IndexLockedError:
                self.journal.tell(wait=1)
            except HebbgraphError as error:
                self.journal.tell(error=f"{operation}: {type(error).__name__}: {error}")
            except Exception as error:
                self.journal.tell(error=f"{operation}: unexpected {type(error).__name__}: {error}")
            self.journal.tell(took=(operation, time.perf_counter() - before))
            for repair in self.index.repairs[n_repairs:]:
                self.journal.tell(repair=repair)
                n_repairs += 1
            if now >= sampled:
                sampled = now + _SAMPLE_SECONDS
                self.journal.tell(memory=(now - started, resident_bytes()))


def resident_bytes() -> int:
    """Return the resident memory of this process; 0 where the system does not tell."""
    try:
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    return 0


def work(plan: Plan) -> None:
    """Run the plan."""
    settings = Settings(write_wait_seconds=plan.wait_seconds)
    journal = Journal(plan.number, plan.journal)
    journal.tell(life=1)
    try:
        with HebbianIndex.open(
            plan.location,
            namespace=plan.namespace,
            cache_dir=plan.cache_dir,
            settings=settings,
            embedder=HashEmbedder(),
        ) as index:
            _Worker(plan, index, journal).run()
    except HebbgraphError as error:
        journal.tell(error=f"opening or closing: {type(error).__name__}: {error}")
    finally:
        journal.close()
