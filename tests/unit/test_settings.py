"""Settings: checked, with errors of ours; recall constants reach the recall."""

from __future__ import annotations

import pytest

from hebbgraph import HebbianIndex, ParameterError, Settings, SettingsMismatchError
from hebbgraph.formulas.activation import SpreadingParameters


@pytest.mark.parametrize(
    "wrong",
    [{"language": "klingon"}, {"batch_size": 0}, {"keep_recalls": -1}, {"unknown": 1}],
)
def test_wrong_settings_are_named(wrong: dict[str, object]) -> None:
    with pytest.raises(ParameterError, match=next(iter(wrong))):
        Settings(**wrong)


def test_recall_constants_are_free_at_each_open(tmp_path) -> None:
    chunks = [
        {"id": "ship", "title": "Petrel", "text": "The Petrel was built by Ida Moss."},
        {"id": "builder", "title": "Ida Moss", "text": "She was born in Tessel Bay."},
    ]
    with HebbianIndex.open(tmp_path / "i") as index:
        index.add(chunks)
        spread = index.recall("Who built the Petrel?").hits[1]
    direct = Settings(recall=SpreadingParameters(n_steps=0, cue_share=0.0))
    with HebbianIndex.open(tmp_path / "i", settings=direct) as index:
        still = index.recall("Who built the Petrel?").hits[1]
    assert spread.chunk.id == still.chunk.id == "builder"
    assert spread.score > 0.5
    assert still.score < 0.01


def test_build_settings_are_held_to(tmp_path) -> None:
    HebbianIndex.open(tmp_path / "i", settings=Settings(language="german")).close()
    with pytest.raises(SettingsMismatchError, match="german"):
        HebbianIndex.open(tmp_path / "i")
