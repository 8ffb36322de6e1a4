"""The lexical index: BM25 by Tantivy over terms of this library.

Terms come from :func:`hebbgraph.text.lexical_terms`; facts, which filters look up, from
:mod:`hebbgraph.store.facts`. Tantivy only splits them at spaces, and parses no queries. A manifest
names the commit of the truth and all files of that state. It is written after Tantivy's own commit:
if a process dies in between, or files of two states are mixed, the files do not match it, and the
index is rebuilt.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import tempfile
import weakref
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import tantivy
from numpy.typing import NDArray

from hebbgraph.arrays import FloatArray, IntArray
from hebbgraph.artifacts import DamagedPartError, file_checksum, is_missing, make_way, remove
from hebbgraph.derived.tantivy_errors import is_panic, translated
from hebbgraph.errors import StorageError
from hebbgraph.fork_gate import no_fork
from hebbgraph.formulas.length import B, LengthTrial, renormalized
from hebbgraph.manifest import Manifest
from hebbgraph.store.database import translated_os
from hebbgraph.store.history import NEVER, NOTHING, Commit

__all__ = [
    "LexicalIndex",
    "LexicalRow",
    "check_segments",
    "lexical_schema",
    "record_segments",
    "segment_files",
]

#: Tantivy writes a segment when its buffer reaches this size. Searches visit each segment, so a
#: few large ones are best. An update allocates only what it needs.
_HEAP_BYTES = 256_000_000
#: Frequencies of so many terms are cached: questions share most of their words.
_MOST_CACHED = 65_536
_MANIFEST = "manifest.json"
_VERSION = 5
#: Tantivy's list of segments.
_META = "meta.json"


class LexicalRow(NamedTuple):
    """A row of the truth, its terms and its facts, both separated by spaces."""

    row: int
    terms: str
    facts: str = ""


def lexical_schema(*, positions: bool) -> tantivy.Schema:
    """Return the fields of a document: row, number of terms, terms and facts."""
    option: Literal["position", "freq"] = "position" if positions else "freq"
    builder = tantivy.SchemaBuilder()
    # Signed: deleting by a term of an unsigned field silently finds nothing.
    builder.add_integer_field("row", indexed=True, fast=True)
    builder.add_integer_field("length", fast=True)
    builder.add_text_field("terms", tokenizer_name="whitespace", index_option=option)
    builder.add_text_field("facts", tokenizer_name="whitespace", index_option="basic")
    return builder.build()


class LexicalIndex:
    """BM25 (k1 = 1.2) over space-joined terms, one document per row.

    b is .75, or more if the corpus calls for it: see :mod:`hebbgraph.formulas.length`.

    Parameters
    ----------
    directory : Path, optional
        None keeps it in memory.
    positions : bool
        Whether the positions of terms are stored. Without them the index does not reveal the
        order of words, and phrases are looked up as bags of terms.

    Attributes
    ----------
    commit : Commit
        The commit of the truth that the index represents.
    lengths : LengthTrial
        What was measured of long texts.
    damage : str or None
        Why the files found at opening were discarded, if they were.
    """

    def __init__(self, directory: Path | None, *, positions: bool = True) -> None:
        self._positions = positions
        self._schema = lexical_schema(positions=positions)
        self._directory = directory
        # Each recall looks for it, and joining paths takes longer than that.
        self._manifest_name = None if directory is None else str(directory / _MANIFEST)
        self.commit = NOTHING
        self.lengths = LengthTrial()
        self.damage = None if directory is None else self._prepare(directory)
        with translated(directory, writing=True):
            path = None if directory is None else str(directory)
            self._index = tantivy.Index(self._schema, path=path)
        # Manual: a thread watching the directory may read a file while it is removed.
        with translated(directory):
            self._index.config_reader(reload_policy="manual")
            self._reload()
            self.refresh()

    def _reload(self) -> None:
        self._index.reload()
        self._searcher = self._index.searcher()
        #: The searcher, and its document frequencies.
        self._frequencies: tuple[tantivy.Searcher, dict[str, int]] = self._searcher, {}

    @staticmethod
    def _prepare(directory: Path) -> str | None:
        """Clear a folder unless it matches its manifest; return what is wrong with it."""
        make_way(directory / _MANIFEST)
        damage = None
        try:
            if (manifest := _manifest_in(directory)) is not None:
                manifest.check(directory)
                return None
            if any(directory.glob("*.idx")):
                damage = f"{directory} has no manifest of this version"
        except DamagedPartError as error:
            damage = str(error)
        remove(directory)
        directory.mkdir(parents=True, exist_ok=True)
        return damage

    @staticmethod
    def discard(directory: Path) -> None:
        """Make the next process that opens the folder start from nothing."""
        remove(directory / _MANIFEST)

    @classmethod
    def copy_of(cls, directory: Path, *, positions: bool = True) -> LexicalIndex:
        """Open a private copy of a directory where Tantivy cannot place its locks."""
        try:
            copy = Path(tempfile.mkdtemp(prefix="hebbgraph-"))
        except OSError as error:
            raise StorageError(
                f"{directory}: reading a read-only index takes a temporary folder, and none can "
                f"be made ({error}); name one in TMPDIR"
            ) from error
        with translated_os(str(copy)):
            for file in directory.iterdir():
                if file.suffix != ".lock":
                    shutil.copyfile(file, copy / file.name)  # without its permissions
        index = cls(copy, positions=positions)
        weakref.finalize(index, shutil.rmtree, copy, ignore_errors=True)
        return index

    @property
    def directory(self) -> Path | None:
        """The folder of its files; None if it is in memory."""
        return self._directory

    @property
    def is_there(self) -> bool:
        """Whether its folder still exists; files that are open can be read without it."""
        return self._manifest_name is None or os.path.exists(self._manifest_name)

    def refresh(self, *, alone: bool = False) -> Commit:
        """Read what other processes have committed; return the commit of the truth.

        Parameters
        ----------
        alone : bool
            Whether the caller holds the lock on the folder, so no other process writes. If the
            files do not match the manifest, they are of no commit (NEVER), and an update must
            replace everything.
        """
        if self._directory is None:
            return self.commit
        manifest = _manifest_in(self._directory)
        commit = NOTHING if manifest is None else Commit(*manifest.facts["commit"])
        self.lengths = LengthTrial(*(() if manifest is None else manifest.facts["lengths"]))
        if commit != self.commit or (alone and manifest is None):
            with translated(self._directory):
                self._reload()
        self.commit = commit
        if alone and manifest is None:
            return NEVER if len(self) else NOTHING
        if alone and manifest is not None and not _has_segments_of(manifest, self._directory):
            return NEVER
        return commit

    def update(
        self,
        commit: Commit,
        *,
        removed: Iterable[int],
        added: Iterable[LexicalRow],
        rewrite: bool = False,
        heap_bytes: int = _HEAP_BYTES,
    ) -> None:
        """Remove and add rows, and record the result; an error changes nothing.

        The caller holds the lock on the folder. The writer lives for one update only, so no
        process locks out another.

        Parameters
        ----------
        commit : Commit
            The commit that the index then represents.
        removed : iterable of int
        added : iterable of LexicalRow
        rewrite : bool
            Replace everything by the added rows, in one step: until then readers see the former
            rows, and a process that dies leaves them intact.
        heap_bytes : int
            The size of the buffer before a segment is written.
        """
        # A child that was forked meanwhile would keep Tantivy's lock as long as it lives.
        with no_fork(), translated(self._directory, writing=True):
            self._update(commit, removed, added, rewrite=rewrite, heap_bytes=heap_bytes)
        self.commit = commit

    def _update(
        self,
        commit: Commit,
        removed: Iterable[int],
        added: Iterable[LexicalRow],
        *,
        rewrite: bool,
        heap_bytes: int,
    ) -> None:
        writer = self._index.writer(heap_bytes, 1)
        # A row may exist: an update may have been killed before it wrote its manifest.
        may_exist = len(self) > 0 and not rewrite
        try:
            if self._directory is not None:
                # File names that a killed update left may be needed again.
                writer.garbage_collect_files()
            if rewrite:
                writer.delete_all_documents()
            for row in removed:
                writer.delete_documents_by_term("row", int(row))
            for row, terms, facts in added:
                if may_exist:
                    writer.delete_documents_by_term("row", row)
                document = tantivy.Document()
                document.add_integer("row", row)
                document.add_integer("length", terms.count(" ") + 1)
                document.add_text("terms", terms)
                if facts:
                    document.add_text("facts", facts)
                writer.add_document(document)
            writer.commit()
            # Merging may take long, and a kill meanwhile must not cost the whole index. If a merge
            # ends at this moment, the files change, and the manifest below records them.
            with contextlib.suppress(OSError, ValueError):
                self._record(commit)
            if rewrite:
                self._reload()  # releases the former files
                writer.garbage_collect_files()
        except BaseException:
            for clean_up in (writer.rollback, writer.wait_merging_threads):
                try:
                    clean_up()
                except BaseException as error:  # the writer itself may have failed
                    if not (isinstance(error, ValueError) or is_panic(error)):
                        raise
            raise
        writer.wait_merging_threads()
        self._record(commit)
        self._reload()

    def _record(self, commit: Commit) -> None:
        if self._directory is not None:
            record_segments(self._directory, commit, self.lengths)

    def note_lengths(self, lengths: LengthTrial) -> None:
        """Save what was measured of long texts; the caller holds the lock on the folder."""
        self.lengths = lengths
        self._record(self.commit)

    def search(
        self,
        terms: Iterable[str] | Mapping[str, float],
        limit: int,
        *,
        only: Sequence[int] | None = None,
        facts: Iterable[str] | None = None,
    ) -> tuple[IntArray, FloatArray]:
        """Return the best rows for a bag of terms.

        Parameters
        ----------
        terms : iterable of str, or mapping of str to float
            Each counts once, or as much as the mapping says.
        limit : int
        only : sequence of int, optional
            Search only these rows; their scores do not change.
        facts : iterable of str, optional
            Search only rows with one of these facts; their scores do not change.

        Returns
        -------
        rows : ndarray of int64
        scores : ndarray of float64, descending
        """
        query = self._any_of(terms)
        if query is None or limit <= 0:
            return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.float64)
        if only is not None:
            query = self._restricted(query, "row", [int(row) for row in only])
        if facts is not None:
            query = self._restricted(query, "facts", list(facts))
        with translated(self._directory):
            return self._rows(query, limit, b=self.lengths.b)

    def _rows(
        self, query: tantivy.Query, limit: int | None = None, *, b: float = B
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return rows and scores of the best hits, by default of all."""
        searcher = self._searcher
        hits = searcher.search(query, limit or max(searcher.num_docs, 1), count=False).hits
        if not hits:
            return np.empty(0, np.int64), np.empty(0)
        scores, addresses = zip(*hits, strict=True)
        rows = np.array(searcher.fast_field_values("row", list(addresses)), dtype=np.int64)
        bm25 = np.array(scores, dtype=np.float64)
        if b == B:
            return rows, bm25
        lengths = np.array(searcher.fast_field_values("length", list(addresses)), np.float64)
        bm25 = np.asarray(renormalized(bm25, lengths, self.lengths.average, b), np.float64)
        order = np.argsort(-bm25, kind="stable")
        return rows[order], bm25[order]

    def _restricted(self, query: tantivy.Query, field: str, values: Sequence[Any]) -> tantivy.Query:
        """Restrict a query to documents with one of some values, without changing scores."""
        allowed = tantivy.Query.term_set_query(self._schema, field, values)
        return tantivy.Query.boolean_query(
            [
                (tantivy.Occur.Must, query),
                (tantivy.Occur.Must, tantivy.Query.const_score_query(allowed, 0.0)),
            ]
        )

    def _any_of(self, terms: Iterable[str] | Mapping[str, float]) -> tantivy.Query | None:
        weights = terms if isinstance(terms, Mapping) else dict.fromkeys(terms, 1.0)
        clauses = []
        for term, weight in weights.items():
            query = tantivy.Query.term_query(self._schema, "terms", term, "freq")
            if weight != 1.0:
                query = tantivy.Query.boost_query(query, weight)
            clauses.append((tantivy.Occur.Should, query))
        return tantivy.Query.boolean_query(clauses) if clauses else None

    def rows_with_phrase(self, terms: Sequence[str], limit: int | None = None) -> IntArray:
        """Return the rows in which the terms follow each other, at most ``limit``, in any order.

        Without positions, return the rows that contain all of the terms.
        """
        if len(terms) == 1:
            query = tantivy.Query.term_query(self._schema, "terms", terms[0], "basic")
        elif not self._positions:
            parts = (
                tantivy.Query.term_query(self._schema, "terms", term, "basic")
                for term in dict.fromkeys(terms)
            )
            query = tantivy.Query.boolean_query([(tantivy.Occur.Must, part) for part in parts])
        else:
            query = tantivy.Query.phrase_query(self._schema, "terms", list(terms))
        with translated(self._directory):
            return self._rows(tantivy.Query.const_score_query(query, 1.0), limit)[0]

    def document_frequency(self, term: str) -> int:
        """Return the number of rows with a term, including rows deleted since the last merge."""
        searcher, cache = self._frequencies
        if (cached := cache.get(term)) is not None:
            return cached
        try:  # a recall asks a dozen times, and a context manager would take longer than that
            frequency = searcher.doc_freq("terms", term)
        except BaseException as error:
            with translated(self._directory):
                raise error from None
        if len(cache) < _MOST_CACHED:
            cache[term] = frequency
        return frequency

    def rows(self) -> IntArray:
        """Return all rows, ascending."""
        with translated(self._directory):
            return np.sort(self._rows(tantivy.Query.all_query())[0])

    def __len__(self) -> int:
        return self._searcher.num_docs


def record_segments(directory: Path, commit: Commit, lengths: Sequence[float] = ()) -> None:
    """Write the manifest of an index; only checksums of new files are computed."""
    try:
        former = _manifest_in(directory)
    except DamagedPartError:
        former = None
    known = {} if former is None else former.files  # files of segments never change
    known.pop(_META, None)
    facts = {"commit": list(commit), "lengths": list(lengths)}
    Manifest.of(facts, segment_files(directory), known).write(directory / _MANIFEST, _VERSION)


def segment_files(directory: Path) -> list[Path]:
    """Return Tantivy's list of segments, and the files of the segments."""
    segments = json.loads((directory / _META).read_bytes())["segments"]
    prefixes = {segment["segment_id"].replace("-", "") for segment in segments}
    files = [path for path in sorted(directory.iterdir()) if path.name.split(".")[0] in prefixes]
    return [directory / _META, *files]


def check_segments(directory: Path) -> None:
    """Raise DamagedPartError unless an index matches its manifest."""
    if directory.is_dir() and (manifest := _manifest_in(directory)) is not None:
        manifest.check(directory)


def _manifest_in(directory: Path) -> Manifest | None:
    return Manifest.read(directory / _MANIFEST, _VERSION)


def _has_segments_of(manifest: Manifest, directory: Path) -> bool:
    """Return whether a folder's list of segments is that of a manifest."""
    try:
        return file_checksum(directory / _META) == manifest.files[_META][1]
    except OSError as error:
        if not is_missing(error):
            raise
        return False
