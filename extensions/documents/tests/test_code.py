"""Source code is cut at what it defines."""

from __future__ import annotations

from pathlib import Path

import pytest
from hebbgraph.labels import heading_of

from hebbgraph_documents import ChunkSettings, discover, read_document, split_document
from hebbgraph_documents.code import code_headings

PYTHON = '''\
"""Boats."""

# A comment is no heading.
LIMIT = 3


@final
class Boat:
    """It floats."""

    # Knots.
    speed = 1

    def sail(self, wind: int) -> int:
        def inner() -> int:
            return wind

        return inner()


async def moor(boat: Boat) -> None:
    boat.speed = 0
'''


def test_each_definition_is_a_section_with_what_stands_above_it() -> None:
    found = [(one.level, one.text, one.start) for one in code_headings(PYTHON)]
    assert found == [(1, "Boat", 6), (2, "sail", 13), (1, "moor", 20)]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("export default async function dock(a) {\n}\nexport class Pier {\n}\n", ["dock", "Pier"]),
        ("func (b *Boat) Sail() int {\n}\ntype Boat struct {\n}\n", ["Sail"]),
        ("pub(crate) fn sail() {}\n\nimpl Boat {\n    fn new() {}\n}\n", ["sail", "Boat", "new"]),
        ("public static final class Oar {\n}\n", ["Oar"]),
        ("CREATE TABLE boats (id INT);\n", ["boats"]),
        ("# Heading?\nname = 'def x'\nfunctional = 1\n", []),
    ],
)
def test_many_languages_say_so_in_the_same_words(text: str, names: list[str]) -> None:
    assert [one.text for one in code_headings(text)] == names


def test_a_file_of_code_is_read_and_told_apart(tmp_path: Path) -> None:
    (tmp_path / "boats.py").write_text(PYTHON)
    (tmp_path / "notes.md").write_text("# Notes\n\nText.\n")
    document = read_document(tmp_path / "boats.py")
    assert (document.title, document.media_type) == ("boats.py", "text/x-code")
    chunks = list(
        split_document(
            document, document_id="boats.py", settings=ChunkSettings(chunk_tokens=(1, 30))
        )
    )
    named = [heading_of(chunk) for chunk in chunks]
    assert "boats.py › Boat › sail" in named
    assert "boats.py › moor" in named
    everything = "\n".join(chunk.text for chunk in chunks)
    for line in PYTHON.splitlines():
        assert line.strip() in everything
    taken = [file.path.name for file in discover([tmp_path])]
    assert taken == ["notes.md"]  # code in a folder only if it is asked for
    assert [file.path.name for file in discover([tmp_path], include=["*.py"])] == ["boats.py"]
    assert len(discover([tmp_path / "boats.py"])) == 1
