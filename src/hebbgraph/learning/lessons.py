"""The lessons of a log as columns: everything that memory is computed from.

A *link* is one thing that a lesson says: that it cites or rejects a chunk, with a credit. A *node*
is the number of a chunk with one text, cited or rejected.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hebbgraph.arrays import GrowableArray, IntArray, concatenated_ranges
from hebbgraph.graph.packed_strings import PackedStrings, pack_strings
from hebbgraph.learning.cues import cues_of, question_number
from hebbgraph.limits import MANY_SHOWN
from hebbgraph.records import Feedback, lesson_digest

__all__ = ["CITED", "Event", "Lessons", "Node", "chunk_node", "chunk_of", "shared_credit"]

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


def chunk_node(chunk_id: str, text_hash: str, *, rejected: bool = False) -> Node:
    """Return the node of a chunk with this text; with another text it is another node."""
    return f"{'r' if rejected else 'c'}:{text_hash}:{chunk_id}"


def chunk_of(node: Node) -> tuple[str, str]:
    """Return the id and the text hash of a node's chunk.

    >>> chunk_of(chunk_node("a:b", "0" * 16))
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

    def add(self, lesson: int, vector: Sequence[float]) -> None:
        if len(vector) == self.dimension:
            self.rows.extend(np.asarray(vector, np.float16)[None, :])
            self.lesson.extend([lesson])


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
        self.nodes: list[Node] = []
        self._number: dict[Node, int] = {}
        self.kinds = ["cited"]
        self._rejects: list[int] = []
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

    def add(self, feedback: Feedback, actor: int, agrees: float, openness: float) -> None:
        """Append a lesson; for its numbers see :mod:`hebbgraph.learning.actors`."""
        added, at = self._added, len(self)
        if len(added["actor"]) == _MOST_ADDED:
            self._flush()
        keys, weights = cues_of(
            feedback.terms[:_MAX_CUES], {cue.tag: cue.weight for cue in feedback.cues[:_MAX_CUES]}
        )
        added["cue_key"] += keys
        added["cue_weight"] += weights
        self._n_cues += len(keys)
        added["cue_ends"].append(self._n_cues)
        for node, credit in self._links(feedback):
            added["link_lesson"].append(at)
            added["link_node"].append(node)
            added["link_credit"].append(credit)
        nodes, scores = self._shown(feedback)
        added["shown_node"] += nodes
        added["shown_score"] += scores
        self._n_shown += len(nodes)
        added["shown_ends"].append(self._n_shown)
        if feedback.outdated:
            hashes = {chunk.chunk_id: chunk.text_hash for chunk in feedback.known_chunks}
            for old, new in feedback.outdated.items():
                added["outdated_lesson"].append(at)
                added["outdated_node"].append(self.intern(chunk_node(old, hashes[old])))
                added["outdated_by"].append(self.intern(chunk_node(new, hashes[new])))
        # Drawn by content, since ids of recalls are random.
        content = str(feedback.trusted), feedback.actor, feedback.cited, feedback.rejected
        draw = lesson_digest(*content, dict(feedback.terms))
        added["draw"].append(int.from_bytes(draw[:8], "big"))
        if feedback.kind not in self.kinds:
            self.kinds.append(feedback.kind)
        question = _question_of(feedback)
        added["question"].append(question)
        added["actor"].append(actor)
        added["kind"].append(self.kinds.index(feedback.kind))
        added["agrees"].append(agrees)
        added["openness"].append(openness)
        self._length += 1
        self._events.append(json.dumps((feedback.id, feedback.recall_id, feedback.actor)))
        if feedback.vector is not None:
            name = feedback.embedder or ""
            if name not in self.vectors:
                self.vectors[name] = _Vectors(len(feedback.vector))
            self.vectors[name].add(at, feedback.vector)
        if self._by_question is not None:
            self._by_question.setdefault(question, []).append(at)

    def _links(self, feedback: Feedback) -> list[tuple[int, float]]:
        hashes = {chunk.chunk_id: chunk.text_hash for chunk in feedback.known_chunks}
        share = shared_credit(len(feedback.cited), len(hashes))
        ratings = feedback.ratings
        cited = [(id_, share * ratings.get(id_, 1.0)) for id_ in feedback.cited[:_MAX_CITED]]
        rejected = [(id_, ratings.get(id_, -1.0)) for id_ in feedback.rejected[:_MAX_REJECTED]]
        return [
            (self.intern(chunk_node(id_, hashes[id_], rejected=credit < 0)), credit)
            for id_, credit in (*cited, *rejected)
            if id_ in hashes and credit
        ]

    def _shown(self, feedback: Feedback) -> tuple[list[int], list[float | None]]:
        """Return the chunks shown, and the scores that they had without learning."""
        scores = [chunk.unlearned for chunk in feedback.shown]
        if None in scores:
            return [], []  # of an earlier version: no exam
        shown = feedback.shown[:_MAX_SHOWN]
        nodes = [self.intern(chunk_node(chunk.chunk_id, chunk.text_hash)) for chunk in shown]
        return nodes, scores[:_MAX_SHOWN]

    def intern(self, node: Node) -> int:
        """Return the number of a node, which may be new."""
        number = self._number.get(node)
        if number is None:
            number = self._number[node] = len(self.nodes)
            self.nodes.append(node)
            self._rejects.append(-1)
            if node[0] == "r":
                self._rejects[number] = self.intern(f"c{node[1:]}")
        return number

    # -- reading --------------------------------------------------------------------

    def event(self, lesson: int) -> Event:
        """Return where a lesson came from."""
        return Event(*json.loads(self._events[lesson]))

    @property
    def rejects(self) -> NDArray[np.int64]:
        """For each node of a rejection, the node of the rejected chunk; -1 for others."""
        if len(self._rejects_column) < len(self._rejects):
            self._rejects_column.extend(self._rejects[len(self._rejects_column) :])
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
            lessons.intern(node)
        lessons.kinds = list(PackedStrings(arrays["kinds_data"], arrays["kinds_offsets"]))
        for at, embedder in enumerate(embedders):
            rows, lesson = arrays[f"vectors_{at}"], arrays[f"vector_lesson_{at}"]
            lessons.vectors[embedder] = _Vectors(rows.shape[1], rows, lesson)
        return lessons


def _question_of(feedback: Feedback) -> int:
    """Return the number of a feedback's question: by words, else names, else its vector."""
    words = [term for term, _ in feedback.terms] or [cue.tag for cue in feedback.cues]
    if not words and feedback.vector is not None:
        words = [np.asarray(feedback.vector, np.float16).tobytes().hex()]
    return question_number(words)
