"""The chunks of all shards, read and written as those of one namespace."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from hashlib import blake2b
from heapq import merge
from itertools import chain
from typing import Any, NamedTuple, TypeVar

import numpy as np
import sqlalchemy as sa

from hebbgraph.records import Chunk, Finding
from hebbgraph.shards.plan import home_of, number_of
from hebbgraph.shards.shard import Shard
from hebbgraph.shards.together import Together
from hebbgraph.store.chunks import ChunkReader, Dated
from hebbgraph.store.database import Database
from hebbgraph.store.embeddings import Embeddings, EmbeddingState
from hebbgraph.store.history import NEVER, NOTHING, Commit
from hebbgraph.store.texts import TextStore
from hebbgraph.store.truth import Changes, ChunkWrite, Outcome, Standing, State, Truth

__all__ = ["ShardedTruth", "joined_commit"]

_R = TypeVar("_R")

#: So many rows of each shard are read at the same time from all of them.
_AT_ONCE = 500
#: How long whoever asks waits for a shard elsewhere that was down, and may be back.
_PATIENCE_SECONDS = 0.25


def joined_commit(own: Commit, of_shards: Iterable[Commit]) -> Commit:
    """Return the commit of the whole: as many as all together, marked by all marks."""
    commits = [own, *of_shards]
    digest = blake2b(repr([tuple(one) for one in commits]).encode(), digest_size=8).digest()
    return Commit(
        sum(max(one.generation, 0) for one in commits), int.from_bytes(digest, "big") >> 2
    )


class _OverShards(ChunkReader):
    """Reads rows from the shards that they belong to, and asks all for anything else.

    A shard that is down is left out where all are asked; reading a row of it raises
    ShardDownError.
    """

    shards: Sequence[Shard]
    together: Together

    @property
    def up(self) -> list[Shard]:
        """The shards that answer."""
        return [shard for shard in self.shards if shard.is_up]

    def by_shard(self, rows: Iterable[int]) -> list[tuple[Shard, list[int]]]:
        """Return the rows of each shard, in the order of the shards."""
        mine: dict[int, list[int]] = {}
        for row in map(int, rows):
            mine.setdefault(number_of(row), []).append(row)
        return [(shard, mine[shard.number]) for shard in self.shards if shard.number in mine]

    def _select(self, rows: Iterable[int], *columns: sa.Column[Any]) -> Iterator[Sequence[Any]]:
        wanted = self.by_shard(rows)
        mine = {shard.number: held for shard, held in wanted}

        def page(shard: Shard) -> list[Sequence[Any]]:
            with shard.watched() as truth:
                return [*truth._select(mine[shard.number], *columns)]

        if all(len(held) <= _AT_ONCE for held in mine.values()):
            yield from chain.from_iterable(self.together.ask([shard for shard, _ in wanted], page))
            return
        for shard, held in wanted:  # too much to hold
            with shard.watched() as truth:
                yield from truth._select(held, *columns)

    def each(self, ask: Callable[[Truth], _R]) -> list[_R]:
        """Ask all that answer."""

        def watched(shard: Shard) -> _R:
            with shard.watched() as truth:
                return ask(truth)

        return self.together.ask(self.up, watched)

    def addresses(self) -> Iterator[tuple[str, list[str]]]:
        yield from chain.from_iterable(self.each(lambda truth: [*truth.addresses()]))

    def rows_of_versions(self, ids: Iterable[str]) -> list[int]:
        wanted = list(ids)
        return [*chain.from_iterable(self.each(lambda truth: truth.rows_of_versions(wanted)))]

    def documents_held(self, names: Iterable[str]) -> set[str]:
        wanted = list(names)
        return set().union(*self.each(lambda truth: truth.documents_held(wanted)))

    def by_id(self) -> Iterator[tuple[str, int]]:
        return merge(*(shard.truth.by_id() for shard in self.up))

    def _by_id(self, ids: Iterable[str], column: sa.Column[Any]) -> dict[str, Any]:
        wanted = list(ids)
        found: dict[str, Any] = {}
        for held in self.each(lambda truth: truth._by_id(wanted, column)):
            found |= held
        return found


class _ShardedEmbeddings(_OverShards, Embeddings):
    """The vectors of all shards."""

    def __init__(
        self, database: Database, namespace: str, text_store: TextStore, shards: Sequence[Shard]
    ) -> None:
        super().__init__(database, namespace, text_store)
        self.shards = shards
        self.together = Together(shards)

    def begin_epoch(self, state: EmbeddingState) -> EmbeddingState:
        truths = [shard.truth for shard in self.shards]  # all of them, or none
        held = [one for truth in truths if (one := truth.state().embedding) is not None]
        begun = state
        if held:
            begun = state._replace(
                epoch=max(one.epoch for one in held) + 1,
                revision=max(one.revision for one in held) + 1,
            )
        for truth in truths:
            begun = truth.embeddings.begin_epoch(begun)
        return begun

    def rows_to_embed(self, epoch: int, limit: int, *, after: int = 0) -> list[int]:
        found: list[int] = []
        for shard in self.shards:
            if len(found) < limit:
                found += shard.truth.embeddings.rows_to_embed(
                    epoch, limit - len(found), after=after
                )
        return found

    def by_content(self, ids: Iterable[str], epoch: int) -> dict[bytes, bytes]:
        wanted = list(ids)
        held: dict[bytes, bytes] = {}
        for found in self.each(lambda truth: truth.embeddings.by_content(wanted, epoch)):
            held |= found
        return held

    def without_vector(self, rows: Iterable[int], epoch: int) -> set[int]:
        lacking: set[int] = set()
        for shard, mine in self.by_shard(rows):
            with shard.watched() as truth:
                lacking |= truth.embeddings.without_vector(mine, epoch)
        return lacking

    def count_to_embed(self, epoch: int) -> int:
        return sum(self.each(lambda truth: truth.embeddings.count_to_embed(epoch)))

    def write_vectors(self, epoch: int, vectors: Mapping[int, bytes]) -> None:
        for shard, mine in self.by_shard(vectors):
            shard.truth.embeddings.write_vectors(epoch, {row: vectors[row] for row in mine})


class _Share(NamedTuple):
    """What of a batch concerns one shard."""

    writes: list[ChunkWrite]
    ids: list[str]
    documents: list[str]
    fingerprints: dict[str, str]
    #: Chunks that it gives to another shard, once that has them.
    given_away: list[str]

    @property
    def is_empty(self) -> bool:
        return not (self.writes or self.ids or self.documents or self.fingerprints)


class ShardedTruth(_OverShards, Truth):
    """One namespace whose chunks lie in several databases.

    Its own database, the coordinator's, holds everything else: the settings, the log of
    feedback, and corrections to tags. A batch is one transaction in each shard that it concerns.

    Parameters
    ----------
    database : Database
        The coordinator's.
    namespace : str
    text_store : TextStore
    shards : sequence of Shard
    """

    def __init__(
        self, database: Database, namespace: str, text_store: TextStore, shards: Sequence[Shard]
    ) -> None:
        super().__init__(database, namespace, text_store)
        self.shards = shards
        self.together = Together(shards)
        self.embeddings = _ShardedEmbeddings(database, namespace, text_store, shards)
        #: Held by whoever takes a step, so that none sees half of a batch.
        self.steps = threading.RLock()

    @property
    def databases(self) -> tuple[Database, ...]:
        opened = (shard.opened for shard in self.shards)
        return (self.database, *(truth.database for truth in opened if truth is not None))

    def check_whole(self) -> None:
        for shard in self.shards:
            _ = shard.truth

    # -- state ----------------------------------------------------------------------

    def states(self) -> tuple[State, list[State]]:
        """Return the coordinator's state and that of each shard; the last known of one down."""
        sent = self.together.begin(self.shards, Shard.state)
        until = time.monotonic() + _PATIENCE_SECONDS
        own = super().state()
        here = {shard.number: shard.state() for shard in self.shards if shard.number not in sent}
        return own, [
            here[shard.number]
            if shard.number in here
            else _answered(shard, sent[shard.number], until)
            for shard in self.shards
        ]

    def state(self) -> State:
        return self.joined(*self.states())

    @staticmethod
    def joined(own: State, states: Sequence[State]) -> State:
        """Return the state of the whole."""
        embedding = None
        held = [one.embedding for one in states if one.embedding is not None]
        if held:
            digest = blake2b(repr([tuple(one) for one in held]).encode(), digest_size=8).digest()
            embedding = held[0]._replace(
                revision=sum(one.revision for one in held),
                mark=int.from_bytes(digest, "big") >> 2,
            )
        commit = joined_commit(own.commit, (one.commit for one in states))
        return State(commit, embedding, own.feedback, own.floor)

    def namespaces(self) -> list[str]:
        return Truth(self.database, self.namespace).namespaces()

    # -- writing --------------------------------------------------------------------

    def apply(
        self,
        writes: Sequence[ChunkWrite] = (),
        *,
        delete_ids: Iterable[str] = (),
        delete_documents: Iterable[str] = (),
        fingerprints: Mapping[str, str] | None = None,
        embedding: EmbeddingState | None = None,
        instead_of: Mapping[str, int] | None = None,
        standing: Standing | None = None,
    ) -> Outcome:
        """Write, replace and delete, in one transaction for each shard concerned.

        What a shard gives to another is deleted last: a failure between leaves it twice, and the
        same call again mends that.

        Raises
        ------
        ShardDownError
            If any shard is down: it may hold the chunk that is to be replaced.
        """
        with self.steps:
            before = self.state().commit
            for shard in self.shards:
                _ = shard.truth
            shares, moved = self._shares(
                writes,
                list(delete_ids),
                list(delete_documents),
                dict(fingerprints or {}),
                instead_of,
            )
            added = replaced = given_away = 0
            deleted = -self._doomed_again(shares)
            for shard in self.shards:
                share = shares[shard.number]
                if share.is_empty:
                    continue
                with shard.watched() as truth:
                    outcome = truth.apply(
                        share.writes,
                        delete_ids=share.ids,
                        delete_documents=share.documents,
                        fingerprints=share.fingerprints,
                        embedding=embedding,
                        instead_of=instead_of,
                        standing=None if standing is None else _standing_in(standing, shard),
                    )
                added, replaced = added + outcome.added, replaced + outcome.replaced
                deleted += outcome.deleted
            for shard in self.shards:
                if given := shares[shard.number].given_away:
                    with shard.watched() as truth:
                        given_away += truth.apply(delete_ids=given).deleted
            commit = self.state().commit
            if not (replaced or deleted or given_away):
                for generation in range(before.generation + 1, commit.generation + 1):
                    self._note(Commit(generation, commit.mark))
            return Outcome(added - moved, replaced + moved, deleted, commit.generation)

    def _shares(
        self,
        writes: Sequence[ChunkWrite],
        ids: list[str],
        named_documents: list[str],
        fingerprints: dict[str, str],
        instead_of: Mapping[str, int] | None,
    ) -> tuple[dict[int, _Share], int]:
        """Return what concerns each shard, and how many chunks go to another one."""
        moved = 0
        shares = {shard.number: _Share([], [], [], {}, []) for shard in self.shards}
        subjects = {write.chunk.version_of or write.chunk.id for write in writes}
        holding = self._chunks_in({*ids, *subjects, *(write.chunk.id for write in writes)})
        named = {write.chunk.document_id for write in writes if write.chunk.document_id}
        held_in = self._documents_in({*named, *named_documents, *fingerprints})
        places = [shard.place for shard in self.shards]

        def home(chunk: Chunk) -> int:
            if instead_of is not None:
                return number_of(instead_of[chunk.id])
            if chunk.document_id is not None:
                held = held_in.get(chunk.document_id)
                return min(held) if held else home_of(chunk.document_id, places)
            subject = chunk.version_of or chunk.id
            held = holding.get(subject)
            return max(held) if held else home_of(subject, places)

        for write in writes:
            target = home(write.chunk)
            shares[target].writes.append(write)
            held_by = holding.get(write.chunk.id, set())
            moved += bool(held_by) and target not in held_by
            for number in held_by - {target}:
                shares[number].given_away.append(write.chunk.id)
        for id_ in ids:
            for number in holding.get(id_, ()):
                shares[number].ids.append(id_)
        for document in named_documents:
            for number in held_in.get(document, ()):
                shares[number].documents.append(document)
        for document, fingerprint in fingerprints.items():
            held = held_in.get(document)
            number = min(held) if held else home_of(document, places)
            shares[number].fingerprints[document] = fingerprint
        return shares, moved

    def _doomed_again(self, shares: Mapping[int, _Share]) -> int:
        """Return how many chunks will be deleted in one more shard, as a move has not ended."""
        named = [name for share in shares.values() for name in (*share.ids, *share.documents)]
        if len(set(named)) == len(named):
            return 0
        doomed: list[str] = []
        for shard in self.shards:
            share = shares[shard.number]
            written = {write.chunk.id for write in share.writes}
            with shard.watched() as truth:
                ids = {*share.ids}.union(*map(truth.ids_of_document, share.documents))
                held = truth.ids(sorted(truth.rows_of_versions(ids))).values()
            doomed += (id_ for id_ in held if id_ not in written)
        written_at_all = {write.chunk.id for share in shares.values() for write in share.writes}
        return len(doomed) - len(set(doomed) - written_at_all)

    def _chunks_in(self, ids: set[str]) -> dict[str, set[int]]:
        """Return the shards that hold each chunk: two, if a move has not ended."""
        return self._holders(lambda truth: truth.rows_of(ids))

    def _documents_in(self, names: set[str]) -> dict[str, set[int]]:
        """Return the shards that hold something of each document."""
        return self._holders(lambda truth: truth.documents_held(names))

    def _holders(self, held: Callable[[Truth], Iterable[str]]) -> dict[str, set[int]]:
        """Return the shards that hold something, for all that any of them names."""

        def watched(shard: Shard) -> Iterable[str]:
            with shard.watched() as truth:
                return held(truth)

        found: dict[str, set[int]] = {}
        for shard, names in zip(self.shards, self.together.ask(self.shards, watched), strict=True):
            for name in names:
                found.setdefault(name, set()).add(shard.number)
        return found

    def drop_tombstones(self) -> None:
        super().drop_tombstones()
        self.each(lambda truth: truth.drop_tombstones())

    def shards_down(self) -> tuple[int, int]:
        return len(self.shards) - len(self.up), len(self.shards)

    def problems(self) -> Iterator[Finding]:
        self.state()  # asks each whether it answers
        for shard in self.shards:
            if (told := shard.told) is not None:
                yield Finding(part="database", problem=told)
                continue
            for found in shard.truth.problems():
                yield found.model_copy(update={"problem": f"shard {shard.name!r}: {found.problem}"})

    # -- reading --------------------------------------------------------------------

    def changes_since(self, commit: Commit) -> Changes:
        """Return the rows of all shards that answer; no commit but the last leads on to them.

        The coordinator takes the steps of each shard by itself, so this serves who starts from
        nothing.
        """
        state = self.state()  # before the rows: who compares finds the truth ahead, not behind
        nothing = np.empty(0, dtype=np.int64)
        if commit == state.commit:
            return Changes(state, nothing, nothing)
        added = self.each(lambda truth: truth.changes_since(NEVER).added)
        complete = commit in (NOTHING, NEVER)
        return Changes(state, np.concatenate([nothing, *added]), nothing, complete)

    def count(self) -> int:
        return sum(self.each(lambda truth: truth.count()))

    def dated(self, after: int, last: int) -> list[Dated]:
        return [*chain.from_iterable(self.each(lambda truth: truth.dated(after, last)))]

    def ids_of_document(self, document_id: str) -> set[str]:
        return set().union(*self.each(lambda truth: truth.ids_of_document(document_id)))

    def fingerprints(self) -> dict[str, str]:
        found: dict[str, str] = {}
        for held in self.each(lambda truth: truth.fingerprints()):
            found |= held
        return found


def _answered(shard: Shard, asked: Future[State], until: float) -> State:
    """Return a shard's state; nobody waits longer for one that was down when it was asked."""
    try:
        return asked.result(None if shard.is_up else max(until - time.monotonic(), 0.0))
    except TimeoutError:
        return shard.last


def _standing_in(standing: Standing, shard: Shard) -> Standing:
    return Standing(
        standing.ids, frozenset(row for row in standing.rows if number_of(row) == shard.number)
    )
