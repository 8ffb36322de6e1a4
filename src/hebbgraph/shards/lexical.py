"""The lexical indexes of several shards, read as one.

Tantivy counts documents and words over the segments that its list names, wherever they came
from. So a list of the segments of all shards, beside links to their files, is one index: BM25
has the frequencies of all chunks, and its scores are those of one index to the last bit.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import tempfile
import weakref
from collections.abc import Sequence
from pathlib import Path

import tantivy

from hebbgraph.derived.lexical import LexicalIndex, lexical_schema
from hebbgraph.derived.lexical_faults import translated
from hebbgraph.errors import StorageError
from hebbgraph.store.database import translated_os
from hebbgraph.store.history import NOTHING

__all__ = ["JoinedLexicalIndex"]

_META = "meta.json"


class JoinedLexicalIndex(LexicalIndex):
    """Several lexical indexes as one, as they are now; it is never written to.

    Parameters
    ----------
    parts : sequence of LexicalIndex
        In directories, and nobody writes to them meanwhile.
    positions : bool
    """

    def __init__(self, parts: Sequence[LexicalIndex], *, positions: bool) -> None:
        self._parts = tuple(parts)
        self._positions = positions
        self._schema = lexical_schema(positions=positions)
        self.commit = NOTHING
        self.damage = None
        self.unread = frozenset()
        directories = [part.directory for part in parts if part.directory is not None]
        self._directory = directory = _folder()
        weakref.finalize(self, shutil.rmtree, directory, ignore_errors=True)
        if not directories:
            self._index = tantivy.Index(self._schema)
        else:
            with translated_os(str(directory)):
                _link_segments(directories, directory)
            with translated(directory):
                self._index = tantivy.Index(self._schema, path=str(directory))
        with translated(directory):
            self._index.config_reader(reload_policy="manual")
            self._reload()

    @property
    def is_there(self) -> bool:
        return True  # whether the shards' are, they tell themselves


def _folder() -> Path:
    try:
        return Path(tempfile.mkdtemp(prefix="hebbgraph-shards-"))
    except OSError as error:
        raise StorageError(
            f"reading shards as one takes a temporary folder, and none can be made ({error}); "
            "name one in TMPDIR"
        ) from error


def _link_segments(sources: Sequence[Path], directory: Path) -> None:
    """List the segments of all sources in a directory, and link their files there."""
    metas = [json.loads((source / _META).read_bytes()) for source in sources]
    for source, meta in zip(sources, metas, strict=True):
        names = {segment["segment_id"].replace("-", "") for segment in meta["segments"]}
        for file in source.absolute().iterdir():
            if file.name.split(".")[0] in names:
                _link(file, directory / file.name)
    segments = [segment for meta in metas for segment in meta["segments"]]
    listed = {**metas[0], "segments": segments, "opstamp": max(m["opstamp"] for m in metas)}
    (directory / _META).write_text(json.dumps(listed))


def _link(source: Path, target: Path) -> None:
    for link in (os.symlink, os.link):  # the first takes a right of its own on Windows
        with contextlib.suppress(OSError, NotImplementedError):
            return link(source, target)
    shutil.copyfile(source, target)
