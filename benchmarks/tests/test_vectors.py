from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hebbgraph.errors import ParameterError

from hebbgraph_bench import CachingEmbedder
from hebbgraph_bench.embedding import caching
from hebbgraph_bench.vectors import VectorCache

from .conftest import HashEmbedder


def test_passages_queries_and_models_are_apart(tmp_path: Path) -> None:
    with VectorCache(tmp_path / "new", "org/mini") as cache:
        cache.put("passage", {"x": np.array([1.0, 2.0])})
        assert cache.get("query", ["x"]) == {}
        cache.put("passage", {"x": np.array([3.0])})
        assert cache.get("passage", ["y", "x"])["x"].tolist() == [3.0]
    with VectorCache(tmp_path / "new", "org-mini") as other:
        assert other.get("passage", ["x"]) == {}


def test_many_texts_are_found(tmp_path: Path) -> None:
    texts = [str(number) for number in range(1200)]
    with VectorCache(tmp_path, "mini") as cache:
        cache.put("query", {text: np.array([float(text)]) for text in texts})
        found = cache.get("query", texts)
    assert [found[text].tolist() for text in texts] == [[float(text)] for text in texts]


def test_second_run_embeds_nothing(tmp_path: Path, embedder: HashEmbedder) -> None:
    for calls, read in ((3, 0), (3, 3)):
        with caching(embedder, tmp_path) as vectors:
            assert isinstance(vectors, CachingEmbedder)
            assert vectors.name == "words"
            passages = vectors.embed_documents(["a gull", "a cliff", "a gull"])
            query = vectors.embed_query("a gull")
            assert np.array_equal(passages[0], passages[2])
            assert np.array_equal(passages[0], query)
            assert (embedder.calls, vectors.read) == (calls, read)


def test_what_cannot_be_a_cache_is_named(tmp_path: Path) -> None:
    with caching(None, tmp_path) as nothing:
        assert nothing is None
    file = tmp_path / "file"
    file.write_text("x")
    with pytest.raises(ParameterError, match="cannot be kept here"):
        VectorCache(file, "mini")
    with VectorCache(tmp_path, "mini") as cache:
        path = cache.path
    path.write_bytes(b"no database, and long enough to be looked at" * 50)
    with pytest.raises(ParameterError, match="not a cache of vectors"):
        VectorCache(tmp_path, "mini")
