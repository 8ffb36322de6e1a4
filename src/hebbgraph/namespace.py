"""One namespace of an open index: its parts, created once and passed on as one object."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hebbgraph.artifacts import remove, sweep_scratch
from hebbgraph.derived.folder import derived_directory
from hebbgraph.derived.parts import Derived
from hebbgraph.embedders import QuestionVectors, embed_passages
from hebbgraph.errors import IndexLockedError, NamespaceNotFoundError
from hebbgraph.extras import load_plugin
from hebbgraph.graph.tag_graph import TagGraph
from hebbgraph.learning.memory import Memory
from hebbgraph.protocols import Embedder
from hebbgraph.records import Chunk, Recall
from hebbgraph.settings import Settings
from hebbgraph.store.answers import AnswerLog
from hebbgraph.store.database import Database, translated_os
from hebbgraph.store.feedback_log import FeedbackLog
from hebbgraph.store.places import BUILD_FOLDER, BUILDS_ELSEWHERE
from hebbgraph.store.recalls import RecallLog
from hebbgraph.store.truth import Truth

if TYPE_CHECKING:
    from hebbgraph.derived.colonies import Colonies
    from hebbgraph.derived.languages import Languages
    from hebbgraph.derived.translations import Translations
    from hebbgraph.graph.aliases import Aliases
    from hebbgraph.graph.foreign import ForeignNames
    from hebbgraph.protocols import CueModel, Search, Tagger

__all__ = ["Namespace", "settle", "tagger_name"]

logger = logging.getLogger(__name__)

#: Folding fewer lessons takes less time than reading their snapshot.
_SAVED_WHEN_CLOSED = 200


@dataclass(eq=False)
class Namespace:
    """The parts of one namespace.

    Attributes
    ----------
    name : str
    settings : Settings
    database : Database
        Shared by all namespaces of the index.
    truth : Truth
        Chunks, candidates and vectors, as committed.
    derived : Derived
        What follows from the truth: the graph, the lexical index, the vectors.
    log : FeedbackLog
        Feedback in commit order.
    answers : AnswerLog
        Answers, linked to their lessons.
    memory : Memory
        What was taught, as it follows from the log.
    recalls : RecallLog
        Recent recalls by id.
    root : Path, optional
        The folder with all derived parts, if there is one and it can be written.
    directory : Path, optional
        The folder with the derived parts of this namespace, read-only or not.
    embedder, tagger, cue_model, search, reranker, judge : optional
        Given by the user. ``reembed`` and ``retag`` replace the first two.
    questions : QuestionVectors
        Vectors of the last questions.
    languages, translations, foreign, aliases : optional
        What joins languages and spellings, if the settings ask for it (set by the face).
    make_colonies : callable, optional
        Makes the communities of chunks, which no verb needs (set by the face).
    missing_model : str, optional
        The model of the vectors, until a warning says that it is missing.
    is_made : bool
        Whether the namespace was seen to exist, with the settings it was opened with.
    """

    name: str
    settings: Settings
    database: Database
    truth: Truth
    derived: Derived
    log: FeedbackLog
    answers: AnswerLog
    memory: Memory
    recalls: RecallLog
    root: Path | None = None
    directory: Path | None = None
    embedder: Embedder | None = None
    tagger: Tagger | None = None
    cue_model: CueModel | None = None
    search: Search | None = None
    reranker: Any = None
    judge: Any = None
    judge_below: float = 1.0
    questions: QuestionVectors = field(default_factory=QuestionVectors)
    languages: Languages | None = None
    translations: Translations | None = None
    foreign: ForeignNames | None = None
    aliases: Aliases | None = None
    make_colonies: Callable[[], Colonies] | None = None
    missing_model: str | None = None
    is_made: bool = False

    @cached_property
    def colonies(self) -> Colonies:
        """The communities of chunks, made on first use."""
        if self.make_colonies is None:
            raise RuntimeError("communities come with HebbianIndex, which sets make_colonies")
        return self.make_colonies()

    # -- existence ------------------------------------------------------------------

    def check_exists(self) -> None:
        """Raise NamespaceNotFoundError if the name of the namespace is misspelt.

        Neither opening nor reading makes a namespace; the first write does. A database without
        any namespace is new, and counts as empty.
        """
        if self.is_made:
            return
        self.is_made = settle(self.truth, self.settings, self.tagger)
        if not self.is_made and (existing := self.truth.namespaces()):
            if self.name not in existing:
                raise NamespaceNotFoundError.of(self.name, existing)
            self.is_made = settle(self.truth, self.settings, self.tagger)  # made just now

    def make(self) -> None:
        """Make the namespace with the settings it was opened with, unless it exists."""
        if not self.is_made:
            self.is_made = settle(self.truth, self.settings, self.tagger, make=True)

    # -- in step with the truth -----------------------------------------------------

    @contextmanager
    def reading(self, *, lent: bool = False) -> Iterator[int]:
        """Lock graph, lexical index and memory for a reader; yield the generation.

        They are as new as the last acknowledged write. With ``lent`` the reader runs a caller's own
        code, such as a filter.

        Raises
        ------
        IndexLockedError
            If a caller's code runs for too long in another thread.
        """
        memory_lock = self.memory.lock
        with (
            self.derived.reading(self._refresh_memory) as generation,
            memory_lock.held(),
            self.derived.lock.lent() if lent else nullcontext(),
            memory_lock.lent() if lent else nullcontext(),
        ):
            yield generation

    def _refresh_memory(self) -> None:
        state, corrections = self.derived.feedback, self.derived.corrections
        if state != self.memory.state or corrections is not self.memory.corrections:
            self.memory.refresh(state, corrections)

    def bring_up_to_date(self) -> None:
        """Derive what follows from a committed batch.

        A failure is logged, not raised: the batch is acknowledged, and the next recall derives
        what is missing.
        """
        try:
            self.derived.refresh()
        except (OSError, ValueError, IndexLockedError) as error:
            logger.warning("derived parts lag behind; the next recall updates them: %s", error)

    def hand_out(self, recall: Recall) -> Recall:
        """Mark a recall as one of this index, and keep it on request; return it."""
        self.recalls.put(recall)
        return self.recalls.issue(recall)

    def scrub(self) -> None:
        """Erase every byte of deleted content from all files, including those of killed builds."""
        if self.root is not None:
            self._sweep_builds(self.root)
            with translated_os(str(self.root)):
                sweep_scratch(self.root)
        self.recalls.erase()
        self.answers.prune()
        self.memory.remove_snapshot()
        self.questions.clear()
        self.database.vacuum()

    def drop(self) -> None:
        """Delete the namespace, and erase it from the database."""
        self.truth.drop()
        self.is_made = False
        self.scrub()

    def remove_derived(self) -> None:
        """Remove all derived files, once everything is closed."""
        if self.root is not None:
            remove(derived_directory(self.root, self.name, self.database.id))

    def _sweep_builds(self, root: Path) -> None:
        if any((root / name).exists() for name in (BUILD_FOLDER, BUILDS_ELSEWHERE)):
            purpose = f"erasing the texts that a build left in {root}"
            sweep = load_plugin("hebbgraph.builds", "sweep", extra="scale", purpose=purpose)
            sweep(root, self.database.id)

    def colony_of(self) -> NDArray[np.int64]:
        """Return the colony of each slot; the caller holds the lock on derived parts."""
        return self.colonies.by_slot(self.derived.graph, self.derived.vectors)

    # -- languages ------------------------------------------------------------------

    def for_memory(
        self, graph: TagGraph, question: str, vector: NDArray[np.float32] | None
    ) -> tuple[NDArray[np.float32] | None, str | None]:
        """Return a question's vector as memory compares it, and the name of its model.

        As in search, the language is removed from it. The caller has locked the graph.
        """
        embedding, table = self.derived.embedding, self.derived.vectors
        name = None if embedding is None else embedding.name
        if vector is None or table is None or self.languages is None:
            return vector, name
        neutral = self.languages.neutral(graph, table, question, vector)
        return (vector, name) if neutral is None else (neutral.vector, f"{name} in any language")

    # -- models ---------------------------------------------------------------------

    def embed_phrases(self, phrases: list[str]) -> NDArray[np.float32] | None:
        """Embed phrases to unit length; None without an embedder."""
        if self.embedder is None:
            return None
        return embed_passages(self.embedder, [Chunk(text=phrase) for phrase in phrases])

    def warn_without_model(self) -> None:
        """Warn once if the index has vectors but was opened without their model."""
        model, self.missing_model = self.missing_model, None
        if model is not None and self.embedder is None:
            logger.warning(
                "%s: holds vectors of %r but was opened without that model: questions find by "
                "words and links alone, and what is added gets no vector. Open it with the model; "
                "adding the same again, or reembed(), then embeds what lacks a vector",
                self.database.place,
                model,
            )

    def close(self) -> None:
        """Save derived parts and close all files."""
        try:
            self.memory.save_snapshot(at_least=_SAVED_WHEN_CLOSED)
            self.derived.close(save=self.is_made)
        except OSError as error:
            logger.warning("no snapshot was written (%s); the next open builds it", error)
        finally:
            try:
                self.recalls.close()
            finally:
                self.database.dispose()


def tagger_name(tagger: Tagger) -> str:
    """Return the name under which a tagger is saved: its ``name``, function or class.

    Examples
    --------
    >>> tagger_name(tagger_name)
    'hebbgraph.namespace.tagger_name'
    """
    name = getattr(tagger, "name", None)
    if isinstance(name, str) and name:
        return name
    kind = type(tagger)
    if isinstance(qualname := getattr(tagger, "__qualname__", None), str):
        return f"{getattr(tagger, '__module__', None) or kind.__module__}.{qualname}"
    return f"{kind.__module__}.{kind.__qualname__}"


def settle(truth: Truth, settings: Settings, tagger: Tagger | None, *, make: bool = False) -> bool:
    """Compare settings and tagger with those of the namespace; return whether it exists."""
    if not truth.settings.settle(settings.build(), before=Settings().build(), make=make):
        return False
    if tagger is not None:
        truth.settings.settle_tagger(tagger_name(tagger))
    return True
