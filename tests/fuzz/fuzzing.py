"""Random input for everything that reads what strangers write.

``python tests/fuzz/fuzzing.py 1000000`` runs so many inputs; ``make fuzz`` does. Whatever
is not one of our own errors is printed with the seed that leads to it, and ends the run
with exit code 1.
"""

from __future__ import annotations

import json
import os
import random
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hebbgraph_documents import ChunkSettings, estimate_tokens, split_document
from hebbgraph_documents.convert import convert_bytes

from hebbgraph import Chunk, HebbgraphError, HebbianIndex
from hebbgraph.citations import Formatter, parse_citations, shown_in
from hebbgraph.citations.cited import parse_annotations, parse_structured
from hebbgraph.filters import parse_filter
from hebbgraph.learning.feedback import read_feedback
from hebbgraph.store.chunk_rows import as_json, digest
from hebbgraph.text import candidates
from hebbgraph.text.query import query_terms

__all__ = ["Fuzzer"]

_PIECES = [
    "Ida Moss", "petrel", "ERR-12", "[1]", "[", "]", "[[1]]", "【2】", "[1-9999999]", "[^1]", "\\",
    "```", "`", "{", "}", '"', "'", ":", ",", "null", "true", "NaN", "-0", "1e999", "9" * 30, "",
    " ", "\n", "\r\n", "\t", "\0", "\x1b[31m", "\u200b", "\u202e", "\ufeff", "é", "ß", "İ",
    "東京塔", "한국어", "ไทย", "עברית", "🦉",
    "👩‍👩‍👧", "\ud800", "\U0010ffff", "a" * 300, "A. B. C.", "of the",
    "$and", "$or", "$not", "$in", "$gt", "$exists", "a.b", "..", "$", "id", "text", "title",
    "cited", "citations", "sources", "(((((", ")", "*", "+", "?", "|", "^", "#", "---",
    "<a href=x>", "%s", ";--",
]  # fmt: skip
_OPERATORS = [
    "$and", "$or", "$not", "$in", "$nin", "$gt", "$gte", "$lt", "$lte", "$eq", "$ne", "$exists",
    "$contains", "$like", "$nope", "", "a", "a.b.c", "kind", "$id", "$document_id",
]  # fmt: skip
_RECALL_EVERY = 16
_FILE_NAMES = ("corpus.jsonl", "queries.jsonl", "qrels.tsv", "variants.jsonl")


class Fuzzer:
    """Inputs from a seed, and what reads them."""

    def __init__(self, seed: int, scratch: Path) -> None:
        self.rng = random.Random(seed)
        self.scratch = scratch
        self.index = HebbianIndex.open(":memory:")
        self.index.add(
            [
                {"id": "a", "title": "Ida Moss", "text": "Ida Moss built the Petrel."},
                {"id": "b", "title": "Petrel", "text": "The Petrel sank.", "metadata": {"kind": 1}},
                {"id": "c", "text": "東京塔 ERR-12 owl.", "metadata": {"a": {"b": ["x", None]}}},
            ]
        )
        self.rendered = Formatter().render(
            [Chunk(id="a", text="Ida Moss built it."), Chunk(id="b" * 20, text="It sank [1].")]
        )
        recall = self.index.recall("Who built the Petrel?", k=3)
        self.line = self.index.reinforce(recall, ["a"]).model_dump_json()
        self.targets: dict[str, Callable[[], None]] = {
            "query": self.query,
            "filter": self.filter,
            "chunk": self.chunk,
            "citation": self.citation,
            "structured": self.structured,
            "feedback": self.feedback,
            "document": self.document,
        }
        self.counts: Counter[str] = Counter()

    # -- making input -----------------------------------------------------------------

    def string(self) -> str:
        rng = self.rng
        made = "".join(
            rng.choice(_PIECES) if rng.random() < 0.8 else chr(rng.randrange(0x11_0000))
            for _ in range(rng.randrange(12))
        )
        return made if rng.random() < 0.95 else made * rng.randrange(50)

    def value(self, depth: int = 0) -> Any:
        rng = self.rng
        draw = rng.randrange(12 if depth < 4 else 8)
        if draw < 4:
            return self.string()
        if draw < 8:
            return rng.choice(
                [
                    None,
                    True,
                    False,
                    0,
                    -1,
                    2**70,
                    1e308,
                    float("nan"),
                    float("inf"),
                    0.5,
                    b"x",
                    3 + 0j,
                ]
            )
        if draw < 10:
            return [self.value(depth + 1) for _ in range(rng.randrange(4))]
        return {
            rng.choice(_OPERATORS) if rng.random() < 0.7 else self.string(): self.value(depth + 1)
            for _ in range(rng.randrange(4))
        }

    def mutated(self, text: str) -> str:
        rng = self.rng
        for _ in range(rng.randrange(1, 4)):
            at = rng.randrange(len(text) + 1)
            cut = rng.randrange(12)
            text = text[:at] + (self.string() if rng.random() < 0.7 else "") + text[at + cut :]
        return text

    # -- what reads it ----------------------------------------------------------------

    def query(self) -> None:
        text = self.string()
        query_terms(text, "english")
        candidates(text, self.string(), [])
        if self.rng.randrange(_RECALL_EVERY) == 0:
            self.index.recall(text, k=self.rng.choice([1, 3, 10, 0, -1, 10**9]))

    def filter(self) -> None:
        where = self.value()
        if self.rng.randrange(_RECALL_EVERY) == 0:
            self.index.recall("Petrel", where=where)
        elif isinstance(where, dict):
            parse_filter(where)

    def chunk(self) -> None:
        given: Any = {
            "text": self.string(), "title": self.string(), "metadata": self.value(),
        } if self.rng.random() < 0.7 else self.value()  # fmt: skip
        if isinstance(given, dict) and self.rng.random() < 0.3:
            given[self.rng.choice(["id", "document_id", "tags", "other"])] = self.value()
        chunk = Chunk.coerce(given)
        digest(chunk)
        assert json.loads(as_json(chunk.metadata)) == chunk.metadata
        if self.rng.randrange(_RECALL_EVERY) == 0:
            self.index.add([chunk])
            assert self.index.get([chunk.id]) == [chunk]
            self.index.delete([chunk.id])

    def citation(self) -> None:
        answer = self.string()
        found = parse_citations(answer, self.rendered)
        assert set(found) <= set(self.rendered.ids)
        sources = [Chunk(id=f"s{n}", text=_storable(self.string()) or "x") for n in range(2)]
        rendered = Formatter().render(sources)
        assert set(shown_in(rendered.text, rendered)) <= {"s0", "s1"}
        assert set(parse_citations(answer, rendered)) <= {"s0", "s1"}

    def structured(self) -> None:
        value = self.value()
        assert set(parse_structured(value, self.rendered)) <= set(self.rendered.ids)
        if isinstance(value, list):
            parse_annotations(value, self.rendered)

    def feedback(self) -> None:
        line = self.mutated(self.line)
        read_feedback(line, number=1)

    def document(self) -> None:
        text = "".join(self.string() for _ in range(self.rng.randrange(4)))
        text += self.rng.choice(["", "\n\n", "\n# ", "\n---\n"]) * self.rng.randrange(9)
        data = text.encode("utf-8", "surrogatepass" if self.rng.random() < 0.1 else "ignore")
        name = self.rng.choice(["a.md", "a.txt", "a.MD", "a", "---.md"])
        document = convert_bytes(data, path=name)
        settings = ChunkSettings(chunk_tokens=(self.rng.randrange(1, 17), 16))
        for chunk in split_document(document, document_id="d", settings=settings):
            assert estimate_tokens(chunk.text) <= 16
            assert Chunk.coerce(chunk.model_dump()) == chunk

    # -- running ----------------------------------------------------------------------

    def run(self, count: int) -> list[str]:
        """Try so many inputs; return what went wrong."""
        wrong: list[str] = []
        names = list(self.targets)
        for number in range(count):
            name = self.rng.choice(names)
            state = self.rng.getstate()
            self.counts[name] += 1
            try:
                self.targets[name]()
            except HebbgraphError:
                self.counts["refused"] += 1
            except Exception as error:
                after, shown = self.rng.getstate(), traceback.format_exc(limit=-3)
                wrong.append(f"{name}, input {number}: {type(error).__name__}: {error}\n{shown}")
                del state
                self.rng.setstate(after)
                if len(wrong) == 20:
                    break
        return wrong


def _storable(text: str) -> str:
    return "".join(char for char in text if char.isprintable())


def main() -> int:
    """Run as many inputs as the command line says."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    seed = int(os.environ.get("HEBBGRAPH_FUZZ_SEED", "0"))
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as scratch:
        fuzzer = Fuzzer(seed, Path(scratch))
        wrong = fuzzer.run(count)
    took = time.monotonic() - started
    sys.stdout.write(f"{dict(fuzzer.counts)} in {took:.0f} s, seed {seed}: {len(wrong)} wrong\n")
    for one in wrong:
        sys.stdout.write(f"{one}\n")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
