"""The fourth step: the terms of some partitions to one segment of the lexical index."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

from hebbgraph.artifacts import remove, replace_file, sync
from hebbgraph.derived.lexical import LexicalIndex, LexicalRow, record_segments, segment_files
from hebbgraph.store.history import Commit

from hebbgraph_scale.build.propose import NumberedPartition
from hebbgraph_scale.build.shelf import Summary, made_once, read_table

__all__ = ["INDEX", "index_terms", "joined", "lexical_rows"]

INDEX = "index"
_ANY_COMMIT = Commit(1, 1)  # a segment has no commit of its own
#: Two million chunks of 460 characters make one segment.
_HEAP_BYTES = 1_500_000_000
#: Tantivy's lists of segments, and of files that it may remove once no segment needs them.
_META, _MANAGED = "meta.json", ".managed.json"


def index_terms(shelf: Path, partitions: Sequence[NumberedPartition], positions: bool) -> Summary:
    """Write the terms and facts of some partitions as a lexical index.

    Parameters
    ----------
    shelf : Path
    partitions : sequence of NumberedPartition
    positions : bool
        See :class:`~hebbgraph.derived.lexical.LexicalIndex`.
    """

    def make(to: Path) -> Summary:
        index = LexicalIndex(to / INDEX, positions=positions)
        rows = lexical_rows(shelf, partitions)
        index.update(_ANY_COMMIT, removed=(), added=rows, heap_bytes=_HEAP_BYTES)
        return {"rows": len(index)}

    inputs = [(proposed, rows.tobytes().hex()) for proposed, rows in partitions]
    return made_once(shelf, "lexical", inputs, positions, make=make)


def lexical_rows(shelf: Path, partitions: Sequence[NumberedPartition]) -> Iterator[LexicalRow]:
    """Yield the rows of the lexical index."""
    for proposed, rows in partitions:
        columns = read_table(shelf / proposed / "rows.arrow", "terms", "facts")
        for row, terms, facts in zip(rows.tolist(), *columns, strict=True):
            if row:
                yield LexicalRow(row, terms, facts)


def joined(
    parts: Sequence[Path], directory: Path, commit: Commit, *, positions: bool
) -> LexicalIndex:
    """Join the segments of several indexes; the caller holds the lock on the folder.

    Segments have random names and refer to no other file, so a list of all of them is an index.
    Files are linked, or copied.

    Parameters
    ----------
    parts : sequence of Path
        At least one.
    directory : Path
        Its content is replaced.
    commit : Commit
        That of the whole.
    positions : bool
    """
    remove(directory)
    directory.mkdir(parents=True)
    metas = [json.loads((part / _META).read_bytes()) for part in parts]
    meta = metas[0] | {
        "segments": [segment for meta in metas for segment in meta["segments"]],
        "opstamp": max(meta["opstamp"] for meta in metas),
    }
    managed = {_META}
    for _, *paths in map(segment_files, parts):
        for path in paths:
            try:
                os.link(path, directory / path.name)
            except OSError:  # another file system, or one without links
                shutil.copyfile(path, directory / path.name)
                sync(directory / path.name)
            managed.add(path.name)
    for name, content in ((_MANAGED, sorted(managed)), (_META, meta)):
        replace_file(directory / name, partial(_write_json, content))
    record_segments(directory, commit)
    return LexicalIndex(directory, positions=positions)


def _write_json(content: object, path: Path) -> None:
    path.write_text(json.dumps(content))
