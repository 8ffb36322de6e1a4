"""How recalls handle texts that change."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

from hebbgraph import Chunk, HebbianIndex, Recall, Settings

from hebbgraph_bench.changing.corpus import documents, timed_questions

__all__ = ["Findings", "measure"]


@dataclass(frozen=True)
class Findings:
    """Shares of all questions, or of all hits.

    Attributes
    ----------
    first_as_of : float
        The valid version is first, with ``as_of``.
    first_now : float
        The present version is first, without ``as_of``, if the question names no time.
    first_in_words : float
        The valid version is first, without ``as_of``, if the question names the year.
    in_order : float
        Recalls without ``as_of``, of questions that name no time, in which no stale hit ranks
        above its replacement.
    marked : float
        Hits with the right mark (stale or not, and the replacement), over all recalls.
    """

    documents: int
    chunks: int
    questions: int
    first_as_of: float
    first_now: float
    first_in_words: float
    in_order: float
    marked: float


def measure(embedder: Any = None, *, k: int = 10, seed: int = 0) -> Findings:
    """Ask every question with and without its date.

    The versions are added in random order, one at a time.
    """
    histories = list(documents())
    chunks = [chunk for versions in histories for chunk in versions]
    history = {versions[0].id: versions for versions in histories}
    random.Random(seed).shuffle(chunks)
    settings = Settings(keep_versions=True, keep_recalls=0)
    with HebbianIndex.open(":memory:", embedder=embedder, settings=settings) as index:
        for chunk in chunks:
            index.add([chunk])
        then: list[bool] = []
        now: list[bool] = []
        in_words: list[bool] = []
        in_order: list[bool] = []
        marks: list[bool] = []
        for question in timed_questions():
            right = history[question.document][question.number].text
            recall = index.recall(question.text, k=k, as_of=question.as_of)
            then.append(recall.hits[0].chunk.text == right)
            marks += (hit.stale is None for hit in recall.hits)
            recall = index.recall(question.text, k=k)
            marks += _marks(recall, history)
            if question.says_when:
                in_words.append(recall.hits[0].chunk.text == right)
            else:
                now.append(recall.hits[0].chunk.text == history[question.document][-1].text)
                in_order.append(_in_order(recall))
    return Findings(
        documents=len(histories),
        chunks=len(chunks),
        questions=len(then),
        first_as_of=_share(then),
        first_now=_share(now),
        first_in_words=_share(in_words),
        in_order=_share(in_order),
        marked=_share(marks),
    )


def _marks(recall: Recall, history: dict[str, list[Chunk]]) -> list[bool]:
    right = []
    for hit in recall.hits:
        versions = history[hit.chunk.version_of or hit.chunk.id]
        is_current = hit.chunk.text == versions[-1].text and hit.chunk.version_of is None
        if is_current:
            right.append(hit.stale is None)
            continue
        number = next(
            place for place, version in enumerate(versions) if version.text == hit.chunk.text
        )
        right.append(
            hit.stale is not None
            and hit.stale.replaced_by == (versions[0].id,)
            and hit.stale.since == versions[number + 1].valid_from
        )
    return right


def _in_order(recall: Recall) -> bool:
    place = {hit.chunk.id: hit.rank for hit in recall.hits}
    return all(
        place.get(replacement, len(place) + 1) < hit.rank
        for hit in recall.hits
        if hit.stale is not None
        for replacement in hit.stale.replaced_by
    )


def _share(marks: list[bool]) -> float:
    return sum(marks) / len(marks)
