from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import llama_index.core
import pytest
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.extractors import BaseExtractor
from llama_index.core.indices.base import BaseIndex
from llama_index.core.memory import BaseMemoryBlock
from llama_index.core.node_parser import NodeParser
from llama_index.core.vector_stores.types import BasePydanticVectorStore

from llama_index.retrievers import hebbgraph
from llama_index.retrievers.hebbgraph import (
    HebbianGraphIndex,
    HebbianMemoryBlock,
    HebbianNodeParser,
    HebbianRetriever,
    HebbianVectorStore,
    TagExtractor,
)

ROOT = Path(__file__).parents[1]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


@pytest.mark.parametrize(
    ("kind", "base"),
    [
        (HebbianRetriever, BaseRetriever),
        (HebbianGraphIndex, BaseIndex),
        (HebbianMemoryBlock, BaseMemoryBlock),
        (HebbianNodeParser, NodeParser),
        (TagExtractor, BaseExtractor),
        (HebbianVectorStore, BasePydanticVectorStore),
    ],
)
def test_class(kind: type, base: type) -> None:
    assert base in kind.__mro__
    assert kind.__name__ in PYPROJECT["tool"]["llamahub"]["class_authors"]


def test_the_namespace_stays_implicit() -> None:
    package = ROOT / "llama_index"
    assert not (package / "__init__.py").exists()
    assert not (package / "retrievers" / "__init__.py").exists()
    assert (package / "retrievers" / "hebbgraph" / "py.typed").exists()
    assert PYPROJECT["tool"]["llamahub"]["import_path"] == hebbgraph.__name__
    assert llama_index.core.__file__


def test_all_is_there() -> None:
    assert hebbgraph.__all__ == sorted(hebbgraph.__all__)
    assert all(hasattr(hebbgraph, name) for name in hebbgraph.__all__)
    assert len(hebbgraph.__all__) <= 12


def test_the_core_knows_no_framework() -> None:
    code = "import hebbgraph, sys; print([m for m in sys.modules if m.startswith('llama_index')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_depends_on_the_core_its_documents_and_llama_index_alone() -> None:
    needed = PYPROJECT["project"]["dependencies"]
    assert needed == [
        "hebbgraph>=0.1,<0.2",
        "hebbgraph-documents>=0.1,<1",
        "llama-index-core>=0.14,<0.15",
        "llama-index-workflows>=2.16,<3",
    ]
