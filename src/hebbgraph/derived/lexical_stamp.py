"""The stamp of the lexical index: its commit and its files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

from hebbgraph.artifacts import is_missing, replace_file
from hebbgraph.derived.segments import Inventory, damaged_files, inventory, meta_checksum
from hebbgraph.store.history import Commit

__all__ = [
    "LEXICAL_FORMAT",
    "STAMP_NAME",
    "LexicalStamp",
    "check_files",
    "has_segments",
    "lexical_problems",
    "lists_segments",
    "read_stamp",
    "write_stamp",
]

LEXICAL_FORMAT = 3
STAMP_NAME = "hebbgraph.json"


class LexicalStamp(NamedTuple):
    """The commit that an index represents, and its files."""

    commit: Commit
    inventory: Inventory


def check_files(directory: Path, expected: Inventory) -> None:
    """Raise ValueError if files do not belong together, or are damaged."""
    if difference := expected.difference(inventory(directory)):
        raise ValueError(difference)
    if damaged := damaged_files(directory):
        raise ValueError(f"checksum of {damaged[0]}")


def lists_segments(expected: Inventory, directory: Path) -> bool:
    """Return whether Tantivy's list of segments is the expected one."""
    try:
        return meta_checksum(directory) == expected.meta
    except OSError as error:
        if not is_missing(error):
            raise
        return False


def lexical_problems(directory: Path) -> list[str]:
    """Return what is wrong with the files of an index; the caller holds the lock on the folder."""
    if not directory.is_dir():
        return []
    if (stamp := read_stamp(directory)) is None:
        return ["it does not say of which commit it is"] if has_segments(directory) else []
    try:
        difference = stamp.inventory.difference(inventory(directory))
    except (OSError, ValueError, KeyError, TypeError) as error:
        if isinstance(error, OSError) and not is_missing(error):
            raise
        difference = f"damaged: {error}"
    if difference is not None:
        return [difference]
    return [f"damaged: {', '.join(damaged)}"] if (damaged := damaged_files(directory)) else []


def has_segments(directory: Path) -> bool:
    """Return whether anything was ever written: a new index has neither segments nor a stamp."""
    return any(directory.glob("*.idx"))


def read_stamp(directory: Path) -> LexicalStamp | None:
    """Return the stamp; None if there is none that can be read."""
    try:
        held = json.loads((directory / STAMP_NAME).read_bytes())
        if held["format"] != LEXICAL_FORMAT:
            return None
        return LexicalStamp(Commit(*held["commit"]), Inventory.read(held["inventory"]))
    except (OSError, ValueError, KeyError, TypeError, IndexError, AttributeError) as error:
        if isinstance(error, OSError) and not is_missing(error):
            raise
        return None


def write_stamp(directory: Path, stamp: LexicalStamp) -> None:
    """Write the stamp in one step."""
    content = json.dumps({"format": LEXICAL_FORMAT, **stamp._asdict()})
    replace_file(directory / STAMP_NAME, lambda path: path.write_text(content))
