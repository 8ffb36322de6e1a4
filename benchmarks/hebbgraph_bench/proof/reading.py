"""Models that answer a prompt: a small local one, or any OpenAI-compatible service."""

from __future__ import annotations

import hashlib
import json
import os
import urllib.error
import urllib.request
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

from hebbgraph.errors import MissingExtraError

from hebbgraph_bench.proof.models import ModelError

__all__ = ["KeptReader", "LocalReader", "Reader", "UrlReader"]

_SAMPLING = {"max_tokens": 48, "temperature": 0, "seed": 0}
_CONTEXT = 4096
_SECONDS = 120


class Reader(Protocol):
    """A model that answers."""

    @property
    def name(self) -> str:
        """Name in tables; the same name gives the same answers."""
        ...

    def read(self, prompt: str, /) -> str:
        """Answer as deterministically as the model can."""
        ...


class LocalReader:
    """A GGUF file, run by llama.cpp in this process on one thread.

    It completes the prompt to the end of the line, since the small model was not trained to chat.

    Raises
    ------
    MissingExtraError
        If xllamacpp is not installed.
    """

    def __init__(self, path: Path, name: str) -> None:
        try:
            library: Any = import_module("xllamacpp")
        except ImportError as error:
            raise MissingExtraError(
                f"a local model needs {error.name}, which is not installed;"
                " run: pip install xllamacpp"
            ) from error
        self.name = name
        options = library.CommonParams()
        options.model.path = str(path)
        options.n_ctx, options.n_parallel = _CONTEXT, 1
        options.cpuparams.n_threads = 1
        self._server: Any = library.Server(options)

    def read(self, prompt: str, /) -> str:
        """Answer greedily."""
        request = {"prompt": prompt, "stop": ["\n"], **_SAMPLING}
        return _content(self._server.handle_completions(request))


class UrlReader:
    """A model of a service, such as ``https://api.example/v1``.

    The key comes from the environment (``OPENAI_API_KEY``); it is neither stored nor shown.
    """

    def __init__(self, url: str, model: str) -> None:
        self.url = url.rstrip("/") + "/chat/completions"
        self.name = model

    def read(self, prompt: str, /) -> str:
        """Ask the service.

        Raises
        ------
        ModelError
            If it does not answer.
        """
        messages = [{"role": "user", "content": prompt}]
        body = json.dumps({"model": self.name, "messages": messages, **_SAMPLING}).encode()
        headers = {"Content-Type": "application/json"}
        if key := os.environ.get("OPENAI_API_KEY"):
            headers["Authorization"] = f"Bearer {key}"
        request = urllib.request.Request(self.url, body, headers)
        try:
            with urllib.request.urlopen(request, timeout=_SECONDS) as answer:
                return _content(json.load(answer))
        except (urllib.error.URLError, TimeoutError, ValueError) as error:
            raise ModelError(f"{self.url}: no answer: {error}") from error


class KeptReader:
    """Stores each answer of another reader on disk, so an interrupted run can continue."""

    def __init__(self, inner: Reader, folder: Path) -> None:
        self.inner = inner
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    @property
    def name(self) -> str:
        """Name of the inner reader."""
        return self.inner.name

    def read(self, prompt: str, /) -> str:
        """Return the stored answer, or ask and store it."""
        key = hashlib.sha256(f"{self.name}\0{prompt}".encode()).hexdigest()[:32]
        path = self.folder / f"{key}.txt"
        if not path.exists():
            unfinished = path.with_suffix(".unfinished")
            unfinished.write_text(self.inner.read(prompt), encoding="utf-8")
            unfinished.replace(path)
        return path.read_text(encoding="utf-8")


def _content(answer: Any) -> str:
    try:
        choice = answer["choices"][0]
        return str(choice["message"]["content"] if "message" in choice else choice["text"])
    except (KeyError, IndexError, TypeError) as error:
        raise ModelError(f"expected a completion, got {str(answer)[:200]!r}") from error
