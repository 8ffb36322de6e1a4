"""Draw the animation of a recall, for standard output: ``make animation``.

Nothing in it is made up: the example corpus is indexed, a question is asked and replayed with
``index.trace``, the passage with the answer is cited, and the question is replayed again. It is
an SVG that moves by CSS alone, so that it is crisp, small, and runs wherever pictures do.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from pathlib import Path

from hebbgraph_documents import ingest

from hebbgraph import HebbianIndex, Trace

CORPUS = Path(__file__).parents[2] / "examples" / "corpus"
QUESTION = "Who made the lens Anselm Rooke was looking through when he discovered his comet?"
ANSWER = "Halloran Refractor"  # says who ground the lens

WIDTH, HEIGHT, TOP = 960, 300, 80
COLUMNS = (70, 255, 440, 645, 860)
HEADINGS = ("question", "its tags", "passages", "their tags", "passages")
BOX = (150, 34)
SHOWN = 3  # nodes of a column
#: When each column begins to be lit, then the citation, in percent of the whole.
PHASES = (3, 12, 22, 34, 46, 64)
SECONDS = 12

STYLE = """
text{font:13px system-ui,sans-serif;fill:#26303d;text-anchor:middle}
.said{font-size:15px;font-weight:600}.head{font-size:11px;fill:#66707d}
rect{fill:#fff;stroke:#3d4a5c;stroke-width:1.4}.tag rect{stroke:#7a7f87;stroke-dasharray:4 3}
path{fill:none;stroke:#3d6ea8;stroke-linecap:round;stroke-dasharray:1;stroke-dashoffset:0}
path.learned{stroke:#b23a7f}.rank{font-weight:700;fill:#3d6ea8}.again{fill:#b23a7f}
@media(prefers-color-scheme:dark){text{fill:#e4e8ee}.head{fill:#9aa4b1}rect{fill:#1b222c;stroke:#9fb0c5}
path{stroke:#7fb0e8}path.learned{stroke:#ee82bd}.rank{fill:#7fb0e8}.again{fill:#ee82bd}}
"""


@dataclass(frozen=True)
class Edge:
    """What flows between two columns, strongest first."""

    source: str
    target: str
    mass: float
    learned: bool


def main() -> None:
    """Ask, cite, ask again, draw."""
    with HebbianIndex.open(":memory:") as index:
        ingest([CORPUS], index, base=CORPUS, suffixes=(".md",))
        recall = index.recall(QUESTION, k=5)
        before = index.inspect.trace(recall)
        hit = next(hit for hit in recall.hits if hit.chunk.title == ANSWER)
        index.reinforce(recall, cited=[hit.chunk.id])
        after = index.inspect.trace(index.recall(QUESTION, k=5))
    print(drawn(before, after, hit.chunk.id), end="")


def drawn(before: Trace, after: Trace, cited: str) -> str:
    """Return the animation as SVG."""
    places = placed(before)
    flows = [e for e in edges(before) if e.source in places and e.target in places]
    known = {(edge.source, edge.target) for edge in flows}
    learned = [
        edge
        for edge in edges(after)
        if edge.learned and edge.source in places and edge.target in places
    ]
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img">',
        f"<title>{escape(QUESTION)} Activation flows from the question over tags and passages; "
        "a citation adds edges of its own, and the cited passage rises.</title>",
        f"<style>{STYLE}{''.join(_timed())}</style>",
        f'<text class="said" x="{WIDTH // 2}" y="24">{escape(QUESTION)}</text>',
    ]
    parts += [
        f'<text class="head" x="{x}" y="{TOP - 30}">{heading}</text>'
        for x, heading in zip(COLUMNS, HEADINGS, strict=True)
    ]
    forward = [e for e in flows if places[e.source][0] < places[e.target][0]]
    parts += [_edge(edge, places, places[edge.target][0]) for edge in forward]
    parts += [
        _edge(edge, places, len(PHASES) - 1)
        for edge in learned
        if (edge.source, edge.target) not in known
    ]
    parts += [_node(before, key, *places[key]) for key in places]
    parts += _ranks(before, after, places)
    said = f"The answer cites “{_title(before, cited)}”: the next question finds it sooner."
    parts.append(
        f'<text class="said again p{len(PHASES) - 1}" x="{WIDTH // 2}" y="{HEIGHT - 10}">'
        f"{escape(said)}</text>"
    )
    return "\n".join([*parts, "</svg>", ""])


def edges(trace: Trace) -> Iterator[Edge]:
    """Yield what flowed in the first two steps, between nodes by kind and value."""
    for event in trace.events:
        if event.step < 2:
            source, target = (_key(trace, at) for at in (event.source, event.target))
            yield Edge(source, target, event.mass, event.learned > 0.5)


def placed(trace: Trace) -> dict[str, tuple[int, int]]:
    """Return column and row of the nodes that most flows to, in the column reached first."""
    columns: dict[str, int] = {_key(trace, 0): 0}
    mass: dict[str, float] = {_key(trace, 0): 1.0}
    for event in trace.events:
        if event.step < 2:
            target = trace.nodes[event.target]
            key = _key(trace, event.target)
            columns.setdefault(key, 2 * event.step + (1 if target.kind == "tag" else 2))
            mass[key] = mass.get(key, 0.0) + event.mass
    found = {}
    titles: set[tuple[int, str]] = set()
    for column in range(len(COLUMNS)):
        row = 0
        for key in sorted((k for k in columns if columns[k] == column), key=lambda k: -mass[k]):
            if row < SHOWN and (column, _title(trace, key)) not in titles:
                titles.add((column, _title(trace, key)))  # one part of a document is enough
                found[key] = (column, row)
                row += 1
    return found


def _key(trace: Trace, at: int) -> str:
    node = trace.nodes[at]
    return node.value if node.kind == "chunk" else f"{node.kind}:{node.value}"


def _title(trace: Trace, key: str) -> str:
    for at, node in enumerate(trace.nodes):
        if _key(trace, at) == key:
            return node.title or node.value
    raise LookupError(key)


def _middle(column: int, row: int) -> tuple[int, int]:
    return COLUMNS[column], TOP + 16 + row * 56


def _edge(edge: Edge, places: dict[str, tuple[int, int]], phase: int) -> str:
    (x1, y1), (x2, y2) = (_middle(*places[key]) for key in (edge.source, edge.target))
    half = BOX[0] // 2
    x1, x2 = x1 + (half if places[edge.source][0] else 55), x2 - half
    bend = (x2 - x1) // 2
    curve = f"M{x1} {y1}C{x1 + bend} {y1} {x2 - bend} {y2} {x2} {y2}"
    past_others = edge.learned and places[edge.target][0] - places[edge.source][0] > 1
    if past_others and y1 == y2:  # above the boxes between
        curve = f"M{x1 - 20} {y1 - 17}C{x1 + 60} {y1 - 50} {x2 - 60} {y2 - 50} {x2 + 20} {y2 - 17}"
    elif past_others:  # below them
        curve = f"M{x1} {y1 + 8}C{x1 + 60} {HEIGHT + 20} {x2 - 160} {HEIGHT + 10} {x2} {y2 + 8}"
    width = 1 + 9 * edge.mass
    named = ' class="learned' if edge.learned else ' class="'
    return f'<path{named} d{phase}" pathLength="1" stroke-width="{width:.1f}" d="{curve}"/>'


def _node(trace: Trace, key: str, column: int, row: int) -> str:
    x, y = _middle(column, row)
    kind = "tag" if key.startswith("tag:") else "chunk"
    label = "question" if column == 0 else _title(trace, key)
    width = 110 if column == 0 else BOX[0]
    radius = 17 if kind == "tag" else 4
    return (
        f'<g class="{kind} n{column}"><rect x="{x - width // 2}" y="{y - BOX[1] // 2}" '
        f'width="{width}" height="{BOX[1]}" rx="{radius}"/>'
        f'<text x="{x}" y="{y + 5}">{escape(label)}</text></g>'
    )


def _ranks(before: Trace, after: Trace, places: dict[str, tuple[int, int]]) -> Iterator[str]:
    last = len(PHASES) - 1
    now = {hit.chunk_id: hit.rank for hit in after.hits}
    for hit in before.hits:
        if hit.chunk_id in places and hit.rank <= 5:
            x, y = _middle(*places[hit.chunk_id])
            at = f'x="{x + BOX[0] // 2 - 6}" y="{y - BOX[1] // 2 - 4}"'
            yield f'<text class="rank first" {at}>{hit.rank}</text>'
            if hit.chunk_id in now:
                yield f'<text class="rank again p{last}" {at}>{now[hit.chunk_id]}</text>'


def _timed() -> Iterator[str]:
    """Yield the rules that light each column when activation reaches it, again and again."""
    for phase, start in enumerate(PHASES):
        dark, lit = f"0%,{start}%", f"{start + 8}%,96%"
        yield f"@keyframes n{phase}{{{dark}{{opacity:.18}}{lit}{{opacity:1}}100%{{opacity:.18}}}}"
        yield f"@keyframes p{phase}{{{dark}{{opacity:0}}{lit}{{opacity:1}}100%{{opacity:0}}}}"
        yield (
            f"@keyframes d{phase}{{{dark}{{stroke-dashoffset:1;opacity:0}}"
            f"{start + 1}%{{opacity:1}}{lit}{{stroke-dashoffset:0;opacity:1}}"
            "100%{stroke-dashoffset:0;opacity:0}}"
        )
        for kind in "npd":
            yield f".{kind}{phase}{{animation:{kind}{phase} {SECONDS}s infinite}}"
    shown, gone = PHASES[-2] + 8, PHASES[-1] + 4
    yield (
        f"@keyframes first{{0%,{shown - 4}%{{opacity:0}}{shown}%,{gone - 4}%{{opacity:1}}"
        f"{gone}%,100%{{opacity:0}}}}.first{{animation:first {SECONDS}s infinite}}"
    )
    yield "@media(prefers-reduced-motion:reduce){*{animation:none!important}.first{opacity:0}}"


if __name__ == "__main__":
    main()
