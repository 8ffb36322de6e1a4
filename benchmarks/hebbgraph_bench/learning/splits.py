"""Split a set into questions to learn from and strata of questions to ask.

The first of these that a set offers decides:

- **a split of its own** (questions of the ``log``, and others): learn the log.
- **variants** (rewordings and follow-ups): learn the questions that have them. Strata: ``same``
  and one for each kind of variant.
- **groups** (questions with the same meaning): learn the first of each group, by type and id.
  Strata: ``same`` and ``reworded``, one for each type of the others.
- **none of these**: learn half of the questions that share a relevant chunk with another.

In all cases, questions that were neither learned nor are rewordings form two more strata:
``shared evidence`` if they share a relevant chunk with a learned one, otherwise ``untouched``.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from hebbgraph.errors import DatasetError

from hebbgraph_bench.datasets import Dataset, Query

__all__ = ["SHARED", "UNTOUCHED", "Question", "Split", "split"]

SAME = "same"
SHARED = "shared evidence"
UNTOUCHED = "untouched"
_LOG = "log"


@dataclass(frozen=True, slots=True)
class Question:
    """A question, and the grades of the chunks that answer it."""

    id: str
    text: str
    relevant: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Split:
    """Questions to learn from, and questions to test with by stratum; none is empty."""

    learn: tuple[Question, ...]
    strata: Mapping[str, tuple[Question, ...]]


def split(dataset: Dataset, *, seed: int = 0, at_most: int | None = None) -> Split:
    """Split a set; the same seed gives the same split.

    Parameters
    ----------
    dataset : Dataset
    seed : int
        Seeds the halves, if there are neither variants nor groups, and the sample of ``at_most``.
    at_most : int, optional
        Sample at most this many questions of each stratum; the questions to learn stay whole.

    Returns
    -------
    Split

    Raises
    ------
    DatasetError
        If no two questions have anything in common.

    Examples
    --------
    >>> queries = tuple(Query(str(n), f"{n}?", {f"c{n // 2}": 1}) for n in range(4))
    >>> found = split(Dataset("pairs", (), queries), seed=1)
    >>> len(found.learn), {name: len(some) for name, some in found.strata.items()}
    (2, {'same': 2, 'shared evidence': 2})
    """
    rng = random.Random(seed)
    queries = sorted(dataset.queries, key=lambda query: query.id)
    if any(query.split == _LOG for query in queries):
        learned = [query for query in queries if query.split == _LOG]
        strata: dict[str, list[Question]] = {}
    elif any(query.variants for query in queries):
        learned, strata = _by_variants(queries)
    elif _repeated(query.group for query in queries if query.group):
        learned, strata = _by_groups(queries)
    else:
        learned, strata = _by_halves(queries, rng), {}
    if not learned:
        raise DatasetError(
            f"{dataset.name}: expected variants, groups, or questions with relevant chunks in"
            " common, got none of these: nothing that is learned could help"
        )
    evidence = {chunk_id for query in learned for chunk_id in query.relevant}
    used = {query.id for query in learned}
    used.update(question.id for stratum in strata.values() for question in stratum)
    unused = [query for query in queries if query.id not in used]
    strata = {
        SAME: [_question(query) for query in learned],
        **strata,
        SHARED: [_question(query) for query in unused if not evidence.isdisjoint(query.relevant)],
        UNTOUCHED: [_question(query) for query in unused if evidence.isdisjoint(query.relevant)],
    }
    if at_most is not None:
        strata = {
            name: stratum if len(stratum) <= at_most else rng.sample(stratum, at_most)
            for name, stratum in strata.items()
        }
    rng = random.Random(seed)
    shuffled = [_question(query) for query in learned]
    rng.shuffle(shuffled)
    return Split(
        tuple(shuffled), {name: tuple(stratum) for name, stratum in strata.items() if stratum}
    )


_Parts = tuple[list[Query], dict[str, list[Question]]]


def _by_variants(queries: Sequence[Query]) -> _Parts:
    learned = [query for query in queries if query.variants]
    names = dict.fromkeys(name for query in learned for name in query.variants)
    return learned, {
        name: [
            Question(f"{query.id} {name}", variant.text, variant.relevant)
            for query in learned
            if (variant := query.variants.get(name)) is not None
        ]
        for name in names
    }


def _by_groups(queries: Sequence[Query]) -> _Parts:
    members: dict[str, list[Query]] = {}
    for query in queries:
        if query.group:
            members.setdefault(query.group, []).append(query)
    learned: list[Query] = []
    strata: dict[str, list[Question]] = {}
    for group in members.values():
        if len(group) < 2:
            continue
        first, *rewordings = sorted(group, key=lambda query: (query.type or "", query.id))
        learned.append(first)
        for query in rewordings:
            name = f"reworded ({query.type})" if query.type else "reworded"
            strata.setdefault(name, []).append(_question(query))
    return learned, strata


def _by_halves(queries: Sequence[Query], rng: random.Random) -> list[Query]:
    often = _repeated(chunk_id for query in queries for chunk_id in query.relevant)
    sharing = [query for query in queries if not often.isdisjoint(query.relevant)]
    return rng.sample(sharing, len(sharing) // 2)


def _repeated(values: Iterable[str]) -> set[str]:
    return {value for value, times in Counter(values).items() if times > 1}


def _question(query: Query) -> Question:
    return Question(query.id, query.text, query.relevant)
