from hypothesis import given
from hypothesis import strategies as st

from hebbgraph.text import (
    candidates,
    display,
    lexical_terms,
    phrase_key,
    proposals,
    tokenize,
)
from hebbgraph.text.characters import fold, is_unspaced
from hebbgraph.text.tokens import tokenize_word

# Characters that meet in real text, and that break tokenizers; then anything at all.
TRICKY = (
    "abzAZ019 _-.,'’&+#/()[]\"“”:;!?\n\t"
    "éÉßøİıŁǅ\u0301\u0308\u0323ёйЙĳάςΣ"
    "中国的京东ーカガ゛゜・あがはノ々ｶﾞ\u3099"
    "กำน้ำเ\u0e33\u0e4dລາວខ្មែရ"
    "أإآٱىيـَّاكی\u0654حहिन्दी़क\u093c\u094d"
    "\u200b\u200c\u200d\u00ad\ufeff\u202e\ufe0f\u20e3½²①٣३👩🎉서울\ud800"
)
texts = st.one_of(
    st.text(alphabet=st.sampled_from(TRICKY), max_size=40),
    st.text(max_size=40),
    st.text(alphabet=st.characters(codec=None, exclude_categories=()), max_size=20),
)


@given(texts)
def test_folding_is_idempotent(text):
    assert fold(fold(text)) == fold(text)


@given(texts)
def test_tokens_are_stable_clean_and_short(text):
    tokens = tokenize(text)
    assert tokenize(" ".join(tokens)) == tokens
    assert all(token and not token.isspace() and len(token.split()) == 1 for token in tokens)
    assert all(len(token) <= 64 for token in tokens)


@given(st.text(alphabet=st.sampled_from("abcXYZ0123456789_-.,'&+# "), max_size=200))
def test_long_tokens_are_stable(text):
    tokens = tokenize(text)
    assert tokenize(" ".join(tokens)) == tokens


@given(texts, texts)
def test_tokens_of_a_text_are_those_of_its_words(left, right):
    assert tokenize(left + " " + right) == tokenize(left) + tokenize(right)


@given(texts)
def test_tokens_of_a_text_are_those_between_its_whitespace(text):
    assert tokenize(text) == [token for word in text.split() for token in tokenize_word(word)]


@given(texts)
def test_lexical_terms_can_be_joined_and_encoded(text):
    for term in lexical_terms(tokenize(text)):
        assert term
        assert term.split() == [term]
        assert len(term.encode()) <= 128


@given(texts, texts, texts)
def test_terms_of_a_phrase_stand_together_in_the_terms_of_its_text(before, phrase, after):
    key = phrase_key(phrase)
    if not key:
        return
    inside = key.split(" ")
    text = [*tokenize(before), *inside, *tokenize(after)]
    terms, wanted = lexical_terms(text), lexical_terms(inside)
    assert any(terms[at : at + len(wanted)] == wanted for at in range(len(terms)))


@given(texts)
def test_keys_are_fixed_points_and_shown_without_loss(text):
    key = phrase_key(text)
    if key:
        assert phrase_key(key) == key
        assert phrase_key(display(key)) == key
        tokens = key.split(" ")
        assert len(tokens) - sum(map(is_unspaced, tokens)) / 2 <= 12
        assert len(key) <= 200


@given(texts, texts, st.lists(texts, max_size=3))
def test_candidates_are_keys_that_the_chunk_mentions(text, title, tags):
    found = candidates(text, title, tags)
    own = [candidate.key for candidate in found if candidate.kind != "given"]
    given = [candidate.key for candidate in found if candidate.kind == "given"]
    assert len(set(own)) == len(own)
    assert len(set(given)) == len(given)
    assert found[: len(own)] == candidates(text, title)  # given tags take nothing away
    for candidate in found:
        assert phrase_key(candidate.key) == candidate.key != ""


@given(texts, texts, st.lists(texts, max_size=3))
def test_proposals_are_the_candidates_by_kind(text, title, tags):
    by_kind = {}
    for key, kind in candidates(text, title, tags):
        by_kind.setdefault(kind, []).append(key)
    assert proposals(text, title, tags) == by_kind
