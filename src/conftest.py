"""Names that the examples in docstrings take for granted."""

from __future__ import annotations

from typing import Any

import pytest

from hebbgraph import HebbianIndex


@pytest.fixture(autouse=True)
def _names(doctest_namespace: dict[str, Any]) -> None:
    doctest_namespace["HebbianIndex"] = HebbianIndex
