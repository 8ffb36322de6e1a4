"""The first step: a partition of chunks to rows of the truth, candidates, tokens and terms.

All of it depends on one chunk alone, so partitions know nothing of each other, and what takes
most of the time of an ``add`` is done here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from hebbgraph.arrays import IntArray, concatenated_ranges
from hebbgraph.derived.steps import id_prefix
from hebbgraph.errors import InvalidChunkError
from hebbgraph.graph.packed_strings import pack_strings
from hebbgraph.graph.proposed import Proposed, add_coded, count_proposed
from hebbgraph.ingest import Intake, Taken
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
    name_of,
    read_table,
    save_arrays,
    write_table,
)

__all__ = [
    "counts_of",
    "kept_texts",
    "name_of_proposed",
    "prefixes_of",
    "propose",
    "proposed_of",
    "recount",
    "rows_of",
    "texts_of",
]

_PAGE = 500  # chunks that are proposed for and read together
_BINARY = ("digest", "imprint")
_COUNTS = ("candidate_counts", "support", "anchor_counts", "given_counts")


def name_of_proposed(partition: Partition, recipe: Recipe) -> str:
    """Return the name of the result of :func:`propose`."""
    return name_of("propose", partition.identity(), recipe.identity())


def propose(shelf: Path, partition: Partition, recipe: Recipe) -> Summary:
    """Read a partition, and write what follows from each of its chunks alone.

    Returns
    -------
    dict
        ``name`` of the result, the number of ``chunks`` and ``phrases``, ``bytes`` of text, how
        many were ``cleaned``, those that ``failed``, and the partition's notes.
    """
    name = name_of_proposed(partition, recipe)
    return made_once(shelf, name, lambda to: {"name": name, **_proposed(to, partition, recipe)})


class _Kit:
    """The tools of a worker, which remember words from one partition to the next."""

    def __init__(self, salt: bytes, language: str) -> None:
        self.key = salt, language
        self.hasher = PhraseHasher(salt)
        self.reader = TextReader(self.hasher, language)


_KITS: list[_Kit] = []


def _kit(recipe: Recipe) -> _Kit:
    key = recipe.salt, recipe.settings.language
    if not _KITS or _KITS[0].key != key:
        _KITS[:] = [_Kit(*key)]
    return _KITS[0]


class _Written:
    """What is written of a partition, page by page."""

    def __init__(self, recipe: Recipe) -> None:
        self._settings = recipe.settings
        self._kit = _kit(recipe)
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
        found = propose_candidates(self._settings, chunks, [()] * len(chunks))
        rows = [
            row_of(chunk, candidates, None, self._store)
            for chunk, candidates in zip(chunks, found, strict=True)
        ]
        keys: list[str] = []
        for candidates in found:
            add_coded(candidates, keys, self._kinds)
            self._ends.append(len(self._kinds))
        self._proposed.append(self._phrases.intern(keys))
        read = self._kit.reader.read([(chunk.title, chunk.searched) for chunk in chunks])
        here, tokens = _distinct(read)
        self._rows += rows
        self._terms += read.terms
        fields = ROW_FIELDS.index("document_id"), ROW_FIELDS.index("metadata")
        self._facts += [facts_of(row[fields[0]], row[fields[1]]) for row in rows]
        self._lengths.append(read.lengths)
        self._tokens.append(tokens)
        self._hashes.append(here)
        self.bytes += sum(len(chunk.text) + len(chunk.title) for chunk in chunks)

    def save(self, to: Path) -> int:
        """Write everything; return the number of phrases."""
        columns = {name: [row[at] for row in self._rows] for at, name in enumerate(ROW_FIELDS)}
        columns |= {"terms": self._terms, "facts": self._facts}
        write_table(to / "rows.arrow", columns, _BINARY)
        keys = list(self._phrases)
        hashes = self._kit.hasher.hash_phrases(keys)
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
                "page_hashes": np.array([len(one) for one in self._hashes], np.int64),
            },
        )
        return len(keys)


def _proposed(to: Path, partition: Partition, recipe: Recipe) -> Summary:
    intake = Intake(strict=recipe.strict, on_error=recipe.on_error)
    written, count = _Written(recipe), 0
    chunks = _different(intake.take(partition.read(), first=partition.first), intake, recipe)
    while page := list(islice(chunks, _PAGE)):
        written.add(page)
        count += len(page)
    return {
        "chunks": count,
        "phrases": written.save(to),
        "bytes": written.bytes,
        "cleaned": intake.cleaned,
        "failed": [failed.model_dump() for failed in intake.failed],
        **partition.notes(),
    }


def _different(taken: Iterable[Taken], intake: Intake, recipe: Recipe) -> Iterator[Chunk]:
    """Yield each chunk once; refuse one whose id occurred with another content."""
    by_id: dict[str, Chunk] = {}
    for position, chunk in taken:
        try:
            settings = recipe.settings
            one = with_context(dated(chunk, settings.time_fields), settings.search_metadata)
            held = by_id.setdefault(one.id, one)
            if held is one:
                yield one
            elif held != one:
                raise InvalidChunkError(
                    f"id {one.id!r} occurs twice in one partition with different content"
                )
        except InvalidChunkError as error:
            intake.refuse(position, chunk, error)


def _distinct(read: TokenizedTexts) -> tuple[NDArray[np.uint64], NDArray[np.int32]]:
    """Return the distinct hashes of the tokens read, and each token's index among them."""
    occurs = np.zeros(len(read.hashes), dtype=np.bool_)
    occurs[read.tokens] = True
    here = np.flatnonzero(occurs)
    renumbered = np.empty(len(read.hashes), np.int32)
    renumbered[here] = np.arange(len(here), dtype=np.int32)
    return read.hashes[here], renumbered[read.tokens]


def _counted(proposed: Proposed, n_phrases: int) -> dict[str, NDArray[np.int32]]:
    staged = count_proposed(proposed, n_phrases)
    counts = (
        np.bincount(staged.candidates, minlength=n_phrases),
        np.bincount(staged.proposed, weights=staged.worth, minlength=n_phrases),
        np.bincount(staged.anchors, minlength=n_phrases),
        np.bincount(staged.given, minlength=n_phrases),
    )
    return {name: of.astype(np.int32) for name, of in zip(_COUNTS, counts, strict=True)}


def recount(shelf: Path, proposed: str, alive: NDArray[np.bool_]) -> Summary:
    """Count the candidates of a partition of which some chunks were replaced meanwhile."""
    name = name_of("recount", proposed, alive.tobytes().hex())

    def make(to: Path) -> Summary:
        held = proposed_of(shelf / proposed)
        (hashes,) = load_arrays(shelf / proposed, "phrase_hashes")
        save_arrays(to, _counted(held.of(np.flatnonzero(alive)), len(hashes)))
        return {"name": name}

    return made_once(shelf, name, make)


# -- reading -------------------------------------------------------------------------


def rows_of(folder: Path, *names: str) -> list[tuple[Any, ...]]:
    """Return rows of the truth, or some fields of them."""
    columns = read_table(folder / "rows.arrow", *(names or ROW_FIELDS))
    return list(zip(*columns, strict=True))


def proposed_of(folder: Path) -> Proposed:
    """Return what the chunks propose, by the numbers of the partition."""
    return Proposed(*load_arrays(folder, *Proposed._fields))


def prefixes_of(folder: Path) -> NDArray[np.uint64]:
    """Return the id of each chunk as the graph keeps it."""
    return load_arrays(folder, "id_prefixes")[0]


def counts_of(folder: Path) -> list[NDArray[np.int32]]:
    """Return candidates, support, anchors and given of each phrase of the partition."""
    return load_arrays(folder, *_COUNTS)


def texts_of(folder: Path) -> Iterator[tuple[IntArray, TokenizedTexts]]:
    """Yield the tokens of the texts, a page at a time, with the chunks of the page."""
    lengths, tokens, hashes, of_page = load_arrays(
        folder, "lengths", "tokens", "token_hashes", "page_hashes"
    )
    first = first_token = first_hash = 0
    for n_hashes in of_page.tolist():
        page = lengths[2 * first : 2 * (first + _PAGE)]  # a title and a text each
        n_tokens = int(page.sum())
        chunks = np.arange(first, first + len(page) // 2)
        yield (
            chunks,
            TokenizedTexts(
                np.full(len(chunks), 2),
                page,
                tokens[first_token : first_token + n_tokens].astype(np.int64),
                hashes[first_hash : first_hash + n_hashes],
                [],
            ),
        )
        first += len(chunks)
        first_token += n_tokens
        first_hash += n_hashes


def kept_texts(texts: TokenizedTexts, kept: IntArray) -> TokenizedTexts:
    """Return the texts of some chunks of a page."""
    ends = np.cumsum(texts.lengths)
    both = (2 * kept[:, None] + np.arange(2)).ravel()
    lengths = texts.lengths[both]
    at = concatenated_ranges(ends[both] - lengths, lengths)
    return TokenizedTexts(np.full(len(kept), 2), lengths, texts.tokens[at], texts.hashes, [])
