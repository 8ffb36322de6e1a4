"""Corpora of the experiment: the packaged set, and named sets."""

from __future__ import annotations

from hebbgraph_bench.datasets import Dataset
from hebbgraph_bench.papers.bio_rag.lab import ASKED, Corpus
from hebbgraph_bench.papers.bio_rag.learning import NumberedQuery
from hebbgraph_bench.papers.bio_rag.questions import REWORDED, load_set

__all__ = ["own_corpus", "shared_corpus"]

_REWORDED, _NEVER_ASKED = "reworded", "never asked"


def own_corpus() -> Corpus:
    """Return the forty documents with asked, reworded and never-asked questions."""
    bio_rag_set = load_set()
    ids = [chunk.id for chunk in bio_rag_set.asked.corpus]
    strata = {
        ASKED: NumberedQuery.all_of(bio_rag_set.asked.queries, ids),
        _REWORDED: NumberedQuery.all_of(bio_rag_set.asked.queries, ids, variant=REWORDED),
        _NEVER_ASKED: NumberedQuery.all_of(bio_rag_set.held_out, ids),
    }
    return Corpus.of("bio-rag", bio_rag_set.asked.corpus, strata)


def shared_corpus(dataset: Dataset) -> Corpus:
    """Build a corpus from a set: half of its questions are asked, the others never are."""
    chunks = [chunk for chunk in dataset.corpus if chunk.title.strip() or chunk.text.strip()]
    ids = [chunk.id for chunk in chunks]
    # Questions with rewordings come first, so as many as possible are asked.
    order = sorted(dataset.queries, key=lambda query: not query.variants)
    half = len(order) // 2
    strata = {
        ASKED: NumberedQuery.all_of(order[:half], ids),
        _NEVER_ASKED: NumberedQuery.all_of(order[half:], ids),
    }
    reworded = NumberedQuery.all_of(order[:half], ids, variant=REWORDED)
    if reworded:
        strata[_REWORDED] = reworded
    return Corpus.of(dataset.name, chunks, strata)
