from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from hebbgraph.graph.phrases import PhraseTable, StagedPhrases


def _ints(*values: int) -> np.ndarray:
    return np.array(values, dtype=np.int64)


def _staged(
    candidates: Sequence[int] = (), anchors: Sequence[int] = (), worth: int = 4
) -> StagedPhrases:
    proposed = _ints(*candidates)
    return StagedPhrases(
        proposed, _ints(*anchors), _ints(), proposed, np.full(len(proposed), worth)
    )


def _words(table: PhraseTable) -> set[str]:
    return {table.keys[number] for number in np.flatnonzero(table.in_vocabulary).tolist()}


def _found(table: PhraseTable, *texts: str) -> list[int]:
    read = table.reader("none").read([list(texts)], terms=False)
    return table.match_texts(read)[1].tolist()


def _matched(table: PhraseTable) -> set[str]:
    return {table.keys[number] for number in _found(table, *table.keys)}


def test_interning_numbers_each_phrase_once() -> None:
    table = PhraseTable()
    assert table.intern(["ida moss", "petrel", "ida moss"]) == [0, 1, 0]
    assert table.intern(["petrel", "heron"]) == [1, 2]
    assert (table.number("heron"), table.number("gull"), len(table)) == (2, None, 3)


def test_two_candidates_make_a_tag() -> None:
    table = PhraseTable()
    (moss,) = table.intern(["ida moss"])
    assert table.count(_staged([moss]), _staged()) == ([], [])
    assert table.count(_staged([moss]), _staged()) == ([moss], [])
    assert table.count(_staged([moss]), _staged()) == ([], [])
    assert _found(table, "ida moss") == [moss]
    assert table.count(_staged(), _staged([moss, moss])) == ([], [moss])
    assert _found(table, "ida moss") == []


def test_one_anchor_is_enough() -> None:
    table = PhraseTable()
    (moss,) = table.intern(["ida moss"])
    assert table.count(_staged([moss], [moss]), _staged()) == ([moss], [])
    # A second candidate keeps it when the anchor goes.
    assert table.count(_staged([moss, moss]), _staged([moss], [moss])) == ([], [])
    assert table.count(_staged(), _staged([moss])) == ([], [moss])


def test_a_phrase_with_more_mentions_than_its_proposals_justify_is_incidental() -> None:
    table = PhraseTable()
    moss, note = table.intern(["moss", "note"])
    table.count(_staged([moss, moss]), _staged())
    table.count(_staged([note, note, moss], worth=1), _staged([moss], worth=1))
    assert table.are_incidental(_ints(8, 2), 80).tolist() == [False, False]
    assert table.are_incidental(_ints(9, 3), 80).tolist() == [True, True]
    table.count_given(_ints(note), _ints())
    assert table.are_incidental(_ints(8, 3), 80).tolist() == [False, False]


def test_a_phrase_of_more_than_a_quarter_of_many_chunks_is_incidental() -> None:
    table = PhraseTable()
    table.count(_staged(table.intern(["moss"]) * 30), _staged())
    assert not table.are_incidental(_ints(20), 20)
    assert not table.are_incidental(_ints(30), 120)
    assert table.are_incidental(_ints(31), 120)


def test_a_step_without_net_change_reports_nothing() -> None:
    table = PhraseTable()
    (moss,) = table.intern(["ida moss"])
    table.count(_staged([moss, moss]), _staged())
    assert table.count(_staged([moss]), _staged([moss])) == ([], [])


def test_a_table_from_arrays_knows_its_vocabulary() -> None:
    grown = PhraseTable()
    numbers = grown.intern(["gone", "a gull", "a tern", "an auk"])
    grown.count(_staged([*numbers[1:], numbers[2]], [numbers[3]]), _staged())
    table = PhraseTable(grown.arrays(np.array([False, True, True, True])))
    assert list(table.keys) == ["a gull", "a tern", "an auk"]
    assert table.candidate_counts.tolist() == [1, 2, 1]
    assert _words(table) == _matched(table) == {"a tern", "an auk"}
    assert table.intern(["an auk", "a tern", "new", "a gull"]) == [2, 1, 3, 0]
    assert (table.number("an auk"), table.number("gone"), table.n_fresh) == (2, None, 1)


def test_order_follows_from_the_text_alone() -> None:
    one, other = PhraseTable(), PhraseTable()
    one.intern(["x", "y"])
    other.intern(["y"])
    other.intern(["x"])
    assert one.order.tolist() == other.order[::-1].tolist()


@given(
    st.lists(
        st.tuples(st.sampled_from("abc"), st.booleans()).map(
            lambda pair: (f"{pair[0]} x", pair[1])
        ),
        max_size=12,
    ),
    st.data(),
)
def test_the_vocabulary_depends_on_live_proposals_only(
    proposals: list[tuple[str, bool]], data: st.DataObject
) -> None:
    """Add all proposals in groups, then take some of them back."""
    table = PhraseTable()
    known: set[str] = set()
    gone = (
        data.draw(st.lists(st.sampled_from(range(len(proposals))), unique=True))
        if proposals
        else []
    )
    for sign, batch in ((1, proposals), (-1, [proposals[i] for i in gone])):
        numbers = table.intern([key for key, _ in batch])
        anchors = [n for n, (_, is_anchor) in zip(numbers, batch, strict=True) if is_anchor]
        change = _staged(numbers, anchors)
        entered, left = table.count(*((change, _staged()) if sign > 0 else (_staged(), change)))
        known |= {table.keys[n] for n in entered}
        known -= {table.keys[n] for n in left}
    rest = [pair for i, pair in enumerate(proposals) if i not in gone]
    keys = [key for key, _ in rest]
    expected = {key for key, is_anchor in rest if is_anchor or keys.count(key) >= 2}
    assert _words(table) == _matched(table) == known == expected


_WORDS = st.sampled_from(["a", "b", "c", "東", "京"])
_KEYS = st.lists(_WORDS, min_size=1, max_size=4).map(" ".join)


def _naive_spans(known: set[str], tokens: list[str]) -> Iterator[tuple[int, int, str]]:
    """Yield the leftmost phrases, the longest at each place, without overlap."""
    at = 0
    while at < len(tokens):
        stops = range(len(tokens), at, -1)
        stop = next((stop for stop in stops if " ".join(tokens[at:stop]) in known), None)
        if stop is not None:
            yield at, stop, " ".join(tokens[at:stop])
        at = stop or at + 1


@given(
    st.lists(st.tuples(_KEYS, st.booleans()), max_size=12),
    st.lists(st.lists(_WORDS, max_size=12), max_size=4),
)
def test_matching_many_texts_equals_naive_matching(
    steps: list[tuple[str, bool]], passages: list[list[str]]
) -> None:
    """Phrases come, go, and are folded on the way; a naive search says what is to be found."""
    table, known = PhraseTable(), set()
    for key, folds in steps:
        (at,) = table.intern([key])
        if table.in_vocabulary[at]:
            table.count(_staged(), _staged([at], [at]))
            known.discard(key)
        else:
            table.count(_staged([at], [at]), _staged())
            known.add(key)
        if folds:
            table = PhraseTable(table.arrays(table.candidate_counts > 0))
    expected = [list(_naive_spans(known, tokens)) for tokens in passages]
    for tokens, spans in zip(passages, expected, strict=True):
        matched, _ = table.match_question(tokens)
        assert [(start, stop, table.keys[number]) for start, stop, number in matched] == spans
    read = table.reader("none").read([list(map(" ".join, passages))], terms=False)
    owner, numbers = table.match_texts(read)
    keys = [table.keys[number] for number in numbers.tolist()]
    assert list(zip(owner.tolist(), keys, strict=True)) == [
        (at, key) for at, spans in enumerate(expected) for _, _, key in spans
    ]
