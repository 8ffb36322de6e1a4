"""Hostile strings in every public argument: our errors, or none.

``python tests/support/hostile_strings.py --strings 12000`` gives half of them to an index in
SQLite and half to one in PostgreSQL. Arguments are read off the signatures, so that a new one is
attacked as soon as there is one.
"""

from __future__ import annotations

import argparse
import inspect
import os
import random
import sys
import tempfile
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from hebbgraph import Chunk, HebbgraphError, HebbianIndex, Settings
from hebbgraph.hebbian_index import MOVED

__all__ = ["Attack", "strings"]

_DATABASES = ("sqlite", "postgresql")
_PIECES = [
    "Petrel", "Ida Moss", "", " ", "\n", "\t", "\0", "\x1b[2J", "\x85", "\u2028", "\u202e",
    "\ufeff", "\ud800", "\udfff\ud800", "\U0010ffff", "é", "e\u0301", "İ", "ß", "東京塔",
    "עברית", "🦉", "👩‍👩‍👧", "a" * 300, "x" * 600, "word " * 14_000, "'", '"', "`", "\\", "%",
    "%s", "%00", "{0}", "{}", "$1", ":mine", "'; DROP TABLE chunks; --", "' OR '1'='1", "*",
    "?", "[", "]", "(((", "+a -b ^2 ~1", "a:b", "NULL", "nan", "inf", "-1", "1e999",
    "9" * 400, "0x10", "true", "null", "{}", "[]", '{"a": ', "<a href=x>", "$and", "$or",
    "$in", "$id", "$colony", "a.b", "$", ".", "-", "--help", "2024-02-30", "2024-01-01",
    "2024-01-01T00:00:00Z", "postgresql://ida:knot@/x?host=/nowhere", "sqlite://", "://",
    "file:x", "mysql://h/d", "CON", "C:", "~", "...", "a\\b", "pq=1", "host=/nowhere",
    "spreading", "tags",
]  # fmt: skip
#: Arguments that name files. What would lead out of the scratch folder is left out there.
_PATHS = {"location", "cache_dir", "file", "path", "backup"}
#: Without an argument that a stranger's string could reach, and slow.
_LEFT_OUT = {"close", "compact", "doctor", "reembed", "retag", "prune", "stats", "colonies"}


def strings(seed: int) -> Iterator[str]:
    """Yield hostile strings without end."""
    rng = random.Random(seed)
    yield from _PIECES
    while True:
        yield "".join(
            rng.choice(_PIECES) if rng.random() < 0.85 else chr(rng.randrange(0x11_0000))
            for _ in range(rng.randrange(1, 4))
        )


class Attack:
    """Calls of every public method with strings in place of one argument.

    Parameters
    ----------
    location : str or Path
        A directory or URL.
    scratch : Path
        The working directory meanwhile.
    seed : int
    """

    def __init__(self, location: str | Path, scratch: Path, seed: int = 1) -> None:
        self._rng = random.Random(seed)
        self._strings = strings(seed)
        self._scratch = scratch
        self._location = location
        self._options: dict[str, Any] = {
            "cache_dir": scratch / "cache",
            "settings": Settings(write_wait_seconds=0.0),
        }
        self.index = HebbianIndex.open(location, **self._options)
        self.index.add(
            [
                Chunk(id="a", title="Ida Moss", text="Ida Moss built the Petrel.", tags=("ship",)),
                Chunk(id="b", title="Petrel", text="The Petrel sank.", metadata={"kind": "x"}),
            ]
        )
        self.index.export_feedback(scratch / "empty.jsonl")
        self.counts: Counter[str] = Counter()
        self.targets = list(self._arguments())

    def _arguments(self) -> Iterator[tuple[str, str]]:
        methods = dict(inspect.getmembers(HebbianIndex, callable))
        for name in MOVED:
            methods[name] = self._method(name)
        for name, method in methods.items():
            is_twin = name.startswith("a") and hasattr(HebbianIndex, name[1:])
            if name.startswith("_") or name in _LEFT_OUT or is_twin:
                continue
            for argument in inspect.signature(method).parameters.values():
                if argument.name != "self":
                    yield name, argument.name

    def _method(self, name: str) -> Any:
        room, new_name = MOVED.get(name, ("", name))
        return getattr(getattr(self.index, room) if room else self.index, new_name)

    def _sound(self, method: str) -> dict[str, Any]:
        """Return arguments with which a method works."""
        chunk = {"id": "c", "text": "Corin Vale kept a yard."}
        recall = self.index.recall("Petrel", k=2, id="r")
        return {
            "add": {"chunks": [chunk]},
            "refresh": {"chunks": [chunk]},
            "backup": {"path": self._scratch / f"backup{self._rng.random()}"},
            "correct_tags": {"kind": "mute", "tags": "ship"},
            "delete": {"ids": ["c"]},
            "earlier_recalls": {"conversation": "one"},
            "explain": {"recall": recall, "chunk_id": "a"},
            "export_feedback": {"file": self._scratch / "out.jsonl"},
            "find_answer": {"name": "one"},
            "find_feedback": {"ids": ["f"]},
            "find_recall": {"recall_id": "r"},
            "get": {"ids": ["a"]},
            "holds": {"ids": ["a"]},
            "import_feedback": {"file": self._scratch / "empty.jsonl"},
            "in_full": {"query": "And in winter?", "history": ["Petrel"]},
            "keep_answer": {"record": None},
            "neighborhood": {"tag": "petrel"},
            "open": {"location": self._location, **self._options},
            "put_document": {"document_id": "d", "fingerprint": "1", "chunks": [chunk]},
            "recall": {"query": "Petrel"},
            "reinforce": {"recall": recall, "cited": ["a"]},
            "restore": {"backup": self._scratch / "none", "location": self._scratch / "there"},
            "trace": {"recall": recall},
            "undo_tag_correction": {"correction": "x"},
            "undo_forget": {"forgetting": "x"},
        }.get(method, {})

    def _shaped(self, method: str, argument: str, text: str) -> Any:
        """Return a string, or something made of it that such an argument may be."""
        rng = self._rng
        shapes: list[Callable[[], Any]] = [
            lambda: text,
            lambda: text,
            lambda: [text],
            lambda: {text: text},
            lambda: [(text, 1.0)],
            lambda: text.encode("utf-8", "surrogatepass"),
            lambda: {"kind": {rng.choice(["$eq", "$in", "$gt", "$contains", text]): text}},
            lambda: {rng.choice(["$and", "$or"]): [{text: text}]},
        ]
        if argument in ("chunks",):
            field = rng.choice(["id", "text", "title", "document_id"])
            many = rng.choice(["tags", "addresses", "references", "supersedes"])
            dated = rng.choice(["valid_from", "valid_until"])
            base = {"id": "c", "text": "Corin Vale."}
            shapes += [
                lambda: [base | {field: text}],
                lambda: [base | {many: [text]}],
                lambda: [base | {dated: text}],
                lambda: [base | {"metadata": {text: [text, {text: text}]}}],
                lambda: [Chunk.model_construct(**base | {field: text, "metadata": {text: text}})],
            ]
        return rng.choice(shapes)()

    def once(self) -> str | None:
        """Call one method with one string; return what went wrong."""
        method, argument = self._rng.choice(self.targets)
        text = next(self._strings)
        if argument in _PATHS and (".." in text or text.startswith(("/", "~"))):
            text = "x"
        value = self._shaped(method, argument, text)
        given = {**self._sound(method), argument: value}
        self.counts[method] += 1
        try:
            result = self._method(method)(**given)
        except HebbgraphError as error:
            self.counts["refused"] += 1
            try:
                str(error).encode("utf-8", "surrogatepass")
            except ValueError as told:
                return f"{method}({argument}={value!r:.80}): its message: {told}"
            return None
        except BaseException as error:
            where = "".join(traceback.format_tb(error.__traceback__)[-2:])
            return f"{method}({argument}={value!r:.120}): {type(error).__name__}: {error}\n{where}"
        if isinstance(result, HebbianIndex):
            result.close()
        return None

    def run(self, count: int) -> list[str]:
        """Call so often; return what went wrong, one of each kind."""
        wrong: dict[str, str] = {}
        for _ in range(count):
            if (told := self.once()) is not None:
                wrong.setdefault(told.split("=")[0] + told.split("): ")[-1][:40], told)
        hits = self.index.recall("Ida Moss", k=5).hits
        if "a" not in {hit.chunk.id for hit in hits}:
            wrong["after"] = "the index no longer answers"
        return list(wrong.values())

    def close(self) -> None:
        """Close the index."""
        self.index.close()


def main() -> int:
    """Attack both databases."""
    from pg_server import PostgresServer

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--strings", type=int, default=12_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--database", choices=_DATABASES, action="append")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    wrong: list[str] = []
    server = None if PostgresServer.missing() else PostgresServer()
    for name in options.database or _DATABASES:
        if name == "postgresql" and server is None:
            sys.stdout.write(f"skipped: {PostgresServer.missing()}\n")
            continue
        with tempfile.TemporaryDirectory() as folder:
            scratch = Path(folder)
            os.chdir(scratch)
            place = (
                scratch / "index"
                if server is None or name == "sqlite"
                else server.url(server.new_schema())
            )
            attack = Attack(place, scratch, options.seed)
            wrong += (found := attack.run(options.strings // 2))
            attack.close()
            os.chdir("/")
        done = options.strings // 2
        sys.stdout.write(
            f"{name}: {done} strings, {attack.counts['refused']} refused, {len(found)} wrong\n"
        )
        sys.stdout.write("".join(f"{one}\n" for one in found))
    if server is not None:
        server.remove()
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
