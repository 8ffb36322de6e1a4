"""A client of a server, over httpx.

Answers are the JSON of the API as dicts, as docs/http.md describes it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Self, cast
from urllib.parse import quote

import httpx

__all__ = ["Client", "ServerError"]


class ServerError(Exception):
    """The server refused a request, or failed.

    Attributes
    ----------
    status : int
        Of HTTP; 0 if no answer came.
    error, field : str
        Its kind, and the field to mend.
    """

    def __init__(self, status: int, error: str, message: str, field: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.error = error
        self.field = field


class Client:
    """A namespace of a server.

    Parameters
    ----------
    url : str
        Such as ``http://127.0.0.1:4321``.
    token : str, optional
    namespace : str, optional
        By default the one that the token sees.
    timeout : float
        Seconds for one request.
    transport : httpx.BaseTransport, optional
        Such as one for tests.
    """

    def __init__(
        self,
        url: str,
        *,
        token: str | None = None,
        namespace: str | None = None,
        timeout: float = 90.0,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self.url = url.rstrip("/")
        self.namespace = namespace
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        self._http = httpx.Client(
            base_url=f"{self.url}/v1", headers=headers, timeout=timeout, transport=transport
        )

    def recall(self, question: str, k: int = 10, **options: Any) -> dict[str, Any]:
        """Ask; options are ``where``, ``compare``, ``keep``, ``id``, ``answer``."""
        return self._send("POST", "/recalls", {"question": question, "k": k, **options})

    def reinforce(
        self,
        recall: str | Mapping[str, Any] | None = None,
        cited: Iterable[str] = (),
        rejected: Iterable[str] = (),
        **options: Any,
    ) -> dict[str, Any]:
        """Teach which passages answer a question, by its recall or the id of that.

        Options are ``answer``, ``rating``, ``shown``, ``actor``, ``trusted``, ``reason``.
        """
        id_ = recall["id"] if isinstance(recall, Mapping) else recall
        body = {"recall": id_, "cited": list(cited), "rejected": list(rejected), **options}
        return self._send("POST", "/lessons", body)

    def lessons(self, **chosen: Any) -> list[dict[str, Any]]:
        """List lessons by ``actor``, ``chunk``, ``recall``, ``since``, ``until``, newest first."""
        return cast(
            list[dict[str, Any]], self._send("GET", "/lessons", parameters=chosen)["lessons"]
        )

    def forget(self, lesson: str | None = None, *, dry_run: bool = False, **chosen: Any) -> int:
        """Take a lesson back; or those of an ``actor``, ``chunk``, or time; or ``everything``."""
        if lesson is not None:
            return int(self._send("DELETE", f"/lessons/{_quoted(lesson)}")["forgotten"])
        body = {**chosen, "dry_run": dry_run}
        return int(self._send("POST", "/lessons/forget", body)["forgotten"])

    def add(self, chunks: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
        """Add chunks, as JSON objects."""
        return self._send("POST", "/chunks", {"chunks": list(map(dict, chunks))})

    def get(self, chunk: str) -> dict[str, Any]:
        """Return a passage by its id."""
        return self._send("GET", f"/chunks/{_quoted(chunk)}")

    def delete(self, ids: Iterable[str] | None = None, **options: Any) -> dict[str, Any]:
        """Delete chunks by id or ``where``; ``dry_run`` only counts."""
        body = {"ids": None if ids is None else list(ids), **options}
        return self._send("POST", "/chunks/delete", body)

    def upload(
        self, file: str | Path | bytes, place: str | None = None, *, preview: bool = False
    ) -> dict[str, Any]:
        """Upload a file, or bytes with a ``place``; it replaces the document of its place."""
        content = file if isinstance(file, bytes) else Path(file).read_bytes()
        name = place or ("" if isinstance(file, bytes) else Path(file).name)
        return self._send(
            "POST", "/documents", content, parameters={"place": name, "preview": preview}
        )

    def documents(self, find: str = "", limit: int = 1_000) -> list[dict[str, Any]]:
        """List documents whose place or title holds some words."""
        found = self._send("GET", "/documents", parameters={"find": find, "limit": limit})
        return cast(list[dict[str, Any]], found["documents"])

    def delete_document(self, place: str, *, dry_run: bool = False) -> dict[str, Any]:
        """Delete a document."""
        parameters = {"place": place, "dry_run": dry_run}
        return self._send("DELETE", "/documents", parameters=parameters)

    def tag(self, tag: str, k: int = 20) -> dict[str, Any]:
        """Return what is known about a tag."""
        return self._send("GET", f"/tags/{_quoted(tag)}", parameters={"k": k})

    def session(self) -> dict[str, Any]:
        """Return who asks, and what is there."""
        return self._send("GET", "/session")

    def stats(self) -> dict[str, Any]:
        """Return what the namespace holds, in numbers."""
        return self._send("GET", "/stats")

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Client({self.url!r}, namespace={self.namespace!r})"

    def _send(
        self,
        method: str,
        path: str,
        body: dict[str, Any] | bytes | None = None,
        *,
        parameters: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        chosen = {"namespace": self.namespace, **(parameters or {})}
        query = {name: value for name, value in chosen.items() if value is not None}
        options: dict[str, Any] = {} if body is None else {"json": body}
        if isinstance(body, bytes):
            headers = {"Content-Type": "application/octet-stream"}
            options = {"content": body, "headers": headers}
        try:
            response = self._http.request(method, path, params=query, **options)
        except httpx.HTTPError as error:
            text = f"no answer from {self.url}: {error or type(error).__name__}"
            raise ServerError(0, "no_answer", text) from error
        try:
            answer = response.json()
        except ValueError:
            answer = {"message": "unexpected response; is this a hebbgraph server?"}
        if response.is_success:
            return cast(dict[str, Any], answer)
        kind, message = answer.get("error", "failed"), str(answer.get("message", answer))
        raise ServerError(response.status_code, kind, message, answer.get("field"))


def _quoted(part: str) -> str:
    return quote(part, safe="")
