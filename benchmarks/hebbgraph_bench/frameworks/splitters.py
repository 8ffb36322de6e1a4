"""LlamaIndex's splitter and ours on the pages of a documentation set.

``python -m hebbgraph_bench.frameworks.splitters DATA [--json FILE]`` puts the chunks of a set
together to pages again, splits them by ``SentenceSplitter`` and by ``HebbianNodeParser`` at several
chunk sizes, and asks the questions of the set, without a model. The set needs ``evidence.json``:
for each question, the phrases that its passages contain. A question counts as answered if the
passages contain all of them: the first five, or as many as hold about 5,000 characters.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from hebbgraph import Chunk
from llama_index.core.node_parser import SentenceSplitter
from llama_index.core.schema import BaseNode, Document
from llama_index.retrievers.hebbgraph import HebbianNodeParser, HebbianRetriever
from rich.console import Console

from hebbgraph_bench.baselines import BM25
from hebbgraph_bench.frameworks.of_llama_index import chunk
from hebbgraph_bench.output import Output
from hebbgraph_bench.tables import Grid

__all__ = ["main", "measure", "pages"]

_SIZES = (1024, 512, 256)
_FIRST = 5
_CHARACTERS = 5_000
_BREADCRUMB = " > "
_HEADINGS = ("tokens", "splitter", "system", "characters", "first", "one hop", "reworded")

Search = Callable[[str, int], list[str]]


def pages(folder: Path) -> list[Document]:
    """Return the pages of a set as Markdown, a document each.

    Sections stand in the order of ``anchors.json``, under the headings in the titles of the chunks.
    """
    anchors = json.loads((folder / "anchors.json").read_text("utf-8"))
    order = {url: place for place, url in reversed([*enumerate(anchors.values())])}
    rows_of: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in _rows(folder / "corpus.jsonl"):
        rows_of[row["document_id"]].append(row)
    documents = []
    for id_, rows in sorted(rows_of.items()):
        rows.sort(key=lambda row: (order.get(row["url"], 0), _number(row["id"])))
        parts = [f"# {rows[0]['title'].split(_BREADCRUMB)[0]}"]
        last: list[str] = []
        for row in rows:
            path = row["title"].split(_BREADCRUMB)[1:]
            if path and path != last:
                parts.append(f"{'#' * (len(path) + 1)} {path[-1]}")
            parts.append(row["text"])
            last = path
        documents.append(Document(text="\n\n".join(parts), id_=f"{id_}.md"))
    return documents


def measure(folder: Path, sizes: Sequence[int] = _SIZES) -> list[tuple[str, ...]]:
    """Return rows of the table: what is answered of the questions with one and with two hops."""
    documents = pages(folder)
    rows = []
    for size in sizes:
        splitters = {
            "SentenceSplitter": SentenceSplitter(
                chunk_size=size, chunk_overlap=min(200, size // 5)
            ),
            # As by default, if this is the framework's chunk size.
            "HebbianNodeParser": HebbianNodeParser(
                chunk_tokens=(min(max(size // 2, 200), size), size)
            ),
        }
        for name, splitter in splitters.items():
            nodes = splitter.get_nodes_from_documents(documents)
            mean = sum(len(node.get_content()) for node in nodes) / len(nodes)
            for system, search in _searches(nodes).items():
                for k in (_FIRST, max(1, round(_CHARACTERS / mean))):
                    cells = _answered(folder, search, k)
                    rows.append((str(size), name, system, str(round(mean)), str(k), *cells))
    return rows


def _searches(nodes: Sequence[BaseNode]) -> dict[str, Search]:
    chunks: list[Chunk] = [chunk(node) for node in nodes]
    texts = {one.id: one.text for one in chunks}
    lexical = BM25()
    lexical.index(chunks)
    ours = HebbianRetriever.from_nodes(nodes)

    def recall(question: str, k: int) -> list[str]:
        ours.similarity_top_k = k
        return [result.text for result in ours.retrieve(question)]

    return {
        "BM25": lambda question, k: [texts[found.id] for found in lexical.retrieve(question, k)],
        "hebbgraph": recall,
    }


def _answered(folder: Path, search: Search, k: int) -> list[str]:
    """Return the shares answered, of each number of hops as asked and reworded."""
    evidence = json.loads((folder / "evidence.json").read_text("utf-8"))
    questions = _rows(folder / "queries.jsonl")
    cells = []
    for hops in (1, 2):
        asked = [question for question in questions if question["hops"] == hops]
        for wording in ("question", "rewording"):
            answered = 0
            for question in asked:
                passages = [_words(text) for text in search(question[wording], k)]
                phrases = map(_words, evidence[question["id"]]["phrases"])
                answered += all(any(phrase in text for text in passages) for phrase in phrases)
            cells.append(f"{answered / len(asked):.2f}")
    return cells


def _rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def _number(id_: str) -> int:
    last = id_.rpartition(":")[2]
    return int(last) if last.isdecimal() else 0


def _words(text: str) -> str:
    return " ".join(text.split())


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, prog="hebbgraph_bench.frameworks.splitters"
    )
    parser.add_argument("data", type=Path, help="a folder such as docs_tech")
    parser.add_argument(
        "--json", type=Path, help="write the figures to this JSON file, and Markdown beside it"
    )
    options = parser.parse_args(arguments)
    headings = (*_HEADINGS, "two hops", "reworded")
    grid = Grid(options.data.name, headings, measure(options.data))
    Output(options.json, Console()).tables([grid])


if __name__ == "__main__":
    main()
