"""Programs that end while an answer is still being streamed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

_PROGRAM = """
import os, signal
signal.signal(signal.SIGINT, signal.default_int_handler)  # or who runs tests may ignore it
from fakes import CHUNKS, QUESTION, RuleLLM
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.schema import TextNode
from llama_index.retrievers.hebbgraph import CitationFormatter, CitationLearner, HebbianRetriever

nodes = [TextNode(id_=id_, text=text) for id_, (_, text) in CHUNKS.items()]
retriever = HebbianRetriever.from_nodes(nodes, similarity_top_k=4)
learner = CitationLearner(retriever).install()
engine = RetrieverQueryEngine.from_args(
    retriever, llm=RuleLLM(), streaming=True, node_postprocessors=[CitationFormatter()]
)
parts = engine.query(QUESTION).response_gen
print(next(parts), flush=True)
"""


@pytest.mark.parametrize(
    ("ending", "code"),
    [
        ("", 0),
        ("for part in parts: os.kill(os.getpid(), signal.SIGINT)", -2),
        ("raise SystemExit(3)", 3),
    ],
)
def test_a_stream_left_open_at_module_level(ending: str, code: int) -> None:
    """Python 3.11 hung for ever, 3.12 told of a thread that cannot be started."""
    path = os.pathsep.join((str(Path(__file__).parent), *filter(None, sys.path)))
    ran = subprocess.run(
        [sys.executable, "-c", _PROGRAM + ending],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "PYTHONPATH": path},
    )
    assert (ran.returncode, ran.stdout) == (code, "The \n")
    assert "too late to be learned" in ran.stderr
    assert "thread" not in ran.stderr
    assert "Exception ignored" not in ran.stderr
