"""The lessons of a log as columns: all that memory is computed from."""

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

__all__ = ["CITED", "Event", "Lessons", "Node", "chunk_node", "named_by", "shared_credit"]

Node: TypeAlias = str
"""A chunk with this text, cited (``c:``) or rejected (``r:``): then its hash and its id."""

#: The number of the kind of feedback that people give; all others are what they do.
CITED = 0
_MAX_CUES, _MAX_CITED, _MAX_REJECTED, _MAX_SHOWN = 256, 16, 64, 32
_COLUMNS = {
    "voice": np.int32, "kind": np.int32, "question": np.uint64, "draw": np.uint64,
    "agrees": np.float32, "left_open": np.float32,
    "cue_ends": np.int64, "cue_key": np.uint64, "cue_weight": np.float32,
    "link_lesson": np.int64, "link_node": np.int64, "link_credit": np.float32,
    "shown_ends": np.int64, "shown_node": np.int64, "shown_score": np.float32,
    "outdated_lesson": np.int64, "outdated_node": np.int64, "outdated_by": np.int64,
}  # fmt: skip
#: So many lessons are lists, which grow faster than columns, but take ten times the memory.
_MOST_ADDED = 4096
#: Of a chunk that was cited or recalled beyond what was shown, the score is about half the last.
BEYOND = 0.5


class Event(NamedTuple):
    """Where a feedback came from."""

    feedback_id: str
    recall_id: str
    actor: str | None


def chunk_node(chunk_id: str, text_hash: str, *, rejected: bool = False) -> Node:
    """Return the node of a chunk *with this text*; with another text it is another node."""
    return f"{'r' if rejected else 'c'}:{text_hash}:{chunk_id}"


def named_by(node: Node) -> tuple[str, str]:
    """Return id and text hash of a node's chunk.

    >>> named_by(chunk_node("a:b", "0" * 16))
    ('a:b', '0000000000000000')
    """
    return node[19:], node[2:18]


def shared_credit(n_cited: int, n_shown: int, *, many_shown: int = MANY_SHOWN) -> float:
    """Return the credit of each cited chunk, in [0, 1].

    ``(1 - (n_cited / n_shown)²) / √n_cited`` with at least ``many_shown`` chunks shown;
    with fewer, choosing all of them is no sign of indifference, and the first factor
    is 1.

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
    """Embeddings of one model's questions, in half precision, and whose they are."""

    def __init__(self, dimension: int, rows: Any = None, whose: Any = None) -> None:
        self.dimension = dimension
        empty = np.empty((0, dimension), np.float16)
        self.rows = GrowableArray(np.float16, empty if rows is None else rows)
        self.whose = GrowableArray(np.int64, whose)

    def add(self, lesson: int, vector: Sequence[float]) -> None:
        if len(vector) == self.dimension:
            self.rows.extend(np.asarray(vector, np.float16)[None, :])
            self.whose.extend([lesson])


class Lessons:
    """Columns of lessons, in the order of the log. Only appended to.

    Attributes
    ----------
    names : list of Node
        Chunks by number.
    kinds : list of str
        Kinds of feedback by number.
    """

    def __init__(self) -> None:
        self._columns = {name: GrowableArray(kind) for name, kind in _COLUMNS.items()}
        self._columns["cue_ends"].extend([0])
        self._columns["shown_ends"].extend([0])
        #: What was added and is not in the columns yet.
        self._added: dict[str, list[Any]] = {name: [] for name in _COLUMNS}
        self._length = self._n_cues = self._n_shown = 0
        self._events = PackedStrings(*pack_strings([]))
        self.names: list[Node] = []
        self._number: dict[Node, int] = {}
        self.kinds = ["cited"]
        self._rejects: list[int] = []
        self._known_rejects = GrowableArray(np.int64)
        self.vectors: dict[str, _Vectors] = {}
        self._asked: dict[int, list[int]] | None = None

    def __len__(self) -> int:
        return self._length

    def __getattr__(self, name: str) -> NDArray[Any]:
        if name not in _COLUMNS:
            raise AttributeError(name)
        if self._added["voice"]:
            self._settle()
        return self._columns[name].view

    def _settle(self) -> None:
        for column, values in self._added.items():
            self._columns[column].extend(np.array(values, _COLUMNS[column]))
            values.clear()

    def event(self, lesson: int) -> Event:
        """Return where a lesson came from."""
        return Event(*json.loads(self._events[lesson]))

    def add(self, feedback: Feedback, voice: int, stands: tuple[float, float]) -> None:
        """Append one; see :func:`hebbgraph.learning.actors.standing`."""
        added, at = self._added, len(self)
        if len(added["voice"]) == _MOST_ADDED:
            self._settle()
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
        shown = self._shown(feedback)
        added["shown_node"] += [node for node, _ in shown]
        added["shown_score"] += [score for _, score in shown]
        self._n_shown += len(shown)
        added["shown_ends"].append(self._n_shown)
        if feedback.outdated:
            hashes = {chunk.chunk_id: chunk.text_hash for chunk in feedback.known_chunks}
            for old, new in feedback.outdated.items():
                added["outdated_lesson"].append(at)
                added["outdated_node"].append(self.intern(chunk_node(old, hashes[old])))
                added["outdated_by"].append(self.intern(chunk_node(new, hashes[new])))
        # By what is said: ids of recalls are random.
        about = str(feedback.trusted), feedback.actor, feedback.cited, feedback.rejected
        draw = lesson_digest(*about, dict(feedback.terms))
        added["draw"].append(int.from_bytes(draw[:8], "big"))
        words = [term for term, _ in feedback.terms] or [cue.tag for cue in feedback.cues]
        if not words and feedback.vector is not None:
            words = [np.asarray(feedback.vector, np.float16).tobytes().hex()]
        question = question_number(words)
        if feedback.kind not in self.kinds:
            self.kinds.append(feedback.kind)
        kind = self.kinds.index(feedback.kind)
        added["question"].append(question)
        added["voice"].append(voice)
        added["kind"].append(kind)
        added["agrees"].append(stands[0])
        added["left_open"].append(stands[1])
        self._length += 1
        self._events.append(json.dumps((feedback.id, feedback.recall_id, feedback.actor)))
        if feedback.vector is not None:
            name = feedback.embedder or ""
            if name not in self.vectors:
                self.vectors[name] = _Vectors(len(feedback.vector))
            self.vectors[name].add(at, feedback.vector)
        if self._asked is not None:
            self._asked.setdefault(question, []).append(at)

    def _links(self, feedback: Feedback) -> list[tuple[int, float]]:
        hashes = {shown.chunk_id: shown.text_hash for shown in feedback.known_chunks}
        credit = shared_credit(len(feedback.cited), len(hashes))
        rated = feedback.ratings
        cited = [(id_, credit * rated.get(id_, 1.0)) for id_ in feedback.cited[:_MAX_CITED]]
        rejected = [(id_, rated.get(id_, -1.0)) for id_ in feedback.rejected[:_MAX_REJECTED]]
        return [
            (self.intern(chunk_node(id_, hashes[id_], rejected=credit < 0)), credit)
            for id_, credit in (*cited, *rejected)
            if id_ in hashes and credit
        ]

    def _shown(self, feedback: Feedback) -> list[tuple[int, float]]:
        """Return what was shown, with the scores that it had without learning."""
        scores = [shown.unlearned for shown in feedback.shown]
        if not scores or any(score is None for score in scores):
            return []  # of an earlier version: no exam
        return [
            (self.intern(chunk_node(shown.chunk_id, shown.text_hash)), float(shown.unlearned or 0))
            for shown in feedback.shown[:_MAX_SHOWN]
        ]

    def intern(self, name: Node) -> int:
        """Return the number of a chunk, which may be new."""
        number = self._number.get(name)
        if number is None:
            number = self._number[name] = len(self.names)
            self.names.append(name)
            self._rejects.append(-1)
            if name[0] == "r":
                self._rejects[number] = self.intern(f"c{name[1:]}")
        return number

    @property
    def rejects(self) -> NDArray[np.int64]:
        """Of each node of a rejection, that of the chunk which it rejects; -1 of others."""
        if len(self._known_rejects) < len(self._rejects):
            self._known_rejects.extend(self._rejects[len(self._known_rejects) :])
        return self._known_rejects.view

    def replaced(self, told: IntArray) -> dict[tuple[str, str, str], set[int]]:
        """Return (id, text hash, id in its place), what was said last in the end, and by whom."""
        found: dict[tuple[str, str, str], set[int]] = {}
        for at in told.tolist():
            old, text_hash = named_by(self.names[self.outdated_node[at]])
            link = old, text_hash, named_by(self.names[self.outdated_by[at]])[0]
            found[link] = found.pop(link, set()) | {int(self.voice[self.outdated_lesson[at]])}
        return found

    def asked(self, question: int) -> list[int]:
        """Return the lessons on a question."""
        if self._asked is None:
            self._asked = {}
            for lesson, digest in enumerate(self.question.tolist()):
                self._asked.setdefault(digest, []).append(lesson)
        return self._asked.get(question, [])

    def links_of(self, lessons: Sequence[int] | IntArray) -> IntArray:
        """Return the positions of the links of some lessons."""
        of = np.asarray(lessons, np.int64)
        first = self.link_lesson.searchsorted(of)
        return concatenated_ranges(first, self.link_lesson.searchsorted(of, side="right") - first)

    def cues(self, lesson: int) -> tuple[NDArray[np.uint64], NDArray[np.float32]]:
        """Return the cues of a lesson's question."""
        start, end = self.cue_ends[lesson : lesson + 2].tolist()
        return self.cue_key[start:end], self.cue_weight[start:end]

    def shown(self, lesson: int) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Return what a lesson was shown, and the scores without learning."""
        start, end = self.shown_ends[lesson : lesson + 2].tolist()
        return self.shown_node[start:end], self.shown_score[start:end]

    # -- as arrays ------------------------------------------------------------------

    def arrays(self) -> tuple[dict[str, NDArray[Any]], list[str]]:
        """Return all of it as arrays, and the names of embedders."""
        found: dict[str, NDArray[Any]] = {name: getattr(self, name) for name in _COLUMNS}
        for name, strings in (("event", self._events), ("name", self.names), ("kinds", self.kinds)):
            found[f"{name}_data"], found[f"{name}_offsets"] = pack_strings(strings)
        for at, vectors in enumerate(self.vectors.values()):
            found[f"vectors_{at}"], found[f"whose_{at}"] = vectors.rows.view, vectors.whose.view
        return found, list(self.vectors)

    @classmethod
    def restored(cls, arrays: Mapping[str, NDArray[Any]], embedders: Sequence[str]) -> Lessons:
        """Make what :meth:`arrays` came from."""
        made = cls()
        made._columns = {name: GrowableArray(kind, arrays[name]) for name, kind in _COLUMNS.items()}
        made._length = len(arrays["voice"])
        made._n_cues, made._n_shown = len(arrays["cue_key"]), len(arrays["shown_node"])
        made._events = PackedStrings(arrays["event_data"], arrays["event_offsets"])
        for name in PackedStrings(arrays["name_data"], arrays["name_offsets"]):
            made.intern(name)
        made.kinds = list(PackedStrings(arrays["kinds_data"], arrays["kinds_offsets"]))
        for at, embedder in enumerate(embedders):
            rows = arrays[f"vectors_{at}"]
            made.vectors[embedder] = _Vectors(rows.shape[1], rows, arrays[f"whose_{at}"])
        return made
