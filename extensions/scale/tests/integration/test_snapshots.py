"""Snapshots in a folder: what a replica takes, and what it refuses by name."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import fsspec
import numpy as np
import pytest
from fsspec.registry import _registry
from hebbgraph import HebbianIndex
from hebbgraph.errors import ParameterError, StorageError

from hebbgraph_scale import Fetched, fetch, open_replica, publish, publishing, snapshots

CHUNKS = [
    {"id": f"c{n}", "title": title, "text": text}
    for n, (title, text) in enumerate(
        [
            ("Petrel", "The Petrel was built by Ida Moss in Tessel Bay."),
            ("Ida Moss", "Ida Moss learned to build boats from Jon Arden."),
            ("Jon Arden", "Jon Arden kept bees behind the chapel of Tessel Bay."),
            ("Tessel Bay", "Tessel Bay has a chapel, a slipway and a school."),
            ("Heron", "The Heron was built for the ferry to Skarra."),
        ]
    )
]
QUESTIONS = ["Who built the Petrel?", "Who kept bees?", "What is in Tessel Bay?"]

Open = Callable[..., HebbianIndex]


class Embedder:
    name = "letters"

    def embed_query(self, text: str) -> list[float]:
        counts = np.array([text.lower().count(c) for c in "abcdefgh"], float) + 0.1
        return (counts / np.linalg.norm(counts)).tolist()

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self.embed_query(text) for text in texts]


def ranked(index: HebbianIndex) -> list[list[tuple[str, float]]]:
    return [
        [(hit.chunk.id, round(hit.score, 9)) for hit in index.recall(question).hits]
        for question in QUESTIONS
    ]


def rebuilt(index: HebbianIndex, tmp_path: Path) -> list[list[tuple[str, float]]]:
    """The answers of a process that derives everything anew from the same database."""
    folder = tmp_path / f"rebuilt-{os.urandom(4).hex()}"
    with HebbianIndex.open(
        tmp_path / "index", cache_dir=folder, embedder=index.parts.embedder
    ) as fresh:
        return ranked(fresh)


@pytest.fixture
def source(make_index: Callable[..., HebbianIndex]) -> HebbianIndex:
    index = make_index(CHUNKS, embedder=Embedder())
    recall = index.recall(QUESTIONS[0])
    index.reinforce(recall, cited=["c1"])
    return index


@pytest.fixture
def replica(tmp_path: Path, open_index: Open) -> Callable[..., tuple[HebbianIndex, Fetched]]:
    """Open the same database with a folder of its own, and fetch."""

    def make(url: str | Path, name: str = "replica") -> tuple[HebbianIndex, Fetched]:
        index = open_index(cache_dir=tmp_path / name, embedder=Embedder())
        return index, fetch(index, str(url))

    return make


def only_folder(url: Path) -> Path:
    (folder,) = url.iterdir()
    return folder


def newest(url: Path) -> Path:
    return max((only_folder(url) / "snapshots").iterdir())


def biggest_block(url: Path) -> Path:
    return max((only_folder(url) / "blocks").iterdir(), key=lambda path: path.stat().st_size)


@pytest.mark.parametrize("scheme", ["folder", "memory"])
def test_a_replica_starts_from_a_snapshot_and_takes_the_rest_from_the_truth(
    scheme: str, source: HebbianIndex, replica: Any, tmp_path: Path
) -> None:
    url = str(tmp_path / "bucket") if scheme == "folder" else "memory://published"
    published = publish(source, url)
    source.add([{"id": "late", "title": "Skarra", "text": "Skarra lies west of Tessel Bay."}])
    index, fetched = replica(url)
    assert fetched == (published.name, published.generation, published.bytes, ())
    assert ranked(index) == ranked(source) == rebuilt(source, tmp_path)
    assert index.parts.derived.repairs == []  # nothing of the snapshot had to be built anew
    source.delete(["c2"])
    # Tantivy counts deleted chunks until it writes its segments anew.
    for one in (source, index):
        one.compact()
    assert ranked(index) == ranked(source) == rebuilt(source, tmp_path)
    assert not index.maintenance.doctor().findings
    if scheme == "memory":
        fsspec.filesystem("memory").rm("/published", recursive=True)


def test_only_changed_blocks_are_sent_again(
    source: HebbianIndex, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(publishing, "_BLOCK", 64)
    first = publish(source, str(tmp_path / "bucket"))
    again = publish(source, str(tmp_path / "bucket"))
    assert first.bytes_sent > 0
    assert again.bytes_sent == 0
    source.add([{"id": "late", "title": "Skarra", "text": "Skarra lies west."}])
    third = publish(source, str(tmp_path / "bucket"))
    assert 0 < third.bytes_sent < third.bytes


def test_old_snapshots_and_their_blocks_go(
    source: HebbianIndex, replica: Any, tmp_path: Path
) -> None:
    url = tmp_path / "bucket"
    for n in range(4):
        source.add([{"id": f"late{n}", "text": f"The Heron sailed {n} times."}])
        publish(source, str(url), keep=2)
    folder = only_folder(url)
    manifests = sorted((folder / "snapshots").iterdir())
    assert len(manifests) == 2
    named = {
        sha
        for path in manifests
        for blocks in json.loads(path.read_bytes().partition(b"\n")[2])["files"].values()
        for sha, _ in blocks
    }
    assert {path.name for path in (folder / "blocks").iterdir()} == named
    assert replica(url)[1].name == manifests[-1].name


def damaged(url: Path) -> None:
    block = biggest_block(url)
    content = bytearray(block.read_bytes())
    content[len(content) // 2] ^= 1
    block.write_bytes(content)


def truncated(url: Path) -> None:
    os.truncate(biggest_block(url), 3)


def half_published(url: Path) -> None:
    biggest_block(url).unlink()


def manifest_truncated(url: Path) -> None:
    os.truncate(newest(url), newest(url).stat().st_size - 9)


@pytest.mark.parametrize(
    ("harm", "reason"),
    [
        (damaged, "is damaged"),
        (truncated, "has 3 of"),
        (half_published, "is missing"),
        (manifest_truncated, "incomplete or damaged"),
    ],
)
def test_what_is_not_whole_is_refused_by_name_and_built_from_the_truth(
    harm: Callable[[Path], None], reason: str, source: HebbianIndex, replica: Any, tmp_path: Path
) -> None:
    url = tmp_path / "bucket"
    published = publish(source, str(url))
    harm(url)
    index, fetched = replica(url)
    assert fetched.name is None
    assert [name for name, _ in fetched.refused] == [published.name]
    assert reason in fetched.refused[0][1]
    assert not list(index.parts.derived.directory.glob("*"))  # not a byte of it was installed
    assert ranked(index) == ranked(source)
    publish(source, str(url), resend=True)  # and this mends the storage
    assert replica(url, "another")[1].refused == ()


def test_an_older_whole_snapshot_is_taken_instead(
    source: HebbianIndex, replica: Any, tmp_path: Path
) -> None:
    url = tmp_path / "bucket"
    whole = publish(source, str(url))
    source.add([{"id": "late", "title": "Skarra", "text": "Skarra lies west of Tessel Bay."}])
    publish(source, str(url))
    os.truncate(newest(url), 100)
    index, fetched = replica(url)
    assert fetched.name == whole.name
    assert ranked(index) == ranked(source)


def test_a_publisher_killed_before_its_manifest_leaves_the_former_snapshot(
    source: HebbianIndex, replica: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = tmp_path / "bucket"
    whole = publish(source, str(url))
    source.add([{"id": "late", "title": "Skarra", "text": "Skarra lies west of Tessel Bay."}])

    def killed(body: object) -> bytes:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(publishing, "write_manifest", killed)
        with pytest.raises(KeyboardInterrupt):
            publish(source, str(url))
    index, fetched = replica(url)
    assert (fetched.name, fetched.refused) == (whole.name, ())
    assert ranked(index) == ranked(source)


def test_newer_than_the_truth_and_of_another_history(
    source: HebbianIndex, replica: Any, tmp_path: Path, open_index: Open
) -> None:
    url = tmp_path / "bucket"
    source.maintenance.backup(tmp_path / "backup")
    source.add([{"id": "late", "title": "Skarra", "text": "Skarra lies west of Tessel Bay."}])
    published = publish(source, str(url))
    with_id = source.parts.database.id
    source.close()
    # An old copy of the file is put back: the same database, as it was before.
    database = tmp_path / "index" / "truth.sqlite3"
    shutil.copy(tmp_path / "backup" / "truth.sqlite3", database)
    for left in tmp_path.glob("index/truth.sqlite3-*"):
        left.unlink()
    with sqlite3.connect(database) as raw:
        raw.execute("UPDATE meta SET value = ? WHERE key = 'database_id'", (with_id,))
    raw.close()
    index, fetched = replica(url)
    assert fetched.refused[0][0] == published.name
    assert "newer than the database" in fetched.refused[0][1]
    assert "late" not in {id_ for answers in ranked(index) for id_, _ in answers}
    for n in range(3):
        index.add([{"id": f"other{n}", "text": "The Heron sank."}])
    other, fetched = replica(url, "third")
    assert "another history" in fetched.refused[0][1]
    assert ranked(other) == ranked(index)


def test_of_another_database(source: HebbianIndex, make_index: Any, tmp_path: Path) -> None:
    url = tmp_path / "bucket"
    publish(source, str(url))
    other = make_index([{"id": "x", "text": "Nothing of this."}], "other")
    theirs = only_folder(url).rename(url / snapshots.derived_folder(other.parts).name)
    assert theirs.is_dir()
    fetched = fetch(other, str(url))
    assert [reason for _, reason in fetched.refused] == ["it is of another database or namespace"]


def test_what_is_here_and_as_new_stays(source: HebbianIndex, replica: Any, tmp_path: Path) -> None:
    url = tmp_path / "bucket"
    published = publish(source, str(url))
    assert replica(url)[1].name == published.name
    assert replica(url)[1] == (None, published.generation, 0, ())


def test_a_manifest_cannot_name_a_file_elsewhere(
    source: HebbianIndex, replica: Any, tmp_path: Path
) -> None:
    url = tmp_path / "bucket"
    publish(source, str(url))
    body = json.loads(newest(url).read_bytes().partition(b"\n")[2])
    body["files"]["../../stray"] = next(iter(body["files"].values()))
    newest(url).write_bytes(snapshots.write_manifest(body))
    _, fetched = replica(url)
    assert "outside of its folder" in fetched.refused[0][1]
    assert not list(tmp_path.rglob("stray"))


def test_refused_by_name(source: HebbianIndex, tmp_path: Path) -> None:
    with HebbianIndex.open(":memory:") as index, pytest.raises(ParameterError, match="cache_dir"):
        publish(index, str(tmp_path / "bucket"))
    with pytest.raises(ParameterError, match="keep is a whole number"):
        publish(source, str(tmp_path / "bucket"), keep=0)
    with pytest.raises(ParameterError, match="nosuch://"):
        publish(source, "nosuch://bucket")
    (tmp_path / "file").touch()
    with pytest.raises(StorageError, match="file"):
        publish(source, str(tmp_path / "file"))


def test_open_replica(source: HebbianIndex, tmp_path: Path) -> None:
    publish(source, str(tmp_path / "bucket"))
    with open_replica(
        tmp_path / "index",
        replica_of=str(tmp_path / "bucket"),
        cache_dir=tmp_path / "replica",
        embedder=Embedder(),
    ) as index:
        assert ranked(index) == ranked(source)
        recall = index.recall(QUESTIONS[1])
        index.reinforce(recall, cited=["c2"])
        assert ranked(source) == ranked(index)


def test_in_a_bucket_of_s3(
    source: HebbianIndex, replica: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("s3fs", reason="s3:// needs s3fs")
    moto = pytest.importorskip("moto.server", reason="pip install 'moto[server]' stands in for S3")
    server = moto.ThreadedMotoServer(port=0)
    server.start()
    try:
        host, port = server.get_host_and_port()
        for name, value in (
            ("AWS_ENDPOINT_URL", f"http://{host}:{port}"),
            ("AWS_ACCESS_KEY_ID", "test"),
            ("AWS_SECRET_ACCESS_KEY", "test"),
            ("AWS_DEFAULT_REGION", "us-east-1"),
        ):
            monkeypatch.setenv(name, value)
        with pytest.raises(StorageError, match="no bucket 'published'"):
            publish(source, "s3://published/memory")
        fsspec.filesystem("s3").mkdir("published")
        first = publish(source, "s3://published/memory")
        source.add([{"id": "late", "title": "Skarra", "text": "Skarra lies west of Tessel Bay."}])
        second = publish(source, "s3://published/memory", keep=1)
        assert 0 < second.bytes_sent < first.bytes + second.bytes
        index, fetched = replica("s3://published/memory")
        assert fetched == (second.name, second.generation, second.bytes, ())
        assert ranked(index) == ranked(source)
    finally:
        server.stop()


def test_a_bucket_that_is_not_there_is_not_made(
    source: HebbianIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = fsspec.get_filesystem_class("memory")

    class Buckets(memory):  # type: ignore[misc,valid-type]
        """As fsspec's S3, GCS and Azure do it: the first folder makes its bucket."""

        protocol = ("az", "abfs")
        store: ClassVar[dict[str, Any]] = {}
        pseudo_dirs: ClassVar[list[str]] = [""]

        @classmethod
        def _strip_protocol(cls, path: str) -> str:
            return str(memory._strip_protocol(path.removeprefix("az://")))

    monkeypatch.setitem(_registry, "az", Buckets)
    with pytest.raises(StorageError, match="az://publihsed/here: there is no bucket 'publihsed'"):
        publish(source, "az://publihsed/here")
    assert not Buckets().exists("publihsed")
    Buckets().mkdir("/published")
    assert publish(source, "az://published/here").bytes_sent > 0
