"""What one feedback speaks of: which edges, how strongly, in which direction.

Credit is shared among the cited chunks, so an answer that cites everything says little, and one
that cites (nearly) all of many shown chunks says nothing. Chunks that were passed over while
others were cited lose a little.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from enum import IntEnum
from itertools import pairwise
from typing import NamedTuple, TypeAlias

from hebbgraph.limits import MANY_SHOWN
from hebbgraph.records import Feedback
from hebbgraph.settings import LearningSettings

__all__ = ["Family", "Node", "Trace", "chunk_node", "tag_node", "traces_of"]

_MAX_CUES = 16
_MAX_CITED = 16
_MAX_REJECTED = 64


class Family(IntEnum):
    """The kinds of plastic edges, by what they join."""

    CUE = 0  # cue → cited chunk
    PAIR = 1  # cited chunk ↔ cited chunk
    EPISODE = 2  # past query → cited chunk
    HOP = 3  # tag → tag on the path of a cited hit
    ARRIVAL = 4  # tag → cited chunk on its path


Node: TypeAlias = str
"""A node by name: ``t:`` and a phrase key, ``c:`` with text hash and chunk id, or ``e:``."""


def tag_node(key: str) -> Node:
    """Return the node of a phrase."""
    return f"t:{key}"


def chunk_node(chunk_id: str, text_hash: str) -> Node:
    """Return the node of a chunk *with this text*; with another text it is another node."""
    return f"c:{text_hash}:{chunk_id}"


class Trace(NamedTuple):
    """One edge that a feedback speaks of.

    ``credit`` lies in [-1, 1]; ``length`` is the number of edges from the query to the chunk.
    Negative credit weakens an existing edge but creates none, except for past queries, which
    remember what they did not want.
    """

    family: Family
    source: Node
    target: Node
    credit: float
    length: int


def shared_credit(n_cited: int, n_shown: int, *, many_shown: int = MANY_SHOWN) -> float:
    """Return the credit of each cited chunk, in [0, 1].

    ``(1 - (n_cited / n_shown)²) / √n_cited`` with at least ``many_shown`` chunks shown;
    with fewer, choosing all of them is no sign of indifference, and the first factor
    is 1.

    Examples
    --------
    >>> shared_credit(1, 10)
    0.99
    >>> shared_credit(10, 10)
    0.0
    >>> shared_credit(4, 4)
    0.5
    """
    if not n_cited:
        return 0.0
    choice = 1.0 - (n_cited / n_shown) ** 2 if n_shown >= many_shown else 1.0
    return choice / math.sqrt(n_cited)


def traces_of(feedback: Feedback, episode: Node, settings: LearningSettings) -> list[Trace]:
    """Turn a feedback into the edges that it speaks of, in a fixed order.

    Parameters
    ----------
    feedback : Feedback
    episode : str
        The node of its past query.
    settings : LearningSettings
        ``inhibition``, ``families``.
    """
    hashes = {shown.chunk_id: shown.text_hash for shown in feedback.shown}
    cited = [chunk_node(id_, hashes[id_]) for id_ in feedback.cited]
    credit = shared_credit(len(cited), len(hashes))
    in_vain = _shown_in_vain(feedback, hashes, -settings.inhibition if credit else 0.0)
    cited = cited[:_MAX_CITED] if credit else []
    cues = [tag_node(cue.tag) for cue in feedback.cues[:_MAX_CUES]]
    strongest = max((cue.weight for cue in feedback.cues), default=1.0) or 1.0
    traces = []
    if "cue" in settings.families:
        for cue, node in zip(feedback.cues, cues, strict=False):
            pre = cue.weight / strongest
            traces += [Trace(Family.CUE, node, chunk, credit * pre, 1) for chunk in cited]
            traces += [Trace(Family.CUE, node, chunk, loss * pre, 1) for chunk, loss in in_vain]
    if "pair" in settings.families:
        traces += [
            Trace(Family.PAIR, one, other, credit, 2)
            for one in cited
            for other in cited
            if one != other
        ]
        traces += [
            Trace(Family.PAIR, one, chunk, loss, 2) for one in cited for chunk, loss in in_vain
        ]
    if "episode" in settings.families:
        traces += [Trace(Family.EPISODE, episode, chunk, credit, 1) for chunk in cited]
        traces += [Trace(Family.EPISODE, episode, chunk, loss, 1) for chunk, loss in in_vain]
    if "path" in settings.families and cited:
        traces += _path_traces(feedback, hashes, credit)
    return traces


def _shown_in_vain(
    feedback: Feedback, hashes: Mapping[str, str], loss: float
) -> list[tuple[Node, float]]:
    """Return the chunks with negative credit: rejected, or passed over.

    A chunk shown above a cited one was passed over; of those below, nothing is known (Joachims,
    2002, Optimizing search engines using clickthrough data, "skip above").
    """
    depressed = dict.fromkeys(feedback.rejected, -1.0)
    lowest = max((at for at, id_ in enumerate(hashes) if id_ in feedback.cited), default=0)
    for id_ in list(hashes)[:lowest] if loss else ():
        if id_ not in feedback.cited:
            depressed.setdefault(id_, loss)
    return [
        (chunk_node(id_, hashes[id_]), credit)
        for id_, credit in list(depressed.items())[:_MAX_REJECTED]
    ]


def _path_traces(feedback: Feedback, hashes: dict[str, str], credit: float) -> list[Trace]:
    traces = []
    for path in feedback.paths[:_MAX_CITED]:
        if not path or path[-1].value not in hashes:
            continue
        tags = [tag_node(step.value) for step in path if step.kind == "tag"]
        length = len(path)
        traces += [
            Trace(Family.HOP, one, other, credit, length)
            for one, other in pairwise(tags)
            if one != other
        ]
        if tags:
            end = path[-1].value
            traces.append(
                Trace(Family.ARRIVAL, tags[-1], chunk_node(end, hashes[end]), credit, length)
            )
    return traces
