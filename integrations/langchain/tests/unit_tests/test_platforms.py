"""What is written to disk has names that every system takes, whatever tenants are called."""

from __future__ import annotations

import re
from pathlib import Path, PureWindowsPath

import pytest
from hebbgraph import IndexPool
from langchain_core.documents import Document

from langchain_hebbgraph import HebbianRetriever, HebbianStore

#: Reserved by Windows as a name, with any suffix.
RESERVED = re.compile(r"(con|prn|aux|nul|com[0-9]|lpt[0-9])(\..*)?", re.IGNORECASE)


@pytest.mark.parametrize("name", ["CON", "a/b:c", "Anna?*", "..", "übung", "x" * 200, "tail. "])
def test_names_of_files_fit_every_system(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "two words, ünïcode"
    with IndexPool(folder, max_open=1) as pool:
        own = HebbianRetriever.from_index(pool[name])
        own.add([Document("Owls hunt.", id=name, metadata={"source": name})])
        assert own.invoke("owls")[0].id == name
        pool["other"].make_namespace()  # closes it, and with it saves what is derived
        assert pool[name].stats().chunks == 1
    with HebbianStore.open(folder, open_options={"namespace": "memory"}) as store:
        store.put(("users", name.replace(".", "_")), name, {"text": "Owls hunt."})
    written = list(folder.rglob("*"))
    assert written
    for path in written:
        assert PureWindowsPath(path.name).name == path.name
        assert not re.search(r'[<>:"/\\|?*\x00-\x1f]', path.name)
        assert not RESERVED.fullmatch(path.name)
        assert path.name == path.name.rstrip(". ")
        assert len(str(path.relative_to(folder))) < 120  # of 260 that old Windows allows
