"""Metadata that nests too deep: refused at every door."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from hebbgraph import Chunk, FilterError, HebbianIndex, InvalidChunkError, Recall
from hebbgraph.limits import MAX_METADATA_DEPTH

pytestmark = pytest.mark.every_database

ALLOWED = MAX_METADATA_DEPTH - 1  # lists inside of the metadata


def _deep(levels: int, kind: type = list) -> Any:
    value: Any = "ground"
    for _ in range(levels):
        value = [value] if kind is list else {"in": value}
    return value


def _endless() -> dict[str, Any]:
    metadata: dict[str, Any] = {}
    metadata["self"] = [metadata]
    return metadata


@pytest.mark.parametrize("kind", [list, dict])
@pytest.mark.parametrize("levels", [ALLOWED + 1, 201, 253, 100_000])
def test_add_refuses_it_in_every_form_and_says_where(
    open_index: Callable[..., HebbianIndex], levels: int, kind: type
) -> None:
    index = open_index()
    metadata = {"lang": "en", "a": {"b": [_deep(levels - 2, kind)]}}
    changed = Chunk(id="x", text="Owls hunt.")
    changed.metadata.update(metadata)
    copied = Chunk(id="x", text="Owls hunt.").model_copy(update={"metadata": metadata})
    message = rf"(?s)chunk 'x'.*metadata: .*a\.b\.0\..*deeper than {MAX_METADATA_DEPTH} levels"
    for form in ({"id": "x", "text": "Owls hunt.", "metadata": metadata}, changed, copied):
        with pytest.raises(InvalidChunkError, match=message):
            index.add([form])
        with pytest.raises(InvalidChunkError, match=message):
            index.put_document("d", None, [form])
    with pytest.raises(ValueError, match=f"deeper than {MAX_METADATA_DEPTH} levels"):
        Chunk(text="x", metadata=metadata)
    assert index.stats().chunks == 0


def test_metadata_that_holds_itself_is_refused(open_index: Callable[..., HebbianIndex]) -> None:
    with pytest.raises(InvalidChunkError, match=r"self\.0\.self\.0"):
        open_index().add([{"text": "x", "metadata": _endless()}])


def test_as_deep_as_allowed_is_kept_and_comes_back_as_json(
    open_index: Callable[..., HebbianIndex],
) -> None:
    chunk = Chunk(id="x", text="Owls hunt.", metadata={"deep": _deep(ALLOWED), "lang": "en"})
    index = open_index()
    index.add([chunk])
    recall = index.recall("owls", id="r", where={"lang": "en"})
    assert recall.hits[0].chunk == chunk
    assert Recall.model_validate_json(recall.model_dump_json()) == recall
    assert index.find_recall("r") == recall
    assert index.doctor().ok


@pytest.mark.parametrize("operator", ["$gt", "$any", "$exists", "$text_match", "$is_empty"])
def test_a_filter_that_nests_too_deep_is_a_filter_error(
    open_index: Callable[..., HebbianIndex], operator: str
) -> None:
    index = open_index()
    index.add(["Owls hunt."])
    with pytest.raises(FilterError):
        index.recall("owls", where={"a": {operator: _deep(100_000)}})
    with pytest.raises(FilterError):
        index.recall("owls", where={"$and": _deep(100_000)})
