"""The second step: the candidates of all partitions, by bucket of their hashes, to a vocabulary.

A bucket is a range of phrase hashes, so the concatenated buckets are sorted, and a phrase is
numbered by its position.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from hebbgraph.arrays import IntArray, concatenated_ranges, prefix_sums
from hebbgraph.graph.packed_strings import PackedStrings
from hebbgraph.graph.phrases import MIN_CANDIDATES, PhraseArrays, order_keys
from hebbgraph.graph.trie import PhraseTrie
from hebbgraph.text.hashing import PhraseHasher
from numpy.typing import NDArray

from hebbgraph_scale.build.propose import counts_of
from hebbgraph_scale.build.shelf import Summary, load_arrays, made_once, save_arrays

__all__ = ["merge", "vocabulary_of", "write_vocabulary"]

#: A partition's result, and the result with its counts: another one if chunks were replaced.
Counted = tuple[str, str]
_NO_HASHES = np.empty(0, np.uint64)


def merge(
    shelf: Path, partitions: Sequence[Counted], bucket: int, n_buckets: int, salt: bytes
) -> Summary:
    """Sum the counts of the phrases in a bucket; keep those that a live chunk proposes.

    Parameters
    ----------
    shelf : Path
    partitions : sequence of (name, name of the counts)
    bucket, n_buckets : int
    salt : bytes
    """

    def make(to: Path) -> Summary:
        arrays = _merged(shelf, partitions, bucket, n_buckets, salt)
        save_arrays(to, arrays)
        return {"phrases": len(arrays["sorted_hashes"])}

    return made_once(shelf, "merge", partitions, bucket, n_buckets, make=make)


def _merged(
    shelf: Path, partitions: Sequence[Counted], bucket: int, n_buckets: int, salt: bytes
) -> dict[str, NDArray[np.generic]]:
    bounds = [-(-(at << 64) // n_buckets) for at in (bucket, bucket + 1)]
    hashes, counts, keys, lengths = [_NO_HASHES], [], [], []
    for name, counted in partitions:
        names = ("phrase_hashes", "phrase_data", "phrase_offsets")
        all_hashes, data, offsets = load_arrays(shelf / name, *names)
        start = int(np.searchsorted(all_hashes, np.uint64(bounds[0])))
        is_last = bounds[1] >> 64  # its end does not fit into 64 bits
        stop = (
            len(all_hashes) if is_last else int(np.searchsorted(all_hashes, np.uint64(bounds[1])))
        )
        hashes.append(all_hashes[start:stop])
        counts.append(np.stack([count[start:stop] for count in counts_of(shelf / counted)]))
        keys.append(data[offsets[start] : offsets[stop]])
        lengths.append(np.diff(offsets[start : stop + 1]))
    together = np.concatenate(hashes)
    order = np.argsort(together, kind="stable")
    ascending = together[order]
    first = np.flatnonzero(np.concatenate(([True], ascending[1:] != ascending[:-1])))
    first = first[: len(ascending)]  # empty without phrases
    sums = np.add.reduceat(np.concatenate(counts, axis=1)[:, order], first, axis=1)
    sums = sums.astype(np.int32) if len(first) else np.empty((4, 0), np.int32)
    used = np.flatnonzero((sums[0] > 0) | (sums[3] > 0))
    candidates, support, anchors, given = sums[:, used]
    data, offsets = _gathered(np.concatenate(keys), np.concatenate(lengths), order[first[used]])
    packed = PackedStrings(data, offsets)
    spans = _spans(packed, (anchors > 0) | (candidates >= MIN_CANDIDATES) | (given > 0), salt)
    return {
        "sorted_hashes": ascending[first[used]],
        "key_data": data,
        "key_offsets": offsets,
        "candidate_counts": candidates,
        "support": support,
        "anchor_counts": anchors,
        "given_counts": given,
        "phrase_order": order_keys(packed),
        "span_hashes": spans[0],
        "span_numbers": spans[1],
        "span_extends": spans[2],
    }


def _gathered(
    data: NDArray[np.uint8], lengths: IntArray, wanted: IntArray
) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Select concatenated strings, in the given order."""
    starts = prefix_sums(lengths)[wanted]
    return data[concatenated_ranges(starts, lengths[wanted])], prefix_sums(lengths[wanted])


def _spans(
    keys: PackedStrings, matched: NDArray[np.bool_], salt: bytes
) -> tuple[NDArray[np.uint64], NDArray[np.int32], NDArray[np.bool_]]:
    """Return the trie nodes of the phrases that texts are matched against."""
    numbers = np.flatnonzero(matched)
    hashes, last = PhraseHasher(salt).hash_prefixes([keys[at] for at in numbers.tolist()])
    named = np.full(len(hashes), -1, dtype=np.int32)
    named[last] = numbers
    extends = np.ones(len(hashes), dtype=np.bool_)
    extends[last] = False
    return hashes, named, extends


def write_vocabulary(shelf: Path, buckets: Sequence[str], salt: bytes) -> Summary:
    """Concatenate the buckets to the phrase arrays of a graph."""

    def make(to: Path) -> Summary:
        arrays = _vocabulary(shelf, buckets, salt)
        save_arrays(to, {field: arrays[field] for field in PhraseArrays._fields})
        return {"phrases": len(arrays["sorted_numbers"])}

    return made_once(shelf, "vocabulary", buckets, make=make)


def _vocabulary(shelf: Path, buckets: Sequence[str], salt: bytes) -> dict[str, NDArray[np.generic]]:
    parts: dict[str, list[NDArray[np.generic]]] = {}
    first = first_byte = 0
    for bucket in buckets:
        for field in PhraseArrays._fields:
            if field in ("salt", "sorted_numbers"):
                continue
            (values,) = load_arrays(shelf / bucket, field)
            if field == "key_offsets":
                values = values[:-1] + first_byte
            elif field == "span_numbers":
                values = np.where(values >= 0, values + first, -1).astype(np.int32)
            parts.setdefault(field, []).append(values)
        first = sum(map(len, parts["sorted_hashes"]))
        first_byte = sum(map(len, parts["key_data"]))
    arrays = {field: np.concatenate(values) for field, values in parts.items()}
    arrays["key_offsets"] = np.append(arrays["key_offsets"], first_byte)
    arrays["salt"] = np.frombuffer(salt, np.uint8)
    arrays["sorted_numbers"] = np.arange(first, dtype=np.int32)
    fields = ("span_hashes", "span_numbers", "span_extends")
    trie = PhraseTrie(*(arrays[field][:0] for field in fields))
    trie.insert(*(arrays[field] for field in fields))
    arrays |= zip(fields, trie.renumbered(arrays["sorted_numbers"]), strict=True)
    return arrays


def vocabulary_of(folder: Path) -> PhraseArrays:
    """Map a vocabulary into memory."""
    return PhraseArrays(*load_arrays(folder, *PhraseArrays._fields))
