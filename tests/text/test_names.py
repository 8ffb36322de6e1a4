from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from hebbgraph.text.names import NAME_SPAN

# What the pattern says, in fewer words and with more steps.
_WORD = "(?:[CA]p?|X(?!X))"
_LINK = "(?:k[kt]{0,2}|[TS]{1,2})"
_READABLE = re.compile(rf"(?:n|M|W|(?<=[lsktnCAX])S)?{_WORD}(?:M|{_WORD}|{_LINK}{_WORD})*n?")


@given(st.text("CAXMWTSktslnup.|()\n", max_size=60), st.integers(0, 5))
def test_names_are_what_the_readable_pattern_finds(shape: str, start: int) -> None:
    found = [match.span() for match in NAME_SPAN.finditer(shape)]
    assert found == [match.span() for match in _READABLE.finditer(shape)]
    one, other = NAME_SPAN.match(shape, start), _READABLE.match(shape, start)
    assert (one and one.span()) == (other and other.span())
