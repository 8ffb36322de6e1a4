"""Tags, and the tags around them."""

from __future__ import annotations

from hebbgraph.records.chunk import Record

__all__ = ["Neighborhood", "TagChunk", "TagCount", "TagEdge", "TagNode"]


class TagCount(Record):
    """A tag, the number of its chunks, and the number of chunks with this title."""

    tag: str
    chunks: int
    titles: int = 0


class TagNode(Record):
    """A tag in a neighbourhood.

    ``weight`` is the number of chunks that it shares with the central tag, ``chunks`` the number
    of all its chunks. ``colony`` is the colony of most shared chunks, if colonies were computed.
    """

    tag: str
    weight: int
    chunks: int
    colony: int | None = None


class TagEdge(Record):
    """Two tags, by position in :attr:`Neighborhood.nodes`, and the number of common chunks."""

    source: int
    target: int
    weight: int


class TagChunk(Record):
    """A chunk that holds a tag, perhaps as its title."""

    chunk_id: str
    title: str = ""
    is_title: bool = False


class Neighborhood(Record):
    """The tags around one; see ``index.tags.around``.

    Attributes
    ----------
    tag : str
    nodes : tuple of TagNode
        The tag itself, then its neighbours, the strongest first.
    edges : tuple of TagEdge
        Between nodes, over chunks with the tag; at most four per node, the strongest.
    more : int
        Neighbours left out.
    hubs : tuple of TagNode
        The 20 strongest neighbours that are so frequent that recalls cut them; no ``nodes``.
    n_hubs : int
    chunks : tuple of TagChunk
        Chunks with the tag, those titled by it first.
    more_chunks : int
    sampled : bool
        Whether weights are estimates, because the tag has too many chunks to read all.
    """

    tag: str
    nodes: tuple[TagNode, ...]
    edges: tuple[TagEdge, ...] = ()
    more: int = 0
    hubs: tuple[TagNode, ...] = ()
    n_hubs: int = 0
    chunks: tuple[TagChunk, ...] = ()
    more_chunks: int = 0
    sampled: bool = False
