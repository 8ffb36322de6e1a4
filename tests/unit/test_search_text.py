"""What is searched with a passage and not shown."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from hebbgraph import Chunk, HebbianIndex, Settings
from hebbgraph.errors import InvalidChunkError
from hebbgraph.search_text import search_text

_LETTER = Chunk(
    id="letter",
    text="Two sets, one of them for the cellar.",
    metadata={"subject": "Handover of the Graz flat", "folder": "Quince"},
)
_OTHERS = [
    Chunk(id="bread", text="Bread rests overnight."),
    Chunk(id="rope", text="Hemp makes strong rope."),
    Chunk(id="mill", title="Ash Fenn Mill", text="The mill grinds barley."),
]


class _Letters:
    """Embeds by counts of letters, and notes what it was given."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    def embed_documents(self, texts: list[str]) -> NDArray[np.float32]:
        self.seen += texts
        return np.array([self._counts(text) for text in texts], np.float32)

    def embed_query(self, text: str) -> NDArray[np.float32]:
        return np.array(self._counts(text), np.float32)

    @staticmethod
    def _counts(text: str) -> list[float]:
        return [1.0 + text.lower().count(letter) for letter in "abcdefghijklmnopqrstuvwxyz"]


def _best(index: HebbianIndex, question: str) -> Any:
    return index.recall(question).hits[0]


@pytest.mark.every_database
def test_metadata_is_found_and_not_shown(tmp_path: Path) -> None:
    for _ in range(2):  # and in what is derived anew
        with HebbianIndex.open(tmp_path) as index:
            index.add([_LETTER, *_OTHERS])
            hit = _best(index, "handover flat Graz")
            assert (hit.chunk.id, hit.chunk.text) == ("letter", _LETTER.text)
            assert hit.score > 0.3
            assert index.recall("Quince").nothing_known  # no field that is searched
            assert index.maintenance.doctor().ok


def test_the_fields_can_be_chosen() -> None:
    with HebbianIndex.open(":memory:", settings=Settings(search_metadata=("Folder",))) as index:
        index.add([_LETTER, *_OTHERS])
        assert _best(index, "Quince").chunk.id == "letter"
        assert index.recall("handover flat Graz").nothing_known
    with HebbianIndex.open(":memory:", settings=Settings(search_metadata=())) as index:
        index.add([_LETTER, *_OTHERS])
        assert index.recall("handover flat Graz").nothing_known


def test_what_a_chunk_says_itself_counts() -> None:
    with HebbianIndex.open(":memory:") as index:
        index.add([_LETTER.model_copy(update={"context": "Boiler in Linz"}), *_OTHERS])
        assert _best(index, "boiler Linz").chunk.id == "letter"
        assert index.recall("handover flat Graz").nothing_known
        report = index.add([_LETTER.model_copy(update={"context": ""})])
        assert report.replaced == 1
        assert index.recall("boiler Linz").nothing_known
        assert index.recall("handover flat Graz").nothing_known


def test_it_is_embedded_and_embedded_once(tmp_path: Path) -> None:
    embedder = _Letters()
    with HebbianIndex.open(tmp_path, embedder=embedder) as index:
        index.add([_LETTER])
        index.add([_LETTER.model_copy(update={"metadata": _LETTER.metadata | {"page": 2}})])
        assert embedder.seen == [f"Handover of the Graz flat\n{_LETTER.text}"]
        index.add([_LETTER.model_copy(update={"context": "Boiler in Linz"})])
        assert embedder.seen[1:] == [f"Boiler in Linz\n{_LETTER.text}"]


def test_it_is_tagged() -> None:
    """Who names a title in the metadata is joined to it."""
    with HebbianIndex.open(":memory:") as index:
        index.add([_LETTER.model_copy(update={"context": "Keys of Ash Fenn Mill"}), *_OTHERS])
        assert "ash fenn mill" in [one.tag for one in index.tags.find(chunk="letter")]


def test_texts_kept_elsewhere(tmp_path: Path) -> None:
    texts = {chunk.id: chunk.text for chunk in (_LETTER, *_OTHERS)}
    settings = Settings(keep_text=False)
    with HebbianIndex.open(tmp_path, settings=settings, texts=lambda ids: texts) as index:
        index.add([_LETTER, *_OTHERS])
        assert _best(index, "handover flat Graz").chunk.text == _LETTER.text


def test_a_lesson_outlives_another_context() -> None:
    """What was cited is the text that was shown."""
    with HebbianIndex.open(":memory:") as index:
        index.add([_LETTER, *_OTHERS])
        index.reinforce(index.recall("Which keys are there?"), cited=["letter"])
        index.add([_LETTER.model_copy(update={"context": "Boiler in Linz"})])
        assert _best(index, "Which keys are there?").chunk.id == "letter"


@pytest.mark.parametrize(
    ("name", "question"),
    [
        ("p13.eml", "p13.eml"),
        ("/mail/p13.eml", "What does p13 say?"),
        ("INV-2024-113.pdf", "INV-2024-113"),
        ("scans/graz_flat-keys.tiff", "keys of the graz flat"),
    ],
)
def test_files_are_found_by_their_names(name: str, question: str) -> None:
    letters = [
        Chunk(id=f"{n}", text=f"Letter {n}.", metadata={"file_name": f"INV-2024-{n}.pdf"})
        for n in range(20)
    ]
    with HebbianIndex.open(":memory:") as index:
        index.add([*letters, Chunk(id="it", text="Two sets.", metadata={"file_name": name})])
        assert _best(index, question).chunk.id == "it"


@pytest.mark.parametrize(
    ("metadata", "words"),
    [
        ({"Header 1": "Oats", "Header 2": "Sowing"}, "Oats\nSowing"),
        ({"headings": ["Oats", "Sowing", "Oats"]}, "Oats\nSowing"),
        ({"source": "/srv/in/2021/Graz_flat-handover.v2.pdf"}, "Graz_flat-handover.v2.pdf"),
        ({"source": r"C:\mail\Graz flat.eml"}, "Graz flat.eml"),
        ({"source": "https://example.org/moving/keys.html?x=1#top"}, "keys.html"),
        ({"source": "Daily Heron"}, ""),  # no file
        ({"file_path": "/in/0f3a9c27d1b84e55.pdf"}, ""),
        ({"file_name": "IMG_0042.jpg"}, "IMG_0042.jpg"),
        ({"subject": "2024-05-17T10:00:00Z", "summary": "1,024.50"}, ""),
        ({"subject": "550e8400-e29b-41d4-a716-446655440000"}, ""),
        ({"description": "application/pdf", "keywords": 7}, ""),
        ({"subject": "Node.js", "summary": "He left."}, "Node.js\nHe left."),
        ({"subject": "Facade", "summary": "decade"}, "Facade\ndecade"),
        ({"keywords": {"nested": "no"}, "page": "Oats"}, ""),
    ],
)
def test_what_metadata_says(metadata: dict[str, Any], words: str) -> None:
    assert search_text(metadata) == words


def test_it_is_checked() -> None:
    with pytest.raises(InvalidChunkError, match="at most 10000"):
        Chunk.coerce({"text": "x", "context": "y" * 10_001})
    with HebbianIndex.open(":memory:") as index:
        assert index.add([{"id": "a", "text": "x", "context": "ice\x00trade"}]).cleaned == 1
        (held,) = index.get(["a"])
        assert held.context == "ice trade"
