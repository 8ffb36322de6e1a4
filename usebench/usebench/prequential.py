"""Ask, score, then teach: one system over one stream.

Each question is asked and scored before its feedback is given [1]_. A scored question belongs to
``shares`` if an earlier event of its memory offered feedback on one of its relevant passages, else
to ``rest``. This depends on the stream alone, so the parts are the same for every system.

References
----------
.. [1] Dawid (1984), Present Position and Potential Developments: Some Personal Views: Statistical
   Theory: The Prequential Approach, JRSS A 147(2).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from time import perf_counter

from usebench import feedback as people
from usebench.errors import ParameterError
from usebench.metrics import METRICS, judge
from usebench.protocol import Retriever
from usebench.records import Event, Feedback, UseSet

__all__ = ["PARTS", "REST", "SHARES", "UNTAUGHT", "Run", "parts", "run_stream"]

SHARES, REST = "shares", "rest"
PARTS = (SHARES, REST)
#: The kind of feedback of an untaught run.
UNTAUGHT = "none"


@dataclass(slots=True)
class Run:
    """The run of one system over one stream.

    Parameters
    ----------
    kind : str
        The kind of feedback.
    values : dict of str to list of float
        The value of each scored question by metric, in the order of the stream.
    log : list of Feedback
        The feedback given, in order.
    milliseconds : dict of str to list of float
        Wall time of each call of ``add``, ``search`` and ``feedback``.
    """

    kind: str
    values: dict[str, list[float]] = field(default_factory=lambda: {name: [] for name in METRICS})
    log: list[Feedback] = field(default_factory=list)
    milliseconds: dict[str, list[float]] = field(default_factory=dict)

    @contextmanager
    def clock(self, method: str) -> Iterator[None]:
        """Measure one call."""
        began = perf_counter()
        yield
        self.milliseconds.setdefault(method, []).append((perf_counter() - began) * 1e3)


def parts(events: Sequence[Event]) -> list[str]:
    """Return the part of each scored event.

    Without a part of its own, an event shares evidence with earlier feedback, or does not.

    Examples
    --------
    >>> events = [Event("1", "?", {"a": 1}, 1), Event("2", "?", {"b": 1}, 2),
    ...           Event("3", "?", {"a": 1, "c": 1}, 3)]
    >>> parts(events)
    ['rest', 'rest', 'shares']
    """
    taught: dict[str, set[str]] = {}
    names = []
    for event in events:
        evidence = taught.setdefault(event.memory, set())
        if event.scored:
            names.append(event.part or (REST if evidence.isdisjoint(event.gold) else SHARES))
        if event.taught and not event.hostile:
            evidence.update(event.recorded.cited if event.recorded else event.gold)
    return names


def run_stream(
    system: Retriever,
    uses: UseSet,
    *,
    kind: str = "right",
    k: int = 10,
    seed: int = 0,
) -> Run:
    """Run a system over the stream of a set.

    Parameters
    ----------
    system : Retriever
        It is reset before each memory of the set.
    uses : UseSet
    kind : str
        Of feedback: ``none``, or a name of :data:`usebench.feedback.KINDS`.
    k : int
        The number of passages shown.
    seed : int
        Of wrong and partial feedback.

    Returns
    -------
    Run
    """
    run = Run(kind)
    events = uses.events if kind == UNTAUGHT else people.stream(uses.events, kind, seed=seed)
    for memory in uses.memories:
        system.reset()
        passages = [passage for passage in uses.passages if passage.memory == memory]
        with run.clock("add"):
            system.add(passages)
        for event in events:
            if event.memory == memory:
                _step(system, event, run, k, seed)
    return run


def _step(system: Retriever, event: Event, run: Run, k: int, seed: int) -> None:
    taught = event.taught and run.kind != UNTAUGHT
    shown: Sequence[str] = ()
    if event.scored or (taught and event.shows):
        with run.clock("search"):
            shown = list(dict.fromkeys(system.search(event.question, k)))[:k]
        if invalid := [id_ for id_ in shown if not isinstance(id_, str)]:
            raise ParameterError(
                f"{type(system).__name__}.search returns ids of passages, got {invalid[0]!r:.80}"
            )
    if event.scored:
        for name, value in judge(shown, event.relevant, event.also).items():
            run.values[name].append(value)
    if taught and (feedback := people.say(event, shown, run.kind, seed=seed)) is not None:
        run.log.append(feedback)
        with run.clock("feedback"):
            system.feedback(**asdict(feedback))
