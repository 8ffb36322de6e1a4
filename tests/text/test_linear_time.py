"""Adversarial inputs: twice the text may not take much more than twice the time."""

import time

import pytest

from hebbgraph.documents.markup import clean_markdown
from hebbgraph.text.candidates import proposals
from hebbgraph.text.context import join_tokens, text_words, tokenize_texts
from hebbgraph.text.matching import Phrases, possible_phrases
from hebbgraph.text.shapes import languages_of

PATTERNS = ["a", "A", "A ", "Ab ", "Foo of ", "(", "(AB", "NATO (", "'", ".", "a.", "a-1", "x/",
            "中", "中国。", "กา", "カ・", "《中国", "é", "\u200d", "a\u0301", "\u0301", "Foo\n",
            "1,000", "Ab's ", "_", "a_", "1 Ab ", "Of The ", "中·", "[", "l'", "-", "中A",
            "1 x ", "1'000", "AB12 ", "السلام عليكم ", "हिन्दी ", "👩‍👩‍👧"]  # fmt: skip


#: Phrases that nearly begin at every token of some patterns, and the longest for each token.
KNOWN = {"a a", "ab ab ab", "foo of foo", "中 国 中 国 x"}
LONGEST = {key.split()[0]: 12 for key in KNOWN}


def seconds(text):
    started = time.process_time()
    tokens = tokenize_texts(text, text)
    spoken = languages_of(tokens[0], text)
    text_words(tokens, f"{text}\n\n{text}", "english", spoken)
    proposals(text, text, spoken=spoken)
    Phrases(dict.fromkeys(KNOWN)).values_in(join_tokens(tokens))
    for part in tokens:
        sum(1 for _ in possible_phrases(part, LONGEST))
    return time.process_time() - started


@pytest.mark.parametrize("pattern", PATTERNS)
def test_time_is_linear(pattern):
    # Quadratic work on this much text takes far longer; linear work, about a second.
    assert seconds(pattern * (100_000 // len(pattern))) < 5


@pytest.mark.parametrize("mark", ["`", "~", "``a "])
def test_cleaning_markdown_is_linear(mark):
    started = time.process_time()
    clean_markdown(mark * (200_000 // len(mark)))
    assert time.process_time() - started < 5


def test_millions_of_characters_without_a_space_are_read():
    # Patterns that keep their place at each character ran out of memory on these.
    found = proposals("キロメートル" * 850_000 + " was built by Ida Moss.")
    assert "ida moss" in found["name"]
