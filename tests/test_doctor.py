"""What is wrong inside the database is found, and a rebuild repairs all that follows from texts."""

from __future__ import annotations

import random
import sqlite3
from pathlib import Path

import pytest
from dump import assert_sound
from ships import CORPUS, ByNumber, random_chunks

from hebbgraph import HebbianIndex

#: Statements that spoil an index, and what the doctor says of it. None: nothing follows from it.
_SPOILT = {
    "UPDATE meta SET value = '5' WHERE key = 'chunks'": "5 chunks are counted",
    "UPDATE meta SET value = '5' WHERE key = 'length'": "5 words are counted",
    "UPDATE meta SET value = '5' WHERE key = 'vectors'": "5 vectors are counted",
    "DELETE FROM meta WHERE key = 'vector_sum'": "vectors differ from their sum",
    "UPDATE chunk SET length = 1 WHERE row = 2": "length differ from their text",
    "UPDATE chunk SET proposed = x'' WHERE row = 2": "differ from their text",
    'UPDATE chunk SET given = \'{"tags":["Brig"]}\' WHERE row = 2': "differ from their text",
    "UPDATE chunk SET metadata = '{}' WHERE row = 1": "facts differ from their text",
    "DELETE FROM chunk WHERE row = 3": "chunks are counted",
    "DELETE FROM held WHERE row = 3": "words differ from their text",
    "DELETE FROM posting WHERE term % 3 = 0": "terms whose postings differ",
    "UPDATE posting SET first = first + 1": "terms whose postings differ",
    "DELETE FROM term WHERE id % 5 = 0": "differ",
    "UPDATE term SET df = df + 1": "terms whose counts are wrong",
    "UPDATE term SET proposals = 2 WHERE kind = 1": "terms whose counts are wrong",
    "DELETE FROM opening": "missing in opening",
    "DELETE FROM fact": "facts differ from their text",
    "INSERT INTO fact VALUES ('x', 1, NULL, 1)": "facts differ from their text",
    "INSERT INTO embedding(row, stamp, data) VALUES (999, 1, zeroblob(64))": "vectors are counted",
    "UPDATE meta SET value = '1' WHERE key = 'text_version'": "other text rules built it",
    "DELETE FROM gone": None,
}
_LOST = {
    "DELETE FROM embedding WHERE row = 2": "vectors differ from their sum",
    "UPDATE embedding SET data = zeroblob(64) WHERE row = 2": "vectors differ from their sum",
    "UPDATE chunk SET text = 'Other words.' WHERE row = 2": "digests differ from their text",
}


def _spoilt(folder: Path, sql: str) -> HebbianIndex:
    with HebbianIndex.open(folder, embedder=ByNumber()) as index:
        index.add([*CORPUS, *random_chunks(random.Random(1), map(str, range(20)))])
        index.delete("3")
    connection = sqlite3.connect(folder / "default.sqlite3")
    connection.execute(sql)
    connection.commit()
    connection.close()
    return HebbianIndex.open(folder, embedder=ByNumber())


@pytest.mark.parametrize(("sql", "said"), _SPOILT.items())
def test_rebuild_repairs_what_follows_from_texts(tmp_path: Path, sql: str, said: str) -> None:
    with _spoilt(tmp_path, sql) as index:
        found = index.doctor()
        assert any(said in line for line in found) if said else found == []
        index.rebuild()
        assert_sound(index)
        index.add(["The Auk was built by Ida Moss 77."])
        index.delete(index.ids()[:3])
        assert_sound(index)


@pytest.mark.parametrize(("sql", "said"), _LOST.items())
def test_what_is_lost_is_named(tmp_path: Path, sql: str, said: str) -> None:
    with _spoilt(tmp_path, sql) as index:
        assert any(said in line for line in index.doctor())
        index.rebuild()
        damaged = index.get(["heron"])
        index.delete("heron")
        index.add([*CORPUS, *damaged[:0]])
        assert_sound(index)
