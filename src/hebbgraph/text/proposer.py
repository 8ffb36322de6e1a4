"""Pass 1 for many chunks at once.

Results equal :func:`~hebbgraph.text.candidates.proposals` for each chunk (a property test
compares the two), in less than half the time. The units and shape of each word are kept
in arrays once analysed, one regular expression finds the names of all texts in a single
string of shapes, and only words in names become Python objects.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hebbgraph.arrays import (
    BoolArray,
    GrowableArray,
    IntArray,
    RaggedArray,
    concatenated_ranges,
    prefix_sums,
)
from hebbgraph.text.candidates import (
    FEW_NAMES,
    LANGUAGE_SAMPLE_WORDS,
    collect_candidates,
    group_by_kind,
    is_told,
    proposals,
)
from hebbgraph.text.definitions import ENGLISH_ARTICLES, ENGLISH_COPULAS
from hebbgraph.text.names import (
    NAME_SPAN,
    SENTENCE_ENDS,
    SENTENCE_STARTS,
    UNIT_KEYS,
    WEAKER,
    Kind,
    is_headline,
    kind_of_part,
    kind_of_word,
    name_parts,
)
from hebbgraph.text.salience import VERBAL
from hebbgraph.text.shapes import (
    ENGLISH_MARKERS,
    MIN_MARKERS,
    ShapedText,
    dominant_language,
    end_lines,
    word_analyser,
)
from hebbgraph.text.syllables import is_syllabic
from hebbgraph.text.word_table import END, WordTable, split_page
from hebbgraph.text.words import MAX_CACHED_CHARACTERS, Interner, WordCounts

__all__ = ["Proposer"]

#: Text, title, and given tags of a chunk.
_Source: TypeAlias = tuple[str, str, Iterable[str]]

_PAGE = 500  # chunks processed together
_PAGE_CHARACTERS = 1 << 20  # bounds the memory of a page of long texts
_FEW = 16  # smaller pages are processed chunk by chunk, which is then faster
_UNREAD = "?"  # shape of a word too long to be cached
_LONG_WORD = 1  # number shared by all such words
_KEPT_SHARE = 2  # forgetting keeps at most this fraction (one in two) of the capacity
_WORDS_AT_REST = 1 << 15
_LONGEST_USUAL = 20
_ARTICLES = ("the", "a", "an")
_SPLIT = re.compile(f"({NAME_SPAN.pattern})")
_NOT_LOOKED_AT = ShapedText([], "")


class _Words(Interner):
    """Numbers words; all words too long to be cached share one number."""

    def __missing__(self, word: str) -> int:
        return _LONG_WORD if len(word) > MAX_CACHED_CHARACTERS else super().__missing__(word)


class _Page(NamedTuple):
    """Texts and titles of chunks in turn, each followed by an end marker."""

    units: NDArray[np.int32]
    """Unit at each position."""
    codes: NDArray[np.uint8]
    """Shape character of each position, as a byte."""
    ends: IntArray
    """Position of each text's end marker."""

    @property
    def starts(self) -> IntArray:
        """Position where each text begins."""
        return np.concatenate((np.zeros(1, np.int64), self.ends[:-1] + 1))

    def text_at(self, places: IntArray) -> IntArray:
        """Return the number of the text at each position."""
        found: IntArray = np.searchsorted(self.ends, places)
        return found


class Proposer:
    """Proposes tags for many chunks, each judged by its own text alone.

    Remembers the analyses of words between calls; call :meth:`rest` to free most of that
    memory while idle. Not thread-safe.

    Parameters
    ----------
    capacity : int
        Beyond this many words, the next page first forgets the words that occurred once
        and keeps the most frequent of the others.

    Examples
    --------
    >>> chunks = [("", "Angi Vera (film)", ["cinema"])] * 20
    >>> Proposer().propose(chunks)[0]
    {'title': ['angi vera film', 'angi vera'], 'given': ['cinema']}
    """

    def __init__(self, *, capacity: int = 1 << 17) -> None:
        self._capacity = capacity
        self._word_shape = word_analyser("english").analyse
        self._words = _Words()
        self._table = WordTable(lambda words: [self._words[word] for word in words])
        self._counts = WordCounts()
        self._units_of_words = RaggedArray(np.int32)
        self._codes_of_words = GrowableArray(np.uint8)
        self._units = Interner()
        self._unit_texts: list[str] = []
        #: Keys of the units that occurred where a single unit may be a name.
        self._unit_keys: dict[int, str] = {}
        self._unit_markers = GrowableArray(np.int8)
        #: Whether a unit is plain, so that joining such units by spaces yields a key.
        self._usual = GrowableArray(np.bool_)
        self._verbal = GrowableArray(np.bool_)
        #: Whether a unit is a form of "to be", or an article.
        self._copulas = GrowableArray(np.bool_)
        self._articles = GrowableArray(np.bool_)
        self._keep([(("",), END), (("",), _UNREAD)])
        self._words.update({END: 0, _UNREAD * (MAX_CACHED_CHARACTERS + 1): _LONG_WORD})

    def _forget(self, most: int) -> None:
        """Keep the ``most`` most frequent words that occurred more than once; forget the rest."""
        often = self._counts.most_frequent(most)
        kept = np.concatenate((np.arange(_LONG_WORD + 1), often[often > _LONG_WORD]))
        words = list(self._words)
        self._table.clear()
        self._words.clear()
        self._words.update({words[at]: number for number, at in enumerate(kept.tolist())})
        _, places = self._units_of_words.positions(kept)
        self._codes_of_words = GrowableArray(np.uint8, self._codes_of_words.view[places])
        self._units_of_words = self._units_of_words.take(kept)
        used, again = np.unique(self._units_of_words.values, return_inverse=True)
        self._units_of_words.values[:] = again
        texts = [self._unit_texts[unit] for unit in used.tolist()]
        self._units.clear()
        self._units.update({unit: number for number, unit in enumerate(texts)})
        self._unit_texts = texts
        keys = self._unit_keys
        self._unit_keys = {
            number: keys[unit] for number, unit in enumerate(used.tolist()) if unit in keys
        }
        self._unit_markers = GrowableArray(np.int8, self._unit_markers.view[used])
        self._usual = GrowableArray(np.bool_, self._usual.view[used])
        self._verbal = GrowableArray(np.bool_, self._verbal.view[used])
        self._copulas = GrowableArray(np.bool_, self._copulas.view[used])
        self._articles = GrowableArray(np.bool_, self._articles.view[used])
        self._counts = WordCounts()

    def rest(self) -> None:
        """Free memory, keeping only the most frequent words."""
        if len(self._words) > _WORDS_AT_REST:
            self._forget(_WORDS_AT_REST)

    def propose(self, chunks: Iterable[_Source]) -> list[dict[str, list[str]]]:
        """Return the keys that each chunk proposes, grouped by kind.

        Parameters
        ----------
        chunks : iterable of (text, title, tags)

        Returns
        -------
        list of dict
            As :func:`~hebbgraph.text.candidates.proposals` returns for each.
        """
        found: list[dict[str, list[str]]] = []
        for page in _pages(chunks):
            if len(page) < _FEW:
                found += [proposals(*chunk) for chunk in page]
            else:
                found += self._proposed(page)
        return found

    def _proposed(self, chunks: Sequence[_Source]) -> Iterator[dict[str, list[str]]]:
        page = self._read(chunks)
        shape = page.codes.tobytes().decode("ascii")
        plain = self._are_plain(page).tolist()
        may_define = self._may_define(page).tolist()
        names = _Names(self, page, shape)
        bounds = page.starts.tolist(), page.ends.tolist()
        for number, (text, title, tags) in enumerate(chunks):
            if not plain[number] or is_syllabic(text):
                yield proposals(text, title, tags)
                continue
            found: dict[str, Kind] = {}
            names.add(found, 2 * number)
            in_text = len(found) - ("" in found)
            if not is_headline(shape[bounds[0][2 * number + 1] : bounds[1][2 * number + 1]]):
                names.add(found, 2 * number + 1)
            shaped = _NOT_LOOKED_AT
            told = not may_define[number] or (bool(title) and is_told(title, text))
            if not told or in_text < FEW_NAMES:
                start, stop = bounds[0][2 * number], bounds[1][2 * number]
                shaped = ShapedText(self.unit_texts(page.units[start:stop]), shape[start:stop])
            yield group_by_kind(
                *collect_candidates(text, title, tags, found, in_text, told, shaped, "english")
            )

    def _read(self, chunks: Sequence[_Source]) -> _Page:
        if len(self._words) > self._capacity:
            self._forget(self._capacity // _KEPT_SHARE)
        texts = [end_lines(text) for text, title, _ in chunks for text in (text, title)]
        numbers = self._table.number(split_page(texts))
        if self._words.fresh:
            self._keep(list(map(self._word_shape, self._words.fresh)))
            self._words.fresh = []
        self._counts.add(numbers)
        _, places = self._units_of_words.positions(numbers)
        codes = self._codes_of_words.view[places]
        units = self._units_of_words.values.astype(np.int32, copy=False)[places]
        return _Page(units, codes, np.flatnonzero(codes == ord(END)))

    def _keep(self, records: Sequence[tuple[tuple[str, ...], str]]) -> None:
        """Append the units and shapes of new words."""
        shape = "".join([shape for _, shape in records])
        units = list(chain.from_iterable([units for units, _ in records]))
        numbers = self._units.intern(units)
        if fresh := self._units.fresh:
            self._unit_texts += fresh
            self._unit_markers.extend([_MARKERS.get(unit, -1) for unit in fresh])
            self._usual.extend([_is_usual(unit) for unit in fresh])
            self._verbal.extend([unit.endswith(VERBAL) for unit in fresh])
            self._copulas.extend([unit in ENGLISH_COPULAS for unit in fresh])
            self._articles.extend([unit in ENGLISH_ARTICLES for unit in fresh])
            self._units.fresh = []
        self._units_of_words.extend([len(shape) for _, shape in records], numbers)
        codes = np.frombuffer(shape.encode(), np.uint8)
        self._codes_of_words.extend(codes)
        for at in np.flatnonzero(_MAY_BE_NAMES[codes]).tolist():
            self._unit_keys[int(numbers[at])] = UNIT_KEYS[units[at]]

    def _are_plain(self, page: _Page) -> BoolArray:
        """Return which chunks are English, in scripts with spaces, and without overlong words."""
        n_texts = len(page.ends)
        markers = self._unit_markers.view[page.units]
        at = np.flatnonzero(markers >= 0)
        text = page.text_at(at)
        early = at - page.starts[text] < LANGUAGE_SAMPLE_WORDS
        seen = np.zeros((n_texts, len(ENGLISH_MARKERS)), dtype=np.bool_)
        seen[text[early], markers[at[early]]] = True
        plain: BoolArray = (seen.sum(axis=1) >= MIN_MARKERS)[::2]
        bounds = page.starts[::2], page.ends[::2]
        for number in np.flatnonzero(~plain).tolist():
            start, stop = (int(bound[number]) for bound in bounds)
            first = self.unit_texts(page.units[start : min(stop, start + LANGUAGE_SAMPLE_WORDS)])
            plain[number] = dominant_language(first) == "english"
        plain[page.text_at(np.flatnonzero(_NOT_PLAIN[page.codes])) // 2] = False
        return plain

    def _may_define(self, page: _Page) -> BoolArray:
        """Return which chunks may open by defining a name: for all others, ``subjects`` is empty.

        They hold a copula and an article before the first full stop, or brackets before it, in
        which there may be full stops.
        """
        starts, ends = page.starts[::2], page.ends[::2]

        def first(marked: BoolArray) -> IntArray:
            """Return the first marked position of each text, or its end."""
            at = np.concatenate((np.flatnonzero(marked), [len(page.codes)]))
            return np.minimum(at[np.searchsorted(at, starts)], ends)

        verbs = self._copulas.view[page.units]
        verbs[:-1] &= self._articles.view[page.units[1:]]
        said = first(verbs)
        stop, bracket = first(page.codes == ord(".")), first(page.codes == ord("("))
        defining: BoolArray = (said < ends) & ((said < stop) | (bracket < stop))
        return defining

    def are_keys(self, page: _Page, starts: IntArray, lengths: IntArray) -> BoolArray:
        """Return which spans of two or three plain words are one name, and already its key."""
        whole: BoolArray = (lengths == 2) | (lengths == 3)
        at = np.flatnonzero(whole)
        places = starts[at][:, None] + np.arange(3)
        outside = places >= (starts + lengths)[at][:, None]
        places = np.where(outside, starts[at][:, None], places)
        first, second, _ = (codes := page.codes[places]).T
        whole[at] = (
            self._usual.view[page.units[places]].all(axis=1)
            & _MAY_BE_NAMES[codes].all(axis=1)
            & ((first != ord("A")) | (second == ord("C")))
        )
        return whole

    def are_verbal(self, units: IntArray) -> BoolArray:
        """Return which units end as verbs do."""
        return self._verbal.view[units]

    def unit_texts(self, units: IntArray) -> list[str]:
        """Return the text of each unit: tokens joined by spaces."""
        return list(map(self._unit_texts.__getitem__, units.tolist()))

    def unit_keys(self, units: IntArray) -> list[str]:
        """Return the keys of units that occur as names or codes."""
        return list(map(self._unit_keys.__getitem__, units.tolist()))


def _pages(chunks: Iterable[_Source]) -> Iterator[list[_Source]]:
    """Split chunks into pages, bounded in number and in characters."""
    page: list[_Source] = []
    characters = 0
    for chunk in chunks:
        page.append(chunk)
        characters += len(chunk[0])
        if len(page) == _PAGE or characters >= _PAGE_CHARACTERS:
            yield page
            page, characters = [], 0
    if page:
        yield page


class _Names:
    """The names in all texts of a page; see :func:`~hebbgraph.text.names.add_names`."""

    def __init__(self, proposer: Proposer, page: _Page, shape: str) -> None:
        # Alternates between gaps and names, without creating a match object per name.
        pieces = _SPLIT.split(shape)
        piece_lengths = np.fromiter(map(len, pieces), np.int64, len(pieces))
        starts, lengths = np.cumsum(piece_lengths)[:-1:2], piece_lengths[1::2]
        alone = (lengths == 1) | ((lengths == 2) & (page.codes[starts + 1] == ord("p")))
        opens, elsewhere = _sentence_openers(page, starts, alone)
        kept = np.flatnonzero(~elsewhere)
        starts, lengths, alone, opens = starts[kept], lengths[kept], alone[kept], opens[kept]
        whole = proposer.are_keys(page, starts, lengths)
        rest = np.flatnonzero(~(alone | whole))
        more = _parts(proposer, page, shape, starts[rest], lengths[rest])
        counts = np.ones(len(starts), dtype=np.int64)
        counts[rest] = list(map(len, more))
        firsts = prefix_sums(counts)
        keys = np.empty(firsts[-1], dtype=object)
        keys[firsts[:-1][alone]] = proposer.unit_keys(page.units[starts[alone]])
        for length in (2, 3):
            at = np.flatnonzero(whole & (lengths == length))
            words = [proposer.unit_texts(page.units[starts[at] + word]) for word in range(length)]
            keys[firsts[at]] = list(map(" ".join, zip(*words, strict=True)))
        parts = concatenated_ranges(firsts[rest], counts[rest])
        keys[parts] = [key for part in more for key, _ in part]
        kinds = np.full(len(keys), "name", dtype=object)
        kinds[parts] = [kind for part in more for _, kind in part]
        capital = alone & (page.codes[starts] == ord("C"))
        kinds[firsts[:-1][capital]] = "capital"
        kinds[firsts[:-1][opens | (capital & proposer.are_verbal(page.units[starts]))]] = "opener"
        for at in firsts[np.flatnonzero(alone & (page.codes[starts] == ord("A")))].tolist():
            kinds[at] = kind_of_word("A", keys[at])
        self._keys: list[str] = keys.tolist()
        self._kinds: list[Kind] = kinds.tolist()
        self._bounds = firsts[_bounds(starts, page)].tolist()
        codes = np.flatnonzero(page.codes == ord("X"))
        self._codes = proposer.unit_keys(page.units[codes])
        self._code_bounds = _bounds(codes, page).tolist()

    def add(self, names: dict[str, Kind], text: int) -> None:
        """Add the codes, then the names, of one text."""
        start, stop = self._code_bounds[text : text + 2]
        for key in self._codes[start:stop]:
            names.setdefault(key, "code")
        start, stop = self._bounds[text : text + 2]
        keys, kinds = self._keys[start:stop], self._kinds[start:stop]
        if not names:
            names.update(zip(keys, kinds, strict=True))
            if len(names) == len(keys):
                return
            names.clear()  # some repeat, and the strongest evidence counts
        for key, kind in zip(keys, kinds, strict=True):
            if names.setdefault(key, kind) in WEAKER[kind]:
                names[key] = kind


def _parts(
    proposer: Proposer, page: _Page, shape: str, starts: IntArray, lengths: IntArray
) -> list[list[tuple[str, Kind]]]:
    """Return the keys and kinds of the names in each span."""
    units = proposer.unit_texts(page.units[concatenated_ranges(starts, lengths)])
    found, at = [], 0
    for start, length in zip(starts.tolist(), lengths.tolist(), strict=True):
        span = shape[start : start + length]
        named = []
        for first, last in name_parts(span, "english") or ():
            key = UNIT_KEYS[" ".join(units[at + first : at + last])]
            named.append((key, kind_of_part(span[first:last], key)))
        found.append(named)
        at += length
    return found


def _bounds(places: IntArray, page: _Page) -> IntArray:
    """Return the offsets of each text's share of ``places``, which ascend."""
    return np.concatenate((np.zeros(1, np.int64), np.searchsorted(places, page.ends)))


def _sentence_openers(
    page: _Page, starts: IntArray, alone: BoolArray
) -> tuple[BoolArray, BoolArray]:
    """Return which spans are one word that opens a sentence, and which to leave out.

    These open a sentence, or are in capitals, and stand in the text in lower case too.
    """
    opens = alone & (page.codes[starts] == ord("C")) & _SENTENCE_STARTS[page.codes[starts - 1]]
    doubtful = np.flatnonzero(opens | (alone & (page.codes[starts] == ord("A"))))
    places = starts[doubtful]
    asked = np.zeros(int(page.units.max(initial=0)) + 1, dtype=np.bool_)
    asked[page.units[places]] = True
    lower = np.flatnonzero((page.codes == ord("l")) & asked[page.units])

    def named(places: IntArray) -> IntArray:
        """Combine text and unit at each position into one number."""
        return page.text_at(places) * len(asked) + page.units[places]

    elsewhere = np.zeros(len(opens), dtype=np.bool_)
    elsewhere[doubtful] = np.isin(named(places), named(lower))
    before, ahead = page.codes[starts - 1], page.codes[starts - 2]
    opens &= _SENTENCE_ENDS[before] | (_SENTENCE_STARTS[before] & _SENTENCE_ENDS[ahead])
    return opens, elsewhere


def _is_usual(unit: str) -> bool:
    plain = unit.isalnum() and unit.isascii() and unit.islower()
    return plain and len(unit) <= _LONGEST_USUAL and unit not in _ARTICLES


def _table(characters: str) -> BoolArray:
    """Return a lookup table over bytes that is True for these characters."""
    table: BoolArray = np.isin(np.arange(256), [ord(char) for char in characters])
    return table


_MARKERS = {marker: number for number, marker in enumerate(ENGLISH_MARKERS)}
_MAY_BE_NAMES = _table("CAX")
_NOT_PLAIN = _table("u" + _UNREAD)
_SENTENCE_STARTS = _table(SENTENCE_STARTS + END)
_SENTENCE_ENDS = _table(SENTENCE_ENDS + END)
