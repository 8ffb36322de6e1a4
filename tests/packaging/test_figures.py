"""Figures that readers meet first are those that were stored, and each leads to its command."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
MEASUREMENTS = ROOT / "docs" / "measurements.md"
#: What ``hebbgraph bench SET… --json`` wrote for the README's table, less its times.
RESULTS = ROOT / "benchmarks" / "results"
STORED = sorted(RESULTS.glob("readme-*.json"))
FIGURE = re.compile(r"(?<![\d.])\.\d{3}\b")

SETS = {
    "MuSiQue (2 to 4 hops)": "musique_train100",
    "HotpotQA (2 hops)": "hotpotqa_train100",
    "2WikiMultiHopQA": "2wiki_164",
    "technical documentation with links": "docs_tech",
}
SYSTEMS = {
    "BM25": "BM25",
    "dense (MiniLM)": "dense",
    "0.7 dense + 0.3 BM25": "0.7 dense + 0.3 BM25",
    "hebbgraph, no model": "hebbgraph, no model at all",
    "hebbgraph, MiniLM": "hebbgraph, with MiniLM",
}


def table(text: str) -> dict[tuple[str, str], str]:
    """The first table of a text, by row and column."""
    lines = re.search(r"^\|.*(?:\n\|.*)*", text, flags=re.M)[0].splitlines()
    rows = [[cell.strip(" *") for cell in line.strip("|").split("|")] for line in lines]
    return {
        (row[0], heading): cell
        for row in rows[2:]
        for heading, cell in zip(rows[0][1:], row[1:], strict=False)
    }


def measured(name: str) -> dict[tuple[str, str], str]:
    page = MEASUREMENTS.read_text("utf-8")
    return table(re.split(rf"^### {name} \(", page, flags=re.M)[1].split("\n###")[0])


def test_the_readmes_table_is_the_measured_one() -> None:
    shown = table(README.read_text("utf-8"))
    assert {row for row, _ in shown} == set(SETS)
    for (row, column), figure in shown.items():
        assert measured(SETS[row])[SYSTEMS[column], "R@5"] == figure, (row, column)


@pytest.mark.parametrize("name", ["README.md", "docs/faq.md", "docs/comparison.md"])
def test_a_figure_leads_to_where_it_was_measured(name: str) -> None:
    """What a paragraph claims stands on a page that it links to, and that has a command."""
    page = ROOT / name
    for paragraph in re.split(r"\n\n|\n(?=- )", page.read_text("utf-8")):
        figures = set(FIGURE.findall(paragraph))
        if not figures or paragraph.startswith("|"):
            continue
        sources = [page.parent / link for link in re.findall(r"\]\(([^)#]+\.md)", paragraph)]
        found = "\n".join(source.read_text("utf-8") for source in sources)
        assert re.search("hebbgraph[ _]bench", found), f"no source for {figures}"
        assert figures <= set(FIGURE.findall(found)), figures - set(FIGURE.findall(found))


def stored() -> Iterator[tuple[str, str, dict[str, float]]]:
    """Set, system and metrics of each stored result of ``hebbgraph bench``."""
    for path in STORED:
        content = json.loads(path.read_text("utf-8"))
        model = content["settings"]["embedder"]
        for one in content["sets"]:
            for system in one["systems"]:
                ours = "hebbgraph, with MiniLM" if model else "hebbgraph, no model at all"
                name = ours if system["name"] == "hebbgraph spreading" else system["name"]
                if model or name in (ours, "BM25"):  # the others are shown with the model
                    yield one["name"], name, system["metrics"]


def test_the_measured_tables_are_the_stored_results() -> None:
    compared = 0
    for name, system, metrics in stored():
        if f"### {name} (" not in MEASUREMENTS.read_text("utf-8"):
            continue
        shown = measured(name)
        for metric, value in metrics.items():
            if (system, metric) in shown and metric != "tokens":
                assert shown[system, metric] == f"{value:.3f}".removeprefix("0"), (name, system)
                compared += 1
    assert compared > 50


def test_the_table_of_chats_is_the_stored_result() -> None:
    kept = ROOT / "benchmarks" / "results" / "usebench-beam_dev.json"
    systems = json.loads(kept.read_text("utf-8"))["sets"][0]["systems"]
    page = (ROOT / "docs" / "usebench.md").read_text("utf-8")
    assert table(page.split("## Measured")[1]) == {
        (system["name"], metric): f"{value['all']:.3f}".removeprefix("0")
        for system in systems
        for metric, value in system["runs"]["none"]["means"].items()
    }


def share(value: float) -> str:
    return f"{value:.3f}".removeprefix("0")


def rows(text: str) -> list[list[str]]:
    """The cells of a text's first table, without its head."""
    lines = re.search(r"^\|.*(?:\n\|.*)*", text, flags=re.M)[0].splitlines()[2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def test_the_table_of_attacks_is_the_stored_result() -> None:
    kept = json.loads((ROOT / "benchmarks/results/attacks.json").read_text("utf-8"))["sets"]
    page = (ROOT / "docs" / "security.md").read_text("utf-8")
    shown, attack = 0, ""
    for named, honest, *cells in rows(page.split("MRR of 50 attacked questions")[1]):
        attack = named or attack
        for name, cell in zip(kept, cells, strict=True):
            of_set = [one for one in kept[name] if one["honest"] == int(honest)]
            if attack == "no attack":
                value = of_set[0]["alone" if int(honest) else "before"]
            else:
                (value,) = (one["after"] for one in of_set if one["name"] == attack)
            assert cell == share(value), (name, attack, honest)
            shown += 1
    assert shown == sum(map(len, kept.values())) + 4 * len(kept)


def test_the_table_of_all_sets_and_modes_is_the_stored_result() -> None:
    kept = json.loads((ROOT / "benchmarks/results/leave-one-out.json").read_text("utf-8"))["held"]
    direct = {
        (one["name"], one["mode"], one["metric"]): one
        for one in kept
        if not one["over"].startswith("ours")
    }
    text = MEASUREMENTS.read_text("utf-8").split("## All sets, all modes")[1]
    for name, *cells in rows(text):
        for at, mode in enumerate(("no model", "LSA", "embedder")):
            both = [direct.pop((name, mode, metric)) for metric in ("nDCG@10", "R@5")]
            assert cells[2 * at] == ", ".join(share(one["ours"]) for one in both), (name, mode)
            over = []
            for found in (one["difference"] for one in both):
                value = f"{found['mean']:+.3f}".replace("0.", ".", 1).replace("-", "−")
                value = "0" if abs(found["mean"]) < 0.0005 else value
                over.append(f"**{value}**" if found["low"] > 0 or found["high"] < 0 else value)
            assert cells[2 * at + 1] == ", ".join(over), (name, mode)
    assert not direct


def test_what_serving_costs_is_the_stored_result() -> None:
    page = (ROOT / "docs" / "serving.md").read_text("utf-8")
    views, overhead = (
        json.loads((ROOT / "benchmarks" / "results" / f"serving-{name}.json").read_text("utf-8"))
        for name in ("views", "overhead")
    )
    assert [[one[0], *one[2:]] for one in views["rows"]] == rows("| view" + page.split("| view")[1])
    local, served, difference = (one[1] for one in overhead["rows"])
    told = " ".join(page.split())
    assert f"takes {difference} ms more than a local one" in told
    assert f"{served} against {local} ms" in told


def stored_run(name: str) -> dict[str, str]:
    """All numbers of a stored run of replicas, by their path, as the page writes them."""

    def walk(value: Any, path: str) -> Iterator[tuple[str, str]]:
        if isinstance(value, dict | list):
            parts = value.items() if isinstance(value, dict) else enumerate(value)
            for key, part in parts:
                yield from walk(part, f"{path}/{key}".strip("/"))
        elif isinstance(value, int | float):
            yield path, f"{value:,}" if isinstance(value, int) else str(value)

    path = ROOT / "benchmarks" / "results" / f"scale-{name}.json"
    return dict(walk(json.loads(path.read_text("utf-8")), ""))


def scale_rows(title: str) -> dict[str, list[str]]:
    page = (ROOT / "docs" / "scale.md").read_text("utf-8").split(f"**{title}.**")[1]
    return {name: cells for name, *cells in rows(page)}


def test_the_storm_is_the_stored_run() -> None:
    run, shown = stored_run("storm"), scale_rows("A node dies")
    after = sum(int(run[f"failed/{verb}"]) for verb in ("recall", "reinforce", "add"))
    told = {
        "tenants, replicas, clients, seconds": [
            run["tenants"], run["replicas"], run["clients"], run["seconds"].removesuffix(".0"),
        ],
        "questions, lessons, chunks that were acknowledged": [
            run["questions"], run["lessons"], run["chunks"],
        ],
        "wrong answers": [run["wrong answers"]],
        "lessons lost, chunks lost": [run["feedback lost"], run["chunks lost"]],
        "rankings compared, unlike a rebuild's": [
            run["rankings compared"], run["rankings unlike a rebuild's"],
        ],
        "requests that failed: before the kill, after it": [
            run["failed before the kill"], str(after - int(run["failed before the kill"])),
        ],
        "the last of them was sent, seconds after the kill": [run["last failure began"]],
        "the longest time without any answer, s": [run["longest time without any answer"]],
        "a recall, s: median, p95, longest": [run["median_s"], run["p95_s"], run["longest_s"]],
        "a lesson counts at another replica, ms: median, longest": [
            run["feedback at another replica/median_ms"],
            run["feedback at another replica/longest_ms"],
        ],
    }  # fmt: skip
    assert {name: ", ".join(values) for name, values in told.items()} == {
        name: cell for name, (cell,) in shown.items()
    }


def test_throughput_and_starting_are_the_stored_runs() -> None:
    run, shown = stored_run("throughput"), scale_rows("Throughput")
    spent = {
        "processor ms a question: replicas": "replicas", "database": "database",
        "HAProxy": "proxies", "load generator": "load generator",
        "Ray's other processes": "Ray's other processes",
    }  # fmt: skip
    for at in (0, 1):
        assert shown["questions a second"][at] == run[f"rounds/{at}/questions_a_second"]
        median, p95 = run[f"rounds/{at}/median_ms"], run[f"rounds/{at}/p95_ms"]
        assert shown["median, p95, ms"][at] == f"{median}, {p95}"
        for row, part in spent.items():
            assert shown[row][at] == run[f"rounds/{at}/processor_ms_a_question/{part}"], (row, at)
    page = (ROOT / "docs" / "scale.md").read_text("utf-8")
    assert f"\n{run['two_over_one']} times, where" in page

    run, shown = stored_run("snapshots"), scale_rows("Starting")
    ways = ("start from the snapshot", "start by building")
    for at, cell in enumerate(shown["start, wall, s"]):
        assert cell == run[f"{at // 2}/{ways[at % 2]}/wall_s"]
        assert shown["start, processor, s"][at] == run[f"{at // 2}/{ways[at % 2]}/cpu_s"]
    for at, cell in enumerate(shown["bytes read of the snapshot"][::2]):
        assert cell == run[f"{at}/start from the snapshot/bytes_read"]
        assert float(run[f"{at}/start from the snapshot/wall_s"]) < 0.2 * float(
            run[f"{at}/start by building/wall_s"]
        )


def test_both_learning_commands_agree_on_every_stream() -> None:
    run = json.loads((RESULTS / "equal-usebench.json").read_text("utf-8"))
    assert [stream["unequal"] for stream in run["streams"]] == [{}] * 11
    total = sum(stream["figures"] for stream in run["streams"])
    page = (ROOT / "docs" / "usebench.md").read_text("utf-8")
    assert f"none of {total:,} figures on all eleven streams differs" in page


def test_times_of_building_are_the_stored_run() -> None:
    built = json.loads((ROOT / "benchmarks/results/scale-building.json").read_text("utf-8"))
    of_each = [built["rounds"][0][how] for how in ("add", "1", "2")]
    page = (
        (ROOT / "docs" / "building.md").read_text("utf-8").split("<!-- figures: scale-building")[1]
    )
    assert rows(page) == [
        ["whole, s", *(f"{one['whole']:.1f}" for one in of_each)],
        ["processor time of all, s", *(f"{one['cpu']:.1f}" for one in of_each)],
    ]
    assert f"are {built['workers_over_one']:.2f} times as fast as one" in page
    whole = of_each[1]["whole"]
    two, eight, many = (f"{whole / one:.2f}" for one in built["predicted_seconds"].values())
    told = " ".join(page.split())
    assert f"says {two}; for eight and 64 it predicts {eight} and {many} times" in told


def test_the_sizes_are_the_stored_ones() -> None:
    kept = json.loads((ROOT / "benchmarks/results/sizes.json").read_text("utf-8"))["rows"]
    page = (ROOT / "docs" / "installing.md").read_text("utf-8").split("<!-- figures: sizes")[1]
    assert not [row for row in rows(page) if row not in kept]


#: What was timed or weighed follows the machine; the command that does it again stands beside it.
TIMED = {"scale.md"}
PAGES = [
    "README.md",
    *(f"docs/{one.name}" for one in sorted((ROOT / "docs").glob("*.md")) if one.name not in TIMED),
]
NUMBER = re.compile(r"\d*\.\d+|\d+")


def numbers(value: object) -> Iterator[str]:
    """Each number that a stored result holds, as a table may show it, without its sign."""
    if isinstance(value, dict):
        for key, of_key in value.items():
            yield from NUMBER.findall(key)
            yield from numbers(of_key)
    elif isinstance(value, list) and not _of_each_question(value):
        for one in value:
            yield from numbers(one)
    elif isinstance(value, str):
        yield from (found.removeprefix("0") or "0" for found in NUMBER.findall(value))
    elif isinstance(value, int | float) and not isinstance(value, bool):
        for digits in range(4):
            yield from (
                found.removeprefix("0") or "0"
                for found in NUMBER.findall(f"{abs(value):.{digits}f}")
            )
            yield f"{abs(value) * 100:.{digits}f}".removeprefix("0") or "0"


def _of_each_question(values: list[object]) -> bool:
    return len(values) > 20 and not isinstance(values[0], str | list | dict)


@pytest.mark.parametrize("name", PAGES)
def test_each_table_of_figures_is_stored(name: str) -> None:
    """A table of figures is written by the proof, names its stored results, or quotes a source."""
    written = (ROOT / name).read_text("utf-8")
    page = re.sub(r"<!-- proof: .*?<!-- end -->", "", written, flags=re.S)
    for section in re.split(r"^#+ ", page, flags=re.M):
        for found in re.finditer(r"^\|.*(?:\n\|.*)*", section, flags=re.M):
            head, *lines = found[0].splitlines()[1:]
            lines = [line for line in lines if "---:" in head and "](http" not in line]
            figures = {figure for line in lines for figure in re.findall(r"\d*\.\d+", line)}
            above = section[: found.start()].rstrip().rpartition("\n\n")[2]
            if not figures or "](http" in above:
                continue
            marks = re.findall(r"<!-- figures: (.+?) -->", section[: found.start()])
            assert marks, f"{name}, {section.splitlines()[0]}: where are these kept? {lines[0]}"
            kept = {
                number
                for file in marks[-1].split()
                for number in numbers(json.loads((RESULTS / file).read_text("utf-8")))
            }
            unknown = {figure for figure in figures if figure.removeprefix("0") not in kept}
            assert not unknown, f"{name}, {section.splitlines()[0]}: not in {marks[-1]}: {unknown}"


def test_stored_results_name_no_path_of_a_machine() -> None:
    paths = re.compile(r'"(?:/|[A-Z]:)[^"]*/')
    assert not [one.name for one in RESULTS.glob("*.json") if paths.search(one.read_text("utf-8"))]
