"""A repository's history: commit messages are questions, the touched code answers them.

The corpus is the code at one commit: functions, classes and the rest of Python modules, and other
text files whole. Earlier commits are the past: they teach but are not scored, as the corpus
contains their changes. Later commits are asked, scored and taught by date.

The need, the dates and the drift are real. But a message describes a change after the fact, and
names less than an issue would; some histories repeat ("bump version"), which a cache of questions
wins; and code that was written or renamed after the snapshot is not asked for.
"""

from __future__ import annotations

import ast
import hashlib
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from usebench.errors import ParameterError, SetError
from usebench.reading import write_set

__all__ = ["build_git", "question_of"]

_TEXT = {".md", ".rst", ".txt", ".js", ".ts", ".go", ".rs", ".c", ".h", ".cpp", ".java", ".rb"}
_TEXT |= {".cfg", ".toml", ".yml", ".yaml", ".html", ".css", ".sh", ".cs", ".kt", ".swift", ".php"}
_CHARACTERS = 4000
_AT_MOST = 10  # a commit that touches more says little about each
_WORDS = 3
_RECORD, _FIELD = "\x1e", "\x1f"
_HUNK = re.compile(r"^@@ -\S+ \+(\d+)(?:,(\d+))? @@")
_TRAILER = re.compile(r"^[A-Z][\w-]+-by:.*$|^git-svn-id:.*$", re.MULTILINE)
_REFERENCE = re.compile(r"\(?#\d+\)?|\b\w*[./]\S*\w|\b[0-9a-f]{7,40}\b")


@dataclass(frozen=True, slots=True)
class _Commit:
    id: str
    when: int
    author: str
    message: str
    lines: dict[str, list[int]]


def build_git(repository: Path, out: Path, *, past: float = 0.7) -> None:
    """Build a set from a repository.

    Parameters
    ----------
    repository : Path
    out : Path
        The folder to write.
    past : float, in (0, 1)
        Share of the commits that lie before the snapshot.

    Raises
    ------
    SetError
        If it is no repository, or its history holds too little.
    """
    if not 0 < past < 1:
        raise ParameterError(f"the past is a share between 0 and 1, got {past!r}")
    commits = list(_log(Path(repository)))
    if len(commits) < 10:
        raise SetError(
            f"{repository}: expected at least 10 commits without merges, got {len(commits)}"
        )
    snapshot = commits[int(len(commits) * past)]
    names = _git(repository, "ls-tree", "-r", "-z", "--name-only", snapshot.id).split("\0")
    blobs = _Blobs(Path(repository))
    corpus: dict[str, dict[str, Any]] = {}
    for name in names:
        for id_, text in _chunks(name, blobs.read(snapshot.id, name)):
            title = id_.replace("::", " ")
            corpus[id_] = {"id": id_, "title": title, "text": text[:_CHARACTERS], "file": name}
    queries = []
    for commit in commits:
        question = question_of(commit.message)
        touched = sorted(_touched(commit, blobs, corpus)) if question else []
        if 0 < len(touched) <= _AT_MOST:
            queries.append(
                {
                    "id": commit.id[:12],
                    "question": question,
                    "supporting_ids": touched,
                    "cited": touched,
                    "when": commit.when,
                    "actor": hashlib.sha256(commit.author.encode()).hexdigest()[:12],
                    "split": "past" if commit.when <= snapshot.when else "test",
                }
            )
    blobs.close()
    write_set(out, corpus.values(), queries, order="when")


def question_of(message: str) -> str:
    r"""Return a commit message as a question, without trailers, numbers and file names.

    Examples
    --------
    >>> question_of("Fix the clock in src/clock.py (#12)\n\nSigned-off-by: A <a@b.c>")
    'Fix the clock in'
    >>> question_of("bump")
    ''
    """
    text = _REFERENCE.sub(" ", _TRAILER.sub("", message))
    words = text.split()
    return " ".join(words)[:500] if len(words) >= _WORDS else ""


def _log(repository: Path) -> Iterator[_Commit]:
    """Yield commits, oldest first, with the lines that each one changed in a file."""
    form = f"--format={_RECORD}%H{_FIELD}%at{_FIELD}%ae{_FIELD}%B{_FIELD}"
    flags = ("--no-merges", "--reverse", "--no-color", "--no-ext-diff", "--no-renames", "-U0", "-p")
    for record in _git(repository, "log", *flags, form).split(_RECORD)[1:]:
        id_, when, author, message, diff = record.split(_FIELD, 4)
        lines: dict[str, list[int]] = {}
        name = ""
        for line in diff.splitlines():
            if line.startswith("+++ "):
                name = line[6:] if line.startswith("+++ b/") else ""
            elif name and (match := _HUNK.match(line)):
                start, count = int(match[1]), int(match[2] or 1)
                lines.setdefault(name, []).extend(range(start, start + max(count, 1)))
        yield _Commit(id_, int(when), author, message, lines)


def _touched(commit: _Commit, blobs: _Blobs, corpus: dict[str, Any]) -> set[str]:
    ids = set()
    for name, lines in commit.lines.items():
        if not name.endswith(".py"):
            ids.add(name)
            continue
        places = _places(blobs.read(commit.id, name))
        for line in lines:
            place = next((id_ for id_, start, end in places if start <= line <= end), "module")
            ids.add(f"{name}::{place}")
    return ids & corpus.keys()


def _chunks(name: str, text: str) -> Iterator[tuple[str, str]]:
    if name.endswith(".py"):
        lines = text.splitlines()
        covered: set[int] = set()
        for place, start, end in _places(text):
            covered.update(range(start, end + 1))
            yield f"{name}::{place}", "\n".join(lines[start - 1 : end])
        rest = "\n".join(line for n, line in enumerate(lines, 1) if n not in covered).strip()
        if rest:
            yield f"{name}::module", rest
    elif Path(name).suffix in _TEXT and text.strip():
        yield name, text


def _places(text: str) -> list[tuple[str, int, int]]:
    """List a module's functions and classes with their first and last lines."""
    try:
        body = ast.parse(text).body
    except (SyntaxError, ValueError):  # another version of Python: the module is one piece
        return []
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    return [
        (
            node.name,
            min([node.lineno, *(d.lineno for d in node.decorator_list)]),
            node.end_lineno or 0,
        )
        for node in body
        if isinstance(node, kinds)
    ]


class _Blobs:
    """Reads files at commits through one git process."""

    def __init__(self, repository: Path) -> None:
        self._process = subprocess.Popen(
            ["git", "-C", str(repository), "cat-file", "--batch"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )

    def read(self, commit: str, name: str) -> str:
        """Return a file's text; "" if it is missing or binary."""
        pipe, answers = self._process.stdin, self._process.stdout
        if "\n" in name or not name or pipe is None or answers is None:
            return ""
        pipe.write(f"{commit}:{name}\n".encode())
        pipe.flush()
        head = answers.readline().split()
        if len(head) != 3:
            return ""
        data = answers.read(int(head[2]) + 1)[:-1]
        return "" if b"\0" in data or head[1] != b"blob" else data.decode("utf-8", "replace")

    def close(self) -> None:
        """End the process."""
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()
        self._process.wait()


def _git(repository: Path, *words: str) -> str:
    done = subprocess.run(["git", "-C", str(repository), *words], capture_output=True, check=False)
    if done.returncode:
        raise SetError(
            f"{repository}: git {words[0]} failed: {done.stderr.decode(errors='replace')}"
        )
    return done.stdout.decode("utf-8", "replace")
