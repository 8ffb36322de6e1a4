"""Recalls over texts that change: as of a moment, stale hits, and questions about time."""

import json
from datetime import UTC, date, datetime, timedelta, tzinfo
from pathlib import Path

import pytest
from typer.testing import CliRunner

from hebbgraph import Chunk, FilterError, HebbianIndex, ParameterError, Recall, Settings
from hebbgraph.cli import app
from hebbgraph.text.time_words import asked_time

pytestmark = pytest.mark.also_served

KEEPING = Settings(keep_versions=True)
FARE = [
    Chunk(
        id="fare", title="Ferry fare", text=f"The ferry fare is {price} crowns.", valid_from=since
    )
    for price, since in (("two", "2015"), ("three", "2019-04"), ("five", "2023-07-01"))
]  # fmt: skip
OTHERS = [
    Chunk(id="owl", text="Owls hunt voles at night."),
    Chunk(id="harbour", text="The ferry leaves from the old harbour."),
]


@pytest.fixture
def index() -> HebbianIndex:
    index = HebbianIndex.open(":memory:", settings=KEEPING)
    index.add([*FARE, *OTHERS])
    return index


def ids(recall: Recall) -> list[str]:
    return [hit.chunk.id for hit in recall.hits]


@pytest.mark.parametrize(
    ("as_of", "price"),
    [
        ("2015", "two"), ("2018-12-31", "two"), ("2019-04-01", "three"),
        (date(2023, 6, 30), "three"), (datetime(2023, 7, 1), "five"),
        ("2023-07-01T00:30+02:00", "three"), ("9999-12-31", "five"),
    ],
)  # fmt: skip
def test_as_of_sees_what_held_then(index: HebbianIndex, as_of: str, price: str) -> None:
    recall = index.recall("What is the ferry fare?", k=10, as_of=as_of)
    assert f"{price} crowns" in recall.hits[0].chunk.text
    assert sum("crowns" in hit.chunk.text for hit in recall.hits) == 1
    assert {"owl", "harbour"} <= set(ids(recall)), "what has no dates always holds"
    assert all(hit.stale is None for hit in recall.hits)
    assert recall.as_of is not None


def test_as_of_before_everything(index: HebbianIndex) -> None:
    assert set(ids(index.recall("ferry fare", as_of="0001"))) == {"owl", "harbour"}


@pytest.mark.parametrize("as_of", ["tomorrow", 2019, "2019-02-29", True])
def test_as_of_takes_times(index: HebbianIndex, as_of: object) -> None:
    with pytest.raises(ParameterError, match="as_of: "):
        index.recall("ferry fare", as_of=as_of)  # type: ignore[arg-type]


def test_old_versions_are_marked_and_stand_below(index: HebbianIndex) -> None:
    recall = index.recall("Is the ferry fare two crowns or three crowns?", k=10)
    assert ids(recall)[0] == "fare"
    marks = {hit.chunk.id: hit.stale for hit in recall.hits}
    assert {id_ for id_, mark in marks.items() if mark} == {
        "fare@@2015-01-01", "fare@@2019-04-01",
    }  # fmt: skip
    mark = marks["fare@@2015-01-01"]
    assert mark is not None
    assert mark.since == datetime(2019, 4, 1, tzinfo=UTC)
    assert mark.replaced_by == ("fare",)
    assert Recall.model_validate_json(recall.model_dump_json()) == recall
    scores = [hit.score for hit in recall.hits]
    assert scores == sorted(scores, reverse=True)


def test_a_replacement_comes_in_for_what_was_found() -> None:
    with HebbianIndex.open(":memory:") as index:
        index.add([
            Chunk(id="old", text="Zander quota: forty a day.", addresses=("rules/fish.md",)),
            Chunk(id="new", text="Limits are set by the warden.", supersedes=("./rules/fish.md",)),
            *OTHERS,
        ])  # fmt: skip
        recall = index.recall("zander quota", k=2)
        assert ids(recall) == ["new", "old"]
        assert recall.hits[1].stale is not None
        assert recall.hits[1].stale.since is None
        assert [step.value for step in recall.hits[0].path if step.kind == "chunk"] == [
            "old",
            "new",
        ]
        assert ids(index.recall("zander quota", k=1)) == ["new"]


def test_stale_ones_can_be_hidden(index: HebbianIndex) -> None:
    assert set(ids(index.recall("ferry fare", where={"$stale": False}))) == {
        "fare", "owl", "harbour",
    }  # fmt: skip
    assert index.ids(where={"$stale": True}) == ["fare@@2015-01-01", "fare@@2019-04-01"]
    with HebbianIndex.open(":memory:") as plain:
        plain.add(OTHERS)
        assert plain.ids(where={"$stale": False}) == ["harbour", "owl"]
    with pytest.raises(FilterError, match=r"\$stale"):
        index.recall("x", where={"$staled": False})


def test_what_has_expired_is_stale_without_a_replacement() -> None:
    with HebbianIndex.open(":memory:") as index:
        index.add([Chunk(id="a", text="Summer timetable.", valid_until="2020"), *OTHERS])
        (stale,) = [hit for hit in index.recall("timetable").hits if hit.stale]
        assert (stale.chunk.id, stale.stale and stale.stale.replaced_by) == ("a", ())


def test_what_holds_later_does_not_replace_yet() -> None:
    with HebbianIndex.open(":memory:", settings=KEEPING) as index:
        index.add(
            [*FARE, FARE[0].model_copy(update={"valid_from": datetime(9000, 1, 1, tzinfo=UTC)})]
        )
        present = index.recall("ferry fare", k=1, as_of=datetime.now(UTC)).hits[0]
        assert "five" in present.chunk.text
        by_id = {hit.chunk.id: hit.stale for hit in index.recall("ferry fare").hits}
        assert by_id["fare@@2023-07-01"] is None
        old = by_id["fare@@2015-01-01"]
        assert old is not None
        assert old.replaced_by == ("fare@@2023-07-01",)


def test_of_two_versions_of_one_instant_the_later_put_stays(index: HebbianIndex) -> None:
    for zone in ("2019-04-01", "2019-04-01T02:00+02:00"):
        corrected = {"text": f"The ferry fare is four crowns ({zone}).", "valid_from": zone}
        index.add([Chunk.coerce({"id": "fare", **corrected})])
        then = index.recall("ferry fare", k=10, as_of="2020")
        assert [hit.chunk.text for hit in then.hits if "crowns" in hit.chunk.text] == [
            corrected["text"]
        ]
    assert len(index.ids()) == len([*FARE, *OTHERS])


def test_two_that_replace_one_at_the_same_instant_are_both_told() -> None:
    with HebbianIndex.open(":memory:") as index:
        index.add([
            Chunk(id="old", text="Zander quota: forty a day."),
            Chunk(id="a", text="Zander quota: ten.", supersedes=("old",), valid_from="2020"),
            Chunk(id="b", text="Zander quota: two.", supersedes=("old",), valid_from="2020"),
            *OTHERS,
        ])  # fmt: skip
        recall = index.recall("zander quota", k=3)
        assert ids(recall)[2] == "old"
        stale = recall.hits[2].stale
        assert stale is not None
        assert (stale.since, stale.replaced_by) == (datetime(2020, 1, 1, tzinfo=UTC), ("a", "b"))
        assert all(hit.stale is None for hit in recall.hits[:2])


@pytest.mark.parametrize("n", [1, 2, 5])
def test_circles_of_supersedes_are_noted_and_ignored(n: int) -> None:
    with HebbianIndex.open(":memory:") as index:
        index.add([
            Chunk(id=str(at), text=f"Rule {at} on mooring.", supersedes=(str((at + 1) % n),))
            for at in range(n)
        ])  # fmt: skip
        recall = index.recall("mooring rule", k=n)
        assert len(recall.hits) == n
        assert all(hit.stale is None for hit in recall.hits)
        assert any("circle" in note for note in recall.notes) is (n > 1)


@pytest.mark.parametrize(
    ("question", "price"),
    [
        ("What is the ferry fare?", "five"),
        ("What is the ferry fare today?", "five"),
        ("What was the ferry fare in 2016?", "two"),
        ("What was the ferry fare on 3 May 2019?", "three"),
        ("What was the ferry fare before 2019?", "two"),
        ("What was the ferry fare after 2018?", "three"),
        ("What was the ferry fare originally?", "two"),
        ("What did the ferry first cost?", "two"),
        ("Was kostete die Ferry im Juli 2018?", "two"),
    ],
)
def test_questions_about_a_time_find_what_held_then(
    index: HebbianIndex, question: str, price: str
) -> None:
    assert f"{price} crowns" in index.recall(question, k=3).hits[0].chunk.text


def test_events_of_one_subject_follow_one_another() -> None:
    wardens = [
        Chunk(id=name, title="Warden of Tessel", text=f"{name} became warden.", valid_from=since)
        for name, since in (("Ada", "1901"), ("Bo", "1925"), ("Cem", "1950"))
    ]
    with HebbianIndex.open(":memory:") as index:
        index.add([*wardens, *OTHERS])
        before = index.recall("Who was warden before Cem became warden?", k=2)
        assert ids(before) == ["Bo", "Cem"]
        after = index.recall("Who was warden after Ada became warden?", k=2)
        assert ids(after) == ["Bo", "Ada"]
        assert ids(index.recall("Who is the latest warden?", k=1)) == ["Cem"]
        assert all(hit.stale is None for hit in after.hits)


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Who was mayor of Tessel before Bo Renn?", "Ada Moss"),
        ("Who was the predecessor of Bo Renn as mayor of Tessel?", "Ada Moss"),
        ("Wer war vor Bo Renn mayor of Tessel?", "Ada Moss"),
        ("Qui a précédé Bo Renn, mayor of Tessel ?", "Ada Moss"),
        ("Who succeeded Ada Moss as mayor of Tessel?", "Bo Renn"),
        ("Who was mayor of Tessel after Bo Renn?", "Cem Vold"),
        ("Who was mayor of Tessel before Cem Vold?", "Bo Renn"),
        ("Who was mayor of Tessel in the 1990s?", "Bo Renn"),
        ("Wer war in den 1990er Jahren mayor of Tessel?", "Bo Renn"),
        ("Qui était mayor of Tessel dans les années 1990 ?", "Bo Renn"),
        ("Who was mayor of Tessel until 1985?", "Ada Moss"),
        ("Who has been mayor of Tessel since 1985?", "Cem Vold"),
    ],
)
def test_who_came_before_and_after_someone(question: str, expected: str) -> None:
    mayors = (("Ada Moss", "1971"), ("Bo Renn", "1988"), ("Cem Vold", "2012"))
    with HebbianIndex.open(":memory:", settings=KEEPING) as index:
        index.add([
            Chunk(id="mayor", text=f"{name} is mayor of Tessel.", valid_from=since)
            for name, since in mayors
        ])  # fmt: skip
        index.add(OTHERS)
        assert index.recall(question, k=2).hits[0].chunk.text.startswith(expected)
        assert index.recall("Who is mayor of Tessel?", k=1).hits[0].chunk.id == "mayor"


def test_a_place_before_a_house_is_no_time() -> None:
    assert asked_time("Wer steht vor dem Haus?") is None
    assert asked_time("Wohin führt der Weg in den 1990er-Stil?") is None


def test_a_reranker_puts_no_stale_hit_above_its_replacement() -> None:
    def prefer_old(question: str, texts: list[str]) -> list[float]:
        return [float("two" in text) for text in texts]

    with HebbianIndex.open(":memory:", settings=KEEPING, reranker=prefer_old) as index:
        index.add([*FARE, *OTHERS])
        recall = index.recall("ferry fare", k=4)
        place = {id_: at for at, id_ in enumerate(ids(recall))}
        assert place["fare"] < min(at for id_, at in place.items() if id_.startswith("fare@@"))
        assert [hit.rank for hit in recall.hits] == list(range(1, len(recall.hits) + 1))


def test_time_is_kept_through_changes_and_reopening(tmp_path: Path) -> None:
    with HebbianIndex.open(tmp_path, settings=KEEPING) as index:
        index.add(OTHERS)
        assert index.recall("ferry fare").hits
        for version in FARE:
            index.add([version])
            assert ids(index.recall("ferry fare", k=1)) == ["fare"]
        index.delete(["fare@@2019-04-01"])
        assert "two" in index.recall("ferry fare", k=1, as_of="2020").hits[0].chunk.text
    with HebbianIndex.open(tmp_path) as index:
        assert "two" in index.recall("ferry fare", k=1, as_of="2020").hits[0].chunk.text
        index.delete(["fare"])
        assert set(index.ids()) == {"owl", "harbour"}


def test_the_command_line_asks_as_of_a_day(tmp_path: Path) -> None:
    with HebbianIndex.open(tmp_path, settings=KEEPING) as index:
        index.add([*FARE, *OTHERS])
    asked = ["query", "What is the ferry fare?", "--db", str(tmp_path), "--json"]
    then = json.loads(CliRunner().invoke(app, [*asked, "--as-of", "2020"]).stdout)
    assert "three" in then["hits"][0]["chunk"]["text"]
    now = json.loads(CliRunner().invoke(app, asked).stdout)
    assert [hit["stale"]["replaced_by"] for hit in now["hits"] if "stale" in hit] == [["fare"]] * 2


def test_a_year_that_the_dates_of_chunks_speak_of_is_no_unknown_word() -> None:
    terms = [("Ada Moss", "2010", "2016"), ("Bo Renn", "2016", "2020"), ("Cy Tell", "2020", "2024")]
    mayors = [
        Chunk(id=name, title="Office", text=f"{name} was mayor.", valid_from=start, valid_until=end)
        for name, start, end in terms
    ]
    others = [f"The {what} is kept by {who}." for what in ("lamp", "well") for who in "ABCDEFG"]
    with HebbianIndex.open(":memory:") as index:
        index.add([*mayors, *others])
        for question in ("Who was mayor in 2018?", "Who was mayor in March 2018?"):
            recall = index.recall(question, k=2)
            assert recall.hits[0].chunk.id == "Bo Renn"
            assert not recall.nothing_known
            assert recall.hits[0].score > 0.5
        assert index.recall("Who was mayor after 2023?").confidence > 0.5
        assert index.recall("Who was mayor in 1850?").nothing_known  # of which no chunk speaks
        assert index.recall("Who was abbot in 2018?").nothing_known


def test_a_dated_version_among_some_without_dates_becomes_stale() -> None:
    with HebbianIndex.open(":memory:", settings=Settings(keep_versions=True)) as index:
        for hour in ("nine", "ten"):
            index.add([Chunk(id="gate", text=f"The gate closes at {hour}.")])
        index.add([Chunk(id="gate", text="The gate closes at eight.", valid_from="2010")])
        now = index.recall("When does the gate close?")
        assert [hit.chunk.id for hit in now.hits if hit.stale is None] == ["gate"]
        assert {hit.stale.replaced_by for hit in now.hits if hit.stale} == {("gate",)}
        later = index.recall("When does the gate close?", as_of=datetime.now(UTC) + timedelta(1))
        assert [hit.chunk.text for hit in later.hits] == ["The gate closes at ten."]
        then = index.recall("When does the gate close?", as_of="2012").hits
        assert "The gate closes at eight." in [hit.chunk.text for hit in then if not hit.stale]


@pytest.mark.not_served
def test_a_text_replaced_while_the_clock_was_ahead_is_not_hidden_when_it_is_right(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Ahead(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> datetime:  # type: ignore[override]
            return datetime.now(tz) + timedelta(days=1)

    with HebbianIndex.open(":memory:", settings=KEEPING) as index:
        index.add([Chunk(id="gate", text="The gate closes at nine.")])
        with monkeypatch.context() as patch:
            patch.setattr("hebbgraph.ingest.writer.datetime", Ahead)
            index.add([Chunk(id="gate", text="The gate closes at ten.")])
            index.add([Chunk(id="gate", text="The gate closes at eleven.")])
        for as_of in (None, datetime.now(UTC) + timedelta(minutes=1)):
            hits = index.recall("When does the gate close?", as_of=as_of).hits
            assert [hit.chunk.text for hit in hits if hit.stale is None] == [
                "The gate closes at eleven."
            ]
