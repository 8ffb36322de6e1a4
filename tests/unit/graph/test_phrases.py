from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from hebbgraph.graph.phrases import PhraseTable


def _ints(*values: int) -> np.ndarray:
    return np.array(values, dtype=np.int64)


def _words(table: PhraseTable) -> set[str]:
    return {table.keys[number] for number in np.flatnonzero(table.in_vocabulary).tolist()}


def test_interning_numbers_each_phrase_once() -> None:
    table = PhraseTable()
    assert table.intern(["ida moss", "petrel", "ida moss"]) == [0, 1, 0]
    assert table.intern(["petrel", "heron"]) == [1, 2]
    assert (table.number("heron"), table.number("gull"), len(table)) == (2, None, 3)


def test_one_candidate_is_no_tag_and_two_are() -> None:
    table = PhraseTable()
    (moss,) = table.intern(["ida moss"])
    assert table.count(_ints(moss), _ints(), _ints(), _ints()) == ([], [])
    assert table.count(_ints(moss), _ints(), _ints(), _ints()) == ([moss], [])
    assert table.count(_ints(moss), _ints(), _ints(), _ints()) == ([], [])
    assert table.matcher.match(["ida", "moss"]) == [moss]
    assert table.count(_ints(), _ints(), _ints(moss, moss), _ints()) == ([], [moss])
    assert table.matcher.match(["ida", "moss"]) == []


def test_one_anchor_is_enough() -> None:
    table = PhraseTable()
    (moss,) = table.intern(["ida moss"])
    assert table.count(_ints(moss), _ints(moss), _ints(), _ints()) == ([moss], [])
    # A second candidate keeps it when the anchor goes.
    assert table.count(_ints(moss, moss), _ints(), _ints(moss), _ints(moss)) == ([], [])
    assert table.count(_ints(), _ints(), _ints(moss), _ints()) == ([], [moss])


def test_a_step_that_changes_nothing_on_balance_says_nothing() -> None:
    table = PhraseTable()
    (moss,) = table.intern(["ida moss"])
    table.count(_ints(moss, moss), _ints(), _ints(), _ints())
    assert table.count(_ints(moss), _ints(), _ints(moss), _ints()) == ([], [])


def test_made_from_counts_it_knows_its_vocabulary() -> None:
    counts, anchors = np.array([1, 2, 1], np.int32), np.array([0, 0, 1], np.int32)
    table = PhraseTable(["a gull", "a tern", "an auk"], counts, anchors)
    assert _words(table) == set(table.matcher) == {"a tern", "an auk"}


def test_order_follows_from_the_text_alone() -> None:
    one, other = PhraseTable(["x", "y"], *_zeros(2)), PhraseTable()
    other.intern(["y"])
    other.intern(["x"])
    assert one.order.tolist() == other.order[::-1].tolist()


def _zeros(n: int) -> tuple[np.ndarray, np.ndarray]:
    return np.zeros(n, np.int32), np.zeros(n, np.int32)


@given(
    st.lists(
        st.tuples(st.sampled_from("abc"), st.booleans()).map(
            lambda pair: (f"{pair[0]} x", pair[1])
        ),
        max_size=12,
    ),
    st.data(),
)
def test_the_vocabulary_is_a_function_of_what_lives(
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
        numbers = table.intern(key for key, _ in batch)
        anchors = [n for n, (_, is_anchor) in zip(numbers, batch, strict=True) if is_anchor]
        change = (_ints(*numbers), _ints(*anchors))
        nothing = (_ints(), _ints())
        entered, left = table.count(*(change + nothing if sign > 0 else nothing + change))
        known |= {table.keys[n] for n in entered}
        known -= {table.keys[n] for n in left}
    rest = [pair for i, pair in enumerate(proposals) if i not in gone]
    keys = [key for key, _ in rest]
    expected = {key for key, is_anchor in rest if is_anchor or keys.count(key) >= 2}
    assert _words(table) == set(table.matcher) == known == expected
