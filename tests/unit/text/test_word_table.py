"""Words of whole pages, against ``str.split`` and a dictionary."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from hebbgraph.text.words import END, WordTable, split_page

_ALPHABET = "ab\x00\x07é漢.,’\ud800\U0001f989" + " \n\t\x1c\x85\xa0\u2003\u3000"
_TEXTS = st.lists(st.text(_ALPHABET, max_size=200) | st.text(max_size=40), max_size=6)


class _Numbers(dict[str, int]):
    def resolve(self, words: list[str]) -> list[int]:
        return [self.setdefault(word, len(self)) for word in words]


@given(st.lists(_TEXTS, max_size=4))
def test_words_are_those_of_split_and_equal_words_share_a_number(pages: list[list[str]]) -> None:
    numbers = _Numbers()
    table = WordTable(numbers.resolve)
    for texts in pages:
        page = split_page(texts)
        expected = [word for text in texts for word in (*text.split(), END)]
        assert [page.word(at) for at in range(len(page.starts))] == expected
        assert table.number(page).tolist() == [numbers[word] for word in expected]
        assert [expected[at] for at in page.ends] == [END] * len(texts)


def test_words_of_every_length_differ_from_those_a_byte_longer() -> None:
    words = [letter * n for n in range(1, 90) for letter in ("a", "b", "\x01", "é")]
    words += [f"{'x' * n}{last}" for n in range(80) for last in "yz"]
    numbers = _Numbers()
    found = WordTable(numbers.resolve).number(split_page([" ".join(words)]))
    assert found[:-1].tolist() == [numbers[word] for word in words]
    assert len(numbers) == len(set(words)) + 1


def test_a_table_grows_and_forgets() -> None:
    numbers = _Numbers()
    table = WordTable(numbers.resolve)
    page = split_page([" ".join(f"word{at}" for at in range(20_000))])
    first = table.number(page).tolist()
    assert table.number(page).tolist() == first == list(range(20_001))
    assert len(table) == 20_001
    numbers.clear()
    table.clear()
    assert table.number(split_page(["word7"])).tolist() == [0, 1]


def test_words_without_a_key_keep_their_number() -> None:
    # Keys are drawn by each process; many tables, so that any slot of one is taken in some.
    for number in range(40):
        numbers = _Numbers()
        table = WordTable(numbers.resolve)
        table.number(split_page([" ".join(f"{number}-{at}" for at in range(900))]))
        long = [letter * 70 for letter in "ab"]
        found = table.number(split_page([" ".join([*long, "short", *long])])).tolist()
        assert found[:-1] == [numbers[word] for word in [*long, "short", *long]]
