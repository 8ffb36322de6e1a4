"""The route of the role ``shard``: this process keeps a shard of an index elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from starlette.responses import Response

from hebbgraph.errors import NotFoundError
from hebbgraph.index import HebbianIndex
from hebbgraph.server.indexes import Indexes
from hebbgraph.server.threads import Pool
from hebbgraph.server.visit import Visit
from hebbgraph.shards.calls import CALLS, Request
from hebbgraph.shards.kept import KeptShard
from hebbgraph.shards.served import MESSAGE

__all__ = ["NoIndexes", "shard"]


class NoIndexes(Indexes):
    """Stands for the indexes of a server that keeps a shard: there are none to ask.

    Parameters
    ----------
    kept : KeptShard
        It stays the caller's to close.
    """

    def __init__(self, kept: KeptShard) -> None:
        self.kept = kept

    @contextmanager
    def borrowed(self, namespace: str, *, create: bool = False) -> Iterator[HebbianIndex]:
        raise NotFoundError(
            "this server keeps a shard, and answers the index that it belongs to alone; ask that"
        )
        yield  # never reached: it makes this a generator

    def names(self) -> list[str]:
        return []

    def shards(self) -> tuple[int, int]:
        self.kept.check()
        return 0, 0

    def close(self) -> None:
        """Do nothing."""


async def shard(message: bytes, visit: Visit) -> Response:
    """Answer an index elsewhere that this server keeps a shard of (`hebbgraph serve --shard`).

    One message in hebbgraph's own format, and one back: docs/shards.md.
    """
    indexes = visit.service.indexes
    if not isinstance(indexes, NoIndexes):
        raise NotFoundError("this server keeps no shard; start it with hebbgraph serve --shard")
    kept, threads = indexes.kept, visit.service.threads
    request = await threads.run("read", lambda: kept.asked(message))
    answer = await threads.run(_pool(request), lambda: kept.answer(request, visit.namespace))
    return Response(answer, media_type=MESSAGE)


def _pool(request: Request) -> Pool:
    """Keep what waits for a writer, and what reads all of the shard, out of the readers' way."""
    call = CALLS.get(request.call)
    if call is not None and call.lasts:
        return "long"
    return "write" if request.call == "open" or (call is not None and call.writes) else "read"
