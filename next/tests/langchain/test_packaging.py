"""The README runs, twice; strict type checkers accept a user's program; few names at the top."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import langchain_hebbgraph
import pytest

from hebbgraph import HebbianIndex

ROOT = Path(__file__).parents[2]
README = (ROOT / "integrations/langchain/README.md").read_text(encoding="utf-8")


def test_the_quickstart_run_twice_has_the_same_passages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    quickstart, rule = re.findall(r"```python\n(.*?)```", README, re.DOTALL)[:2]
    for _ in range(2):
        names: dict[str, object] = {}
        exec(quickstart, names)
        exec(rule, names)
        names["retriever"].close()  # type: ignore[attr-defined]
    assert capsys.readouterr().out.splitlines() == ["She was born in Tessel Bay [2]."] * 2
    with HebbianIndex.open("memory.hebb", read_only=True) as index:
        assert len(index.ids()) == 2
        assert {lesson.actor for lesson in index.lessons()} == {"ann"}


def test_few_names_are_at_the_top() -> None:
    names = langchain_hebbgraph.__all__
    assert len(names) <= 11
    assert all(getattr(langchain_hebbgraph, name) for name in names)
    assert not hasattr(langchain_hebbgraph, "HebbianStore")


PROGRAM = """
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
HebbianRetriever.from_texts(["a"], k="many")  # error
"""


def test_a_users_program_is_typed(tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    (tmp_path / "program.py").write_text(PROGRAM)
    command = [sys.executable, "-m", "mypy", "--config-file", str(ROOT / "mypy.ini"), "program.py"]
    path = f"{ROOT}:{ROOT / 'integrations/langchain'}"
    done = subprocess.run(
        [*command, "--strict", f"--cache-dir={ROOT / '.mypy_cache'}"],
        cwd=tmp_path, env={"MYPYPATH": path}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    errors = [line for line in done.stdout.splitlines() if "program.py" in line and "error" in line]
    assert len(errors) == 1, done.stdout + done.stderr
    assert '"k" to "from_texts"' in errors[0]
