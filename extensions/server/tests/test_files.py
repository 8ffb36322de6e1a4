"""Files that a browser uploads: converted as ``hebbgraph index`` does it, one document each."""

from __future__ import annotations

import base64
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="the extra server is not installed")

from hebbgraph import HebbianIndex
from hebbgraph_documents import ConversionLimits, ingest
from hostile_files import docx_of
from starlette.testclient import TestClient

Serve = Callable[..., TestClient]
PAGE = b"<title>Wick</title><nav>Home</nav><h1>Wick Light</h1><p>It shines on Tessel Bay."
WORD = docx_of("<w:p><w:r><w:t>The keeper of Wick Light sleeps by day.</w:t></w:r></w:p>")


def put(api: TestClient, name: str, data: bytes) -> Any:
    body = {"name": name, "content": base64.b64encode(data).decode()}
    return api.post("/v1/put_file?namespace=files", json=body)


def texts(api: TestClient) -> list[str]:
    ids = api.post("/v1/ids?namespace=files", json={}).json()["ids"]
    chunks = api.post("/v1/get?namespace=files", json={"ids": ids}).json()["chunks"]
    return sorted(chunk["text"] for chunk in chunks)


def test_files_are_converted(api: TestClient) -> None:
    for name, data in {
        "wick.html": PAGE,
        "keeper.docx": WORD,
        "a.md": b"# Tessel\n\nA bay.",
    }.items():
        answer = put(api, name, data)
        assert answer.status_code == 200, answer.text
        assert answer.json()["added"] == 1
    assert texts(api) == [
        "A bay.",
        "It shines on Tessel Bay.",
        "The keeper of Wick Light sleeps by day.",
    ]


def test_an_edited_file_replaces_its_document(api: TestClient) -> None:
    put(api, "notes.md", b"# One\n\nIt was so.\n\n# Two\n\nIt stays.")
    answer = put(api, "notes.md", b"# Two\n\nIt stays.")
    assert answer.json()["deleted"] == 1
    assert texts(api) == ["It stays."]


@pytest.mark.parametrize(
    ("name", "data", "told"),
    [
        ("noise.txt", b"\x89PNG\r\n" + bytes(range(256)), "noise.txt: is not UTF-8 text"),
        ("noise.md", b"It\0" * 90, "noise.md: looks binary"),
        ("noise.pdf", b"%PDF-1.7\n" + os.urandom(2_000), "noise.pdf: is damaged"),
        ("photo.png", b"\x89PNG", "photo.png: unknown kind '.png'; readable are"),
        ("none.md", b"", "none.md: is empty"),
        ("a\nb.md", b"It is.", "its name holds unprintable characters"),
    ],
)
def test_what_is_no_text_is_refused_and_creates_nothing(
    api: TestClient, name: str, data: bytes, told: str
) -> None:
    answer = put(api, name, data)
    assert answer.status_code == 422
    assert told in answer.json()["detail"]
    assert "files" not in api.get("/v1/namespaces").json()["namespaces"]


def test_content_that_is_not_base64_is_refused(api: TestClient) -> None:
    answer = api.post("/v1/put_file", json={"name": "a.md", "content": "It is."})
    assert answer.status_code == 422
    assert "content" in answer.json()["detail"]


def test_a_file_that_is_too_large_is_told_what_to_do(serve: Serve) -> None:
    answer = put(serve(max_body_bytes=2_000), "large.md", b"It is. " * 1_000)
    assert answer.status_code == 413
    assert "at most 2,000 fit" in answer.json()["detail"]
    assert "hebbgraph index FILE --db DIR" in answer.json()["detail"]


def test_without_the_extra_the_answer_says_so(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    from hebbgraph_documents import ingesting

    in_process = ingesting.convert_within
    monkeypatch.setattr(
        ingesting, "convert_within", lambda limits, *rest, **more: in_process(None, *rest, **more)
    )
    monkeypatch.setitem(sys.modules, "bs4", None)
    answer = put(serve(), "wick.html", PAGE)
    assert answer.status_code == 501
    assert 'pip install "hebbgraph[documents]"' in answer.json()["detail"]


def test_a_file_is_split_as_the_command_does_it(api: TestClient, tmp_path: Path) -> None:
    put(api, "wick.html", PAGE)
    (tmp_path / "wick.html").write_bytes(PAGE)
    with HebbianIndex.open(":memory:") as index:
        ingest([tmp_path], index, base=tmp_path, limits=ConversionLimits())
        here = index.get(index.ids())
    ids = api.post("/v1/ids?namespace=files", json={}).json()["ids"]
    chunks = api.post("/v1/get?namespace=files", json={"ids": ids}).json()["chunks"]
    expected = [chunk.model_dump(mode="json") for chunk in here]
    for chunk in (*chunks, *expected):
        chunk["metadata"].pop("source")  # a path here, the name there
    assert chunks == expected
