from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hebbgraph import Chunk, HebbianIndex, MissingExtraError, ParameterError
from hebbgraph.cli.shared import load_tagger
from hebbgraph.formulas.diversity import marginal_relevance
from hebbgraph.taggers import GlinerTagger, KeyphraseTagger, LLMTagger, SpacyTagger
from hebbgraph.taggers.keyphrases import phrases_of

SHIP = Chunk(text="In 1871 Ida Moss built the Petrel in Tessel Bay for two crowns.")


@pytest.fixture(scope="module")
def pipeline() -> Any:
    spacy = pytest.importorskip("spacy")
    made = spacy.blank("en")
    ruler = made.add_pipe("entity_ruler")
    ruler.add_patterns(
        [
            {"label": "PERSON", "pattern": "Ida Moss"},
            {"label": "GPE", "pattern": "Tessel Bay"},
            {"label": "DATE", "pattern": "1871"},
            {"label": "MONEY", "pattern": "two crowns"},
        ]
    )
    return made


def test_spacy_entities(pipeline: Any) -> None:
    assert SpacyTagger(pipeline)(SHIP) == ("ida moss", "tessel bay")
    assert SpacyTagger(pipeline, labels=["GPE"])(SHIP) == ("tessel bay",)
    assert SpacyTagger(pipeline, tags_per_chunk=1)(SHIP) == ("ida moss",)
    assert SpacyTagger(pipeline, noun_phrases=True)(SHIP) == ("ida moss", "tessel bay")
    assert SpacyTagger(pipeline).name.startswith("spacy:en_")


def test_spacy_noun_phrases(pipeline: Any) -> None:
    from spacy.tokens import Doc

    document = Doc(
        pipeline.vocab,
        words=["The", "ice", "trade", "ended"],
        pos=["DET", "NOUN", "NOUN", "VERB"],
        heads=[2, 2, 3, 3],
        deps=["det", "compound", "nsubj", "ROOT"],
    )
    assert SpacyTagger(pipeline, noun_phrases=True)._tags(document) == ("ice trade",)


def test_spacy_in_an_index(pipeline: Any) -> None:
    with HebbianIndex.open(":memory:", tagger=SpacyTagger(pipeline)) as index:
        report = index.add([SHIP, Chunk(text="no name")])
        assert report.tagging is not None
        assert report.tagging.tagged == 2
        assert set(index.to_networkx("tags")) == {"ida moss", "tessel bay"}


def test_spacy_without_the_pipeline() -> None:
    pytest.importorskip("spacy")
    with pytest.raises(ParameterError, match="spacy download no_such"):
        SpacyTagger("no_such")


@pytest.mark.parametrize(
    ("module", "make"),
    [
        ("spacy", lambda: SpacyTagger("en_core_web_sm")),
        ("gliner", lambda: GlinerTagger("urchade/gliner_small-v2.1")),
        ("tenacity", lambda: LLMTagger(str)),
    ],
)
def test_a_missing_extra_is_reported(module: str, make: Any, monkeypatch: Any) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    extra = {"tenacity": "llm"}.get(module, module)
    with pytest.raises(MissingExtraError, match=rf"hebbgraph\[{extra}\]"):
        make()


class Gliner:
    """Answers as gliner.GLiNER.predict_entities does."""

    def predict_entities(
        self, text: str, labels: list[str], threshold: float = 0.5
    ) -> list[dict[str, Any]]:
        found = [
            {"start": 8, "end": 16, "text": "Ida Moss", "label": "person", "score": 0.7},
            {"start": 27, "end": 33, "text": "Petrel", "label": "ship", "score": 0.9},
        ]
        return [one for one in found if one["label"] in labels and one["score"] >= threshold]


def test_gliner() -> None:
    assert GlinerTagger(Gliner(), labels=["person", "ship"])(SHIP) == ("petrel", "ida moss")
    assert GlinerTagger(Gliner(), labels=["person"], threshold=0.8)(SHIP) == ()
    with pytest.raises(ParameterError, match="at least one"):
        GlinerTagger(Gliner(), labels=[])


def test_gliner_has_what_the_adapter_calls() -> None:
    gliner = pytest.importorskip("gliner")
    assert callable(gliner.GLiNER.predict_entities)
    assert callable(gliner.GLiNER.from_pretrained)


class Words:
    """A vector of which known words a text has."""

    def __init__(self, words: str) -> None:
        self.words = words.split()

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [[0.01 + text.lower().count(word) for word in self.words] for text in texts]

    def embed_query(self, text: str) -> list[float]:
        return self.embed_documents([text])[0]


def test_keyphrases_are_close_and_unlike_each_other() -> None:
    chunk = Chunk(text="The ice trade made the harbour; ice and ice again. A harbour of ice.")
    embedder = Words("ice harbour trade")
    close = KeyphraseTagger(embedder, tags_per_chunk=2, diversity=0.0)(chunk)
    apart = KeyphraseTagger(embedder, tags_per_chunk=2, diversity=0.7)(chunk)
    assert close[0] == apart[0]
    assert "ice" in close[0]
    assert "harbour" in apart[1] or "trade" in apart[1]
    assert KeyphraseTagger(embedder)(Chunk(text="and of the")) == ()
    with pytest.raises(ParameterError, match="diversity"):
        KeyphraseTagger(embedder, diversity=2.0)


def test_phrases_do_not_cross_punctuation_or_stop_words() -> None:
    expected = {"old", "boats", "old boats", "new", "sails", "new sails", "linen"}
    assert set(phrases_of(Chunk(text="old boats, new sails of linen"))) == expected


@given(st.integers(1, 8), st.integers(0, 9), st.floats(0, 1), st.integers(0, 99))
def test_marginal_relevance_is_the_greedy_one(
    n: int, count: int, diversity: float, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    relevance, similarity = rng.random(n), rng.random((n, n))
    chosen: list[int] = []
    while len(chosen) < min(count, n):

        def value(at: int) -> float:
            closest = max((similarity[one, at] for one in chosen), default=0.0)
            return float((1 - diversity) * relevance[at] - diversity * closest)

        chosen.append(max((at for at in range(n) if at not in chosen), key=value))
    assert marginal_relevance(relevance, similarity, count, diversity=diversity) == chosen


def test_taggers_by_name(pipeline: Any, tmp_path: Any) -> None:
    pipeline.to_disk(tmp_path / "ships")
    assert load_tagger(f"spacy:{tmp_path / 'ships'}")(SHIP) == ("ida moss", "tessel bay")
    assert isinstance(load_tagger("keyphrases", Words("ice")), KeyphraseTagger)
    for name in ("keyphrases", "spacy", "llm", "no.such:thing", "json:nothing", "sys:path"):
        with pytest.raises(ParameterError):
            load_tagger(name)
