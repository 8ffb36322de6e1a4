"""Write the tables of docs/proof.md and other pages from stored results.

A page contains prose and, for each table, a pair of markers; the text between them is replaced. A
row is left out if its stage was not measured; the last table names every such stage.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from hebbgraph.errors import ParameterError
from hebbgraph.formulas.bootstrap import paired_bootstrap

from hebbgraph_bench.learning.use import OURS as TAUGHT
from hebbgraph_bench.proof.answers import GOLD
from hebbgraph_bench.proof.plan import DEVELOPMENT, MODELS, PUBLISHED
from hebbgraph_bench.proof.poisoning import ACTORS, RECIPES
from hebbgraph_bench.proof.retrieval import DEPTHS, OURS
from hebbgraph_bench.proof.rivals import RIVALS
from hebbgraph_bench.proof.sets import TITLES
from hebbgraph_bench.proof.stages import Results, Stage
from hebbgraph_bench.proof.use import PROTOCOLS, Protocol
from hebbgraph_bench.tables import Grid

__all__ = ["TABLES", "fill_tables"]

_MARKED = re.compile(r"(<!-- proof: ([\w -]+) -->\n).*?(<!-- end -->)", re.DOTALL)
_NAMES = {"none": "no model", "MiniLM": "MiniLM", "mpnet": "mpnet"}
#: Protocols of learning in the README: index, description, and part of the test.
_FIRST_LEARNED = {
    1: ("people's questions on health pages", "all"),
    4: ("commits to the code they change", "all"),
    5: ("people's cases under a rule", "all"),
    7: ("questions on medical papers", "all"),
    8: ("MuSiQue, heavily reworded", "paraphrase_heavy"),
}
_SETS = ("2wiki_hr", "2wiki_164")
_Table = Callable[[Results], str]

#: R@5 on all 1,000 questions of 2wiki_hr, as published; whether an LLM is used for indexing and
#: for each question.
_PUBLISHED: tuple[tuple[str, str, str, str], ...] = (
    ("BM25", "-", "no / no", ".619 to .678"),
    ("NV-Embed-v2, 7B", "itself", "no / no", ".765"),
    ("HippoRAG 2", "NV-Embed-v2", "yes / yes", ".904"),
    ("NeuroGraphDB", "NV-Embed-v2", "no / no", ".935"),
    ("PropRAG", "NV-Embed-v2", "yes / no", ".941"),
    ("BridgeRAG", "NV-Embed-v2", "no / 3 calls", ".953"),
)
_BEST = ("BridgeRAG", 0.9527)


def fill_tables(page: str, results: Results, stages: Sequence[Stage]) -> str:
    """Return the page with updated tables.

    Raises
    ------
    ParameterError
        If a marker names no table.
    """

    def table(marked: re.Match[str]) -> str:
        name = marked[2]
        if name in _OF_STAGES:
            body = _OF_STAGES[name](results, stages)
        elif name in TABLES:
            body = TABLES[name](results)
        else:
            raise ParameterError(f"no table is named {name!r}; there are: {', '.join(TABLES)}")
        return f"{marked[1]}\n{body.strip() or 'Not measured yet.'}\n\n{marked[3]}"

    return _MARKED.sub(table, page)


def _in_use(results: Results) -> str:
    """Lay out for the README what use brings on a few sets, including losses."""
    rows = []
    for place, (label, part) in _FIRST_LEARNED.items():
        protocol = PROTOCOLS[place]
        stored = [results.read(f"{protocol.stage}/{model}") for model in MODELS[:2]]
        if not all(stored):
            continue
        systems = [result["figures"]["parts"][part]["systems"] for result in stored if result]
        arms = {name: values["taught"] for name, values in systems[-1].items() if name != TAUGHT}
        best = max(arms, key=lambda name: arms[name])
        ours = [
            f"{_share(values[TAUGHT]['untaught'])} → {_share(values[TAUGHT]['taught'])}"
            for values in systems
        ]
        rows.append((f"{label} ({protocol.metric})", *ours, f"{_share(arms[best])}, {best}"))
    return _grid(
        ("before → after use", "no model", "MiniLM", "[best simple way](docs/usebench.md)"), rows
    )


def _changes(results: Results) -> str:
    """Lay out what use changed on each set, in short."""
    rows = []
    for protocol in PROTOCOLS:
        cells: list[str] = []
        for model in MODELS[:2]:
            if not (stored := results.read(f"{protocol.stage}/{model}")):
                break
            parts = stored["figures"]["parts"]
            change = {part: parts[part]["systems"][TAUGHT]["by use"] for part in parts}
            shown_parts = [
                part for part in ("shares", "rest", "paraphrase_heavy") if part in change
            ]
            cells.append(_difference(change["all"]))
            cells.append(
                ", ".join(
                    f"{part.replace('_', ' ')} {_signed(change[part])}" for part in shown_parts
                )
            )
        else:
            rows.append((f"{protocol.set}, {protocol.order} ({protocol.metric})", *cells))
    return _grid(("set, order", "no model: all", "of these", "MiniLM: all", "of these"), rows)


def _recall(results: Results, name: str) -> str:
    rows = []
    for model in MODELS:
        if not (stored := results.read(f"retrieval/{name}/published/{model}")):
            continue
        systems = stored["figures"]["systems"]
        for system, values in systems.items():
            if system == "BM25" and model != "none":
                continue
            label = system if system == "BM25" else f"{system}, {_NAMES[model]}"
            rows.append(
                (
                    f"**{label}**" if system == OURS else label,
                    *(_share(values[metric]) for metric in ("R@2", "R@5")),
                    _interval(values["interval"]),
                    *(_share(values[metric]) for metric in ("R@10", "all-gold@10")),
                    "" if system == OURS else _minus(systems[OURS], values),
                )
            )
    headings = ("system", "R@2", "R@5", "95 %", "R@10", "all-gold@10", "ours minus it, R@5")
    return _grid(headings, rows)


def _glance(results: Results) -> str:
    """Lay out R@5 of all published sets in one table."""
    columns = [("BM25", "none", "BM25")]
    columns += [(f"{name}, MiniLM", "MiniLM", name) for name in ("dense", "weighted fusion")]
    columns += [(f"**ours, {_NAMES[model]}**", model, OURS) for model in MODELS]
    rows = []
    for name in PUBLISHED:
        stored = {model: results.read(f"retrieval/{name}/published/{model}") for model in MODELS}
        cells = [
            _share(result["figures"]["systems"][system]["R@5"]) if (result := stored[model]) else ""
            for _, model, system in columns
        ]
        rows.append((name, *cells))
    return _grid(("set", *(heading for heading, _, _ in columns)), rows)


def _depth(results: Results) -> str:
    """Lay out recall at several depths."""
    columns = [f"{metric}@{k}" for metric in ("R", "all-gold") for k in DEPTHS]
    rows = []
    for name in (*PUBLISHED, *DEVELOPMENT):
        for model in MODELS[:2]:
            if not (stored := results.read(f"depth/{name}/{model}")):
                continue
            for system, values in stored["figures"]["systems"].items():
                if system == "BM25" and model != "none":
                    continue
                label = system if system == "BM25" else f"{system}, {_NAMES[model]}"
                cells = [_share(values[column]) for column in columns]
                rows.append((name, f"**{label}**" if system == OURS else label, *cells))
    return _grid(("set", "system", *columns), rows)


def _published(results: Results) -> str:
    rows = [(*row, "1,000") for row in _PUBLISHED]
    against = []
    for model in MODELS:
        if stored := results.read(f"retrieval/2wiki_hr/published/{model}"):
            values = stored["figures"]["systems"][OURS]
            cell = f"**{_share(values['R@5'])}** {_interval(values['interval'])}"
            questions = f"{stored['figures']['questions']:,}"
            rows.append((f"**ours, {_NAMES[model]}**", _NAMES[model], "no / no", cell, questions))
            against.append(f"{values['R@5'] - _BEST[1]:+.4f} with {_NAMES[model]}")
    grid = _grid(("system", "embedder", "LLM: index / question", "R@5", "questions"), rows)
    name, best = _BEST
    return f"{grid}\nOurs minus the best published ({name}, {best}): {', '.join(against)}."


def _titles(results: Results) -> str:
    rows = []
    for name in (*PUBLISHED, *DEVELOPMENT):
        for model in MODELS:
            stored = [results.read(f"retrieval/{name}/{titles}/{model}") for titles in TITLES]
            if stored[0] is None or not any(stored[1:]):
                continue
            for system in stored[0]["figures"]["systems"]:
                if system == "BM25" and model != "none":
                    continue
                label = system if system == "BM25" else f"{system}, {_NAMES[model]}"
                cells = [
                    _share(result["figures"]["systems"][system]["R@5"]) if result else ""
                    for result in stored
                ]
                rows.append((name, f"**{label}**" if system == OURS else label, *cells))
    return _grid(("set", "system", "published", "none", "shuffled"), rows)


def _costs(results: Results) -> str:
    rows = []
    for name in PUBLISHED:
        stages = [f"retrieval/{name}/published/{model}" for model in MODELS]
        stages += [f"rivals/{name}/{rival}" for rival in RIVALS]
        for stage in stages:
            stored = results.read(stage)
            for system, cost in (stored["costs"] if stored else {}).items():
                if not isinstance(cost, Mapping) or (system == "BM25" and stage != stages[0]):
                    continue
                label = system
                if stage.startswith("retrieval") and system != "BM25":
                    label += f", {_NAMES[stage.rsplit('/', 1)[1]]}"
                rows.append(
                    (
                        name,
                        f"**{label}**" if system == OURS else label,
                        f"{cost['index processor seconds']:.1f}",
                        f"{cost['question processor ms']:.1f}",
                        "0",
                    )
                )
    return _grid(("set", "system", "index, s", "question, ms", "LLM tokens"), rows)


def _learned(results: Results, protocol: Protocol) -> str:
    """Lay out hebbgraph and the simple baselines, by part of one set's test."""
    rows = []
    for model in MODELS:
        if not (stored := results.read(f"{protocol.stage}/{model}")):
            continue
        parts = stored["figures"]["parts"]
        for system in parts["all"]["systems"]:
            cells = []
            for part in parts:
                values = parts[part]["systems"][system]
                cells += [
                    _share(values["taught"]),
                    _difference(values["by use"]) if values["by use"] else "",
                ]
            label = f"{system}, {_NAMES[model]}"
            rows.append((f"**{label}**" if system == TAUGHT else label, *cells))
        heads = [
            head
            for part, values_of_part in parts.items()
            for head in (_part(part, values_of_part), "by use")
        ]
    return _grid(("system", *heads), rows) if rows else ""


def _use(results: Results) -> str:
    """Lay out hebbgraph on all sets, and the best simple baseline on related questions."""
    rows = []
    for protocol in PROTOCOLS:
        for model in MODELS[:2]:
            if not (stored := results.read(f"{protocol.stage}/{model}")):
                continue
            figures = stored["figures"]
            parts = figures["parts"]
            first = next((part for part in ("shares",) if part in parts), "all")
            arms = {
                name: values
                for name, values in parts[first]["systems"].items()
                if name != TAUGHT and values["by use"]
            }
            best = max(arms, key=lambda name: arms[name]["taught"])
            cells = []
            for part in ("all", "shares", "rest"):
                ours = parts[part]["systems"][TAUGHT] if part in parts else None
                cells.append(
                    f"{_share(ours['untaught'])} → {_share(ours['taught'])},"
                    f" {_difference(ours['by use'])}"
                    if ours
                    else ""
                )
            theirs = f"{best}: {_share(arms[best]['taught'])}"
            if "rest" in parts:
                theirs += f"; rest {_difference(parts['rest']['systems'][best]['by use'])}"
            rows.append(
                (
                    f"{protocol.set}, {protocol.order} ({figures['metric']})",
                    _NAMES[model],
                    *cells,
                    theirs,
                )
            )
    return _grid(("set, order", "mode", "all", "shares", "rest", "best simple arm, taught"), rows)


def _part(name: str, figures: Mapping[str, Any]) -> str:
    return f"{name} ({figures['questions']})"


def _rivals(results: Results) -> str:
    rows = []
    for name in (*PUBLISHED, *DEVELOPMENT):
        ours = results.read(f"retrieval/{name}/published/MiniLM")
        for rival in RIVALS:
            if not (stored := results.read(f"rivals/{name}/{rival}")):
                continue
            values = stored["figures"]["systems"][rival]
            compared = _minus(ours["figures"]["systems"][OURS], values) if ours else ""
            cells = [_share(values[metric]) for metric in ("R@2", "R@5")]
            rows.append((name, rival, *cells, _interval(values["interval"]), compared))
    return _grid(("set", "system, MiniLM", "R@2", "R@5", "95 %", "ours minus it, R@5"), rows)


def _documents(results: Results) -> str:
    rows = []
    for name in _SETS:
        for recipe in RECIPES:
            if not (stored := results.read(f"poison/{name}/{recipe}")):
                continue
            figures = stored["figures"]
            for system, damage in {"ours": figures["during"], **figures["direct"]}.items():
                mine = system == "ours"
                before = f"{_share(figures['before']['gold'])} → " if mine else ""
                after = f" → {_share(figures['deleted']['gold'])}" if mine else ""
                same = f"{figures['same after delete']}, {figures['same after compact']}"
                rows.append(
                    (
                        f"{name}, {recipe}",
                        f"**{system}**" if mine else system,
                        _share(damage["first"]),
                        _share(damage["found"]),
                        f"{before}{_share(damage['gold'])}{after}",
                        f"{same} of {figures['recalls']}" if mine else "",
                    )
                )
    headings = ("attack", "system", "first", "in five", "gold R@5", "equal: deleted, compacted")
    return _grid(headings, rows)


def _citations(results: Results) -> str:
    rows = []
    for name in _SETS:
        for actors in ACTORS:
            for readers in (False, True):
                stage = f"poison/{name}/MINJA {actors}{', readers' if readers else ''}"
                if not (stored := results.read(stage)):
                    continue
                figures = stored["figures"]
                steps = [figures[step] for step in ("before", "during", "forgotten")]
                rows.append(
                    (
                        f"{name}, {actors}",
                        "right citations" if readers else "nothing",
                        _share(figures["injected"]),
                        *(
                            " → ".join(_share(step[measure]) for step in steps)
                            for measure in ("first", "found", "gold")
                        ),
                        f"{figures['same after forget']} of {figures['recalls']}",
                    )
                )
    headings = ("set, actors", "learned before", "cited", "first", "in five", "gold R@5", "equal")
    return _grid(headings, rows)


def _answers(results: Results) -> str:
    rows = []
    for name in (*PUBLISHED, "hotpotqa_train100"):
        if not (stored := results.read(f"answers/{name}")):
            continue
        for system, values in stored["figures"]["systems"].items():
            cells = [
                _share(values[metric]) for metric in ("recall", "EM", "F1", "cites", "precision")
            ]
            compared = "" if system in (OURS, GOLD) else _difference(values["ours minus it"])
            label = f"{name}, {stored['figures']['questions']} questions"
            rows.append((label, f"**{system}**" if system == OURS else system, *cells, compared))
    headings = ("set", "system", "in context", "EM", "F1", "cites", "precision", "ours minus it")
    return _grid(headings, rows)


def _own_citations(results: Results) -> str:
    rows = []
    for name in (*PUBLISHED, "hotpotqa_train100"):
        if not (stored := results.read(f"answers/{name}")):
            continue
        learning = stored["figures"]["learning"] or {"strata": {}}
        for stratum, values in learning["strata"].items():
            rows.append(
                (
                    f"{name}, {stratum}",
                    str(values["questions"]),
                    f"{learning['right']} of {learning['cited']}",
                    _share(values["before"]),
                    _difference(values["after"]),
                )
            )
    return _grid(("questions", "asked", "citations right", "R@5 before", "change"), rows)


def _when(results: Results, stages: Iterable[Stage]) -> str:
    """List which stages are up to date, and name those that are not."""
    runs: dict[tuple[bool, str], list[tuple[str, str, float]]] = {}
    for stage in stages:
        if stored := results.read(stage.name):
            run = (not results.is_fresh(stage), stored["fingerprint"]["code"])
            day = stored["environment"]["made_at"][:10]
            load = (stored["environment"]["load_average"] or [0])[0]
            runs.setdefault(run, []).append((stage.name, day, load))
    rows = []
    for (older, code), stages_of_run in sorted(runs.items()):
        names, days, loads = zip(*stages_of_run, strict=True)
        kinds = Counter(name.partition("/")[0] for name in names)
        names_shown = (
            (f"`{name}`" for name in names)
            if older
            else (f"{count} {n}" for count, n in kinds.items())
        )
        rows.append(
            (
                f"`{code}`, {'older' if older else 'as of this page'}",
                max(days),
                ", ".join(names_shown),
                f"{min(loads):.0f} to {max(loads):.0f}",
            )
        )
    return _grid(("code", "day", "stages", "load of two cores"), rows)


def _missing(results: Results, stages: Iterable[Stage]) -> str:
    kinds: dict[str, list[str]] = {}
    for stage in stages:
        if results.read(stage.name) is None:
            kind, _, rest = stage.name.partition("/")
            kinds.setdefault(kind, []).append(rest)
    lines = (
        f"- `{kind}/`: {', '.join(f'`{name}`' for name in names)}" for kind, names in kinds.items()
    )
    return "\n".join(lines) or "None."


def _grid(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    return Grid("", headings, rows).markdown() if rows else ""


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}".replace("0.", ".", 1)


def _interval(pair: Sequence[float]) -> str:
    return f"[{_share(pair[0])}, {_share(pair[1])}]"


def _minus(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> str:
    """Compare two systems question by question, if they answered the same questions."""
    if len(ours["each"]) != len(theirs["each"]):
        return "other questions"
    difference = paired_bootstrap(np.array(ours["each"]), np.array(theirs["each"]))
    return _difference({"mean": difference.mean, "low": difference.low, "high": difference.high})


def _difference(difference: Mapping[str, float]) -> str:
    mean, low, high = (
        f"{difference[key]:+.3f}".replace("0.", ".", 1) for key in ("mean", "low", "high")
    )
    return f"{mean} [{low}, {high}]"


def _signed(difference: Mapping[str, float]) -> str:
    return f"{difference['mean']:+.3f}".replace("0.", ".", 1)


_OF_STAGES = {"missing": _missing, "when": _when}
TABLES: dict[str, _Table] = {
    **{name: partial(_recall, name=name) for name in PUBLISHED},
    "changes": _changes,
    "in use": _in_use,
    "glance": _glance,
    "published": _published,
    "depth": _depth,
    "titles": _titles,
    "costs": _costs,
    "use": _use,
    "past": lambda results: _learned(results, PROTOCOLS[0]),
    "wordings": lambda results: _learned(results, PROTOCOLS[8]),
    "rivals": _rivals,
    "documents": _documents,
    "citations": _citations,
    "answers": _answers,
    "own citations": _own_citations,
}
