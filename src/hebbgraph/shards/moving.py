"""Documents moved from shard to shard while the index is asked and written to."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator

from hebbgraph.errors import ParameterError
from hebbgraph.shards.plan import ROWS, home_of
from hebbgraph.shards.shard import Shard
from hebbgraph.shards.truth import ShardedTruth
from hebbgraph.store.chunks import pages
from hebbgraph.store.truth import ChunkWrite, OvertakenError, Standing

__all__ = ["rebalance"]

#: Documents are moved so many chunks at a time; nobody waits longer than for these.
_CHUNKS = 500


def rebalance(truth: ShardedTruth, tell: Callable[[int], object] = lambda moved: None) -> int:
    """Move each document to the shard where a new one of its name would go.

    A document is copied before it is deleted, with its vectors and tags, so one that is moved
    when the process dies is moved by the next call. Nobody in this process sees it twice.

    Parameters
    ----------
    truth : ShardedTruth
    tell : callable
        Called with the number of chunks moved so far.

    Returns
    -------
    int
        How many chunks were moved.
    """
    if not truth.text_store.here:
        raise ParameterError(
            "texts are kept elsewhere (keep_text=False), and a move would have to read each; "
            "delete and add what is to move"
        )
    moved = 0
    for source in truth.shards:
        for names in pages(_away_from_home(truth, source), _CHUNKS):
            moved += _move(truth, source, names)
            tell(moved)
    return moved


def _away_from_home(truth: ShardedTruth, source: Shard) -> Iterator[tuple[str | None, str]]:
    """Yield document and id of the chunks of a shard that belong to another one.

    Of an old version, the id is that of its chunk.
    """
    places = [shard.place for shard in truth.shards]
    after = source.number * ROWS
    while True:
        page = source.truth.named_after(after, _CHUNKS)
        if not page:
            return
        for _, document, id_, subject in page:
            if home_of(document or subject or id_, places) != source.number:
                yield document, subject or id_
        after = page[-1].row


def _move(truth: ShardedTruth, source: Shard, names: list[tuple[str | None, str]]) -> int:
    """Move chunks, and with each its old versions and all others of its document."""
    documents = dict.fromkeys(document for document, _ in names if document is not None)
    alone = {id_ for document, id_ in names if document is None}
    copied: dict[int, dict[str, int]] = {}
    with truth.steps:
        while True:
            ids = alone.union(*map(source.truth.ids_of_document, documents))
            with contextlib.suppress(OvertakenError):  # by another process: read them again
                return _moved(truth, source, ids, documents, copied)


def _moved(
    truth: ShardedTruth,
    source: Shard,
    ids: set[str],
    documents: Iterable[str],
    copied: dict[int, dict[str, int]],
) -> int:
    """Copy chunks to their shards, then delete them in the source, unless they were changed.

    ``copied`` holds, for each shard, the chunks that it was given, and their rows there.
    """
    held = source.truth
    chunks_by_row = held.versions_of(ids)
    rows = list(chunks_by_row)
    state = held.state().embedding
    vectors = dict(held.embeddings.vectors(rows, state.epoch)) if state else {}
    candidates = {row: found for row, _, found in held.candidates(rows)}
    digests = held.digests(chunk.id for chunk in chunks_by_row.values())
    fingerprints = held.fingerprints()
    places = [shard.place for shard in truth.shards]
    writes: dict[int, list[ChunkWrite]] = {}
    for row, chunk in chunks_by_row.items():
        name = chunk.document_id or chunk.version_of or chunk.id
        writes.setdefault(home_of(name, places), []).append(
            ChunkWrite(chunk, candidates[row], vectors.get(row), digests[chunk.id])
        )
    # Where a version is of another document than its chunk, one of both may be at home.
    staying = writes.pop(source.number, [])
    for target in truth.shards:
        mine, before = writes.get(target.number, []), copied.get(target.number, {})
        if not (mine or before):
            continue
        given = {write.chunk.id for write in mine}
        # What is no longer in the source was deleted, unless somebody wrote it to the target.
        copies = target.truth.rows_of(before.keys() - given)
        target.truth.apply(
            mine,
            delete_ids=[id_ for id_, row in copies.items() if before[id_] == row],
            embedding=state,
            fingerprints={
                name: fingerprints[name]
                for name in documents
                if name in fingerprints and home_of(name, places) == target.number
            },
        )
        copied[target.number] = target.truth.rows_of(given)
    source.truth.apply(
        staying,
        delete_ids=ids,
        embedding=state if staying else None,
        standing=Standing(frozenset(ids), frozenset(rows)),
    )
    return len(rows) - len(staying)
