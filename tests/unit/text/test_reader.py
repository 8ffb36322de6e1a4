from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from hebbgraph.text import tokenize
from hebbgraph.text.hashing import PhraseHasher
from hebbgraph.text.reader import TextReader, TokenizedTexts, text_terms

_HASHER = PhraseHasher(b"salt")
_WORDS = st.sampled_from(
    ["Synapses", "learn,", "(Hebb)", "1,000", "U.S.", "O'Brien's", "ERR-12.", "“Ida”", "Straße",
     "東京大学", "へ", "R&D", "-", "C++,", "l'homme", "a\u00a0b", "x" * 70, "_", "ж",
     "bạn", "ba\u0323n,", "bàn", "Nguyễn"]
)  # fmt: skip
_TEXTS = st.one_of(st.lists(_WORDS, max_size=12).map(" ".join), st.text(max_size=40))


def _hashes(read: TokenizedTexts) -> list[list[int]]:
    found = np.split(read.hashes[read.tokens], np.cumsum(read.lengths))[:-1]
    return [one.tolist() for one in found]


@given(st.lists(st.lists(_TEXTS, max_size=3), max_size=4), st.integers(0, 5))
def test_reading_gives_the_tokens_and_terms_of_each_text(
    chunks: list[list[str]], capacity: int
) -> None:
    reader = TextReader(_HASHER, "english", capacity=capacity)
    for _ in range(2):  # its words are new, then known (or forgotten)
        read = reader.read(chunks)
        texts = [tokenize(text) for chunk in chunks for text in chunk]
        assert _hashes(read) == [_HASHER.hash_tokens(tokens).tolist() for tokens in texts]
        assert read.n_texts.tolist() == [len(chunk) for chunk in chunks]
        assert [terms.split() for terms in read.terms] == [
            text_terms(chunk, "english") for chunk in chunks
        ]


def test_terms_are_omitted_unless_requested() -> None:
    read = TextReader(_HASHER, "english").read([("Ida Moss", "")], terms=False)
    assert (read.terms, read.lengths.tolist()) == ([], [2, 0])


def test_frequent_words_outlive_words_that_occurred_once() -> None:
    reader = TextReader(_HASHER, "english", capacity=8)
    texts = [["owl moth, " + " ".join(f"w{at}x{i}" for i in range(6))] for at in range(9)]
    for text in texts:
        assert _hashes(reader.read([text])) == [_HASHER.hash_tokens(tokenize(text[0])).tolist()]
    assert {"owl", "moth"} <= reader._words.keys()
    assert len(reader._words) < 20
