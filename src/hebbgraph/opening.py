"""Open a namespace: check arguments and saved settings, then make its parts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from hebbgraph.derived.folder import derived_directory, former_directories
from hebbgraph.derived.parts import Derived
from hebbgraph.embedders import embedder_name
from hebbgraph.errors import ParameterError, SettingsMismatchError
from hebbgraph.learning.memory import Memory
from hebbgraph.learning.snapshot import SNAPSHOT_NAME
from hebbgraph.namespace import Namespace, settle
from hebbgraph.protocols import Embedder
from hebbgraph.settings import Settings
from hebbgraph.store.answers import AnswerLog
from hebbgraph.store.database import DATABASE_NAME, Database, translate_os
from hebbgraph.store.embeddings import EmbeddingState
from hebbgraph.store.feedback_log import FeedbackLog
from hebbgraph.store.places import as_directory, is_url
from hebbgraph.store.recalls import MOST_KEPT, RecallLog, remove_former_recalls
from hebbgraph.store.texts import TextsElsewhere, TextStore
from hebbgraph.store.truth import Truth

if TYPE_CHECKING:
    from hebbgraph.protocols import TextSource

__all__ = ["namespaces_at", "open_namespace"]

_MAX_NAME = 256


def open_namespace(
    location: str | Path,
    *,
    embedder: Embedder | None,
    texts: TextSource | None,
    edges: Sequence[str] | None,
    settings: Settings | Mapping[str, Any] | Literal["saved"] | None,
    name: str,
    cache_dir: str | Path | None,
    **models: Any,
) -> Namespace:
    """Open or create an index; see :meth:`hebbgraph.HebbianIndex.open`.

    ``models`` are further fields of :class:`Namespace`.
    """
    _check_name(name)
    _check_callables(texts=texts, **models)
    if embedder is not None and not isinstance(embedder, Embedder):
        hint = "; a model by its name is SentenceTransformerEmbedder(name)"
        raise ParameterError(
            "an embedder must have embed_documents and embed_query, got "
            f"{type(embedder).__name__}{hint if isinstance(embedder, str) else ''}"
        )
    _check_reranker(models["reranker"])
    _check_judge(models["judge"], models["judge_below"])
    chosen = _checked_settings(settings)
    build_edges = _checked_edges(chosen, edges)
    database, root = _open_database(location, cache_dir, chosen.write_wait_seconds)
    try:
        if settings is not None and not isinstance(settings, Settings):
            saved = Truth(database, name).settings.saved() or {}
            explicit = settings if isinstance(settings, Mapping) else {}
            chosen = chosen.with_build({key: saved[key] for key in saved if key not in explicit})
        if edges is not None:
            chosen = chosen.model_copy(update={"edges": build_edges})
        truth = Truth(database, name, _text_store(database, chosen, texts))
        is_made = settle(truth, chosen, models["tagger"])
        embedding = truth.state().embedding
        if embedder is not None:
            _check_embedder(embedder, embedding)
        namespace = _make_parts(truth, root, chosen, embedder=embedder, **models)
    except BaseException as error:
        database.dispose()
        if isinstance(error, OSError):
            raise translate_os(error, str(root or database.place)) from error
        raise
    namespace.is_made = is_made
    namespace.missing_model = None if embedding is None else embedding.name
    return namespace


def _make_parts(truth: Truth, root: Path | None, settings: Settings, **models: Any) -> Namespace:
    """Make the parts of a namespace."""
    database, name = truth.database, truth.namespace
    writable = not database.read_only
    directory = None if root is None else derived_directory(root, name, database.id)
    log = FeedbackLog(database, name)
    recalls = RecallLog(database, name, settings.keep_recalls)
    if root is not None and writable:
        remove_former_recalls(root)
    return Namespace(
        name=name,
        settings=settings,
        database=database,
        truth=truth,
        derived=Derived(
            truth,
            directory,
            formers=() if root is None else former_directories(root, name, database.id),
            language=settings.language,
            writable=writable,
            wait_seconds=settings.write_wait_seconds,
            with_vectors=models["embedder"] is not None,
            vector_search=settings.vector_search,
        ),
        log=log,
        answers=AnswerLog(
            database,
            name,
            keep=MOST_KEPT if settings.keep_recalls is None else settings.keep_recalls,
            days=settings.learning.query_retention_days,
            issue=recalls.issue,
        ),
        memory=Memory(
            log,
            truth,
            settings.learning,
            directory / SNAPSHOT_NAME if directory is not None and writable else None,
            settings.write_wait_seconds,
        ),
        recalls=recalls,
        root=root if writable else None,
        directory=directory,
        **models,
    )


def _text_store(database: Database, settings: Settings, texts: TextSource | None) -> TextStore:
    if texts is not None and settings.keep_text:
        raise ParameterError(
            "texts=... goes with Settings(keep_text=False); this index keeps its texts"
        )
    return TextStore() if settings.keep_text else TextsElsewhere(texts, database.place)


def _check_callables(**arguments: object) -> None:
    for argument in ("tagger", "cue_model", "texts", "search"):
        if (value := arguments[argument]) is not None and not callable(value):
            raise ParameterError(f"{argument} is a callable, got {value!r}")


def _check_reranker(reranker: Any) -> None:
    if not (reranker is None or callable(getattr(reranker, "predict", reranker))):
        raise ParameterError(
            "reranker is a callable from a question and texts to scores, or has predict(pairs) "
            f"like a CrossEncoder; got {reranker!r:.80}"
        )


def _check_judge(judge: Any, judge_below: float) -> None:
    methods = "predict", "invoke", "complete"
    can_judge = callable(judge) or any(callable(getattr(judge, name, None)) for name in methods)
    if judge is not None and not can_judge:
        raise ParameterError(
            "judge is a callable from a question and hits to ids or scores, a cross-encoder "
            "(predict) or a language model of LangChain or LlamaIndex (invoke, complete); got "
            f"{judge!r:.80}"
        )
    if not (isinstance(judge_below, int | float) and 0 <= judge_below <= 1):
        raise ParameterError(f"judge_below lies in [0, 1], got {judge_below!r}")


def _checked_settings(settings: object) -> Settings:
    if isinstance(settings, Settings):
        return settings
    if isinstance(settings, Mapping):
        return Settings(**settings)
    if not (settings is None or settings == "saved"):
        raise ParameterError(
            f'settings is a Settings, a mapping, "saved" or None, got {settings!r:.80}; '
            'write Settings(language="german"), for example'
        )
    return Settings()


def _checked_edges(settings: Settings, edges: Sequence[str] | None) -> tuple[str, ...]:
    if isinstance(edges, str):
        raise ParameterError(f"edges is a sequence of field names; write edges=({edges!r},)")
    return settings.edges if edges is None else Settings(edges=edges).edges


def _check_name(name: str) -> None:
    if not (isinstance(name, str) and name and name.isprintable()):
        raise ParameterError(f"a namespace is a printable str, got {name!r}")
    if len(name) > _MAX_NAME:
        raise ParameterError(f"a namespace has at most {_MAX_NAME} characters, got {len(name)}")


def _check_embedder(embedder: Embedder, state: EmbeddingState | None) -> None:
    name = embedder_name(embedder)
    if state is not None and state.name != name:
        raise SettingsMismatchError(
            f"the index holds vectors of {state.name!r}, got the embedder {name!r}; open it "
            "without an embedder and call reembed(embedder) to change the model"
        )
    # Asking some embedders for their dimension calls the model.
    dimension = None if state is None else getattr(embedder, "dimension", None)
    if state is not None and dimension not in (None, state.dimension):
        raise SettingsMismatchError(
            f"the index holds vectors of {state.dimension} numbers, and {name!r} makes "
            f"{dimension}; open it without an embedder and call reembed(embedder) to change the "
            "model"
        )


def _open_database(
    location: str | Path, cache_dir: str | Path | None, wait_seconds: float
) -> tuple[Database, Path | None]:
    """Open the database; return it and the folder for derived parts, None if in memory."""
    cache = None if cache_dir is None else as_directory(cache_dir, "cache_dir")
    if location == ":memory:":
        return Database.in_memory(), None
    if is_url(location):
        return Database.at_url(str(location), wait_seconds=wait_seconds), cache
    directory = as_directory(location)
    return Database.in_directory(directory, wait_seconds=wait_seconds), cache or directory


def namespaces_at(location: str | Path, wait_seconds: float) -> list[str]:
    """Return the names of all namespaces at a location, sorted; create nothing there."""
    if not is_url(location) and not (as_directory(location) / DATABASE_NAME).exists():
        return []
    database, _ = _open_database(location, None, wait_seconds)
    try:
        return Truth(database, "").namespaces()
    finally:
        database.dispose()
