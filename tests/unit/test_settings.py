"""Settings: checked, with errors of ours; recall constants reach the recall."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from hebbgraph import HebbianIndex, ParameterError, Settings, SettingsMismatchError
from hebbgraph.formulas.activation import SpreadingParameters
from hebbgraph.formulas.communities import ColonyParameters
from hebbgraph.formulas.dense_share import EvidenceWeights
from hebbgraph.settings import LearningSettings, RecallSettings


@pytest.mark.parametrize(
    "wrong",
    [{"language": "klingon"}, {"batch_size": 0}, {"keep_recalls": -1}, {"unknown": 1}],
)
def test_wrong_settings_are_named(wrong: dict[str, object]) -> None:
    with pytest.raises(ParameterError, match=next(iter(wrong))):
        Settings(**wrong)


@pytest.mark.parametrize("recall", [
    RecallSettings(n_steps=0, cue_share=0.0), SpreadingParameters(n_steps=0, cue_share=0.0),
])  # fmt: skip
def test_recall_constants_are_free_at_each_open(recall, tmp_path) -> None:
    chunks = [
        {"id": "ship", "title": "Petrel", "text": "The Petrel was built by Ida Moss."},
        {"id": "builder", "title": "Ida Moss", "text": "She was born in Tessel Bay."},
    ]
    with HebbianIndex.open(tmp_path / "i") as index:
        index.add(chunks)
        spread = index.recall("Who built the Petrel?").hits[1]
    direct = Settings(recall=recall)
    with HebbianIndex.open(tmp_path / "i", settings=direct) as index:
        still = index.recall("Who built the Petrel?").hits[1]
    assert spread.chunk.id == still.chunk.id == "builder"
    assert spread.score > 0.5
    assert still.score < 0.01


def test_build_settings_are_held_to(tmp_path) -> None:
    with HebbianIndex.open(tmp_path / "i", settings=Settings(language="german")) as index:
        index.add(["Der Sturmvogel."])  # the first write makes the namespace, with its settings
    with pytest.raises(SettingsMismatchError, match="german"):
        HebbianIndex.open(tmp_path / "i")


def test_users_get_the_constants_that_were_measured() -> None:
    assert Settings().spreading() == SpreadingParameters()
    assert Settings(recall=RecallSettings(hub_cap=50)).spreading() == SpreadingParameters(
        hub_cap=50
    )


@pytest.mark.parametrize(
    ("settings", "field"),
    [
        (RecallSettings, "title_salience"),
        (LearningSettings, "episode_prior"),
        (ColonyParameters, "tau"),
    ],
)
def test_a_field_that_became_a_constant_is_refused_by_name(settings, field) -> None:
    with pytest.raises(ParameterError, match=rf"{field} is a constant .*CHANGELOG"):
        settings(**{field: 1.0})


@pytest.mark.parametrize("field", ["breadth_first", "neural"])
def test_a_field_that_moved_is_refused_with_the_way_to_say_it(field: str) -> None:
    with pytest.raises(ParameterError, match=rf"{field} moved .*hebbgraph_papers"):
        Settings(**{field: None})


def test_there_are_few_things_to_turn() -> None:
    groups = (EvidenceWeights, ColonyParameters)
    own = len(Settings.model_fields) - 4  # less the groups themselves
    turned = own + len(RecallSettings.model_fields) + len(LearningSettings.model_fields)
    assert turned + sum(len(dataclasses.fields(one)) for one in groups) <= 50


def test_a_misspelt_field_is_answered_with_the_right_one() -> None:
    with pytest.raises(ParameterError, match="no field 'keeptext'; did you mean 'keep_text'"):
        Settings(keeptext=False)  # type: ignore[call-arg]
    with pytest.raises(ParameterError, match=r"^settings: vector_search: usearch was removed"):
        Settings(vector_search="usearch")  # type: ignore[arg-type]


@pytest.mark.parametrize("settings", [["language"], "save", 3])
def test_settings_of_another_type_are_refused(settings: object) -> None:
    with pytest.raises(ParameterError, match='settings is a Settings, a mapping, "saved" or None'):
        HebbianIndex.open(":memory:", settings=settings)  # type: ignore[arg-type]


@pytest.mark.parametrize("values", [{"aliases": "scripts"}, {"glossary": {"Lamp": "scripts"}}])
def test_a_str_in_place_of_a_tuple_is_told_what_to_write(values: dict[str, Any]) -> None:
    with pytest.raises(
        ParameterError, match=r"a tuple of str, got 'scripts'; write \('scripts',\)"
    ):
        Settings(**values)
