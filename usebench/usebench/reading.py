"""The layout of sets: :func:`write_set` writes this folder, and :func:`read_set` reads it.

::

    corpus.jsonl    {"id", "text", "title"?, "chat"?}
    queries.jsonl   {"id", "question", "supporting_ids", "also_ids"?, "grades"?: {id: int},
                     "scenario"?, "when"?, "actor"?, "chat"?, "cited"?, "group"?, "rewording"?,
                     "split"?: "past" (or log, train, valid) | "test"}
    feedback.jsonl  {"question", "chunk", "ratings": [label], "split"?}            (optional file)
    variants.jsonl  {"id", "question", KIND: wording, ..., "KIND_supporting_ids"?} (optional file)
    set.json        {"order": "shuffled" | "when" | "split"}                       (optional file)

``chat`` divides a set into memories. ``when`` is in seconds since 1970. ``cited`` holds recorded
citations, shown or not; by default, the relevant passages among those shown are cited. A passage of
``also_ids`` may stand for a relevant one.

The stream is, by ``order``:

- ``shuffled``: all questions in an order that the seed fixes;
- ``when``: by date; the past is not scored, as the corpus may already reflect it;
- ``split``: the past, shuffled, then the test, shuffled;
- ``mixed``: all questions shuffled; the first three quarters are the past, the rest the test;
- ``halves``: the same, with halves;
- ``rated``: people's ratings of passages (``feedback.jsonl``, without the test's), then the test;
- ``reworded``: questions that have other wordings (``variants.jsonl``, ``rewording``, or a common
  ``group``) are the past, their wordings the test, in one part for each kind of wording.

With ``frozen``, only the past teaches, and only the test is scored; ``reworded`` always is.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from usebench.errors import SetError
from usebench.records import Event, Feedback, Passage, UseSet

__all__ = ["ORDERS", "RATINGS", "read_set", "write_set"]

ORDERS = ("shuffled", "when", "split", "mixed", "halves", "rated", "reworded")
#: Values of FeedbackQA's labels.
RATINGS = {"Excellent": 1.0, "Acceptable": 2 / 3, "Could be Improved": 1 / 3, "Bad": 0.0}
_CITES, _REJECTS = 2 / 3 - 1e-9, 1 / 3 - 1e-9
_PAST = ("past", "log", "train", "valid")
#: The share of a shuffled stream that is past.
_SHARES = {"mixed": 0.75, "halves": 0.5}
#: If a set names no actors, this many take turns.
_ACTORS = 10


def read_set(
    folder: str | Path,
    *,
    order: str | None = None,
    frozen: bool = False,
    at_most: int | None = None,
    seed: int = 0,
) -> UseSet:
    """Read a set.

    Parameters
    ----------
    folder : str or Path
    order : str, optional
        Of :data:`ORDERS`; by default that of ``set.json``, else one that the questions allow.
    frozen : bool
        Whether only the past teaches, and only the test is scored.
    at_most : int, optional
        Sample at most so many events; they keep their order.
    seed : int
        Of shuffling and sampling.

    Raises
    ------
    SetError
        If a file is missing or invalid.
    """
    folder = Path(folder)
    passages, blank = _passages(folder)
    rows = list(_rows(folder / "queries.jsonl"))
    order = order or _default_order(folder, rows)
    if order not in ORDERS:
        raise SetError(f"{folder}: the order is one of {', '.join(ORDERS)}; got {order!r}")
    known = {passage.id for passage in passages}
    for row in rows:
        if unknown := sorted({str(id_) for id_ in row.get("supporting_ids") or ()} - known - blank):
            raise SetError(
                f"{folder}: question {row['id']!r} expected ids of corpus.jsonl, got {unknown[0]!r}"
            )
    pairs = [(_event(row, known), row) for row in rows]
    placed = _ordered([pair for pair in pairs if pair[0].gold], order, folder, seed, known)
    frozen = frozen or order == "reworded"
    events = [_frozen(event, split) if frozen else event for event, split in placed]
    if not events:
        raise SetError(f"{folder}: expected a question with a relevant passage, got none")
    if at_most is not None and at_most < len(events):
        drawn = sorted(random.Random(seed).sample(range(len(events)), at_most))
        events = [events[number] for number in drawn]
    by_date = order == "when"
    events = [
        replace(
            event,
            when=event.when if by_date else float(number),
            actor=event.actor or f"reader-{number % _ACTORS}",
        )
        for number, event in enumerate(events)
    ]
    if len({passage.memory for passage in passages}) == 1:  # the order of the file leaks answers
        random.Random(seed).shuffle(passages)
    return UseSet(folder.name, tuple(passages), tuple(events), order)


def write_set(
    folder: str | Path,
    corpus: Iterable[Mapping[str, Any]],
    queries: Iterable[Mapping[str, Any]],
    *,
    order: str,
) -> None:
    """Write a set in the plain layout; see the module."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    _write(folder / "corpus.jsonl", corpus)
    _write(folder / "queries.jsonl", queries)
    (folder / "set.json").write_text(json.dumps({"order": order}) + "\n", encoding="utf-8")


_Pair = tuple[Event, Mapping[str, Any]]
_Placed = list[tuple[Event, str]]


def _ordered(pairs: list[_Pair], order: str, folder: Path, seed: int, known: set[str]) -> _Placed:
    rng = random.Random(seed)
    placed = [(event, str(row.get("split") or "")) for event, row in pairs]
    if order == "when":
        placed.sort(key=lambda pair: (pair[0].memory, pair[0].when))
        return [(replace(e, scored=split not in _PAST), split) for e, split in placed]
    rng.shuffle(placed)
    placed.sort(key=lambda pair: pair[0].memory)
    if order == "shuffled":
        return placed
    if order in _SHARES:
        past = int(_SHARES[order] * len(placed))
        return [(event, "past") for event, _ in placed[:past]] + [
            (event, "test") for event, _ in placed[past:]
        ]
    if order == "reworded":
        return _reworded(pairs, folder, rng)
    test = [pair for pair in placed if pair[1] not in _PAST]
    if order == "split":
        return [pair for pair in placed if pair[1] in _PAST] + test
    return [(event, "past") for event in _rated(folder, known, rng)] + test


def _frozen(event: Event, split: str) -> Event:
    return replace(event, scored=False) if split in _PAST else replace(event, taught=False)


def _reworded(pairs: list[_Pair], folder: Path, rng: random.Random) -> _Placed:
    """Return questions that have other wordings, then those wordings."""
    by_id = {event.id: event for event, _ in pairs}
    past: list[Event] = []
    test: list[Event] = []
    groups: dict[str, list[Event]] = {}
    for event, row in pairs:
        if row.get("group"):
            groups.setdefault(str(row["group"]), []).append(event)
        if row.get("rewording"):
            other = {"id": f"{event.id} reworded", "question": row["rewording"], "recorded": None}
            past.append(event)
            test.append(replace(event, part="reworded", **other))
    for first, *others in groups.values():
        if others:
            past.append(first)
            test += [replace(other, part="reworded") for other in others]
    variants = folder / "variants.jsonl"
    for row in _rows(variants) if variants.exists() else ():
        original = by_id.get(str(row["id"]))
        if original is None:
            continue
        past.append(original)
        test += [
            replace(
                original,
                id=f"{original.id} {kind}",
                question=row[kind],
                relevant=dict.fromkeys(row.get(f"{kind}_supporting_ids", original.relevant), 1),
                recorded=None,
                part=kind,
            )
            for kind in row
            if kind not in ("id", "question") and isinstance(row[kind], str)
        ]
    if not test:
        raise SetError(
            f"{folder}: expected variants.jsonl, or questions with a rewording or a common group"
        )
    rng.shuffle(past)
    rng.shuffle(test)
    return [(event, "past") for event in past] + [(event, "test") for event in test]


def _rated(folder: Path, known: set[str], rng: random.Random) -> list[Event]:
    """Turn ratings into one event a question: high ratings cite, low ratings reject."""
    by_question: dict[str, dict[str, float]] = {}
    rows = [row for row in _rows(folder / "feedback.jsonl") if row.get("split") != "test"]
    for row in rows:
        if row["chunk"] not in known:
            continue
        values = [RATINGS[label] for label in row["ratings"]]
        by_question.setdefault(row["question"], {})[row["chunk"]] = sum(values) / len(values)
    events = []
    for number, (question, ratings) in enumerate(sorted(by_question.items())):
        recorded = Feedback(
            question=question,
            shown=tuple(ratings),
            cited=tuple(id_ for id_, value in ratings.items() if value >= _CITES),
            rejected=tuple(id_ for id_, value in ratings.items() if value < _REJECTS),
            ratings=ratings,
        )
        events.append(Event(f"rated-{number}", question, {}, 0.0, scored=False, recorded=recorded))
    rng.shuffle(events)
    return events


def _passages(folder: Path) -> tuple[list[Passage], set[str]]:
    """Return the passages, and the ids of blank ones."""
    passages: dict[str, Passage] = {}
    blank: set[str] = set()
    for row in _rows(folder / "corpus.jsonl"):
        id_ = str(row["id"])
        if id_ in passages or id_ in blank:
            raise SetError(f"{folder / 'corpus.jsonl'}: expected unique ids, got {id_!r} again")
        text, title = str(row.get("text") or ""), str(row.get("title") or "")
        if text.strip() or title.strip():
            passages[id_] = Passage(id_, text, title, str(row.get("chat") or ""))
        else:
            blank.add(id_)
    if not passages:
        raise SetError(f"{folder / 'corpus.jsonl'}: expected at least one passage, got none")
    return list(passages.values()), blank


def _event(row: Mapping[str, Any], known: set[str]) -> Event:
    relevant = {str(id_): 1 for id_ in row.get("supporting_ids") or ()}
    relevant |= {str(id_): int(grade) for id_, grade in (row.get("grades") or {}).items()}
    relevant = {id_: grade for id_, grade in relevant.items() if grade > 0 and id_ in known}
    scenario = f"\n{row['scenario']}" if row.get("scenario") else ""
    event = Event(
        id=str(row["id"]),
        question=f"{row['question']}{scenario}",
        relevant=relevant,
        when=float(row.get("when") or 0.0),
        actor=str(row["actor"]) if row.get("actor") else None,
        memory=str(row.get("chat") or ""),
        also=tuple(str(id_) for id_ in row.get("also_ids") or () if str(id_) in known),
        taught="chat" not in row,  # chats have no known citations
    )
    cited = tuple(str(id_) for id_ in row.get("cited") or () if str(id_) in known)
    if not cited:
        return event
    recorded = Feedback(event.question, (), cited, actor=event.actor, when=event.when)
    return replace(event, recorded=recorded)


def _default_order(folder: Path, rows: Sequence[Mapping[str, Any]]) -> str:
    saved = folder / "set.json"
    if saved.exists():
        return str(json.loads(saved.read_text(encoding="utf-8"))["order"])
    if any(row.get("split") == "log" for row in rows):
        return "split"
    return "when" if rows and all("when" in row for row in rows) else "shuffled"


_REQUIRED = {
    "corpus": ("id",),
    "queries": ("id", "question"),
    "feedback": ("chunk",),
    "variants": ("id",),
}


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the objects of a file with one a line; raise SetError if one is invalid."""
    if not path.is_file():
        raise SetError(
            f"{path}: expected this file; a set is a folder with corpus.jsonl and queries.jsonl, as"
            " usebench/reading.py describes it"
        )
    with path.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                row = json.loads(line)
            except ValueError as error:
                raise SetError(f"{path}:{number}: expected JSON, got {line[:60]!r}") from error
            for name in _REQUIRED[path.stem]:
                if not isinstance(row, dict) or name not in row:
                    raise SetError(f"{path}:{number}: expected a field {name!r}, got {line[:60]!r}")
            yield row


def _write(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    with path.open("w", encoding="utf-8") as file:
        for row in rows:
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
