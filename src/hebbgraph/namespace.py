"""One namespace of an open index: its parts, created once and passed on as one object.

Writing, recalling, teaching and checking all take a :class:`Namespace` instead of the five to ten
parts they need of it.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from hebbgraph.derived.colonies import Colonies
from hebbgraph.derived.folder import derived_directory
from hebbgraph.derived.parts import Derived
from hebbgraph.embedders import QuestionVectors, embed_passages, embedder_name
from hebbgraph.errors import NamespaceNotFoundError, ParameterError, SettingsMismatchError
from hebbgraph.extras import load_plugin
from hebbgraph.graph.tag_graph import TagGraph
from hebbgraph.learning.memory import Memory
from hebbgraph.learning.snapshot import SNAPSHOT_NAME
from hebbgraph.locks import Lending
from hebbgraph.protocols import Embedder
from hebbgraph.records import Chunk, Recall
from hebbgraph.settings import Settings
from hebbgraph.store.answers import AnswerLog
from hebbgraph.store.database import DATABASE_NAME, Database, translate_os, translated_os
from hebbgraph.store.embeddings import EmbeddingState
from hebbgraph.store.feedback_log import FeedbackLog
from hebbgraph.store.places import BUILD_FOLDER, BUILDS_ELSEWHERE, as_directory, is_url
from hebbgraph.store.recalls import MOST_KEPT, RecallLog, remove_former_recalls
from hebbgraph.store.texts import TextsElsewhere, TextStore
from hebbgraph.store.truth import Truth
from hebbgraph.store.unfinished import sweep_scratch

if TYPE_CHECKING:
    from hebbgraph.derived.languages import Languages
    from hebbgraph.derived.translations import Translations
    from hebbgraph.graph.aliases import Aliases
    from hebbgraph.graph.foreign import ForeignNames
    from hebbgraph.protocols import CueModel, Search, Tagger, TextSource

__all__ = ["Namespace", "namespaces_at", "tagger_name"]

logger = logging.getLogger(__name__)

_MAX_NAME = 256
#: Fewer lessons are folded sooner than their snapshot is read.
_KEPT_WHEN_CLOSED = 200


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
        What follows from the truth: the graph, the lexical index, the vectors in memory.
    log : FeedbackLog
        What was cited, in the order in which it was committed.
    answers : AnswerLog
        What links answers to their lessons.
    learned : Memory
        The weights that follow from the log.
    colonies : Colonies
    recalls : RecallLog
        Recent recalls, to be found by id.
    lending : Lending
        Whether a caller's own code runs while the graph is locked.
    root : Path, optional
        The folder with all derived parts, if there is one and it may be written.
    embedder, tagger, cue_model, search, reranker, judge : optional
        What the user handed over. ``reembed`` and ``retag`` replace the first two.
    questions : QuestionVectors
        Vectors of the last questions.
    """

    name: str
    settings: Settings
    database: Database
    truth: Truth
    derived: Derived
    log: FeedbackLog
    answers: AnswerLog
    learned: Memory
    colonies: Colonies
    recalls: RecallLog
    lending: Lending
    root: Path | None = None
    embedder: Embedder | None = None
    tagger: Tagger | None = None
    cue_model: CueModel | None = None
    search: Search | None = None
    reranker: Any = None
    judge: Any = None
    judge_below: float = 1.0
    questions: QuestionVectors = field(default_factory=QuestionVectors)
    #: What joins languages and spellings, where the settings ask for it (set by the face).
    languages: Languages | None = None
    translations: Translations | None = None
    foreign: ForeignNames | None = None
    aliases: Aliases | None = None
    #: The model of the vectors, as long as it is missing and nobody was told.
    missing_model: str | None = None
    #: Whether the namespace exists, with the settings that it was opened with.
    _exists: bool = False

    @classmethod
    def open(
        cls,
        location: str | Path,
        *,
        embedder: Embedder | None,
        tagger: Tagger | None,
        cue_model: CueModel | None,
        texts: TextSource | None,
        search: Search | None,
        reranker: Any,
        judge: Any,
        judge_below: float,
        edges: Sequence[str] | None,
        settings: Settings | Literal["saved"] | None,
        name: str,
        cache_dir: str | Path | None,
    ) -> Self:
        """Open or create an index; see :meth:`hebbgraph.HebbianIndex.open`."""
        _check_name(name)
        for argument, given in (
            ("tagger", tagger),
            ("cue_model", cue_model),
            ("texts", texts),
            ("search", search),
        ):
            if given is not None and not callable(given):
                raise ParameterError(f"{argument} is a callable, got {given!r}")
        if not (reranker is None or callable(getattr(reranker, "predict", reranker))):
            raise ParameterError(
                "reranker is a callable from a question and texts to scores, or has predict(pairs) "
                f"like a CrossEncoder; got {reranker!r:.80}"
            )
        if not (judge is None or callable(judge) or _asks(judge)):
            raise ParameterError(
                "judge is a callable from a question and hits to ids or scores, a cross-encoder "
                "(predict) or a language model of LangChain or LlamaIndex (invoke, complete); got "
                f"{judge!r:.80}"
            )
        if not (isinstance(judge_below, int | float) and 0 <= judge_below <= 1):
            raise ParameterError(f"judge_below lies in [0, 1], got {judge_below!r}")
        saved = settings == "saved"
        if not (settings is None or saved or isinstance(settings, Settings)):
            raise ParameterError(
                f'settings is a Settings, "saved" or None, got {settings!r:.80}; '
                'write Settings(language="german"), for example'
            )
        settings = settings if isinstance(settings, Settings) else Settings()
        if isinstance(edges, str):
            raise ParameterError(f"edges is a sequence of field names; write edges=({edges!r},)")
        checked = settings.edges if edges is None else Settings(edges=edges).edges
        database, root = _open_database(location, cache_dir, settings.write_wait_seconds)
        try:
            if saved:
                settings = settings.with_build(Truth(database, name).saved_settings() or {})
            if edges is not None:
                settings = settings.model_copy(update={"edges": checked})
            if texts is not None and settings.keep_text:
                raise ParameterError(
                    "texts=... goes with Settings(keep_text=False); this index keeps its texts"
                )
            text_store = (
                TextStore() if settings.keep_text else TextsElsewhere(texts, database.place)
            )
            truth = Truth(database, name, text_store)
            exists = _settle(truth, settings, tagger)
            embedding = truth.state().embedding
            if embedder is not None:
                _check_embedder(embedder, embedding)
            writable = not database.read_only
            directory = None if root is None else derived_directory(root, name, database.id)
            derived = Derived(
                truth,
                directory,
                older=None if root is None else derived_directory(root, name),
                language=settings.language,
                writable=writable,
                wait_seconds=settings.write_wait_seconds,
                with_vectors=embedder is not None,
                vector_search=settings.vector_search,
            )
            log = FeedbackLog(database, name)
            recalls = RecallLog(database, name, settings.keep_recalls)
            if root is not None and writable:
                remove_former_recalls(root)
            return cls(
                name=name,
                settings=settings,
                database=database,
                truth=truth,
                derived=derived,
                log=log,
                answers=AnswerLog(
                    database,
                    name,
                    keep=MOST_KEPT if settings.keep_recalls is None else settings.keep_recalls,
                    days=settings.learning.query_retention_days,
                    issue=recalls.issue,
                ),
                learned=Memory(
                    log,
                    truth,
                    settings.learning,
                    directory / SNAPSHOT_NAME if directory is not None and writable else None,
                ),
                colonies=Colonies(
                    directory,
                    settings.colonies,
                    writable=writable,
                    leads_to=truth.history.leads_to,
                ),
                recalls=recalls,
                lending=Lending(settings.write_wait_seconds),
                root=root if writable else None,
                embedder=embedder,
                tagger=tagger,
                cue_model=cue_model,
                search=search,
                reranker=reranker,
                judge=judge,
                judge_below=judge_below,
                missing_model=None if embedding is None else embedding.name,
                _exists=exists,
            )
        except BaseException as error:
            database.dispose()
            if isinstance(error, OSError):
                raise translate_os(error, str(root or database.place)) from error
            raise

    # -- existence ------------------------------------------------------------------

    @property
    def exists(self) -> bool:
        """Whether the namespace was seen to exist."""
        return self._exists

    def check_exists(self) -> None:
        """Raise NamespaceNotFoundError if nothing can be read from a misspelt namespace.

        Opening makes no namespace, and neither does reading; the first write does. A database
        that holds no namespace at all is new: whatever it is asked, it is simply empty.
        """
        if self._exists:
            return
        self._exists = _settle(self.truth, self.settings, self.tagger)
        if not self._exists and (existing := self.truth.namespaces()):
            if self.name not in existing:
                raise NamespaceNotFoundError.of(self.name, existing)
            self._exists = _settle(self.truth, self.settings, self.tagger)  # made just now

    def make(self) -> None:
        """Make the namespace, with the settings that it was opened with, unless it exists."""
        if not self._exists:
            self._exists = _settle(self.truth, self.settings, self.tagger, make=True)

    # -- in step with the truth -----------------------------------------------------

    @contextmanager
    def held(self, *, lent: bool = False) -> Iterator[int]:
        """Lock graph, lexical index and learned weights for a reader; yield the generation.

        They are as new as the last acknowledged write. Learned rows are read only when spreading
        comes to them, so meanwhile no thread learns anything new. ``lent`` says that the reader
        calls a caller's own code.

        Raises
        ------
        IndexLockedError
            If such code of another thread runs for too long.
        """
        self.lending.wait()
        with (
            self.derived.held(self._refresh_learned) as generation,
            self.learned.held(),
            self.lending.lent() if lent else nullcontext(),
        ):
            yield generation

    def _refresh_learned(self) -> None:
        state, corrections = self.derived.feedback, self.derived.corrections
        if state != self.learned.state or corrections is not self.learned.corrections:
            self.learned.refresh(state, corrections)

    def bring_up_to_date(self) -> None:
        """Derive what follows from a committed batch.

        The batch is acknowledged, and the next recall makes up for a failure here, so it is
        logged, not raised.
        """
        try:
            self.derived.refresh()
        except (OSError, ValueError) as error:
            logger.warning("derived parts lag behind; the next recall updates them: %s", error)

    def hand_out(self, recall: Recall) -> Recall:
        """Know a recall as one of this index, and keep it if somebody asked for that; return it."""
        self.recalls.put(recall)
        return self.recalls.issue(recall)

    def scrub(self) -> None:
        """Erase every byte of deleted content from all files, those of a killed build included."""
        if self.root is not None:
            self._sweep_builds(self.root)
            with translated_os(str(self.root)):
                sweep_scratch(self.root)
        self.recalls.erase()
        self.learned.discard()
        self.questions.clear()
        self.database.vacuum()

    def _sweep_builds(self, root: Path) -> None:
        if any((root / name).exists() for name in (BUILD_FOLDER, BUILDS_ELSEWHERE)):
            purpose = f"erasing the texts that a build left in {root}"
            sweep = load_plugin("hebbgraph.builds", "sweep", extra="scale", purpose=purpose)
            sweep(root, self.database.id)

    def colony_of(self) -> NDArray[np.int64]:
        """Return the colony of each slot; the caller holds the derived parts."""
        return self.colonies.by_slot(self.derived.graph, self.derived.vectors)

    # -- languages ------------------------------------------------------------------

    def for_memory(
        self, graph: TagGraph, question: str, vector: NDArray[np.float32] | None
    ) -> tuple[NDArray[np.float32] | None, str | None]:
        """Return a question's vector as memory compares it, and what made it.

        As in search, it is one without its language. The caller holds the graph.
        """
        embedding, table = self.derived.embedding, self.derived.vectors
        name = None if embedding is None else embedding.name
        if vector is None or table is None or self.languages is None:
            return vector, name
        neutral = self.languages.neutral(graph, table, question, vector)
        return (vector, name) if neutral is None else (neutral.vector, f"{name} in any language")

    # -- what was handed over -------------------------------------------------------

    def embed_phrases(self, phrases: list[str]) -> NDArray[np.float32] | None:
        """Embed phrases to unit length; None without an embedder."""
        if self.embedder is None:
            return None
        return embed_passages(self.embedder, [Chunk(text=phrase) for phrase in phrases])

    def warn_without_model(self) -> None:
        """Say once, and how to mend it, if the index has vectors but not their model."""
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
            self.learned.keep(at_least=_KEPT_WHEN_CLOSED)
            self.derived.close(save=self._exists)
        except OSError as error:
            logger.warning("no snapshot was written (%s); the next open builds it", error)
        finally:
            self.recalls.close()
            self.database.dispose()


def namespaces_at(location: str | Path, wait_seconds: float) -> list[str]:
    """Return the names of all namespaces at a location, sorted; it is not made an index."""
    if not is_url(location) and not (as_directory(location) / DATABASE_NAME).exists():
        return []
    database, _ = _open_database(location, None, wait_seconds)
    try:
        return Truth(database, "").namespaces()
    finally:
        database.dispose()


def tagger_name(tagger: Tagger) -> str:
    """Return the name under which a tagger is saved: its own, or that of its function or class.

    Examples
    --------
    >>> tagger_name(tagger_name)
    'hebbgraph.namespace.tagger_name'
    """
    name = getattr(tagger, "name", None)
    if isinstance(name, str) and name:
        return name
    kind = type(tagger)
    if isinstance(own := getattr(tagger, "__qualname__", None), str):
        return f"{getattr(tagger, '__module__', None) or kind.__module__}.{own}"
    return f"{kind.__module__}.{kind.__qualname__}"


def _settle(truth: Truth, settings: Settings, tagger: Tagger | None, *, make: bool = False) -> bool:
    """Compare settings and tagger with those of the namespace; return whether it exists."""
    if not truth.settle(settings.build(), before=Settings().build(), make=make):
        return False
    if tagger is not None:
        truth.answers.settle(tagger_name(tagger))
    return True


def _asks(judge: Any) -> bool:
    return any(callable(getattr(judge, name, None)) for name in ("predict", "invoke", "complete"))


def _check_name(name: str) -> None:
    if not (isinstance(name, str) and name and name.isprintable()):
        raise ParameterError(f"a namespace is a printable str, got {name!r}")
    if len(name) > _MAX_NAME:
        raise ParameterError(f"a namespace has at most {_MAX_NAME} characters, got {len(name)}")


def _check_embedder(embedder: Embedder, state: EmbeddingState | None) -> None:
    if not isinstance(embedder, Embedder):
        raise ParameterError(
            f"an embedder must have embed_documents and embed_query, got {type(embedder).__name__}"
        )
    name = embedder_name(embedder)
    if state is not None and state.name != name:
        raise SettingsMismatchError(
            f"the index holds vectors of {state.name!r}, got the embedder {name!r}; open it "
            "without an embedder and call reembed(embedder) to change the model"
        )
    told = None if state is None else getattr(embedder, "dimension", None)
    if state is not None and told not in (None, state.dimension):
        raise SettingsMismatchError(
            f"the index holds vectors of {state.dimension} numbers, and {name!r} makes {told}; "
            "open it without an embedder and call reembed(embedder) to change the model"
        )


def _open_database(
    location: str | Path, cache_dir: str | Path | None, wait_seconds: float
) -> tuple[Database, Path | None]:
    """Open the database; return it and the folder for derived parts (None: in memory)."""
    cache = None if cache_dir is None else as_directory(cache_dir, "cache_dir")
    if location == ":memory:":
        return Database.in_memory(), None  # nobody else can need what is derived
    if is_url(location):
        return Database.at_url(str(location), wait_seconds=wait_seconds), cache
    directory = as_directory(location)
    return Database.in_directory(directory, wait_seconds=wait_seconds), cache or directory
