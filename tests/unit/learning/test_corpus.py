"""Parameters of the corpus: where they come from, and that nothing else moves them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from hebbgraph import EvidenceWeights, HebbianIndex, LearningSettings, Settings
from hebbgraph.learning.corpus import CorpusMemory, CorpusParameters
from hebbgraph.records import Cue, Feedback, ShownChunk

SETTINGS = LearningSettings()
DEFAULT = CorpusParameters.by_default(SETTINGS)


def lesson(
    number: int,
    *,
    cited: str = "lexical",
    actor: str = "ann",
    vector: Sequence[float] | None = None,
    term: str | None = None,
) -> Feedback:
    """Three chunks were shown: one that lexical search found, one that dense search did."""
    shown = [
        ShownChunk(chunk_id=id_, rank=rank, text_hash="0" * 16, score=score, lexical=lex, dense=den)
        for rank, (id_, score, lex, den) in enumerate(
            [("dense", 0.68, 0.1, 0.98), ("lexical", 0.4, 1.0, 0.1), ("none", 0.1, 0.1, 0.1)], 1
        )
    ]
    return Feedback(
        id=str(number),
        namespace="n",
        recall_id=f"r{number}",
        actor=actor,
        shown=shown,
        cited=[cited],
        dense_share=0.66,
        cues=[Cue(tag=f"tag {number}", weight=1.0)],
        terms=[(term or f"{number:016x}", 1.0)],
        vector=vector,
        embedder=None if vector is None else "toy",
    )


def parameters_of(feedback: Sequence[Feedback], scale: float = 1.0) -> CorpusParameters:
    memory = CorpusMemory(SETTINGS)
    for number, one in enumerate(feedback, start=1):
        memory.add(one, number)
    return memory.parameters(len(feedback), lambda voice: scale)


def test_nothing_is_learned_of_nothing() -> None:
    assert parameters_of([]) == DEFAULT
    assert parameters_of([lesson(1)]) == DEFAULT  # one may be chance


def test_the_share_of_dense_search_follows_what_is_cited_within_bounds() -> None:
    lexical = parameters_of([lesson(n) for n in range(64)]).dense_shift
    dense = parameters_of([lesson(n, cited="dense") for n in range(64)]).dense_shift
    assert -0.25 <= lexical < -0.1
    assert 0.0 <= dense <= 0.25


def test_a_question_asked_again_and_again_says_the_same_again() -> None:
    once = [lesson(n, cited="dense") for n in range(8)]
    again = [
        lesson(8, term="again").model_copy(update={"id": str(n), "cues": ()}) for n in range(56)
    ]
    one = [*once, again[0]]
    assert parameters_of([*once, *again]).dense_shift == pytest.approx(
        parameters_of(one).dense_shift, abs=0.025
    )


def test_who_is_not_believed_moves_nothing() -> None:
    assert parameters_of([lesson(n) for n in range(64)], scale=0.0) == DEFAULT


def test_past_questions_count_from_where_those_alike_want_the_same() -> None:
    """Pairs of questions with a cosine of .8 that never cite the same, or always do."""
    near = [0.8, 0.6]
    apart, same = [], []
    for n in range(40):
        # Each pair has two coordinates of its own.
        vector = np.zeros(80)
        vector[2 * n : 2 * n + 2] = (1.0, 0.0)
        other = np.zeros(80)
        other[2 * n : 2 * n + 2] = near
        for position, one in enumerate((vector, other)):
            apart.append(lesson(2 * n + position, vector=one, cited=("lexical", "dense")[position]))
            same.append(lesson(2 * n + position, vector=one))
    assert parameters_of(apart).episode_similarity > 0.7
    assert parameters_of(same).episode_similarity == SETTINGS.episode_similarity


def test_each_process_fits_the_same_whenever_it_reads() -> None:
    lessons = [lesson(n, cited="dense" if n < 100 else "lexical") for n in range(700)]
    step_by_step, at_once = CorpusMemory(SETTINGS), CorpusMemory(SETTINGS)
    for number, one in enumerate(lessons, start=1):
        step_by_step.add(one, number)
        found = step_by_step.parameters(number, lambda voice: 1.0)
    for number, one in enumerate(lessons, start=1):
        at_once.add(one, number)
    assert found == at_once.parameters(len(lessons), lambda voice: 1.0)


class _Misleading:
    """Finds near what only sounds alike: the length of the first word."""

    name = "misleading"

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        vector = np.zeros(12)
        vector[min(len(text.split()[0]), 11)] = 1.0
        vector[0] = 0.3
        return [float(x) for x in vector]


#: Whoever set these trusted the embedder too much.
WEIGHTS = EvidenceWeights(dense=0.8, agreement=0.0, coverage=0.0)
BIRDS = ["owl", "heron", "puffin", "sparrow", "nightjar", "cormorant", "oystercatcher", "tit"]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    with HebbianIndex.open(
        tmp_path / "birds", embedder=_Misleading(), settings=Settings(evidence=WEIGHTS)
    ) as index:
        index.add(
            [
                {
                    "id": f"{bird}-{n}",
                    "text": f"{'x' * (n + 1)} keeper: the {bird} eats at {n} o'clock.",
                }
                for bird in BIRDS
                for n in range(4)
            ]
        )
    return tmp_path / "birds"


def teach(index: HebbianIndex, actor: str | None, birds: Sequence[str] = BIRDS) -> None:
    for bird in birds:
        for n in range(4):
            recall = index.recall(f"When does the {bird} eat, at {n}?", k=20)
            cited = [f"{bird}-{n}"]
            if recall.hit(cited[0]):
                index.reinforce(recall, cited=cited, actor=actor, trusted=actor is None)


def test_an_index_says_what_it_learned_and_forgets_it_exactly(place: Path) -> None:
    with HebbianIndex.open(
        place, embedder=_Misleading(), settings=Settings(evidence=WEIGHTS)
    ) as index:
        assert index.learned() == ()
        teach(index, None)
        learned = index.learned()
        assert learned[0].name == "dense"
        assert learned[0].value < learned[0].default == 0.8
        assert str(learned[0]).startswith("dense evidence counts .")
        recall = index.recall("When does the owl eat, at 3?")
        assert recall.dense_shift == pytest.approx(learned[0].value - 0.8)
        teach(index, "eve", BIRDS[:3])
        index.forget(actor="eve")
        assert index.learned() == learned
    with HebbianIndex.open(
        place, embedder=_Misleading(), settings=Settings(evidence=WEIGHTS)
    ) as again:
        assert again.learned() == learned
        again.forget(everything=True)
        assert again.learned() == ()
        assert again.recall("When does the owl eat, at 3?").dense_shift == 0.0


def test_the_family_can_be_switched_off(place: Path) -> None:
    settings = Settings(
        evidence=WEIGHTS, learning=LearningSettings(families=("cue", "pair", "episode", "path"))
    )
    with HebbianIndex.open(place, embedder=_Misleading(), settings=settings) as index:
        teach(index, None)
        assert index.learned() == ()
    settings = Settings(evidence=WEIGHTS, learning=LearningSettings(families=("corpus",)))
    with HebbianIndex.open(place, embedder=_Misleading(), settings=settings) as index:
        assert index.learned()


def test_an_explanation_compares_with_the_share_that_nobody_taught(place: Path) -> None:
    settings = Settings(evidence=WEIGHTS, learning=LearningSettings(families=("corpus",)))
    with HebbianIndex.open(place, embedder=_Misleading(), settings=settings) as index:
        before = index.recall("When does the heron eat, at 5?")
        expected = {hit.chunk.id: hit.score for hit in before.hits}
        teach(index, None)
        after = index.recall("When does the heron eat, at 5?")
        best = after.hits[0].chunk.id
        explained = index.explain(after, best)
        assert explained.score == pytest.approx(after.hits[0].score)
        assert explained.unlearned_score == pytest.approx(expected[best])
        assert explained.dense_share == pytest.approx(after.dense_share or 0.0, abs=1e-6)
