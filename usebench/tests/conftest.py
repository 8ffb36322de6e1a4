"""A set of three passages, and a clone to build sets from."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from harbour import PASSAGES, ask
from hypothesis import settings

from usebench.records import UseSet

settings.register_profile("usebench", deadline=None, max_examples=20)
settings.load_profile("usebench")


@pytest.fixture
def harbour() -> UseSet:
    """Nothing in the passage says that the barque was wrecked."""
    return UseSet(
        "harbour",
        PASSAGES,
        (
            ask(0, "Which barque was wrecked?", "petrel"),
            ask(1, "Who built boats?", "moss"),
            ask(2, "Which one was wrecked?", "petrel"),
        ),
    )


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    """Write files of a clone: text, JSON, or JSON Lines."""

    def written(files: dict[str, Any]) -> Path:
        for name, content in files.items():
            path = tmp_path / "source" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if name.endswith(".jsonl") or (name.endswith(".json") and "sharc_" in name):
                content = "\n".join(json.dumps(row) for row in content)
            path.write_text(content if isinstance(content, str) else json.dumps(content), "utf-8")
        return tmp_path / "source"

    return written
