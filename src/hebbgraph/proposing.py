"""What a chunk proposes: candidates from its text, its given tags, and its links."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from hebbgraph.graph.references import link_candidates
from hebbgraph.records import Chunk
from hebbgraph.settings import Settings
from hebbgraph.text.proposer import Proposer

__all__ = ["propose_candidates"]


def propose_candidates(
    proposer: Proposer,
    settings: Settings,
    chunks: Sequence[Chunk],
    tags: Iterable[Iterable[str]],
) -> list[dict[str, list[str]]]:
    """Return each chunk's candidates from pass 1, its given tags, and its links.

    Parameters
    ----------
    proposer : Proposer
    settings : Settings
    chunks : sequence of Chunk
    tags : iterable of iterables of str
        More given tags of each, as a tagger found them.
    """
    found = proposer.propose(
        (chunk.searched if settings.text_tags else "", chunk.title, [*chunk.tags, *more])
        for chunk, more in zip(chunks, tags, strict=True)
    )
    if not settings.text_tags:
        kinds = ("title", "given")
        found = [{kind: one[kind] for kind in kinds if kind in one} for one in found]
    for chunk, candidates in zip(chunks, found, strict=True):
        for kind, keys in link_candidates(chunk, settings.edges).items():
            held = candidates.get(kind, [])
            candidates[kind] = [*held, *(key for key in keys if key not in held)]
    return found
