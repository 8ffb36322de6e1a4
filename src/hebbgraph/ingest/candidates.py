"""The tag candidates of a chunk: from its text, its given tags, and its links."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from hebbgraph.graph.references import link_candidates
from hebbgraph.namespace import Namespace
from hebbgraph.protocols import BatchTagger
from hebbgraph.records import Chunk, TaggingReport
from hebbgraph.settings import Settings
from hebbgraph.text import proposals

__all__ = ["Tagging", "propose_candidates"]


def propose_candidates(
    settings: Settings,
    chunks: Sequence[Chunk],
    tags: Iterable[Iterable[str]],
) -> list[dict[str, list[str]]]:
    """Return the candidates of chunks: from pass 1, given tags, and links.

    Parameters
    ----------
    settings : Settings
    chunks : sequence of Chunk
    tags : iterable of iterables of str
        More given tags for each chunk, such as those of a tagger.

    Returns
    -------
    list of dict
        The candidates of each chunk, by kind.
    """
    proposed = [
        proposals(chunk.searched if settings.text_tags else "", chunk.title, [*chunk.tags, *more])
        for chunk, more in zip(chunks, tags, strict=True)
    ]
    if not settings.text_tags:
        kinds = ("title", "given")
        proposed = [
            {kind: by_kind[kind] for kind in kinds if kind in by_kind} for by_kind in proposed
        ]
    for chunk, candidates in zip(chunks, proposed, strict=True):
        for kind, links in link_candidates(chunk, settings.edges).items():
            known = candidates.get(kind, [])
            candidates[kind] = [*known, *(link for link in links if link not in known)]
    return proposed


class Tagging:
    """Calls the tagger of a namespace."""

    def __init__(self, namespace: Namespace) -> None:
        self._namespace = namespace

    def tags(
        self, chunks: Sequence[Chunk], on_progress: Callable[[int], object] | None = None
    ) -> tuple[list[tuple[str, ...]], TaggingReport | None]:
        """Return the tagger's tags of each chunk; none without a tagger."""
        tagger = self._namespace.tagger
        if tagger is None:
            return [()] * len(chunks), None
        if isinstance(tagger, BatchTagger):
            answers = self._namespace.truth.tag_answers
            return tagger.tag_chunks(chunks, store=answers, on_progress=on_progress)
        tags = []
        for chunk in chunks:
            tags.append(tuple(tagger(chunk)))
            if on_progress is not None:
                on_progress(len(tags))
        return tags, TaggingReport(tagged=len(tags))
