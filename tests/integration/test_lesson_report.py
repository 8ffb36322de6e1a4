"""Whether learning helped here: a log replayed on its own later questions."""

from __future__ import annotations

import hashlib
import io
import xml.etree.ElementTree as ET
from collections.abc import Iterable, Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest

from hebbgraph import HebbianIndex, LearningSettings, LessonReport, ParameterError, Settings
from hebbgraph.cli.lesson_plot import as_html, as_svg, as_text

KEEPING = Settings(learning=LearningSettings(store_queries=True))
NAMES = (
    "Petrel", "Tern", "Gannet", "Heron", "Plover", "Dunlin", "Curlew", "Osprey", "Merlin",
    "Kestrel", "Godwit", "Avocet",
)  # fmt: skip
#: Of each ship, the log is what answers; the register says more of what questions say.
CHUNKS = [
    chunk
    for name in NAMES
    for chunk in (
        {"id": f"log of {name}", "text": f"The {name} met ice off the cape, and the mast broke."},
        {
            "id": f"register of {name}",
            "text": f"What the {name} lost in a storm: no register says.",
        },
    )
]
HOSTILE = '</pre><script>alert(1)</script>\x1b[2J\u202e & "quoted" '


def asking(name: str, time: int) -> str:
    return (f"What was lost by the {name} in a storm?", f"In which storm was the {name} lost?")[
        time
    ]


def teach(
    index: HebbianIndex,
    cited: str,
    time: int,
    *,
    before: str = "",
    names: Iterable[str] = NAMES,
) -> None:
    for name in names:
        recall = index.recall(before + asking(name, time), k=8)
        index.reinforce(recall, cited=[cited.format(name)], trusted=True)


def opened(location: str | Path = ":memory:", settings: Settings | None = KEEPING) -> HebbianIndex:
    index = HebbianIndex.open(location, settings=settings)
    index.add(CHUNKS)
    return index


def helped() -> LessonReport:
    with opened() as index:
        teach(index, "log of {}", 0)
        teach(index, "log of {}", 1)
        return index.lesson_report(k=1)


def test_it_says_that_learning_helped() -> None:
    report = helped()
    assert (report.verdict, report.advice) == ("helped", "")
    assert (report.lessons, report.kept, report.taught, report.asked) == (24, 24, 12, 12)
    assert [one.lessons for one in report.points] == [0, 2, 3, 6, 12]
    assert report.points[0].recall == 0  # the register comes first
    assert report.points[-1].recall == 1
    recalls = [one.recall for one in report.points]
    assert recalls == sorted(recalls)
    assert report.points[-1].recall_change.low > 0
    assert report.points[-1].mrr_change.better == 12
    assert report.repeated == 0
    assert report.new_recall == report.points[-1].recall_change
    assert {(one.before, one.after) for one in report.moved} == {(2, 1)}


def test_it_says_that_learning_harmed() -> None:
    with opened() as index:
        teach(index, "log of {}", 0)
        teach(index, "register of {}", 0)
        report = index.lesson_report(k=1)
    assert report.verdict == "harmed"
    assert report.points[-1].mrr_change.high < 0
    assert report.repeated == 12
    assert report.new_mrr is None


def test_what_was_right_before_leaves_nothing_to_tell() -> None:
    with opened() as index:
        teach(index, "register of {}", 0)
        teach(index, "register of {}", 1)
        report = index.lesson_report()
    assert report.verdict == "unclear"
    assert report.points[0].mrr == report.points[-1].mrr == 1


def test_each_point_is_the_index_that_knows_so_many_lessons() -> None:
    with opened() as index:
        teach(index, "log of {}", 0)
        first = io.StringIO()
        index.export_feedback(first)
        teach(index, "log of {}", 1)
        report = index.lesson_report(k=1)
    with opened() as other:
        first.seek(0)
        other.import_feedback(first, origin="the first half")
        found = [
            hit.rank
            for name in NAMES
            for hit in other.recall(asking(name, 1)).hits
            if hit.chunk.id == f"log of {name}"
        ]
    assert report.points[-1].mrr == pytest.approx(sum(1 / rank for rank in found) / len(NAMES))


def test_what_came_next_is_asked_before_it_is_taught() -> None:
    def found(index: HebbianIndex) -> float:
        ranks = [
            hit.rank
            for name in NAMES
            for hit in index.recall(asking(name, 1)).hits
            if hit.chunk.id == f"log of {name}"
        ]
        return sum(1 / rank for rank in ranks) / len(ranks)

    with opened() as index:
        before = found(index)
        teach(index, "log of {}", 0)
        gain = found(index) - before
        for time in (1, 0, 1):
            teach(index, "log of {}", time)
        report = index.lesson_report(k=1)
    assert [one.asked_next for one in report.points] == [0, 3, 6, 12, 0]
    assert report.points[3].next_mrr.mean == pytest.approx(gain)
    assert gain > 0
    assert "the next 12 questions after 12 lessons: R@1 +" in str(report)


def test_nothing_is_written(tmp_path: Path) -> None:
    with opened(tmp_path) as index:
        teach(index, "log of {}", 0)
        teach(index, "log of {}", 1)
        before = index.recall(asking("Tern", 1)).hits

        def state() -> dict[str, str]:
            return {
                one.name: hashlib.sha256(one.read_bytes()).hexdigest()
                for one in tmp_path.rglob("*sqlite3*")
                if not one.name.endswith("-shm")
            }

        held, learned = state(), index.learned()
        assert held
        index.lesson_report()
        assert (state(), index.learned()) == (held, learned)
        assert index.recall(asking("Tern", 1)).hits == before


def test_a_sample_is_spread_over_the_later_questions() -> None:
    with opened() as index:
        teach(index, "log of {}", 0)
        teach(index, "log of {}", 1)
        report = index.lesson_report(questions=3, k=1)
    assert (report.asked, report.taught, report.verdict) == (3, 12, "too_few")
    assert {one.question for one in report.moved} == {
        asking(name, 1) for name in (NAMES[0], NAMES[6], NAMES[11])
    }
    assert "at least 10" in report.advice


def test_lessons_count_though_their_questions_are_not_kept(tmp_path: Path) -> None:
    with opened(tmp_path, settings=None) as index:
        teach(index, "log of {}", 0)
        report = index.lesson_report()
        assert (report.verdict, report.lessons, report.points) == ("no_questions", 12, ())
        assert "store_queries=True" in report.advice
        assert "on the command line with --settings" in report.advice
    with HebbianIndex.open(tmp_path, settings=KEEPING) as index:
        teach(index, "log of {}", 1)
        report = index.lesson_report(k=1)
    assert (report.lessons, report.kept, report.taught, report.asked) == (24, 12, 18, 6)


def test_who_speaks_later_of_a_recall_asks_no_other_question() -> None:
    with opened() as index:
        recalls = [index.recall(asking(name, 0), k=8) for name in NAMES]
        for actor in ("ida", "otto"):
            for name, recall in zip(NAMES, recalls, strict=True):
                index.reinforce(recall, cited=[f"log of {name}"], actor=actor)
        report = index.lesson_report()
    assert (report.lessons, report.kept, report.taught, report.asked) == (24, 12, 6, 6)


class CountingEmbedder:
    """Says how near a text is to each ship, and counts the questions that it reads."""

    name = "counting"

    def __init__(self) -> None:
        self.asked = 0

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [[float(name in text) for name in NAMES] for text in texts]

    def embed_query(self, text: str) -> list[float]:
        self.asked += 1
        return self.embed_documents([text])[0]


def test_no_question_is_embedded_again(tmp_path: Path) -> None:
    embedder = CountingEmbedder()
    with HebbianIndex.open(tmp_path, embedder=embedder, settings=KEEPING) as index:
        index.add(CHUNKS)
        teach(index, "log of {}", 0)
        teach(index, "log of {}", 1)
    asked = embedder.asked
    with HebbianIndex.open(tmp_path, embedder=embedder, settings=KEEPING) as index:
        report = index.lesson_report(k=1)
    assert (report.verdict, report.asked) == ("helped", 12)
    assert embedder.asked == asked


def test_what_the_caller_searches_with_is_asked_once(tmp_path: Path) -> None:
    asked: list[str] = []

    def search(query: str) -> Iterator[tuple[str, float]]:
        asked.append(query)
        name = next(name for name in NAMES if name in query)
        return iter([(f"register of {name}", 1.0), (f"log of {name}", 0.9)])

    with HebbianIndex.open(tmp_path, search=search, settings=KEEPING) as index:
        index.add(CHUNKS)
        teach(index, "log of {}", 0)
        teach(index, "log of {}", 1)
        asked.clear()
        report = index.lesson_report(k=1)
    on_the_way = sum(one.asked_next for one in report.points)
    assert len(asked) == len(set(asked)) == report.asked + on_the_way == 22
    assert report.points[-1].mrr >= 0.5


def test_what_is_gone_is_not_looked_for() -> None:
    with opened() as index:
        teach(index, "log of {}", 0)
        index.delete([f"log of {name}" for name in NAMES[6:]])
        assert index.lesson_report().kept == 6
        index.delete([f"log of {name}" for name in NAMES])
        report = index.lesson_report()
    assert report.verdict == "no_questions"
    assert "still exists" in report.advice


def test_without_lessons_it_says_so() -> None:
    with opened() as index:
        report = index.lesson_report()
    assert report.verdict == "no_lessons"
    assert "reinforce" in report.advice
    assert "Nothing was learned" in as_text(report)
    assert "Nothing was learned" in as_html(report)
    ET.fromstring(as_svg(report))


def test_one_lesson_is_too_few() -> None:
    with opened() as index:
        teach(index, "log of {}", 0, names=NAMES[:1])
        report = index.lesson_report()
    assert (report.verdict, report.taught, report.asked) == ("too_few", 0, 1)


@pytest.mark.parametrize("questions", [0, 1001, True, "many", 2.0])
def test_the_number_of_questions_is_bounded(questions: int) -> None:
    with opened() as index, pytest.raises(ParameterError, match="from 1 to 1000"):
        index.lesson_report(questions=questions)


def test_a_page_shows_what_strangers_asked_and_runs_none_of_it() -> None:
    class Reading(HTMLParser):
        def __init__(self) -> None:
            super().__init__()
            self.tags: set[str] = set()
            self.text = ""

        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            self.tags.add(tag)

        def handle_data(self, data: str) -> None:
            self.text += data

    with opened() as index:
        for _ in range(3):
            teach(index, "log of {}", 0, before=HOSTILE)
        for _ in range(3):
            teach(index, "log of {}", 0, before=HOSTILE)
        report = index.lesson_report(k=1)
    assert report.moved
    page = as_html(report)
    read = Reading()
    read.feed(page)
    assert "script" not in read.tags
    assert '<script>alert(1)</script>[2J & "quoted" What was lost' in read.text
    assert not {"\x1b", "\u202e"} & set(page)
    assert "http" not in page.replace('xmlns="http://www.w3.org/2000/svg"', "").replace(
        "http-equiv", ""
    )


def test_drawings_hold_every_point() -> None:
    report = helped()
    drawn = ET.fromstring(as_svg(report))
    assert len(drawn.findall(".//{*}circle")) == 2 * len(report.points)
    assert as_text(report).count("█") > 0
    assert "R@1 0.000 → 1.000" in as_text(report)
    assert LessonReport.model_validate_json(report.model_dump_json()) == report
