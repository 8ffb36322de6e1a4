"""hebbgraph on many cores or machines, with many vectors, and in PostgreSQL.

Install it with ``pip install "hebbgraph[scale]"``.

================  =======================================================================
``build``         builds an index with many workers: processes, or a Ray cluster
``commands``      ``hebbgraph build``, ``hebbgraph scale``
``ivf``           ``Settings(vector_search="ivf")``: approximate, from inverted lists
``quantized``     ``Settings(vector_search="quantized")``: exact, from eight-bit codes
``postgresql``    an index at ``postgresql+psycopg://...``
``publishing``    :func:`publish`: derived parts to a folder or object storage
``replicas``      :func:`open_replica`: an index that starts from a published snapshot
``snapshots``     the layout of snapshots, shared by both
``serving``       replicas behind Ray Serve
``storage``       folders and fsspec URLs
``directions``    principal directions, onto which both searches rotate vectors
================  =======================================================================

hebbgraph finds builds, databases and searches as entry points. Import snapshots::

    from hebbgraph_scale import open_replica, publish
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hebbgraph_scale.publishing import Published, publish
    from hebbgraph_scale.replicas import Fetched, fetch, open_replica

__all__ = ["Fetched", "Published", "fetch", "open_replica", "publish"]


def __getattr__(name: str) -> Any:
    """Import on first use: entry points import this package, too."""
    if name in __all__:
        from hebbgraph_scale import publishing, replicas

        return getattr(publishing if name in publishing.__all__ else replicas, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
