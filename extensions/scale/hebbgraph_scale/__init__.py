"""hebbgraph on more than one core or machine, among many vectors, and in PostgreSQL.

Installed with ``pip install "hebbgraph[scale]"``.

================  =======================================================================
``build``         an index by many workers: processes, or a cluster of Ray
``commands``      ``hebbgraph build``, ``hebbgraph scale``
``ivf``           ``Settings(vector_search="ivf")``: approximate, from inverted lists
``quantized``     ``Settings(vector_search="quantized")``: exact, from eight-bit codes
``postgresql``    an index at ``postgresql+psycopg://...``
``publishing``    :func:`publish` what is derived
``replicas``      :func:`open_replica` from what is published
``snapshots``     what both know: where snapshots lie, and what is whole
``serving``       replicas by Ray Serve
``storage``       folders and URLs of fsspec
``directions``    the principal directions that both searches turn vectors onto
================  =======================================================================

hebbgraph loads builds, databases and searches by name, as entry points. Snapshots are imported::

    from hebbgraph_scale import open_replica, publish
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hebbgraph_scale.publishing import Published, publish
    from hebbgraph_scale.replicas import Fetched, fetch, open_replica

__all__ = ["Fetched", "Published", "fetch", "open_replica", "publish"]


def __getattr__(name: str) -> Any:
    """Load snapshots when they are asked for: entry points pass through here, too."""
    if name in __all__:
        from hebbgraph_scale import publishing, replicas

        return getattr(publishing if name in publishing.__all__ else replicas, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
