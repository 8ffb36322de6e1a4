from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hebbgraph.text.context import text_words, tokenize_texts
from hebbgraph.text.tokens import (
    WordCache,
    display,
    lexical_terms,
    phrase_key,
    stop_words,
    tokenize,
)

WORDS = st.sampled_from(
    ["Synapses", "learn,", "(Hebb)", "1,000", "U.S.", "O'Brien's", "ERR-12.", "“Ida”", "Straße",
     "東京大学", "へ", "R&D", "-", "C++,", "l'homme", "a\u00a0b", "x" * 70, "_", "ж",
     "bạn", "ba\u0323n,", "bàn", "Nguyễn"]
)  # fmt: skip
TEXTS = st.one_of(st.lists(WORDS, max_size=12).map(" ".join), st.text(max_size=40))


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("Shawn's dogs' bone", ["shawn", "dogs", "bone"]),
        ("Shawn’s friend", ["shawn", "friend"]),
        ("he'll don't I'd", ["he", "dont", "i"]),
        ("O'Brien d'Artagnan l'homme", ["obrien", "d", "artagnan", "l", "homme"]),
        ("the U.S. and the U.S.S.R.", ["the", "us", "and", "the", "ussr"]),
        ("J.R.R. Tolkien", ["jrr", "tolkien"]),
        ("Spider-Man: post-war", ["spider", "man", "post", "war"]),
        ("ERR-1234 CVE-2021-44228", ["err-1234", "cve-2021-44228"]),
        ("foo_bar() __init__", ["foo_bar", "init"]),
        ("v2.3.1, Python3.11.", ["v2.3.1", "python3.11"]),
        ("C++ and C#, not C", ["c++", "and", "c#", "not", "c"]),
        ("R&D at AT&T", ["r&d", "at", "at&t"]),
        ("1,000,000 is 3.14 or 192.168.0.1", ["1000000", "is", "3.14", "or", "192.168.0.1"]),
        ("1932-1987, 19th-century", ["1932", "1987", "19th", "century"]),
        ("北京大学的iPhone手机", [*"北京大学的", "iphone", *"手机"]),
        ("レオナルド・ダ・ヴィンチ", list("レオナルドダヴィンチ")),
        ("สวัสดี", ["ส", "วั", "ส", "ดี"]),
        ("ភាសាខ្មែរ", ["ភា", "សា", "ខ្", "មែ", "រ"]),
        ("ကို", ["ကို"]),
        ("हिन्दी में", ["हिन्दी", "में"]),
        ("القاهرة، مصر", ["القاهرة", "مصر"]),
        ("С.С.С.Р. и Ёлка", ["ссср", "и", "елка"]),
        ("Ο Όμηρος", ["ο", "ομηροσ"]),
        ("צה״ל", ["צהל"]),
        ("서울 특별시", ["서울", "특별시"]),
        ("👩‍👩‍👧 🎉 ﷺ?!", ["صلي", "الله", "عليه", "وسلم"]),
        ("", []),
        ("?! ... — «»", []),
        ("a\ud800b", ["a", "b"]),
    ],
)
def test_tokens(text, tokens):
    assert tokenize(text) == tokens
    assert tokenize(" ".join(tokens)) == tokens


def test_case_never_matters():
    assert tokenize("WHO DIRECTED FORBIDDEN GROUND") == tokenize("who directed forbidden ground")


def test_long_words_are_cut():
    assert tokenize("x" * 1_000_000) == ["x" * 64]
    assert tokenize("é" * 1_000_000) == ["e" * 64]


@pytest.mark.parametrize(
    ("text", "language", "terms"),
    [
        ("learning synapses", "english", ["learn", "synaps"]),
        ("learning synapses", "none", ["learning", "synapses"]),
        ("Häuser Katzen", "german", ["haus", "kats"]),
        ("книги о войне", "english", ["книг", "о", "войн"]),
        ("книги", "none", ["книги"]),
        ("הספרים", "none", ["הספרים"]),
        ("книги running", "russian", ["книг", "run"]),
        ("المدرسة", "english", ["مدرس"]),
        ("लड़कियाँ", "english", ["लड़क"]),
        ("ERR-1234 foo_bars", "english", ["err1234", "err", "1234", "foobar", "foo", "bar"]),
        ("3.14", "english", ["3.14"]),
        ("東京都", "english", ["東京", "京都"]),
        ("東 京", "english", ["東京"]),
        ("猫 cats", "english", ["猫", "cat"]),
        ("", "english", []),
    ],
)
def test_lexical_terms(text, language, terms):
    assert lexical_terms(tokenize(text), language) == terms


def test_lexical_terms_are_bounded_in_bytes():
    (term,) = lexical_terms(tokenize("ж" * 500), "none")
    assert len(term.encode()) == 128


@pytest.mark.parametrize(
    ("phrase", "key"),
    [
        ("Pál Gábor", "pal gabor"),
        ("The Hunger Games", "hunger games"),
        ("A The Band Apart", "band apart"),
        ("The Island", "the island"),
        ("The Who", "the who"),
        ("東京大学", "東 京 大 学"),
        ("iPhone 手机", "iphone 手 机"),
        ("COVID-19", "covid-19"),
        ("C#", "c#"),
        ("War", "war"),
    ],
)
def test_usable_phrases(phrase, key):
    assert phrase_key(phrase) == key
    assert phrase_key(key) == key
    assert phrase_key(display(key)) == key


@pytest.mark.parametrize(
    "phrase",
    [
        *("", "?!", "the", "und", "в", "WHO", "C", "猫", "1984", "9/11", "3.14"),
        "iPhone 机",  # 机 would be indexed within a pair in "iPhone 机器"
        "猫 iPhone",
        "กี่",  # one character with its marks
        " ".join(["word"] * 13),
        "大" * 25,
        "x" * 64,
        " ".join(["x" * 40] * 6),
    ],
)
def test_unusable_phrases(phrase):
    assert phrase_key(phrase) == ""


def test_display_joins_unspaced_characters_only():
    assert display("東 京 大 学") == "東京大学"
    assert display("東 京 tower") == "東京 tower"
    assert display("forbidden ground") == "forbidden ground"


def test_stop_words_of_a_language_that_are_words_in_english_count_there_only():
    assert "war" not in stop_words()
    assert "war" in stop_words("german")
    assert {"the", "und", "и", "في"} <= stop_words()


@given(TEXTS, TEXTS)
def test_tokens_and_words_are_those_of_title_and_text(title, text):
    tokens = tokenize_texts(title, text)
    assert tokens == [tokenize(part) for part in (title, text) if part]
    words, length = text_words(tokens, f"{title}\n\n{text}", "english", [])
    expected = Counter(word for part in tokens for word in lexical_terms(part))
    assert length == expected.total()
    assert expected <= words


@given(TEXTS)
def test_tokens_are_those_of_each_word_and_stay_as_they_are(text):
    tokens = tokenize(text)
    assert tokens == [token for word in text.split() for token in tokenize(word)]
    assert tokenize(" ".join(tokens)) == tokens


@given(TEXTS, TEXTS, TEXTS)
def test_the_words_of_a_phrase_stand_side_by_side_in_each_text_that_holds_it(before, phrase, after):
    key = phrase_key(phrase)
    if not key:
        return
    text, part = lexical_terms(tokenize(f"{before} {key} {after}")), lexical_terms(key.split(" "))
    assert any(text[at : at + len(part)] == part for at in range(len(text)))


def test_caches_of_words_are_bounded_and_keep_no_long_ones(monkeypatch):
    monkeypatch.setattr("hebbgraph.text.tokens._MOST", 8)
    computed = []
    cache = WordCache(lambda word: computed.append(word) or len(word))
    for at in range(90):
        assert (cache["owl"], cache["owl"], cache[f"w{at}"], cache["y" * 65]) == (
            3,
            3,
            2 + (at > 9),
            65,
        )
        assert len(cache) <= 8
    assert computed.count("owl") < 20
    assert computed.count("y" * 65) == 90
