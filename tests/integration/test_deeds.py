"""What people do teaches little, and as much as what they say tells of it."""

from __future__ import annotations

import io
import random
from pathlib import Path

import pytest
from typer.testing import CliRunner

from hebbgraph import Chunk, HebbianIndex
from hebbgraph.cli import app
from hebbgraph.errors import ParameterError

BIRDS = ("owl", "heron", "gull", "plover", "wren", "swift", "rook", "teal", "finch", "crane")
PLACES = ("mill", "pond", "barn", "quay", "marsh", "tower")
CORPUS = [
    Chunk(id=f"{bird}-{place}", text=f"Notes on the {bird} that was seen near the {place}.")
    for bird in BIRDS
    for place in PLACES
]
#: What each bird is asked for: readers know better than the words tell.
RIGHT = {bird: f"{bird}-{PLACES[-1 - at % 5]}" for at, bird in enumerate(BIRDS)}


def _question(bird: str, rng: random.Random) -> str:
    return f"{rng.choice(['Tell me of', 'What about', 'Anything on'])} the {bird}, please?"


def _taught(deed: str, *, said: int = 60, done: int = 120) -> HebbianIndex:
    """Return an index that was told what is right of some birds, and used in one way for all."""
    rng, index = random.Random(4), HebbianIndex.open(":memory:")
    index.add(CORPUS)
    for kind in random.Random(6).sample(["cited", "opened"], said + done, counts=[said, done]):
        bird = rng.choice(BIRDS[:5] if kind == "cited" else BIRDS)
        question = _question(bird, rng)
        recall = index.recall(question, k=6)
        shown = [hit.chunk.id for hit in recall.hits]
        opened = {"right": RIGHT[bird], "first": shown[0], "any": rng.choice(shown)}.get(deed)
        chunk, who = (RIGHT[bird], "reader") if kind == "cited" else (opened, "visitor")
        if chunk is not None:
            index.reinforce(recall, cited=[chunk], actor=f"{who}-{rng.randrange(9)}", kind=kind)
    return index


def _right(index: HebbianIndex, birds: tuple[str, ...]) -> float:
    """Return the mean reciprocal rank of what is right."""
    rng = random.Random(5)
    ranks = []
    for bird in birds:
        hits = [hit.chunk.id for hit in index.recall(_question(bird, rng), k=10).hits]
        ranks.append(1 / (1 + hits.index(RIGHT[bird])) if RIGHT[bird] in hits else 0.0)
    return sum(ranks) / len(ranks)


def _weight(index: HebbianIndex) -> float:
    return max(one.weight for one in index.lessons() if one.kind == "opened")


def test_a_kind_that_agrees_with_citations_helps() -> None:
    with _taught("none") as plain, _taught("right") as index:
        assert _weight(index) > 0.3
        [told] = [one for one in index.inspect.learned() if one.name == "opened"]
        assert (told.value > 0.3, told.default, told.lessons, told.actors) == (True, 0.1, 120, 9)
        assert str(told).startswith("'opened' counts .")
        assert _right(index, BIRDS[5:]) > _right(plain, BIRDS[5:]) + 0.3
        assert _right(index, BIRDS[:5]) >= _right(plain, BIRDS[:5])


@pytest.mark.parametrize("deed", ["any", "first"])
def test_a_kind_that_does_not_is_believed_by_nobody(deed: str) -> None:
    with _taught("none") as plain, _taught(deed) as index:
        assert _weight(index) < 0.05
        assert _right(index, BIRDS) >= _right(plain, BIRDS) - 0.01


def test_a_kind_of_which_nothing_is_known_counts_little() -> None:
    with _taught("right", said=0, done=1) as index:
        [lesson] = index.lessons()
        assert (lesson.kind, round(lesson.weight, 1)) == ("opened", 0.1)


def test_deeds_say_nothing_of_people() -> None:
    with _taught("none") as index:
        index.recall("owl")
        before = index.parts.memory.weight_of("reader-1")
        for bird in BIRDS:
            recall = index.recall(f"the {bird}?", k=6)
            last = recall.hits[-1].chunk.id
            index.reinforce(recall, cited=[last], actor="reader-1", kind="opened")
        index.recall("owl")
        assert index.parts.memory.weight_of("reader-1") == before


def test_that_it_was_asked_again_is_doubt() -> None:
    with _taught("none") as index:
        recall = index.recall("Tell me of the owl, please?", k=6)
        right = recall.hits[0].chunk.id
        assert right == RIGHT["owl"]
        index.reinforce(recall, rejected=[right], actor="ann", kind="asked again")
        assert index.recall("Tell me of the owl, please?", k=6).hits[0].chunk.id == right
        assert index.maintenance.doctor().notes == ()


def test_deeds_are_counted_beside_what_is_said() -> None:
    with HebbianIndex.open(":memory:") as index:
        index.add(CORPUS)
        recall = index.recall("the owl?", k=6)
        one, two, three = (hit.chunk.id for hit in recall.hits[:3])
        for chunk in (two, three, two):
            index.reinforce(recall, cited=[chunk], actor="ann", kind="opened")
        index.reinforce(recall, cited=[one], actor="ann")
        lessons = index.lessons()
        told = [(lesson.kind, lesson.cited) for lesson in lessons]
        assert told == [("opened", (two,)), ("opened", (three,)), ("cited", (one,))]
        assert index.recall("the owl?", k=6).hits[0].chunk.id == one


def test_forgetting_and_folding_leave_what_was_never_done() -> None:
    def found(index: HebbianIndex) -> list[list[tuple[str, float]]]:
        recalls = (index.recall(f"the {bird}?", k=6) for bird in BIRDS)
        return [[(hit.chunk.id, pytest.approx(hit.score, abs=1e-9)) for hit in one.hits]
                for one in recalls]  # fmt: skip

    with _taught("right") as index:
        log = io.StringIO()
        index.log.export(log)
        lines = log.getvalue().splitlines(keepends=True)
        for told in (lines, [line for line in lines if '"kind":"cited"' in line]):
            with HebbianIndex.open(":memory:") as copy:
                copy.add(CORPUS)
                copy.log.import_(io.StringIO("".join(told)), origin="elsewhere")
                assert found(copy) == found(index)
            index.forget([one.feedback_id for one in index.lessons() if one.kind == "opened"])
        assert len(index.lessons()) == 60


def test_it_is_kept_between_openings(tmp_path: Path) -> None:
    db = str(tmp_path)
    with HebbianIndex.open(db) as index:
        index.add(CORPUS)
        index.keep_recalls()
        recall = index.recall("the owl?", k=6)
        chunk = recall.hits[2].chunk.id
    done = CliRunner().invoke(app, ["cite", recall.id, chunk, "--kind", "copied", "--db", db])
    assert done.exit_code == 0, done.output
    assert "copied" in CliRunner().invoke(app, ["lessons", "--db", db]).output
    with HebbianIndex.open(db) as index:
        before = index.recall("the owl?", k=6).hits
        index.parts.memory.save_snapshot()
    with HebbianIndex.open(db) as index:
        assert index.recall("the owl?", k=6).hits == before
        assert index.parts.memory.lessons.kinds == ["cited", "copied"]


def test_one_kind_has_one_name() -> None:
    with HebbianIndex.open(":memory:") as index:
        index.add(CORPUS)
        recall = index.recall("the owl?")
        cited = [recall.hits[0].chunk.id]
        for kind in ("opened", "Opened ", " OPENED"):
            assert index.reinforce(recall, cited, kind=kind).kind == "opened"
        assert index.reinforce(recall, cited, kind="Asked_Again").kind == "asked again"
        assert index.reinforce(recall, cited, kind="reopened").kind == "reopened"
        assert [one.kind for one in index.lessons()] == ["opened", "asked again", "reopened"]
        with pytest.raises(ParameterError, match="did you mean 'opened'"):
            index.reinforce(recall, cited, kind="openned")


@pytest.mark.parametrize(
    "said",
    [
        {"kind": ""},
        {"kind": "x" * 65},
        {"kind": 3},
        {"kind": "opened", "trusted": True},
        {"kind": " _"},
    ],
)
def test_what_is_no_kind_is_refused(said: dict[str, object]) -> None:
    with HebbianIndex.open(":memory:") as index:
        index.add(CORPUS)
        recall = index.recall("the owl?")
        with pytest.raises(ParameterError, match="kind"):
            index.reinforce(recall, [recall.hits[0].chunk.id], **said)  # type: ignore[arg-type]
