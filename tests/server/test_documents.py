"""Documents: found, uploaded, replaced, deleted."""

from __future__ import annotations

import io
import json
import re
import threading
import time
import zipfile
from pathlib import Path
from typing import Any

import pytest
from served import ask, caller, token

import hebbgraph
from hebbgraph import HebbianIndex

pytest.importorskip("fastapi", reason="the extra serve is not installed")

from hebbgraph_server import documents

SETUP = b"# Set up\n\nInstall it.\n\n# Linux\n\nUse the packages of Tessel.\n"


def upload(client: Any, place: str, content: bytes, **parameters: Any) -> Any:
    headers = {"Content-Type": "application/octet-stream"}
    return client.post(
        "/v1/documents", params={"place": place, **parameters}, content=content, headers=headers
    )


def test_documents_are_found_by_title_and_place(api: Any) -> None:
    def found(find: str) -> list[str]:
        listed = api.get("/v1/documents", params={"find": find}).json()["documents"]
        return [document["place"] for document in listed]

    assert found("NPM ping") == found("npm-ping.md") == ["docs/npm-ping.md"]
    assert found("helgrind") == found("tmp") == []
    everything = api.get("/v1/documents?limit=2&offset=1").json()
    assert (len(everything["documents"]), everything["total"]) == (2, 6)
    assert everything["documents"][0]["title"] == "npm cache"


def test_a_document_is_found_however_its_accents_are_typed(api: Any) -> None:
    place = "fahrten/U\u0308bergabe.md"  # as macOS spells it
    upload(api, place, "# Fahrt nach Gdańsk\n\nDas Boot liegt im Hafen.".encode())
    for find in ("Übergabe.md", "ubergabe", "GDANSK", "gdańsk fahrt"):
        listed = api.get("/v1/documents", params={"find": find}).json()["documents"]
        assert [document["place"] for document in listed] == [place], find
    assert upload(api, "Übergabe.md", b"# X\n\nIt.", preview=True).json()["same_name"] == [place]


def test_an_upload_is_previewed_and_replaces_the_document_of_its_place(api: Any) -> None:
    before = api.get("/v1/session").json()["passages"]
    preview = upload(api, "docs/npm-ping.md", b"# Ping\n\nIt prints Pong.", preview=True).json()
    assert preview["preview"] is True
    assert preview["replaces"] == {"place": "docs/npm-ping.md", "title": "npm ping", "passages": 1}
    assert (preview["added"], preview["deleted"], preview["passages"]) == (1, 1, 1)
    assert [passage["text"] for passage in preview["new"]] == ["# Ping\n\nIt prints Pong."]
    assert [passage["id"] for passage in preview["gone"]] == ["ping"]
    assert api.get("/v1/session").json()["passages"] == before
    assert api.get("/v1/chunks/ping").status_code == 200
    done = upload(api, "docs/npm-ping.md", b"# Ping\n\nIt prints Pong.").json()
    assert {**preview, "preview": False} == done
    assert api.get("/v1/chunks/ping").status_code == 404
    assert api.get("/v1/session").json()["passages"] == before
    again = upload(api, "./docs\\npm-ping.md", b"# Ping\n\nIt prints Pong.", preview=True).json()
    assert (again["added"], again["unchanged"], again["deleted"]) == (0, 1, 0)


def test_an_upload_says_which_lessons_will_rest(api: Any) -> None:
    recall = ask(api, "How do I ping the registry?")
    for cited in (["ping"], ["cache"], ["ping", "cache"]):
        api.post("/v1/lessons", json={"recall": recall["id"], "cited": cited, "actor": cited[0]})
    for preview in (True, False):
        change = upload(api, "docs/npm-ping.md", b"# Ping\n\nIt pongs.", preview=preview).json()
        assert change["resting"] == 1
    notes = [lesson["note"] for lesson in api.get("/v1/lessons").json()["lessons"]]
    assert sum(map(bool, notes)) == 1


def test_another_place_of_the_same_name_is_told(api: Any) -> None:
    preview = upload(api, "NPM-ping.md", b"# Ping\n\nIt prints Pong.", preview=True).json()
    assert preview["replaces"] is None
    assert preview["same_name"] == ["docs/npm-ping.md"]


def test_a_document_is_shown_in_order_and_deleted(api: Any) -> None:
    upload(api, "setup.md", SETUP * 200)
    passages = api.get("/v1/documents/passages?place=setup.md").json()["passages"]
    assert len(passages) > 3
    assert "Install it." in passages[0]["text"]
    assert api.delete("/v1/documents?place=setup.md").json() == {
        "deleted": len(passages),
        "erased": True,
        "resting": 0,
    }
    gone = api.delete("/v1/documents?place=setup.md")
    assert (gone.status_code, gone.json()["field"]) == (404, "place")


@pytest.mark.parametrize(
    ("place", "content", "said"),
    [
        ("noise.md", b"\x89PNG\r\n" + bytes(range(256)) * 9, "noise.md"),
        ("none.md", b"", "none.md"),
        ("a\nb.md", b"It is.", "printable"),
    ],
)
def test_what_is_no_text_is_refused_with_the_reason(
    api: Any, place: str, content: bytes, said: str
) -> None:
    answer = upload(api, place, content)
    assert answer.status_code == 422
    assert said in answer.json()["message"]
    assert api.get("/v1/documents").json()["total"] == 6


def test_a_zip_bomb_is_refused_and_others_are_served(api: Any) -> None:
    main = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
    types = "http://schemas.openxmlformats.org/package/2006/content-types"
    word = "application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"
    relations = "http://schemas.openxmlformats.org/package/2006/relationships"
    office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument"
    small = {
        "[Content_Types].xml": f'<Types xmlns="{types}"><Override PartName="/word/document.xml" '
        f'ContentType="{word}"/></Types>',
        "_rels/.rels": f'<Relationships xmlns="{relations}"><Relationship Id="r" Type="{office}" '
        'Target="word/document.xml"/></Relationships>',
    }
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as package:
        for name, text in small.items():
            package.writestr(name, text)
        with package.open("word/document.xml", "w") as document:
            document.write(f'<w:document xmlns:w="{main}"><w:body><w:p><w:r><w:t>'.encode())
            for _ in range(300):
                document.write(b"owl " * (1 << 18))
            document.write(b"</w:t></w:r></w:p></w:body></w:document>")
    answer = upload(api, "bomb.docx", file.getvalue())
    assert (answer.status_code, answer.json()["error"]) == (422, "unreadable")
    assert "Heap exhausted" in answer.json()["message"]
    assert upload(api, "a.md", SETUP).status_code == 200
    assert ask(api, "packages of Tessel")["hits"][0]["place"] == "a.md"


def test_no_link_is_followed(api: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    import socket

    def connect(*_: Any) -> None:
        raise AssertionError("an upload opened a connection")

    monkeypatch.setattr(socket.socket, "connect", connect)
    page = b"# A\n\n![x](http://169.254.169.254/latest) [y](file:///etc/passwd) <http://10.0.0.1/>"
    assert upload(api, "a.md", page).status_code == 200
    (passage,) = api.get("/v1/documents/passages?place=a.md").json()["passages"]
    assert "root:" not in passage["text"]


def test_slow_uploads_of_one_tenant_stop_no_other(
    serve: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    tokens = [token("slow", role="write", namespaces=["other"]), token("app", role="write")]
    served = serve(tokens=tuple(tokens))
    started, release = threading.Semaphore(0), threading.Event()
    plain = documents.convert

    def read(data: bytes, place: str) -> Any:
        if place.startswith("slow"):
            started.release()
            assert release.wait(60)
        return plain(data, place)

    monkeypatch.setattr(documents, "convert", read)
    slow, app = caller(served, "slow"), caller(served, "app")
    answers: list[int] = []
    threads = [
        threading.Thread(
            target=lambda n=n: answers.append(upload(slow, f"slow{n}.md", SETUP).status_code)
        )
        for n in range(4)
    ]
    for thread in threads:
        thread.start()
    for _ in range(2):  # as many as run at once
        assert started.acquire(timeout=60)
    try:
        assert upload(app, "quick.md", SETUP).status_code == 200
        for client in (app, slow):  # nor do they stop the tenant's own questions
            assert ask(client, "packages")["hits"]
            assert client.get("/v1/documents").status_code == 200
        assert app.post("/v1/chunks/delete", json={"ids": ["cache"]}).json()["deleted"] == 1
        assert app.get("/v1/lessons").status_code == 200
    finally:
        release.set()
        for thread in threads:
            thread.join()
    assert answers == [200] * 4


def test_deleting_waits_for_readers(api: Any, location: Path) -> None:
    with HebbianIndex.open(location) as index, index._database.read() as session:
        session.rows("SELECT count(*) FROM $chunk")  # an older state is open
        answers: list[Any] = []
        deleting = threading.Thread(
            target=lambda: answers.append(api.delete("/v1/documents?place=docs/scope.md").json())
        )
        deleting.start()
        while api.get("/v1/chunks/scope").status_code == 200:
            time.sleep(0.01)
        assert not answers
    deleting.join()
    assert answers == [{"deleted": 1, "erased": True, "resting": 0}]
    texts = b"".join(file.read_bytes() for file in location.iterdir())
    assert b"Scoped packages are private" not in texts


def test_chunks_are_added_and_deleted(api: Any) -> None:
    chunks = [{"id": f"c{n}", "text": f"Owl {n}", "metadata": {"kind": "owl"}} for n in range(3)]
    added = api.post("/v1/chunks", json={"chunks": chunks}).json()
    assert (added["added"], added["replaced"]) == (3, 0)
    deleted = api.post("/v1/chunks/delete", json={"ids": ["c1", "none"]}).json()
    assert deleted == {"deleted": 1, "erased": True, "resting": 0}
    assert [api.get(f"/v1/chunks/c{n}").status_code for n in range(3)] == [200, 404, 200]


def test_the_folder_answers_what_the_page_on_the_api_says(serve: Any, tmp_path: Path) -> None:
    page = (Path(hebbgraph.__file__).parents[2] / "docs/http.md").read_text("utf-8")
    example = re.search(r"/folder` answers.*?```json\n(.*?)```", page, re.DOTALL)
    assert example is not None
    (tmp_path / "broken.json").write_text("{")
    answer = serve(folder=str(tmp_path)).post("/v1/documents/folder").json()
    assert {name: type(value) for name, value in answer.items()} == {
        name: type(value) for name, value in json.loads(example[1]).items()
    }
    assert list(answer["failed"]) == [f"{tmp_path.name}/broken.json"]
