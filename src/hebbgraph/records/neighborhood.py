"""Tags, and the tags around them."""

from __future__ import annotations

from hebbgraph.records.chunk import Record

__all__ = ["Neighborhood", "TagChunk", "TagCount", "TagEdge", "TagNode"]


class TagCount(Record):
    """A tag, the number of chunks that hold it, and of those whose title it is."""

    tag: str
    chunks: int
    titles: int = 0


class TagNode(Record):
    """A tag in a neighbourhood.

    ``weight`` is the number of chunks that it shares with the tag asked for, ``chunks`` the
    number of all that hold it. ``colony`` is that of most shared chunks, if colonies were found.
    """

    tag: str
    weight: int
    chunks: int
    colony: int | None = None


class TagEdge(Record):
    """Two tags, by position in :attr:`Neighborhood.nodes`, and how many chunks hold both."""

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
        Between nodes, over chunks that hold the tag; the strongest, at most four for each node.
    more : int
        Neighbours left out.
    hubs : tuple of TagNode
        Neighbours so frequent that recalls cut them: not among the nodes. The strongest 20.
    n_hubs : int
    chunks : tuple of TagChunk
        Chunks that hold the tag, those entitled by it first.
    more_chunks : int
    sampled : bool
        Whether the tag has so many chunks that weights were estimated from a part of them.
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
