"""Strict type checkers accept a user's program over either adapter, and find its mistake."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROGRAMS = {
    "langchain": """
from langchain_core.documents import Document
from langchain_core.runnables import RunnablePassthrough
from langchain_hebbgraph import (
    CitationLearner, HebbianRetriever, HebbianVectorStore, citation_prompt,
    create_citing_retriever_tool, format_documents,
)

with HebbianRetriever.from_documents([Document("a")], path="m", k=3) as retriever:
    found: list[Document] = retriever.invoke("x", k=2, filter={"year": {"$lt": 1900}})
    context = {"context": retriever | format_documents, "question": RunnablePassthrough()}
    chain = context | citation_prompt()
    with CitationLearner(retriever, actor="editor") as learner:
        lessons = learner.verdict("id", 1).result().lessons
store = HebbianVectorStore.from_texts(["a"], ids=["1"])
name: str = store.as_retriever(search_kwargs={"k": 2}).search_type
tool = create_citing_retriever_tool(store.as_retriever())
HebbianRetriever.from_texts(["a"], k="many")  # error: "k" to "from_texts"
""",
    "llama_index": """
from llama_index.core import Document, VectorStoreIndex
from llama_index.core.vector_stores.types import MetadataFilters
from llama_index.retrievers.hebbgraph import (
    CitationLearner, HebbianGraphIndex, HebbianRetriever, HebbianVectorStore, citing_tool,
)
from llama_index_instrumentation.dispatcher import instrument_tags


async def ask(mine: VectorStoreIndex) -> str:
    index = HebbianGraphIndex.from_documents([Document(text="x")], path="m")
    with instrument_tags({"user_id": "ida"}):
        retriever = index.as_retriever(similarity_top_k=3, filters=MetadataFilters(filters=[]))
        engine = index.as_query_engine(cite=True, vector_index=mine)
        with CitationLearner(index, actor="editor") as learner:
            answer = await engine.aquery("x")
            lessons = learner.verdict("id", 1).result().lessons
        tool = citing_tool(HebbianRetriever(index.index, vector_index=mine))
        ids = await HebbianVectorStore(index.index).async_add([])
        index.as_retriever(top_k=3)  # error: "top_k" for "as_retriever"
        return retriever.recall("x")[0].why + str(answer)
""",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_users_program_is_typed(name: str, tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    (tmp_path / "program.py").write_text(PROGRAMS[name])
    command = [sys.executable, "-m", "mypy", "--config-file", str(ROOT / "pyproject.toml")]
    # In a namespace package, mypy prefers what is installed to its search path.
    sources = ["program.py", str(ROOT / "integrations/llama_index/llama_index")]
    done = subprocess.run(
        [*command, f"--cache-dir={ROOT / '.mypy_cache'}", *sources],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    errors = [line for line in done.stdout.splitlines() if "program.py" in line and "error" in line]
    assert len(errors) == 1, done.stdout + done.stderr
    assert PROGRAMS[name].partition("# error: ")[2].partition("\n")[0] in errors[0]
