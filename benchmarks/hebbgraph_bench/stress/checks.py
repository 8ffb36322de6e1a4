"""Check that the index after a load matches what the processes were told."""

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
#: Cosines of one vector may differ by this much between batches.
_TIE = 1e-5
#: The store keeps vectors in half precision.
_LEAST_COSINE = 0.999


def faults_of_content(
    index: HebbianIndex, start: dict[str, str], accounts: Sequence[Account]
) -> Iterator[str]:
    """Return chunks and feedbacks that contradict what the processes were told."""
    expected = dict(start)
    unsure: set[str] = set()
    feedbacks: set[str] = set()
    for account in accounts:
        expected |= account.held
        unsure |= account.unsure
        feedbacks |= account.feedbacks
    texts = {c.id: c.text for c in index.parts.truth.fetch(index.parts.truth.rows_by_id()).values()}
    sure = {id_ for id_ in texts.keys() | expected.keys() if id_ not in unsure}
    if lost := sorted(id_ for id_ in sure if id_ not in texts):
        yield f"{len(lost)} chunks are lost, e.g. {lost[0]}"
    if more := sorted(id_ for id_ in sure if id_ not in expected):
        yield f"{len(more)} chunks ought to be gone, e.g. {more[0]}"
    if unequal := sorted(
        id_ for id_ in sure if id_ in texts and texts[id_] != expected.get(id_, texts[id_])
    ):
        yield f"{len(unequal)} chunks have another text, e.g. {unequal[0]}"
    logged = [feedback.id for _, feedback in index.parts.log.after(0)]
    if lost := sorted(feedbacks - set(logged)):
        yield f"{len(lost)} feedbacks are lost"
    # A write that ended in an error or a kill may have been applied all the same.
    more_at_most = sum(account.unsure_feedbacks for account in accounts)
    if (n_more := len(logged) - len(feedbacks)) > more_at_most:
        yield f"{n_more - more_at_most} feedbacks too many"


def faults_of_answers(index: HebbianIndex) -> Iterator[str]:
    """Check that every chunk has its vector, and that dense search equals a rebuild."""
    embedder = HashEmbedder()
    index.stats()
    truth, table = index.parts.truth, index.parts.derived.vectors
    stored_chunks = truth.fetch(truth.rows_by_id())
    if table is None:
        if stored_chunks:
            yield f"no vectors are held of {len(stored_chunks)} chunks"
        return
    rows = sorted(stored_chunks)
    is_stored = np.isin(np.array(rows), table.rows)
    if not is_stored.all():
        yield f"{np.count_nonzero(~is_stored)} of {len(rows)} chunks have no vector"
    chunks = [stored_chunks[row] for row, has in zip(rows, is_stored.tolist(), strict=True) if has]
    expected = embed_passages(embedder, chunks)
    stored_vectors = table.matrix[np.searchsorted(table.rows, np.array(rows)[is_stored])]
    if wrong := int(
        np.count_nonzero(np.einsum("ij,ij->i", expected, stored_vectors) < _LEAST_COSINE)
    ):
        yield f"{wrong} chunks have the vector of another text"
    rng = random.Random(0)
    with HebbianIndex.open(":memory:", embedder=embedder, settings=index.settings) as fresh:
        fresh.add(list(stored_chunks.values()))
        fresh.stats()
        questions = [make_question(rng) for _ in range(_QUESTIONS)]
        unequal = [q for q in questions if not _same(_nearest(index, q), _nearest(fresh, q))]
    if unequal:
        yield f"dense search answers {len(unequal)} of {_QUESTIONS} questions unlike a rebuild"


def _nearest(index: HebbianIndex, question: str) -> dict[str, float]:
    """Return the cosines of the nearest chunks, by id."""
    vector = embed_question(HashEmbedder(), question)
    with index.parts.derived.reading():
        graph, table = index.parts.derived.graph, index.parts.derived.vectors
        assert table is not None
        allowed = np.isin(table.rows, graph.rows[graph.alive])
        neighbours = table.nearest(vector, _NEAREST, allowed)
        rows = table.rows[neighbours.positions].tolist()
        ids = index.parts.truth.ids(rows)
    return {ids[row]: cos for row, cos in zip(rows, neighbours.cosines.tolist(), strict=True)}


def _same(first: dict[str, float], second: dict[str, float]) -> bool:
    """Return whether two answers are equal, apart from ties at their ends."""
    if not np.allclose(sorted(first.values()), sorted(second.values()), atol=_TIE):
        return False
    least = min(first.values(), default=0.0) + _TIE
    above = [{id_ for id_, cos in answer.items() if cos > least} for answer in (first, second)]
    return above[0] <= second.keys() and above[1] <= first.keys()


def faults_of_doctor(opened: Callable[..., HebbianIndex]) -> Iterator[str]:
    """Return the doctor's findings, and whether they are the same without the embedder."""
    findings = {}
    for with_embedder in (True, False):
        with opened(with_embedder=with_embedder) as index:
            findings[with_embedder] = {
                f"{f.part}: {f.problem}" for f in index.maintenance.doctor().findings
            }
    yield from sorted(findings[True])
    if findings[True] != findings[False]:
        yield f"without the embedder the doctor says {sorted(findings[False])}"
