"""Who may do what, in which namespace, and in whose name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from manuals import QUESTION
from served import ask, caller, secret, token

from hebbgraph.errors import ParameterError

pytest.importorskip("fastapi", reason="the extra serve is not installed")

from hebbgraph_server.settings import ServerSettings
from hebbgraph_server.tokens import Role, read_tokens

ROLES = ("read", "teach", "write", "admin")
#: Every path, the least of the roles above, and a body or parameters that fit.
PATHS: dict[tuple[str, str], tuple[str, Any]] = {
    ("GET", "/v1/session"): ("read", None),
    ("GET", "/v1/suggestions"): ("read", None),
    ("POST", "/v1/recalls"): ("read", {"question": "Who publishes?"}),
    ("POST", "/v1/lessons"): ("teach", {"recall": "r", "cited": ["bin"]}),
    ("GET", "/v1/lessons"): ("read", None),
    ("DELETE", "/v1/lessons/{id}"): ("teach", None),
    ("GET", "/v1/lessons/evaluation"): ("read", None),
    ("GET", "/v1/documents"): ("read", None),
    ("GET", "/v1/documents/passages"): ("read", {"place": "docs/scope.md"}),
    ("POST", "/v1/documents"): ("write", {"place": "new.md", "preview": "true"}),
    ("DELETE", "/v1/documents"): ("write", {"place": "docs/none.md"}),
    ("POST", "/v1/documents/folder"): ("write", None),
    ("GET", "/v1/chunks/{id}"): ("read", None),
    ("POST", "/v1/chunks"): ("write", {"chunks": []}),
    ("POST", "/v1/chunks/delete"): ("write", {"ids": ["none"]}),
    ("GET", "/v1/tags/{tag}"): ("read", None),
    ("GET", "/v1/metrics"): ("admin", None),
    ("GET", "/v1/health"): ("none", None),
    ("GET", "/v1/ready"): ("none", None),
}
PLACES: dict[str, list[str] | None] = {"all": None, "default": ["default"], "other": ["other"]}


def tokens() -> tuple[Any, ...]:
    """A token for each role and choice of namespaces."""
    return tuple(
        token(
            f"{role}-{place}",
            role="read" if role == "teach" else role,
            teach=role == "teach",
            namespaces=names,
        )
        for role in ROLES
        for place, names in PLACES.items()
    )


def request(client: Any, method: str, path: str, given: Any, namespace: str) -> int:
    target = path.replace("{id}", "none").replace("{tag}", "none")
    parameters = {"namespace": namespace} if path not in ("/v1/health", "/v1/ready") else {}
    options: dict[str, Any] = {}
    if path == "/v1/documents" and method == "POST":
        options = {"content": b"It is.", "headers": {"Content-Type": "application/octet-stream"}}
    if given is not None and (method in ("GET", "DELETE") or "content" in options):
        parameters |= given
    elif given is not None:
        options = {"json": given}
    status: int = client.request(method, target, params=parameters, **options).status_code
    return status


def test_every_path_by_every_role_in_every_namespace(serve: Any) -> None:
    served = serve(tokens=tokens())
    for number, ((method, path), (least, given)) in enumerate(PATHS.items()):
        address = (f"10.0.0.{number}", 50_000)  # who guesses many tokens has to wait
        stranger = caller(served, "nobody", client=address)
        for namespace in ("default", "other"):
            refused = 200 if least == "none" else 401
            assert request(stranger, method, path, given, namespace) == refused, path
            for role in ROLES:
                for place, names in PLACES.items():
                    client = caller(served, f"{role}-{place}", client=address)
                    status = request(client, method, path, given, namespace)
                    case = (method, path, namespace, role, place, status)
                    enough = least == "none" or ROLES.index(role) >= ROLES.index(least)
                    seen = names is None or namespace in names or least == "none"
                    if enough and seen:
                        assert status in (200, 404), case
                    else:
                        assert status == 403, case


def test_the_table_is_complete(api: Any) -> None:
    document = api.get("/v1/openapi.json").json()
    known = {(method.upper(), path) for path, of in document["paths"].items() for method in of}
    assert known == set(PATHS)


def test_a_token_that_sees_one_namespace_sees_that(serve: Any) -> None:
    reader = serve(tokens=(token("ann", namespaces=["other"]),), as_="ann")
    session = reader.get("/v1/session").json()
    assert (session["namespace"], session["namespaces"]) == ("other", ["other"])
    assert (session["passages"], session["may"]["write"]) == (1, False)
    assert ask(reader, "secret")["hits"][0]["id"] == "secret"
    # Nor does the answer tell a namespace that exists from one that does not.
    hidden = [reader.get(f"/v1/session?namespace={name}") for name in ("default", "x")]
    assert {answer.status_code for answer in hidden} == {403}


def test_a_token_begins_in_a_namespace_that_exists(serve: Any) -> None:
    reader = serve(tokens=(token("ann", namespaces=["archive", "other"]),), as_="ann")
    assert reader.get("/v1/session").json()["namespace"] == "other"
    planned = reader.get("/v1/session?namespace=archive").json()["message"]
    assert planned == "there is no namespace 'archive'"


def test_errors_of_tokens_are_in_words(serve: Any) -> None:
    served = serve(tokens=(token("ann"),))
    missing = served.get("/v1/session")
    assert (missing.status_code, missing.json()["error"]) == (401, "token_missing")
    unknown = caller(served, "eve").get("/v1/session")
    assert (unknown.status_code, unknown.json()["error"]) == (401, "token_unknown")
    assert "not known here" in unknown.json()["message"]


def test_a_bound_filter_narrows_everything(serve: Any, location: Path) -> None:
    bound = token("ann", teach=True, filter={"product": "secret"}, actor="ann")
    served = serve(tokens=(bound, token("app", role="write")))
    app, ann = caller(served, "app"), caller(served, "ann")
    hidden = ask(app, QUESTION)["hits"][0]["id"]
    own = {"id": "own", "text": "A package is executable.", "metadata": {"product": "secret"}}
    app.post("/v1/chunks", json={"chunks": [own | {"document_id": "own.md"}]})
    assert [hit["id"] for hit in ask(ann, QUESTION)["hits"]] == ["own"]
    assert [hit["id"] for hit in ask(ann, QUESTION, where={"product": "npm"})["hits"]] == []
    either = {"$or": [{"product": "npm"}, {"product": "secret"}]}
    answer = ask(ann, QUESTION, where=either, compare=True)
    assert {hit["id"] for hit in answer["hits"] + answer["without_lessons"]} == {"own"}
    assert ann.get(f"/v1/chunks/{hidden}").status_code == 404
    documents = ann.get("/v1/documents").json()["documents"]
    assert [document["place"] for document in documents] == ["own.md"]
    assert ann.get("/v1/documents/passages?place=docs/scope.md").status_code == 404
    assert ann.get("/v1/session").json()["passages"] == 1
    assert ann.get("/v1/tags/npm").status_code == 403
    lesson = {"recall": answer["id"], "cited": [hidden]}
    assert ann.post("/v1/lessons", json=lesson).status_code == 404
    other = ask(app, QUESTION)["id"]
    assert app.post("/v1/lessons", json={"recall": other, "cited": [hidden]}).status_code == 200
    assert ann.get("/v1/lessons").json()["total"] == 0
    assert ann.get("/v1/suggestions").json() == {"questions": []}
    assert ann.get("/v1/lessons/evaluation").status_code == 403


def test_a_bound_filter_hides_what_others_were_taught(serve: Any) -> None:
    bound = token("ann", teach=True, filter={"product": "secret"})
    served = serve(tokens=(bound, token("app", role="write")))
    app, ann = caller(served, "app"), caller(served, "ann")
    hidden = ask(app, QUESTION)["hits"][0]
    own = {"id": "own", "text": "A package is executable.", "metadata": {"product": "secret"}}
    app.post("/v1/chunks", json={"chunks": [own]})
    both = ask(app, QUESTION, answer="first")
    taught = app.post("/v1/lessons", json={"recall": both["id"], "cited": ["own", hidden["id"]]})
    assert taught.status_code == 200
    answer = ask(ann, QUESTION)
    (hit,) = answer["hits"]
    assert hit["parts"]["learned"] > 0
    assert hit["lesson"] is None  # as it is no lesson of GET /v1/lessons
    assert {word["passages"] for word in answer["words"]} == {None}
    assert answer["names"] == []
    judged = ann.post("/v1/lessons", json={"answer": "first", "rating": -1})
    assert (judged.status_code, hidden["title"] in judged.text) == (404, False)
    assert len(app.get("/v1/lessons").json()["lessons"]) == 1
    said = {"recall": ask(app, QUESTION, answer="second")["id"], "cited": ["own"]}
    app.post("/v1/lessons", json=said)
    judged = ann.post("/v1/lessons", json={"answer": "second", "rating": -1})
    assert [passage["id"] for passage in judged.json()["rejected"]] == ["own"]


def test_a_bound_actor_wins(serve: Any) -> None:
    served = serve(tokens=(token("ann", teach=True, actor="ann"), token("app", role="write")))
    ann, app = caller(served, "ann"), caller(served, "app")

    def teach(client: Any, **said: Any) -> Any:
        return client.post(
            "/v1/lessons", json={"recall": ask(client, QUESTION)["id"], "cited": ["bin"], **said}
        ).json()

    hers = teach(ann, actor="eve", trusted=False)
    assert (hers["actor"], hers["trusted"]) == ("ann", False)
    assert teach(ann)["trusted"] is True
    bobs = teach(app, actor="bob")
    assert (bobs["actor"], bobs["trusted"], bobs["may_undo"]) == ("bob", True, True)
    refused = ann.delete(f"/v1/lessons/{bobs['id']}")
    assert (refused.status_code, "belongs to bob" in refused.json()["message"]) == (403, True)
    assert ann.delete(f"/v1/lessons/{hers['id']}").json() == {"forgotten": 1}
    assert ann.delete(f"/v1/lessons/{hers['id']}").status_code == 404
    assert app.delete(f"/v1/lessons/{bobs['id']}").json() == {"forgotten": 1}


def test_people_whom_nobody_vouches_for_must_agree(serve: Any) -> None:
    people = serve(tokens=(token("people", teach=True),), as_="people")

    def teach(actor: str | None) -> Any:
        recall = ask(people, QUESTION)
        body = {"recall": recall["id"], "cited": ["folders"], "actor": actor, "trusted": True}
        return people.post("/v1/lessons", json=body).json()

    assert teach("eve")["trusted"] is False
    assert ask(people, QUESTION)["hits"][0]["id"] != "folders"
    assert people.get("/v1/lessons").json()["lessons"][0]["note"] == "fewer than 2 actors say so"
    teach("bob")
    first = ask(people, QUESTION)["hits"][0]
    assert (first["id"], first["lesson"]["actor"]) == ("folders", "bob")


def test_reading_stores_nothing_and_takes_no_id(serve: Any, location: Path) -> None:
    served = serve(tokens=(token("ann"), token("app", role="write"), token("bob", teach=True)))
    ann, app, bob = (caller(served, name) for name in ("ann", "app", "bob"))

    def size() -> int:
        return sum(file.stat().st_size for file in location.iterdir())

    before = size()
    large = {"zz": {"$in": ["x" * 3000] * 500}}
    for _ in range(5):
        assert ask(ann, QUESTION, where=large)["kept"] is False
    assert size() == before
    named = {"question": "What does a berth cost?", "id": "run-17"}
    first = app.post("/v1/recalls", json={"question": QUESTION, "id": "run-17"})
    assert (first.status_code, first.json()["id"]) == (200, "run-17")
    for client in (ann, bob):
        assert client.post("/v1/recalls", json=named).status_code == 403
        assert (
            client.post("/v1/recalls", json={**named, "id": None, "answer": "a"}).status_code == 403
        )
    taken = app.post("/v1/recalls", json=named)
    assert (taken.status_code, taken.json()["field"]) == (409, "id")
    lesson = app.post("/v1/lessons", json={"recall": "run-17", "cited": ["bin"]}).json()
    assert lesson["question"] == QUESTION
    # What a teacher's recall stores is bounded, however large its request is.
    before = size()
    ask(bob, QUESTION, where=large, k=100)
    assert size() - before < 200_000


def test_a_namespace_that_does_not_exist_is_not_made(serve: Any) -> None:
    app = serve(tokens=(token("app", role="write"),), as_="app")
    chunks = {"chunks": [{"id": "a", "text": "a"}]}
    missing = app.post("/v1/chunks?namespace=defualt", json=chunks)
    assert (missing.status_code, "'defualt'" in missing.json()["message"]) == (404, True)
    assert app.get("/v1/session").json()["namespaces"] == ["default", "other"]


def test_the_network_takes_a_token() -> None:
    with pytest.raises(ParameterError, match="without a token"):
        ServerSettings(host="0.0.0.0").check()
    ServerSettings(host="0.0.0.0", tokens=tokens()).check()
    ServerSettings(host="::1").check()


def test_tokens_are_read_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "tokens.toml"
    file.write_text(
        f'[ann]\nsecret = "{secret("ann")}"\nteach = true\nnamespaces = ["papers"]\n'
        f'filter = {{ team = "lab" }}\nactor = "ann"\n[boss]\ndigest = "{"ab" * 32}"\n'
        'role = "admin"\n'
    )
    ann, boss = read_tokens(file)
    assert (ann.role, ann.may_teach, ann.namespaces) == (Role.READ, True, {"papers"})
    assert (ann.filter, ann.actor) == ({"team": "lab"}, "ann")
    assert (boss.role, boss.namespaces, boss.actor) == (Role.ADMIN, None, None)
    assert secret("ann") not in repr(ann)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "holds no token"),
        ("a =", "not a TOML file"),
        ("a = 1", "must be a table"),
        ('[a]\nrole = "read"', "either secret or digest"),
        ('[a]\nsecret = "short"', "at least 16"),
        ('[a]\nsecret = "long enough, it seems"\nrole = "king"', "'read', 'write' or 'admin'"),
        ('[a]\nsecret = "long enough, it seems"\nnamespace = "x"', "namespace"),
        ('[a]\nsecret = "long enough, it seems"\nrole = "write"\nfilter = {}', "role read"),
    ],
)
def test_a_wrong_token_file_says_what_is_wrong(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "tokens.toml"
    file.write_text(text)
    with pytest.raises(ParameterError, match=said):
        read_tokens(file)
