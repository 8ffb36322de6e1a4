"""Whether what is there after a load is what the processes were told."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence

import numpy as np
from hebbgraph.embedders import embed_passages, embed_question
from hebbgraph.hebbian_index import HebbianIndex

from hebbgraph_bench.stress.account import Account
from hebbgraph_bench.stress.embedder import HashEmbedder
from hebbgraph_bench.stress.worker import make_question

__all__ = ["faults_of_answers", "faults_of_content", "faults_of_doctor"]

_QUESTIONS, _NEAREST = 50, 20
#: Cosines of one vector, computed among different others, may differ by so much.
_TIE = 1e-5
#: The truth keeps vectors in half precision.
_LEAST_COSINE = 0.999


def faults_of_content(
    index: HebbianIndex, start: dict[str, str], accounts: Sequence[Account]
) -> Iterator[str]:
    """Name chunks and feedbacks that are not as the processes were told."""
    expected = dict(start)
    unsure: set[str] = set()
    feedbacks: set[str] = set()
    for account in accounts:
        expected |= account.held
        unsure |= account.unsure
        feedbacks |= account.feedbacks
    held = {c.id: c.text for c in index.parts.truth.fetch(index.parts.truth.rows_by_id()).values()}
    sure = {id_ for id_ in held.keys() | expected.keys() if id_ not in unsure}
    if lost := sorted(id_ for id_ in sure if id_ not in held):
        yield f"{len(lost)} chunks are lost, e.g. {lost[0]}"
    if more := sorted(id_ for id_ in sure if id_ not in expected):
        yield f"{len(more)} chunks ought to be gone, e.g. {more[0]}"
    if other := sorted(
        id_ for id_ in sure if id_ in held and held[id_] != expected.get(id_, held[id_])
    ):
        yield f"{len(other)} chunks have another text, e.g. {other[0]}"
    there = [feedback.id for _, feedback in index.parts.log.after(0)]
    if lost := sorted(feedbacks - set(there)):
        yield f"{len(lost)} feedbacks are lost"
    # A process that was told of an error, or was killed, may have been heard all the same.
    more_at_most = sum(account.unsure_feedbacks for account in accounts)
    if (n_more := len(there) - len(feedbacks)) > more_at_most:
        yield f"{n_more - more_at_most} feedbacks too many"


def faults_of_answers(index: HebbianIndex) -> Iterator[str]:
    """Tell whether every chunk has its vector, and dense search answers like a rebuild."""
    embedder = HashEmbedder()
    index.stats()
    truth, table = index.parts.truth, index.parts.derived.vectors
    held = truth.fetch(truth.rows_by_id())
    if table is None:
        if held:
            yield f"no vectors are held of {len(held)} chunks"
        return
    rows = sorted(held)
    there = np.isin(np.array(rows), table.rows)
    if not there.all():
        yield f"{np.count_nonzero(~there)} of {len(rows)} chunks have no vector"
    chunks = [held[row] for row, has in zip(rows, there.tolist(), strict=True) if has]
    expected = embed_passages(embedder, chunks)
    found = table.matrix[np.searchsorted(table.rows, np.array(rows)[there])]
    if wrong := int(np.count_nonzero(np.einsum("ij,ij->i", expected, found) < _LEAST_COSINE)):
        yield f"{wrong} chunks have the vector of another text"
    rng = random.Random(0)
    with HebbianIndex.open(":memory:", embedder=embedder, settings=index.settings) as fresh:
        fresh.add(list(held.values()))
        fresh.stats()
        questions = [make_question(rng) for _ in range(_QUESTIONS)]
        other = [q for q in questions if not _same(_nearest(index, q), _nearest(fresh, q))]
    if other:
        yield f"dense search answers {len(other)} of {_QUESTIONS} questions unlike a rebuild"


def _nearest(index: HebbianIndex, question: str) -> dict[str, float]:
    """Return the cosines of the nearest chunks, by id."""
    vector = embed_question(HashEmbedder(), question)
    with index.parts.derived.reading():
        graph, table = index.parts.derived.graph, index.parts.derived.vectors
        assert table is not None
        allowed = np.isin(table.rows, graph.rows[graph.alive])
        found = table.nearest(vector, _NEAREST, allowed)
        rows = table.rows[found.positions].tolist()
        ids = index.parts.truth.ids(rows)
    return {ids[row]: cos for row, cos in zip(rows, found.cosines.tolist(), strict=True)}


def _same(one: dict[str, float], other: dict[str, float]) -> bool:
    """Tell whether two answers are one, but for ties at their ends."""
    if not np.allclose(sorted(one.values()), sorted(other.values()), atol=_TIE):
        return False
    least = min(one.values(), default=0.0) + _TIE
    above = [{id_ for id_, cos in answer.items() if cos > least} for answer in (one, other)]
    return above[0] <= other.keys() and above[1] <= one.keys()


def faults_of_doctor(opened: Callable[..., HebbianIndex]) -> Iterator[str]:
    """Tell what the doctor finds, and whether it finds the same without the embedder."""
    found = {}
    for with_embedder in (True, False):
        with opened(with_embedder=with_embedder) as index:
            found[with_embedder] = {
                f"{f.part}: {f.problem}" for f in index.maintenance.doctor().findings
            }
    yield from sorted(found[True])
    if found[True] != found[False]:
        yield f"without the embedder the doctor says {sorted(found[False])}"
