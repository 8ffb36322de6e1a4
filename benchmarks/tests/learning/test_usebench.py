"""hebbgraph as a system of usebench."""

from __future__ import annotations

import importlib
import tomllib
from dataclasses import asdict
from pathlib import Path

import pytest
from hebbgraph.formulas.bootstrap import paired_bootstrap
from hebbgraph.records import Chunk
from usebench.bootstrap import paired_bootstrap as theirs
from usebench.embedders import Lsa
from usebench.records import Event, Passage, UseSet
from usebench.unlearning import measure_unlearning

from hebbgraph_bench.datasets import Dataset, Query
from hebbgraph_bench.learning.splits import Question, split
from hebbgraph_bench.usebench_systems import Hebbgraph, MemoryBlock, Searched, Store, lsa

CHUNKS = [
    ("lamp", "The lamp of the tower was made by Edda Lund and burned oil."),
    ("oil", "Oil came from the whales that the crews of Skarn hunted."),
    ("edda", "Edda Lund learned her craft in the glassworks of Vell."),
    ("vell", "Vell has glassworks, a bridge and a market for oil."),
    ("crew", "The crews of Skarn sailed in spring and came home in autumn."),
    ("tower", "The tower of Skarn stands on the northern rock."),
    ("rock", "On the northern rock gulls nest in summer."),
    ("bridge", "The bridge of Vell was built from stone of the northern rock."),
]
QUESTIONS = [
    ("Who made the lamp?", "lamp", "edda"),
    ("Where did the lamp's oil come from?", "oil", "crew"),
    ("Where did Edda learn?", "edda", "vell"),
    ("When do the crews come home?", "crew"),
    ("What is the bridge made of?", "bridge", "rock"),
    ("Where do gulls nest?", "rock"),
]


@pytest.fixture
def skarn() -> Dataset:
    return Dataset(
        "skarn",
        tuple(Chunk(id=id_, text=text) for id_, text in CHUNKS),
        tuple(
            Query(str(number), text, dict.fromkeys(gold, 1))
            for number, (text, *gold) in enumerate(QUESTIONS)
        ),
    )


def stream(dataset: Dataset) -> tuple[UseSet, list[str]]:
    """The split as a stream: what is learned from, then every stratum, untaught."""
    parts = split(dataset)
    asked: list[tuple[Question, str]] = [(question, "") for question in parts.learn]
    asked += [(question, name) for name, some in parts.strata.items() for question in some]
    events = tuple(
        Event(
            f"{stratum} {question.id}",
            question.text,
            question.relevant,
            float(number),
            scored=bool(stratum),
            taught=not stratum,
        )
        for number, (question, stratum) in enumerate(asked)
    )
    passages = tuple(Passage(chunk.id, chunk.text) for chunk in dataset.corpus)
    return UseSet(dataset.name, passages, events), [stratum for _, stratum in asked if stratum]


def test_lessons_are_taken_back_exactly(skarn: Dataset) -> None:
    uses, _ = stream(skarn)
    exact = measure_unlearning(Hebbgraph, uses)
    assert exact is not None
    assert {name: each.same for name, each in exact.items()} == {"liars": 1.0, "all": 1.0}


def test_every_mode_finds_what_is_said_in_so_many_words() -> None:
    passages = [Passage(id_, text) for id_, text in CHUNKS]
    for system in (Hebbgraph(), lsa(), Store(), MemoryBlock()):
        system.reset()
        system.add(passages)
        assert system.search("Where do gulls nest in summer?", 2)[0] == "rock"
        assert system.nbytes() > 0
        system.close()
        assert system.nbytes() == 0


def test_a_retriever_of_this_bench_is_searched_with_vectors_of_usebench() -> None:
    from hebbgraph_bench.baselines import Dense

    system = Searched(Dense, Lsa())
    system.reset()
    system.add([Passage(id_, text) for id_, text in CHUNKS])
    assert system.search("gulls nest in summer on the rock", 1) == ["rock"]
    system.close()


def test_feedback_on_what_another_system_has_shown_teaches_too() -> None:
    system = Hebbgraph()
    system.add([Passage(id_, text) for id_, text in CHUNKS])
    system.feedback(
        question="Who sailed?",
        shown=["vell", "crew"],
        cited=["crew"],
        rejected=["vell"],
        ratings={"crew": 1.0},
        actor="ann",
        when=0.0,
    )
    assert system.index.stats().lessons == 1
    system.forget("ann")
    assert system.index.stats().lessons == 0
    system.close()


def test_both_bootstraps_agree() -> None:
    ours, other = [1.0, 0.5, 0.0, 1.0, 1.0], [0.5, 0.5, 0.5, 0.0, 1.0]
    expected = asdict(paired_bootstrap(ours, other))
    assert asdict(theirs(ours, other)).items() <= expected.items()


def test_systems_are_offered_by_name() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text("utf-8"))
    offered = project["project"]["entry-points"]["usebench.systems"]
    assert {"hebbgraph", "hebbgraph-lsa", "hebbgraph-minilm", "linear-rag"} <= set(offered)
    for target in offered.values():
        module, _, name = target.partition(":")
        assert callable(getattr(importlib.import_module(module), name))
