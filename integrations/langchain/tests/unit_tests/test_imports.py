from __future__ import annotations

import subprocess
import sys

import langchain_hebbgraph

PUBLIC = [
    "CitationLearner",
    "CitingMiddleware",
    "HebbianRetriever",
    "HebbianStore",
    "HebbianTextSplitter",
    "HebbianVectorStore",
    "IndexPool",
    "TagTransformer",
    "citation_prompt",
    "cite_documents",
    "create_citing_retriever_tool",
    "format_documents",
]


def test_public_names() -> None:
    assert sorted(langchain_hebbgraph.__all__) == PUBLIC
    assert all(hasattr(langchain_hebbgraph, name) for name in PUBLIC)


def test_only_langchain_core_and_no_torch_are_imported() -> None:
    code = (
        "import sys, langchain_hebbgraph;"
        "names = {name.partition('.')[0] for name in sys.modules};"
        "print(sorted(names & {'torch', 'langchain', 'langgraph', 'langchain_classic', 'openai',"
        " 'langchain_text_splitters', 'llama_index', 'sentence_transformers'}))"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "[]"
