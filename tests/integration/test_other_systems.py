"""What Windows and macOS do otherwise, faked: files in use stay, names fold, locks are files."""

from __future__ import annotations

import sys
import unicodedata
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from windows import fake_windows

from hebbgraph import HebbianIndex, IndexPool

pytestmark = pytest.mark.sqlite_only


class Letters:
    def embed_documents(self, texts: list[str]) -> Any:
        return np.array([[text.count(letter) + 0.1 for letter in "abcdefgh"] for text in texts])

    def embed_query(self, text: str) -> Any:
        return self.embed_documents([text])[0]


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc to see which files are in use")
def test_a_life_where_files_in_use_cannot_be_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused = fake_windows(monkeypatch)
    place = tmp_path / "two words, ünïcode"
    for turn in range(2):
        with HebbianIndex.open(place, embedder=Letters()) as index:
            index.add({"id": f"{n}", "text": f"Boat {n} of turn {turn}, a cab."} for n in range(40))
            recall = index.recall("Which boat?", k=3)
            index.reinforce(recall, cited=[recall.hits[0].chunk.id])
            index.delete([f"{n}" for n in range(turn, 40, 3)])
            index.compact()
            index.colonies()
            with HebbianIndex.open(place, embedder=Letters()) as second:
                second.add([{"id": "late", "text": f"A late boat of turn {turn}."}])
                second.compact()
            assert index.recall("late boat", k=1).hits[0].chunk.id == "late"
            assert index.doctor().ok
    with HebbianIndex.open(place, embedder=Letters()) as index:
        assert index.stats().lessons == 2
        assert not index.repairs
    # Old vectors wait until nobody maps them; nothing else is refused.
    assert {Path(path).suffix for path in refused} == {".f32", ".rows"}


def test_namespaces_that_differ_in_case_or_form_alone_stay_apart(tmp_path: Path) -> None:
    names = ["Übung", "übung", unicodedata.normalize("NFD", "übung"), "uebung"]
    with IndexPool(tmp_path, max_open=1) as pool:
        for name in names:
            pool[name].add([f"A note of {name}."])
        folders = [path.name for path in (tmp_path / "derived").iterdir()]
        # HFS+ and APFS would take the second and third for one file, Windows the first two.
        folded = {unicodedata.normalize("NFC", name).casefold() for name in folders}
        assert len(folded) == len(folders) >= len(names)
        for name in names:
            assert [hit.chunk.text for hit in pool[name].recall("note").hits] == [
                f"A note of {name}."
            ]
