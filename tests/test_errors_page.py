"""The page of errors shows the messages as they are."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest

from hebbgraph import errors

_PAGE = Path(__file__).parents[1] / "docs" / "errors.md"


def test_the_examples_raise_what_the_page_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    options = doctest.ELLIPSIS  # of folders
    failed, tried = doctest.testfile(str(_PAGE), module_relative=False, optionflags=options)
    assert not failed
    assert tried > 10


def test_every_error_that_the_page_names_exists() -> None:
    named = set(re.findall(r"\b[A-Z]\w+Error\b", _PAGE.read_text(encoding="utf-8")))
    assert {name for name in named if not hasattr(errors, name)} == set()
