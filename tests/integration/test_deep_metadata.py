"""Metadata that nests too deep: refused at every door, and harmless where it is in already."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from hebbgraph import Chunk, FilterError, HebbianIndex, InvalidChunkError, Recall
from hebbgraph.limits import MAX_METADATA_DEPTH
from hebbgraph.nesting import read_metadata, too_deep
from hebbgraph.store.truth import ChunkWrite

pytestmark = pytest.mark.every_database

ALLOWED = MAX_METADATA_DEPTH - 1  # lists inside of the metadata
#: What was taken before there was a limit, and could not be read again.
OLD_DEPTHS = [200, 252]


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


@pytest.mark.parametrize("levels", OLD_DEPTHS)
def test_an_index_that_holds_it_opens_and_works(
    open_index: Callable[..., HebbianIndex], levels: int
) -> None:
    index = open_index()
    index.add([{"id": "plain", "title": "Owl", "text": "Owls hunt voles at night."}])
    old = Chunk.model_construct(
        id="old",
        title="Vole",
        text="Voles fear the Owl.",
        document_id="d",
        tags=(),
        metadata={"lang": "en", "deep": _deep(levels)},
    )
    # As it came in before there was a limit: past the door, straight into its row.
    index.parts.truth.apply([ChunkWrite(old, {"title": ["vole"]})])
    index.close()

    index = open_index()
    recall = index.recall("Where do voles hunt?", k=2, id="r")
    assert {hit.chunk.id for hit in recall.hits} == {"plain", "old"}
    (held,) = index.get(["old"])
    assert held.metadata["lang"] == "en"
    told = json.dumps(held.metadata)
    assert "deeper than" in told
    assert "ground" not in told
    assert Recall.model_validate_json(recall.model_dump_json()) == recall
    assert index.find_recall("r") == recall
    assert [hit.chunk.id for hit in index.recall("owl", where={"lang": "en"}).hits] == ["old"]
    index.reinforce("r", ["old"])
    assert index.explain(recall, "old").chunk_id == "old"
    assert index.stats().chunks == 2
    index.compact()
    # The doctor names it, and nothing else; tagging again does not write the loss down.
    report = index.doctor(repair=True)
    assert [finding.part for finding in report.findings] == ["database"]
    assert "'old': metadata nests deeper" in report.findings[0].problem
    index.retag()
    assert not index.doctor().ok
    # Added again it is well.
    index.add([held.model_copy(update={"metadata": {"lang": "en"}})])
    assert index.doctor().ok
    index.close()


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


def test_brackets_in_strings_are_no_levels() -> None:
    metadata = {"a": "[{" * 400 + '\\"', "b": ["\\", '"[', {"c": []}]}
    assert read_metadata(json.dumps(metadata)) == metadata
    deep = json.dumps({"first": _deep(300), "then": metadata, "last": _deep(300)})
    cut = read_metadata(deep)
    assert cut["then"] == metadata
    assert too_deep(cut) is None
    # Siblings of what is cut stay.
    wide = json.dumps({"a": ["x", _deep(300), "y"]})
    assert read_metadata(wide)["a"][::2] == ["x", "y"]
