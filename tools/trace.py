"""Trace one question and one delete through the rows of every table, as Markdown.

usage: python tools/trace.py            print the trace
       python tools/trace.py --write    put it into docs/architecture.md
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from hebbgraph import HebbianIndex
from hebbgraph.recall.question import read_question
from hebbgraph.recall.snapshot import Snapshot
from hebbgraph.store.database import Caches, Session
from hebbgraph.store.postings import Postings, unpack_tags, unpack_words
from hebbgraph.terms import Role, TermKind

PAGE = Path(__file__).parents[1] / "docs/architecture.md"
BEGIN, END = "<!-- trace: begin -->", "<!-- trace: end -->"
CHUNKS = [
    {
        "id": "petrel",
        "title": "Petrel",
        "text": "The barque Petrel was built by Ida Moss.",
        "metadata": {"year": 1871},
    },
    {"id": "moss", "title": "Ida Moss", "text": "Ida Moss lived in Tessel Bay."},
    {"id": "ferry", "title": "Ferry", "text": "A ferry to Tessel Bay leaves at noon."},
]
QUESTION = "Where did the builder of the barque Petrel live?"


def table(title: str, head: Iterable[str], rows: Iterable[Iterable[Any]]) -> str:
    """Return a Markdown table under a bold title."""
    names = list(head)
    lines = [f"**{title}**", "", f"| {' | '.join(names)} |", "|" + "---|" * len(names)]
    lines += (f"| {' | '.join(str(cell) for cell in row)} |" for row in rows)
    return "\n".join(lines)


def state(session: Session) -> str:
    """Return the rows of the tables that say what the chunks hold."""
    chunks = dict(session.rows("SELECT row, id FROM $chunk ORDER BY row"))
    terms = {
        row[0]: row
        for row in session.rows(
            "SELECT id, kind, key, df, proposals, titles FROM $term ORDER BY kind, key"
        )
    }
    tags = [row for row in terms.values() if row[1] == TermKind.TAG]
    words = [row for row in terms.values() if row[1] == TermKind.WORD]
    shown = [row for row in words if row[3] > 1] + [row for row in words if row[2] == "barqu"]
    postings: dict[int, list[str]] = {}
    for term, data in session.rows("SELECT term, data FROM $posting ORDER BY term, first"):
        for row, number, role in zip(*Postings.decode(data), strict=True):
            if terms[term][1] == TermKind.TAG:
                postings.setdefault(term, []).append(f"{row}: {Role(int(role)).name.lower()}")
            else:
                postings.setdefault(term, []).append(f"{row}: ×{number}, length {role}")
    held = []
    for row, data, tagged in session.rows("SELECT row, words, tags FROM $held ORDER BY row"):
        names = ", ".join(terms[t][2] for t in unpack_tags(tagged)[0].tolist())
        held.append((row, f"{len(unpack_words(data))} terms", names))
    facts = session.rows("SELECT key, number, string, row FROM $fact ORDER BY row, key")
    counts = [(key, session.meta[key]) for key in ("chunks", "length")]
    parts = [
        table("chunk", ("row", "id"), chunks.items()),
        table(
            "term, tags",
            ("id", "key", "df", "proposals", "titles"),
            ((t[0], t[2], *t[3:]) for t in tags),
        ),
        table("term, some words", ("id", "key", "df"), ((t[0], t[2], t[3]) for t in shown)),
        table(
            "posting, of these",
            ("term", "key", "row: what"),
            ((t[0], t[2], "; ".join(postings[t[0]])) for t in [*tags, *shown] if t[0] in postings),
        ),
        table("held", ("row", "words", "tags"), held),
        table("fact", ("key", "number", "string", "row"), facts),
        table("meta", ("key", "value"), counts),
    ]
    return "\n\n".join(parts)


def question(index: HebbianIndex) -> str:
    """Return what each part of a recall finds."""
    with index._database.read() as session:
        snapshot = Snapshot(session, Caches())
        asked = read_question(snapshot, QUESTION, index.settings.language)
        rows, scores = asked.search.best(200)
        words = [
            (word, asked.frequencies[word], ", ".join(map(str, asked.search.holders(word))) or "–")
            for word in asked.words
        ]
        cues = [(cue.key, f"{asked.trust[cue.id]:.2f}") for cue in asked.cues]
    recall = index.recall(QUESTION, k=3)
    pairs = zip(rows.tolist(), scores.tolist(), strict=True)
    ranked = sorted(pairs, key=lambda pair: (-pair[1], pair[0]))
    hits = [
        (hit.rank, hit.id, f"{hit.score:.3f}", hit.path_text, f"{hit.graph or 0:.3f}")
        for hit in recall
    ]
    return "\n\n".join(
        [
            table("words of the question", ("word", "df", "rows"), words),
            table("word search", ("row", "BM25"), ((row, f"{s:.3f}") for row, s in ranked)),
            table("cues", ("tag", "trust"), cues),
            table("hits", ("rank", "chunk", "score", "path", "arrived"), hits),
        ]
    )


def trace() -> str:
    """Return the whole trace."""
    with HebbianIndex.open(":memory:") as index:
        index.add(CHUNKS)
        with index._database.read() as session:
            before = state(session)
        asked = question(index)
        index.delete("moss")
        with index._database.read() as session:
            after = state(session)
    return "\n\n".join(
        (
            "### Three chunks are added",
            before,
            f"### “{QUESTION}”",
            asked,
            '### `delete("moss")`',
            after,
        )
    )


def main() -> None:
    """Print the trace, or write it into the page."""
    text = trace()
    if "--write" not in sys.argv:
        print(text)
        return
    page = PAGE.read_text("utf-8")
    between = re.compile(f"{re.escape(BEGIN)}.*{re.escape(END)}", re.DOTALL)
    PAGE.write_text(between.sub(lambda _: f"{BEGIN}\n{text}\n{END}", page), "utf-8")


if __name__ == "__main__":
    main()
