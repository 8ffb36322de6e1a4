from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from hebbgraph.text.salience import unspaced_names, unspaced_terms

_FOREIGN = st.text("中国的河流レオナルド・ダは东·京กรุงé\u0301\u3099 ", min_size=1, max_size=12)
_TEXTS = st.lists(_FOREIGN, min_size=1, max_size=5)


@given(_TEXTS, st.sampled_from(["x", "(of", "1,000", "a-b!"]))
def test_words_in_ascii_between_others_change_nothing(parts: list[str], word: str) -> None:
    apart, between = "  ".join(parts), f" {word} ".join(parts)
    assert unspaced_terms(between) == unspaced_terms(apart)
    assert list(unspaced_names(between)) == list(unspaced_names(apart))
