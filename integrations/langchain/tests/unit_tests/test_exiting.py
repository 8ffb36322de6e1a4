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
from langchain_core.runnables import RunnablePassthrough
from lc_helpers import ScriptedChat, citing, make_documents
from langchain_hebbgraph import (
    CitationLearner, HebbianRetriever, citation_prompt, format_documents
)

retriever = HebbianRetriever.from_documents(make_documents(), k=3)
chain = (
    {"context": retriever | format_documents, "question": RunnablePassthrough()}
    | citation_prompt()
    | ScriptedChat(script=citing("petrel"), seen=[])
)
learner = CitationLearner()
parts = chain.stream("Who built the Petrel?", {"callbacks": [learner]})
next(parts)
print("begun", flush=True)
"""


@pytest.mark.parametrize(
    ("ending", "code"),
    [("", 0), ("for part in parts: os.kill(os.getpid(), signal.SIGINT)", -2)],
)
def test_a_stream_left_open_at_module_level(ending: str, code: int) -> None:
    path = os.pathsep.join((str(Path(__file__).parents[1]), *filter(None, sys.path)))
    ran = subprocess.run(
        [sys.executable, "-c", _PROGRAM + ending],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "PYTHONPATH": path},
    )
    assert (ran.returncode, ran.stdout) == (code, "begun\n")
    assert "thread" not in ran.stderr
    assert "Exception ignored" not in ran.stderr
