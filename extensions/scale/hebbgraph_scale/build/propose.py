"""The first step: a partition of chunks to database rows, candidates, tokens and terms.

All of these depend on one chunk alone, so partitions are independent. Most of the time of an
``add`` is spent here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from hebbgraph.arrays import IntArray, concatenated_ranges
from hebbgraph.derived.steps import id_prefix
from hebbgraph.errors import InvalidChunkError
from hebbgraph.graph.packed_strings import pack_strings
from hebbgraph.graph.proposed import Proposed, add_coded, count_proposed
from hebbgraph.ingest import AcceptedChunk, Intake
from hebbgraph.ingest.candidates import propose_candidates
from hebbgraph.ingest.versions import dated
from hebbgraph.records import Chunk
from hebbgraph.search_text import with_context
from hebbgraph.store.chunk_rows import ROW_FIELDS, row_of
from hebbgraph.store.facts import facts_of
from hebbgraph.store.texts import TextsElsewhere, TextStore
from hebbgraph.text.hashing import PhraseHasher
from hebbgraph.text.reader import TextReader, TokenizedTexts
from hebbgraph.text.words import Interner
from numpy.typing import NDArray

from hebbgraph_scale.build.recipe import Partition, Recipe
from hebbgraph_scale.build.shelf import (
    Summary,
    load_arrays,
    made_once,
    read_table,
    save_arrays,
    write_table,
)

__all__ = [
    "NumberedPartition",
    "counts_of",
    "prefixes_of",
    "propose",
    "proposed_of",
    "recount",
    "rows_of",
    "select_texts",
    "texts_of",
]

_PAGE = 500  # chunks read together
_BINARY = ("digest", "imprint")
_COUNTS = ("candidate_counts", "support", "anchor_counts", "given_counts")


class NumberedPartition(NamedTuple):
    """A partition's result, and the row of each of its chunks; 0 for those not in the index."""

    proposed: str
    rows: NDArray[np.int64]


def propose(shelf: Path, partition: Partition, recipe: Recipe) -> Summary:
    """Read a partition, and write what depends on each chunk alone.

    Returns
    -------
    dict
        ``name`` of the result, the number of ``chunks`` and ``phrases``, ``bytes`` of text, how
        many were ``cleaned``, those that ``failed``, and the partition's notes.
    """

    def make(to: Path) -> Summary:
        return _propose(to, partition, recipe)

    return made_once(shelf, "propose", partition.identity(), recipe.identity(), make=make)


@lru_cache(maxsize=1)
def _tools(salt: bytes, language: str) -> tuple[PhraseHasher, TextReader]:
    """Return the tools of this worker, which remember words from earlier partitions."""
    hasher = PhraseHasher(salt)
    return hasher, TextReader(hasher, language)


class _Writer:
    """Collects a partition, page by page, and writes it."""

    def __init__(self, recipe: Recipe) -> None:
        self._settings = recipe.settings
        self._hasher, self._reader = _tools(recipe.salt, recipe.settings.language)
        self._store = TextStore() if recipe.settings.keep_text else TextsElsewhere(None, "")
        self._rows: list[tuple[Any, ...]] = []
        self._terms: list[str] = []
        self._facts: list[str] = []
        self._phrases = Interner()
        self._kinds: list[int] = []
        self._proposed: list[IntArray] = []
        self._ends: list[int] = []
        self._lengths: list[IntArray] = []
        self._tokens: list[IntArray] = []
        self._hashes: list[NDArray[np.uint64]] = []
        self.bytes = 0

    def add(self, chunks: list[Chunk]) -> None:
        """Propose for a page of chunks, and read its texts."""
        candidates_of_chunks = propose_candidates(self._settings, chunks, [()] * len(chunks))
        rows = [
            row_of(chunk, candidates, None, self._store)
            for chunk, candidates in zip(chunks, candidates_of_chunks, strict=True)
        ]
        keys: list[str] = []
        for candidates in candidates_of_chunks:
            add_coded(candidates, keys, self._kinds)
            self._ends.append(len(self._kinds))
        self._proposed.append(self._phrases.intern(keys))
        texts = self._reader.read([(chunk.title, chunk.searched) for chunk in chunks])
        hashes, tokens = _distinct(texts)
        self._rows += rows
        self._terms += texts.terms
        document_id, metadata = map(ROW_FIELDS.index, ("document_id", "metadata"))
        self._facts += [facts_of(row[document_id], row[metadata]) for row in rows]
        self._lengths.append(texts.lengths)
        self._tokens.append(tokens)
        self._hashes.append(hashes)
        self.bytes += sum(len(chunk.text) + len(chunk.title) for chunk in chunks)

    def save(self, to: Path) -> int:
        """Write everything; return the number of phrases."""
        columns = {name: [row[at] for row in self._rows] for at, name in enumerate(ROW_FIELDS)}
        columns |= {"terms": self._terms, "facts": self._facts}
        write_table(to / "rows.arrow", columns, _BINARY)
        keys = list(self._phrases)
        hashes = self._hasher.hash_phrases(keys)
        order = np.argsort(hashes, kind="stable")
        renumbered = np.empty(len(keys), np.int32)
        renumbered[order] = np.arange(len(keys), dtype=np.int32)
        proposed = Proposed(
            np.array([0, *self._ends], np.int64),
            renumbered[np.concatenate((np.empty(0, np.int64), *self._proposed))],
            np.array(self._kinds, np.int8),
        )
        data, offsets = pack_strings([keys[at] for at in order.tolist()])
        save_arrays(
            to,
            {
                "id_prefixes": np.array([id_prefix(row[0]) for row in self._rows], np.uint64),
                "phrase_hashes": hashes[order],
                "phrase_data": data,
                "phrase_offsets": offsets,
                **proposed._asdict(),
                **_counted(proposed, len(keys)),
                "lengths": np.concatenate((np.empty(0, np.int64), *self._lengths)),
                "tokens": np.concatenate((np.empty(0, np.int32), *self._tokens)),
                "token_hashes": np.concatenate((np.empty(0, np.uint64), *self._hashes)),
                "page_hashes": np.array([len(page) for page in self._hashes], np.int64),
            },
        )
        return len(keys)


def _propose(to: Path, partition: Partition, recipe: Recipe) -> Summary:
    intake = Intake(strict=recipe.strict, on_error=recipe.on_error)
    writer, count = _Writer(recipe), 0
    chunks = _different(intake.take(partition.read(), first=partition.first), intake, recipe)
    while page := list(islice(chunks, _PAGE)):
        writer.add(page)
        count += len(page)
    return {
        "chunks": count,
        "phrases": writer.save(to),
        "bytes": writer.bytes,
        "cleaned": intake.cleaned,
        "failed": [failed.model_dump() for failed in intake.failed],
        **partition.notes(),
    }


def _different(taken: Iterable[AcceptedChunk], intake: Intake, recipe: Recipe) -> Iterator[Chunk]:
    """Yield each chunk once; refuse an id that occurs again with different content."""
    settings, by_id = recipe.settings, dict[str, Chunk]()
    for position, taken_chunk in taken:
        try:
            chunk = dated(taken_chunk, settings.time_fields)
            chunk = with_context(chunk, settings.search_metadata)
            first = by_id.setdefault(chunk.id, chunk)
            if first is chunk:
                yield chunk
            elif first != chunk:
                raise InvalidChunkError(
                    f"id {chunk.id!r} occurs twice in one partition with different content"
                )
        except InvalidChunkError as error:
            intake.refuse(position, taken_chunk, error)


def _distinct(texts: TokenizedTexts) -> tuple[NDArray[np.uint64], NDArray[np.int32]]:
    """Return the distinct hashes of the tokens, and each token's index among them."""
    occurs = np.zeros(len(texts.hashes), dtype=np.bool_)  # faster than np.unique
    occurs[texts.tokens] = True
    numbers = np.flatnonzero(occurs)
    indices = np.empty(len(texts.hashes), np.int32)
    indices[numbers] = np.arange(len(numbers), dtype=np.int32)
    return texts.hashes[numbers], indices[texts.tokens]


def _counted(proposed: Proposed, n_phrases: int) -> dict[str, NDArray[np.int32]]:
    staged = count_proposed(proposed, n_phrases)
    counts = (
        np.bincount(staged.candidates, minlength=n_phrases),
        np.bincount(staged.proposed, weights=staged.worth, minlength=n_phrases),
        np.bincount(staged.anchors, minlength=n_phrases),
        np.bincount(staged.given, minlength=n_phrases),
    )
    return {name: count.astype(np.int32) for name, count in zip(_COUNTS, counts, strict=True)}


def recount(shelf: Path, proposed: str, alive: NDArray[np.bool_]) -> Summary:
    """Count the candidates of the live chunks of a partition; others were replaced meanwhile."""

    def make(to: Path) -> Summary:
        live = proposed_of(shelf / proposed).of_chunks(np.flatnonzero(alive))
        (hashes,) = load_arrays(shelf / proposed, "phrase_hashes")
        save_arrays(to, _counted(live, len(hashes)))
        return {}

    return made_once(shelf, "recount", proposed, alive.tobytes().hex(), make=make)


# -- reading -------------------------------------------------------------------------


def rows_of(folder: Path, *names: str) -> list[tuple[Any, ...]]:
    """Return the database rows of a partition, or some of their fields."""
    columns = read_table(folder / "rows.arrow", *(names or ROW_FIELDS))
    return list(zip(*columns, strict=True))


def proposed_of(folder: Path) -> Proposed:
    """Return the candidates of the chunks, by the numbers of the partition."""
    return Proposed(*load_arrays(folder, *Proposed._fields))


def prefixes_of(folder: Path) -> NDArray[np.uint64]:
    """Return the id prefix of each chunk."""
    return load_arrays(folder, "id_prefixes")[0]


def counts_of(folder: Path) -> list[NDArray[np.int32]]:
    """Return the counts of each phrase of the partition: candidates, support, anchors, given."""
    return load_arrays(folder, *_COUNTS)


def texts_of(folder: Path) -> Iterator[tuple[IntArray, TokenizedTexts]]:
    """Yield the chunks of each page, and the tokens of their texts."""
    names = ("lengths", "tokens", "token_hashes", "page_hashes")
    lengths, tokens, hashes, page_hashes = load_arrays(folder, *names)
    first = first_token = first_hash = 0
    for n_hashes in page_hashes.tolist():
        page = lengths[2 * first : 2 * (first + _PAGE)]  # a title and a text each
        n_tokens = int(page.sum())
        chunks = np.arange(first, first + len(page) // 2)
        page_tokens = tokens[first_token : first_token + n_tokens].astype(np.int64)
        distinct = hashes[first_hash : first_hash + n_hashes]
        yield chunks, TokenizedTexts(np.full(len(chunks), 2), page, page_tokens, distinct, [])
        first += len(chunks)
        first_token += n_tokens
        first_hash += n_hashes


def select_texts(texts: TokenizedTexts, kept: IntArray) -> TokenizedTexts:
    """Return the texts of some chunks of a page."""
    parts = (2 * kept[:, None] + np.arange(2)).ravel()  # title and text
    lengths = texts.lengths[parts]
    at = concatenated_ranges(np.cumsum(texts.lengths)[parts] - lengths, lengths)
    return TokenizedTexts(np.full(len(kept), 2), lengths, texts.tokens[at], texts.hashes, [])
