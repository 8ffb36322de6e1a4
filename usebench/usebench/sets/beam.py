"""BEAM: long chats, and questions with the messages that hold their evidence."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from usebench.errors import SetError
from usebench.sets.plain import write_set
from usebench.sets.reading import Card, read_json

__all__ = ["CARD", "build"]

CARD = Card(
    name="BEAM",
    source="mohammadtavakoli78/BEAM (arXiv:2510.27246), a folder of chats such as chats/100K",
    licence="See the repository.",
    feedback="none: memory retrieval is scored by `source_chat_ids`, without a judge.",
    shows="how many of the messages that hold the evidence a memory brings back, chat by chat, each"
    " chat a memory of its own.",
    hides="whether an answer is right, and anything about learning: nobody knows what a model would"
    " have cited. A model wrote chats and questions. Questions to abstain from have no evidence"
    " and are left out.",
)


def build(source: Path, out: Path) -> None:
    """Build the set from a folder of chats, a folder each."""
    corpus: list[dict[str, Any]] = []
    queries: list[dict[str, Any]] = []
    chats = sorted(source.glob("*/chat.json"), key=lambda path: path.parent.name.zfill(9))
    for path in chats:
        chat = path.parent.name
        for session, message in _messages(read_json(path)):
            corpus.append(
                {
                    "id": f"{chat}-{message['id']}",
                    "text": message["content"],
                    "role": message["role"],
                    "session": session,
                    "chat": chat,
                }
            )
        questions = read_json(path.parent / "probing_questions" / "probing_questions.json")
        for kind, rows in questions.items():
            for number, row in enumerate(rows):
                ids = sorted(set(_numbers(row.get("source_chat_ids"))))
                if ids:
                    queries.append(
                        {
                            "id": f"{chat}-{kind}-{number}",
                            "question": row["question"],
                            "supporting_ids": [f"{chat}-{id_}" for id_ in ids],
                            "kind": kind,
                            "chat": chat,
                        }
                    )
    if not queries:
        raise SetError(f"{source}: expected CHAT/chat.json with probing questions, got none")
    write_set(out, corpus, queries, order="shuffled")


def _messages(batches: list[dict[str, Any]]) -> Iterator[tuple[int, dict[str, Any]]]:
    for batch in batches:
        for turn in batch["turns"]:
            for message in turn:
                yield batch["batch_number"], message


def _numbers(ids: Any) -> Iterator[int]:
    """Yield ids from a list, or from an object of lists."""
    if isinstance(ids, dict):
        ids = [id_ for group in ids.values() for id_ in _numbers(group)]
    for id_ in ids or ():
        yield int(id_)
