"""Adversarial inputs: twice the text may not take much more than twice the time."""

import time

import numpy as np
import pytest

from hebbgraph.graph.phrases import PhraseTable, StagedPhrases
from hebbgraph.text import candidates, lexical_terms, tokenize

PATTERNS = ["a", "A", "A ", "Ab ", "Foo of ", "(", "(AB", "NATO (", "'", ".", "a.", "a-1", "x/",
            "中", "中国。", "กา", "カ・", "《中国", "é", "\u200d", "a\u0301", "\u0301", "Foo\n",
            "1,000", "Ab's ", "_", "a_", "1 Ab ", "Of The ", "中·", "[", "l'", "-", "中A",
            "السلام عليكم ", "हिन्दी ", "👩‍👩‍👧"]  # fmt: skip


def seconds(text):
    table = PhraseTable()
    known = np.array(table.intern(["a a", "ab ab ab", "foo of foo", "中 国 中 国 x"]))
    four = np.full(4, 4)
    none = known[:0]
    table.count(
        StagedPhrases(known, known, none, known, four), StagedPhrases(none, none, none, none, none)
    )
    started = time.process_time()
    tokens = tokenize(text)
    lexical_terms(tokens)
    candidates(text, text)
    table.match_texts(table.reader("none").read([[text]], terms=False))
    return time.process_time() - started


@pytest.mark.parametrize("pattern", PATTERNS)
def test_time_is_linear(pattern):
    # Quadratic work on this much text takes minutes; linear work, well under a second.
    assert seconds(pattern * (200_000 // len(pattern))) < 5


def test_millions_of_characters_without_a_space_are_read():
    # Patterns that keep their place at each character ran out of memory on these.
    found = candidates("キロメートル" * 850_000 + " was built by Ida Moss.", "")
    assert "ida moss" in [one.key for one in found]
