"""What is written to disk has names that every system takes, whatever tenants are called."""

from __future__ import annotations

import re
from pathlib import Path, PureWindowsPath

import pytest
from llama_index.core import Document
from llama_index.core.node_parser import HierarchicalNodeParser

from hebbgraph import IndexPool
from llama_index.retrievers.hebbgraph import HebbianGraphIndex, HebbianRetriever

#: Reserved by Windows as a name, with any suffix.
RESERVED = re.compile(r"(con|prn|aux|nul|com[0-9]|lpt[0-9])(\..*)?", re.IGNORECASE)
PARSER = HierarchicalNodeParser.from_defaults(chunk_sizes=[64, 16], chunk_overlap=0)


@pytest.mark.parametrize("name", ["CON", "a/b:c", "Anna?*", "..", "übung", "x" * 200, "tail. "])
def test_names_of_files_fit_every_system(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "two words, ünïcode"
    note = Document(id_=name, text="Owls hunt at night. They see well in the dark. " * 8)
    with IndexPool(folder, max_open=1) as pool:
        HebbianRetriever.from_pool(pool, namespace=name).add([note])
        pool["other"].make_namespace()  # closes it, and with it saves what is derived
        assert pool[name].stats().chunks == 1
    with HebbianGraphIndex.from_documents(
        [note], location=folder / "whole", namespace=name, transformations=[PARSER]
    ) as index:  # its parents lie in a namespace of their own
        assert len(index.index.namespaces()) == 2
    written = list(folder.rglob("*"))
    assert written
    for path in written:
        assert PureWindowsPath(path.name).name == path.name
        assert not re.search(r'[<>:"/\\|?*\x00-\x1f]', path.name)
        assert not RESERVED.fullmatch(path.name)
        assert path.name == path.name.rstrip(". ")
        assert len(str(path.relative_to(folder))) < 120  # of 260 that old Windows allows
