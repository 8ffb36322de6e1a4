"""A small corpus of passages about packages, and what somebody marked in it."""

from __future__ import annotations

from hebbgraph import Chunk

__all__ = ["MANUALS", "QUESTION", "TAUGHT"]

QUESTION = "How do I make a file executable when I publish a package?"
#: A question that somebody asked before, and the passage that answers it.
TAUGHT = ("How do I ship a script that people can run?", "bin")


def _passage(id_: str, place: str, title: str, heading: str, text: str, position: int) -> Chunk:
    metadata = {"headings": [title, heading], "position": position, "product": "npm"}
    return Chunk(
        id=id_,
        document_id=place,
        title=f"{title}: {heading}",
        text=text,
        metadata=metadata,
        addresses=[f"{place}#{id_}"],
        references=["docs/package-json.md#bin"] if id_ == "folders" else [],
    )


MANUALS = [
    _passage(
        "bin",
        "docs/package-json.md",
        "package.json",
        "bin",
        "A lot of packages have one or more executable files that they would like to install into "
        "the PATH. Supply a bin field in your package.json, a map of command name to file name.",
        0,
    ),
    _passage(
        "files",
        "docs/npm-publish.md",
        "npm publish",
        "Files included in package",
        "To see what will be included when you publish your package, run npm pack. All files are "
        "included by default. The files of the bin field are always included.",
        0,
    ),
    _passage(
        "folders",
        "docs/folders.md",
        "folders",
        "Where executables go",
        "When in global mode, executables are linked into the folder bin of the prefix on Unix, or "
        "directly into the prefix on Windows.",
        0,
    ),
    _passage(
        "scope",
        "docs/scope.md",
        "scope",
        "Publishing scoped packages",
        "Scoped packages are private by default. To publish a public scoped package, set its "
        "access when you publish it first.",
        0,
    ),
    _passage(
        "ping",
        "docs/npm-ping.md",
        "npm ping",
        "How to ping the registry",
        "Ping the configured registry and verify the authentication. If it works it prints Pong.",
        0,
    ),
    _passage(
        "cache",
        "docs/npm-cache.md",
        "npm cache",
        "Details",
        "The cache is kept in a folder that npm verifies. It has no use as storage for data.",
        0,
    ),
]
