"""The lessons of a log as columns: everything that memory is computed from.

A *link* is one thing that a lesson says: that it cites or rejects a chunk, with a credit. A *node*
is the number of a chunk with one text, cited or rejected.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hebbgraph.arrays import GrowableArray, IntArray, concatenated_ranges
from hebbgraph.graph.packed_strings import PackedStrings, pack_strings
from hebbgraph.learning.cues import cues_of, question_number
from hebbgraph.limits import MANY_SHOWN
from hebbgraph.records import lesson_digest
from hebbgraph.store.feedback_rows import LessonBody, StoredLesson

__all__ = ["CITED", "Event", "Lessons", "Node", "chunk_of", "shared_credit"]

Node: TypeAlias = str
"""``c:`` (cited) or ``r:`` (rejected), the hash of a chunk's text, ``:``, and the chunk's id."""

#: The kind of explicit feedback; all other kinds are implicit.
CITED = 0
_MAX_CUES, _MAX_CITED, _MAX_REJECTED, _MAX_SHOWN = 256, 16, 64, 32
_COLUMNS = {
    "actor": np.int32, "kind": np.int32, "question": np.uint64, "draw": np.uint64,
    "agrees": np.float32, "openness": np.float32,
    "cue_ends": np.int64, "cue_key": np.uint64, "cue_weight": np.float32,
    "link_lesson": np.int64, "link_node": np.int64, "link_credit": np.float32,
    "shown_ends": np.int64, "shown_node": np.int64, "shown_score": np.float32,
    "outdated_lesson": np.int64, "outdated_node": np.int64, "outdated_by": np.int64,
}  # fmt: skip
#: The latest lessons, up to this many, are lists: they grow faster than arrays, but take ten
#: times the memory.
_MOST_ADDED = 4096
#: A chunk that was not shown has about this share of the last score shown.
BEYOND = 0.5


class Event(NamedTuple):
    """Where a feedback came from."""

    feedback_id: str
    recall_id: str
    actor: str | None


def chunk_of(node: Node) -> tuple[str, str]:
    """Return the id and the text hash of a node's chunk.

    >>> chunk_of("c:0000000000000000:a:b")
    ('a:b', '0000000000000000')
    """
    return node[19:], node[2:18]


def shared_credit(n_cited: int, n_shown: int, *, many_shown: int = MANY_SHOWN) -> float:
    """Return the credit of each cited chunk, in [0, 1].

    ``(1 - (n_cited / n_shown)²) / √n_cited`` with at least ``many_shown`` chunks shown; with
    fewer, citing all of them is no sign of indifference, and the first factor is 1.

    Examples
    --------
    >>> shared_credit(1, 10)
    0.99
    >>> shared_credit(10, 10)
    0.0
    >>> shared_credit(4, 4)
    0.5
    """
    if not n_cited:
        return 0.0
    choice = 1.0 - (n_cited / n_shown) ** 2 if n_shown >= many_shown else 1.0
    return choice / math.sqrt(n_cited)


class _Vectors:
    """The embeddings of questions by one model, in half precision, and the lesson of each."""

    def __init__(self, dimension: int, rows: Any = None, lesson: Any = None) -> None:
        self.dimension = dimension
        empty = np.empty((0, dimension), np.float16)
        self.rows = GrowableArray(np.float16, empty if rows is None else rows)
        self.lesson = GrowableArray(np.int64, lesson)

    def add(self, lesson: int, vector: NDArray[np.float16]) -> None:
        if len(vector) == self.dimension:
            self.rows.extend(vector[None, :])
            self.lesson.extend([lesson])


class _Numbers(dict[Node, int]):
    """The number of each node; nodes that are looked up get one."""

    def __init__(self) -> None:
        super().__init__()
        self.nodes: list[Node] = []
        self.rejects: list[int] = []

    def __missing__(self, node: Node) -> int:
        number = self[node] = len(self.nodes)
        self.nodes.append(node)
        self.rejects.append(-1)
        if node[0] == "r":
            self.rejects[number] = self[f"c{node[1:]}"]
        return number


class Lessons:
    """Columns of lessons, in the order of the log. Lessons are only appended.

    Attributes
    ----------
    nodes : list of Node
        Nodes by number.
    kinds : list of str
        Kinds of feedback by number.
    vectors : dict of str to vectors
        By embedder.
    """

    def __init__(self) -> None:
        self._columns = {name: GrowableArray(kind) for name, kind in _COLUMNS.items()}
        self._columns["cue_ends"].extend([0])
        self._columns["shown_ends"].extend([0])
        #: Lessons that are not in the columns yet.
        self._added: dict[str, list[Any]] = {name: [] for name in _COLUMNS}
        self._length = self._n_cues = self._n_shown = 0
        self._events = PackedStrings(*pack_strings([]))
        self._number = _Numbers()
        self.nodes = self._number.nodes
        self.kinds = ["cited"]
        self._rejects_column = GrowableArray(np.int64)
        self.vectors: dict[str, _Vectors] = {}
        self._by_question: dict[int, list[int]] | None = None

    def __len__(self) -> int:
        return self._length

    def __getattr__(self, name: str) -> NDArray[Any]:
        if name not in _COLUMNS:
            raise AttributeError(name)
        if self._added["actor"]:
            self._flush()
        return self._columns[name].view

    def _flush(self) -> None:
        for column, values in self._added.items():
            self._columns[column].extend(np.array(values, _COLUMNS[column]))
            values.clear()

    # -- adding ---------------------------------------------------------------------

    def add(self, lesson: StoredLesson, actor: int, agrees: float, openness: float) -> None:
        """Append a lesson; for its numbers see :mod:`hebbgraph.learning.actors`."""
        added, at, body = self._added, self._length, lesson.body
        if len(added["actor"]) == _MOST_ADDED:
            self._flush()
        keys, weights = cues_of(
            body.terms[:_MAX_CUES], {cue.tag: cue.weight for cue in body.cues[:_MAX_CUES]}
        )
        added["cue_key"] += keys
        added["cue_weight"] += weights
        self._n_cues += len(keys)
        added["cue_ends"].append(self._n_cues)
        known = {
            chunk["chunk_id"]: f"c:{chunk['text_hash']}:{chunk['chunk_id']}"
            for chunk in (*body.shown, *body.named)
        }
        for node, credit in self._links(body, known):
            added["link_lesson"].append(at)
            added["link_node"].append(node)
            added["link_credit"].append(credit)
        nodes, scores = self._shown(body, known)
        added["shown_node"] += nodes
        added["shown_score"] += scores
        self._n_shown += len(nodes)
        added["shown_ends"].append(self._n_shown)
        for old, new in body.outdated.items():
            added["outdated_lesson"].append(at)
            added["outdated_node"].append(self._number[known[old]])
            added["outdated_by"].append(self._number[known[new]])
        # Drawn by content, since ids of recalls are random.
        content = str(lesson.trusted), lesson.actor, body.cited, body.rejected
        draw = lesson_digest(*content, dict(body.terms))
        added["draw"].append(int.from_bytes(draw[:8], "big"))
        if body.kind not in self.kinds:
            self.kinds.append(body.kind)
        question = _question_of(lesson)
        added["question"].append(question)
        added["actor"].append(actor)
        added["kind"].append(self.kinds.index(body.kind))
        added["agrees"].append(agrees)
        added["openness"].append(openness)
        self._length += 1
        # The id of a recall may hold anything, so it comes last.
        self._events.append(f"{lesson.id}\n{lesson.actor or ''}\n{lesson.recall_id}")
        if lesson.vector is not None:
            name = body.embedder or ""
            if name not in self.vectors:
                self.vectors[name] = _Vectors(len(lesson.vector))
            self.vectors[name].add(at, lesson.vector)
        if self._by_question is not None:
            self._by_question.setdefault(question, []).append(at)

    def _links(self, body: LessonBody, known: Mapping[str, Node]) -> list[tuple[int, float]]:
        share, ratings = shared_credit(len(body.cited), len(known)), body.ratings
        cited = [(id_, share * ratings.get(id_, 1.0)) for id_ in body.cited[:_MAX_CITED]]
        rejected = [(id_, ratings.get(id_, -1.0)) for id_ in body.rejected[:_MAX_REJECTED]]
        return [
            (self._number[f"r{known[id_][1:]}" if credit < 0 else known[id_]], credit)
            for id_, credit in (*cited, *rejected)
            if id_ in known and credit
        ]

    def _shown(
        self, body: LessonBody, known: Mapping[str, Node]
    ) -> tuple[list[int], list[float | None]]:
        """Return the chunks shown, and the scores that they had without learning."""
        scores = [chunk.get("unlearned") for chunk in body.shown]
        if None in scores:
            return [], []  # of an earlier version: no exam
        # No chunk is listed twice, so the shown ones come first in ``known``, in their order.
        nodes = [*map(self._number.__getitem__, islice(known.values(), len(scores[:_MAX_SHOWN])))]
        return nodes, scores[: len(nodes)]

    # -- reading --------------------------------------------------------------------

    def event(self, lesson: int) -> Event:
        """Return where a lesson came from."""
        feedback_id, actor, recall_id = self._events[lesson].split("\n", 2)
        return Event(feedback_id, recall_id, actor or None)

    @property
    def rejects(self) -> NDArray[np.int64]:
        """For each node of a rejection, the node of the rejected chunk; -1 for others."""
        rejects = self._number.rejects
        if len(self._rejects_column) < len(rejects):
            self._rejects_column.extend(rejects[len(self._rejects_column) :])
        return self._rejects_column.view

    def outdated(self, rows: IntArray) -> dict[tuple[str, str, str], set[int]]:
        """Return who says, in rows of the ``outdated`` columns, that a chunk no longer holds.

        The chunk's id, its text hash and the id of what holds now lead to the actors. What was
        said last comes last.
        """
        actors: dict[tuple[str, str, str], set[int]] = {}
        for row in rows.tolist():
            old, text_hash = chunk_of(self.nodes[self.outdated_node[row]])
            key = old, text_hash, chunk_of(self.nodes[self.outdated_by[row]])[0]
            actors[key] = actors.pop(key, set()) | {int(self.actor[self.outdated_lesson[row]])}
        return actors

    def on_question(self, question: int) -> list[int]:
        """Return the lessons on a question."""
        if self._by_question is None:
            self._by_question = {}
            for lesson, number in enumerate(self.question.tolist()):
                self._by_question.setdefault(number, []).append(lesson)
        return self._by_question.get(question, [])

    def links_of(self, lessons: Sequence[int] | IntArray) -> IntArray:
        """Return the positions of the links of some lessons."""
        lessons = np.asarray(lessons, np.int64)
        first = self.link_lesson.searchsorted(lessons)
        sizes = self.link_lesson.searchsorted(lessons, side="right") - first
        return concatenated_ranges(first, sizes)

    def cues(self, lesson: int) -> tuple[NDArray[np.uint64], NDArray[np.float32]]:
        """Return the cues of a lesson's question, and their weights."""
        start, end = self.cue_ends[lesson : lesson + 2].tolist()
        return self.cue_key[start:end], self.cue_weight[start:end]

    def shown(self, lesson: int) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Return the chunks that a lesson was shown, and their scores without learning."""
        start, end = self.shown_ends[lesson : lesson + 2].tolist()
        return self.shown_node[start:end], self.shown_score[start:end]

    # -- as arrays ------------------------------------------------------------------

    def arrays(self) -> tuple[dict[str, NDArray[Any]], list[str]]:
        """Return everything as arrays, and the names of embedders."""
        arrays: dict[str, NDArray[Any]] = {name: getattr(self, name) for name in _COLUMNS}
        texts = {"event": self._events, "node": self.nodes, "kinds": self.kinds}
        for name, strings in texts.items():
            arrays[f"{name}_data"], arrays[f"{name}_offsets"] = pack_strings(strings)
        for at, vectors in enumerate(self.vectors.values()):
            arrays[f"vectors_{at}"] = vectors.rows.view
            arrays[f"vector_lesson_{at}"] = vectors.lesson.view
        return arrays, list(self.vectors)

    @classmethod
    def restored(cls, arrays: Mapping[str, NDArray[Any]], embedders: Sequence[str]) -> Lessons:
        """Restore the lessons that :meth:`arrays` returned."""
        lessons = cls()
        lessons._columns = {
            name: GrowableArray(kind, arrays[name]) for name, kind in _COLUMNS.items()
        }
        lessons._length = len(arrays["actor"])
        lessons._n_cues, lessons._n_shown = len(arrays["cue_key"]), len(arrays["shown_node"])
        lessons._events = PackedStrings(arrays["event_data"], arrays["event_offsets"])
        for node in PackedStrings(arrays["node_data"], arrays["node_offsets"]):
            lessons._number[node]
        lessons.kinds = list(PackedStrings(arrays["kinds_data"], arrays["kinds_offsets"]))
        for at, embedder in enumerate(embedders):
            rows, lesson = arrays[f"vectors_{at}"], arrays[f"vector_lesson_{at}"]
            lessons.vectors[embedder] = _Vectors(rows.shape[1], rows, lesson)
        return lessons


def _question_of(lesson: StoredLesson) -> int:
    """Return the number of a lesson's question: by words, else names, else its vector."""
    words = [term for term, _ in lesson.body.terms] or [cue.tag for cue in lesson.body.cues]
    if not words and lesson.vector is not None:
        words = [lesson.vector.tobytes().hex()]
    return question_number(words)
