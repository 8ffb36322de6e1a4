"""Settings of an index.

Build settings are saved with the index; opening it with others is an error that says what to do.
All other settings may differ at each open.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any, ClassVar, Literal, Self, TypeAlias, get_args

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    StrictBool,
    ValidationError,
    field_validator,
    model_validator,
)

from hebbgraph.errors import ParameterError
from hebbgraph.formulas.activation import SpreadingParameters
from hebbgraph.formulas.colony_parameters import ColonyParameters
from hebbgraph.formulas.dense_share import EvidenceWeights
from hebbgraph.formulas.parameters import no_field_any_more
from hebbgraph.limits import MAX_NAMES_OF_ONE
from hebbgraph.protocols import VectorSearchFactory, VectorSearchName
from hebbgraph.search_text import SEARCHED_FIELDS

__all__ = [
    "AliasName",
    "FamilyName",
    "Language",
    "LearningSettings",
    "RecallSettings",
    "Settings",
]

Language = Literal[
    "none", "arabic", "armenian", "basque", "catalan", "danish", "dutch", "english", "estonian",
    "finnish", "french", "german", "greek", "hindi", "hungarian", "indonesian", "irish",
    "italian", "lithuanian", "nepali", "norwegian", "portuguese", "romanian", "russian",
    "serbian", "spanish", "swedish", "tamil", "turkish", "yiddish",
]  # fmt: skip


AliasName = Literal["spelling", "acronyms", "vectors", "scripts", "translations"]
_Glossary: TypeAlias = dict[str, tuple[str, ...]]
FamilyName = Literal["words", "vectors", "pairs"]


class _Frozen(BaseModel):
    """A frozen model whose validation errors are ParameterErrors."""

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)

    former: ClassVar[frozenset[str]] = frozenset()
    """Fields of older versions that became constants."""

    moved: ClassVar[Mapping[str, str]] = {}
    """Fields of older versions that moved, and where to."""

    def __init__(self, **values: Any) -> None:
        if gone := sorted(values.keys() & self.former):
            raise ParameterError(f"settings: {no_field_any_more(gone[0])}")
        if moved := sorted(values.keys() & self.moved):
            raise ParameterError(f"settings: {moved[0]} {self.moved[moved[0]]}")
        try:
            super().__init__(**values)
        except ValidationError as error:
            raise ParameterError(f"settings: {self._message(error)}") from error

    def _message(self, error: ValidationError) -> str:
        first = error.errors(include_url=False)[0]
        field = ".".join(str(part) for part in first["loc"])
        if first["type"] == "extra_forbidden":
            close = get_close_matches(field, type(self).model_fields, n=1)
            hint = f"; did you mean {close[0]!r}?" if close else ""
            return f"{type(self).__name__} has no field {field!r}{hint}"
        if first["type"] == "value_error":  # a message of hebbgraph, which includes the input
            message = first["msg"].removeprefix("Value error, ").removeprefix("settings: ")
            return f"{field}: {message}" if field else message
        if first["type"] == "tuple_type" and isinstance(first["input"], str):
            return f"{field}: a tuple of str, got {first['input']!r}; write ({first['input']!r},)"
        return f"{field}: {first['msg']}, got {first['input']!r}"


class RecallSettings(_Frozen):
    """How far recalls follow the graph, and how much it counts against direct search.

    The other constants of spreading are in
    :class:`hebbgraph.formulas.activation.SpreadingParameters`; for an experiment, pass such an
    object instead of this one.

    Parameters
    ----------
    n_seeds : int, at least 1
        The best chunks of direct search, where activation starts. With more of them, recalls
        tolerate a bad first hit, but drift from the question.
    n_steps : int, at least 0
        How many chunks away from the question an answer may lie. 0 means direct search alone.
    cue_share : float, in [0, 1]
        Share of the activation that starts on what the question names, rather than on the
        best direct hits.
    hub_cap : int, at least 1
        Tags of more chunks than this connect nothing. Raise it if a topic of many chunks should
        lead from one to the other; recalls take longer then.
    evidence_power : float, positive
        With larger values, a good direct hit stays first and a mediocre one yields to the graph.
    half_saturation : float, positive
        With smaller values, chunks that only the graph finds rise.
    """

    former = frozenset({
        "sharpness", "inhibition", "title_salience", "leak", "mention_credit", "untitled_trust",
        "hub_share", "hub_floor", "tags_per_chunk", "beam", "tag_beam",
    })  # fmt: skip

    n_seeds: int = Field(default=SpreadingParameters.n_seeds, ge=1)
    n_steps: int = Field(default=SpreadingParameters.n_steps, ge=0)
    cue_share: float = Field(default=SpreadingParameters.cue_share, ge=0.0, le=1.0)
    hub_cap: int = Field(default=SpreadingParameters.hub_cap, ge=1)
    evidence_power: float = Field(default=SpreadingParameters.evidence_power, gt=0.0)
    half_saturation: float = Field(default=SpreadingParameters.half_saturation, gt=0.0)


class LearningSettings(_Frozen):
    """How feedback teaches, whom to trust, and what the log keeps.

    None of these is saved with the index. When they change, the feedback log is replayed, and the
    weights are as if the new values had applied from the start.

    Parameters
    ----------
    half_life_events : float, positive
        After this many further feedbacks, a citation counts half.
    families : tuple of {"words", "vectors", "pairs"}
        How memory recognises a question: by words and names, by its embedding, and by chunks that
        search found first or that were cited together.
    actor_events : float, at least 0
        An actor always has at most the influence of this many feedbacks; all feedback without an
        actor shares one such limit. The limit is higher if ``actor_share`` allows more.
    actor_share : float, in [0, 1]
        An actor may have this share of everybody else's influence, or that of twice as many
        feedbacks as agreed with direct evidence; see :mod:`hebbgraph.formulas.credibility`.
    require_actor : bool
        Whether feedback must name its actor.
    store_queries : bool
        Whether the log keeps the text of questions. If not, it still keeps cue phrases, hashed
        words and the embedding, which learning needs; they too reveal much about a question.
    query_retention_days : float, at least 0
        Texts of questions older than this are erased from the log, and so are the links from
        answers to their lessons.

    Examples
    --------
    >>> LearningSettings(families=("words", "pairs")).half_life_events
    10000.0
    """

    former = frozenset({
        "w_max", "inhibition_floor", "many_shown", "fan_out", "out_strength", "in_credit",
        "path_gain", "min_weight", "episode_agreement", "episode_gain", "episode_prior",
        "episode_share", "episode_limit", "episode_merge", "rule", "learning_rate", "inhibition",
        "cue_gain", "pair_gain", "learned_steps", "episode_similarity", "episode_overlap",
    })  # fmt: skip

    half_life_events: float = Field(default=10_000.0, gt=0.0)
    families: tuple[FamilyName, ...] = ("words", "vectors", "pairs")
    actor_events: float = Field(default=20.0, ge=0.0)
    actor_share: float = Field(default=0.1, ge=0.0, le=1.0)
    require_actor: StrictBool = False
    store_queries: StrictBool = False
    query_retention_days: float = Field(default=30.0, ge=0.0)


class RerankSettings(_Frozen):
    """How to ask a judge or reranker; see :mod:`hebbgraph.recall.judging`.

    Parameters
    ----------
    first : int, at least 2
        How many of the best hits it scores.
    weight : float, in [0, 1]
        Its share in the order. Increase it for a strong cross-encoder and questions with one
        answer. It sees each chunk alone, so it is weak where answers combine several chunks.
    timeout_seconds : float, positive
        After this time a recall continues without it.
    teaches : bool
        Whether the index learns from the ids that a judge names, as the actor ``"judge"``.
    """

    first: int = Field(default=30, ge=2)
    weight: float = Field(default=0.3, ge=0.0, le=1.0)
    timeout_seconds: float = Field(default=20.0, gt=0.0)
    teaches: bool = False


class Settings(_Frozen):
    """How an index is built, kept and read.

    Parameters
    ----------
    language : str
        Build setting. The Snowball stemmer for words in Latin script; other scripts have their
        own stemmers. ``"none"`` turns stemming off.
    text_tags : bool
        Build setting. If False, a chunk's text proposes no tags: it has only its titles and tags
        from callers and taggers.
    keep_text : bool
        Build setting. If False, texts are not stored but read from the store passed as
        ``HebbianIndex.open(texts=...)``. Titles, metadata and tags are still stored.
    keep_versions : bool
        Whether to keep the old version of a chunk that is replaced, or that its document no longer
        has, as history (``docs/time.md``). Deleting erases all versions. Requires ``keep_text``;
        may differ at each open.
    time_fields : (str, str, str), optional
        Metadata fields with ``valid_from``, ``valid_until`` and ``supersedes`` for chunks that do
        not set these themselves, such as chunks from adapters; may differ at each open. By default
        none, so a column that happens to have such a name means nothing.
    search_metadata : tuple of str
        Metadata fields whose words are searched with the text but not shown, for chunks without a
        ``context`` of their own; applies to chunks added from then on. By default headings,
        subject, summary, keywords, questions and the file name; ``()`` for none. Numbers, dates,
        ids and file types are left out.
    edges : tuple of str
        Build setting. Metadata fields whose values join chunks: two chunks with the same
        ``author`` are one step apart. Values are text, numbers, or lists of these.
    aliases : tuple of {"spelling", "acronyms", "vectors", "scripts", "translations"}
        Which variants of a concept to join by light edges, which are derived and never merged;
        see :mod:`hebbgraph.graph.aliases`. None by default, since they help some sets and harm
        others. ``"vectors"`` embeds the vocabulary in each process; ``"translations"`` embeds
        titles and names in questions, and requires ``across_languages`` (``docs/languages.md``).
    glossary : mapping of str to tuple of str
        Names of one thing in other languages: ``{"Salt Lantern": ("Salzlaterne",)}``, at most 32
        each. They are joined as aliases are, and a question that names one finds the others.
    across_languages : bool
        Whether to match questions in one language with texts in another, with a multilingual
        embedder (``docs/languages.md``). Requires ``keep_text``; may differ at each open.
    alias_weight : float, in [0, 1]
        The share of a tag's activation that passes to each of its variants.
    vector_dtype : {"float16", "float32"}
        How the database stores vectors; half precision takes half the space and costs about 1e-3
        of a cosine. Fixed when the first vector is stored.
    vector_search : {"exact", "quantized", "ivf"} or callable
        How to find the nearest vectors. ``"quantized"`` (an extra) gives the same results and pays
        off from some 20,000 chunks on; ``"ivf"`` (an extra) gives almost the same and pays off
        from 50,000 on. A callable builds your own :class:`~hebbgraph.protocols.VectorSearch`.
    batch_size : int, in [1, 100000]
        Chunks that ``add`` commits at once.
    write_wait_seconds : float, at least 0
        How long a writer waits for another one before it gives up.
    keep_recalls : int, 0 to 10⁹, optional
        How many recalls of each namespace to keep for late feedback by id; 0 keeps none. By
        default none until :meth:`HebbianIndex.keep_recalls` is called, then 10,000. The same
        number of answers that learners have read is kept.
    recall : RecallSettings
        Spreading; may differ at each open.
    evidence : EvidenceWeights
        How much dense, lexical and graph evidence count; may differ at each open.
    colonies : ColonyParameters
        How chunks are joined and split into colonies; may differ at each open.
    learning : LearningSettings
    rerank : RerankSettings
        How to ask a reranker; may differ at each open.

    Examples
    --------
    >>> Settings(language="german").language
    'german'
    """

    moved = {
        "breadth_first": "moved to the strategy; pass recall(strategy=BreadthFirst(index.parts, "
        "BreadthFirstParameters(...))), from hebbgraph_papers",
        "neural": "moved to the strategy; pass recall(strategy=NeuralSpreading(index.parts, "
        "edge_gain=..., propagated=...)) or Neural(index.parts, NeuralRecall(...)), from "
        "hebbgraph_papers",
    }

    language: Language = "english"
    text_tags: StrictBool = True
    keep_text: StrictBool = True
    keep_versions: StrictBool = False
    time_fields: tuple[str, str, str] | None = None
    search_metadata: tuple[str, ...] = SEARCHED_FIELDS
    edges: tuple[str, ...] = ()
    aliases: tuple[AliasName, ...] = ()
    glossary: _Glossary = {}
    across_languages: StrictBool = False
    alias_weight: float = Field(default=0.5, ge=0.0, le=1.0)
    vector_dtype: Literal["float16", "float32"] = "float16"
    vector_search: VectorSearchName | VectorSearchFactory = "exact"
    batch_size: int = Field(default=1000, ge=1, le=100_000)
    write_wait_seconds: float = Field(default=30.0, ge=0.0)
    keep_recalls: int | None = Field(default=None, ge=0, le=1_000_000_000)
    recall: RecallSettings | SpreadingParameters = RecallSettings()
    evidence: EvidenceWeights = EvidenceWeights()
    colonies: ColonyParameters = ColonyParameters()
    learning: LearningSettings = LearningSettings()
    rerank: RerankSettings = RerankSettings()

    @model_validator(mode="after")
    def _languages_need_texts(self) -> Self:
        if self.across_languages and not self.keep_text:
            raise ValueError("across_languages takes keep_text=True: languages are read off texts")
        if "translations" in self.aliases and not self.across_languages:
            raise ValueError(
                'aliases=("translations",) takes across_languages=True: names are compared without '
                "their languages, as texts are"
            )
        return self

    @model_validator(mode="after")
    def _versions_need_texts(self) -> Self:
        if self.keep_versions and not self.keep_text:
            raise ValueError(
                "keep_versions takes keep_text=True: a store that keeps the texts elsewhere has "
                "the present ones only"
            )
        return self

    @field_validator("glossary")
    @classmethod
    def _check_glossary(cls, glossary: _Glossary) -> _Glossary:
        meanings: Counter[str] = Counter()
        for name, others in glossary.items():
            for spelling in (name, *others):
                if not spelling.strip():
                    raise ValueError(
                        f"a name has visible characters, got {spelling!r} for {name!r:.80}"
                    )
            meanings.update(others)
            if len(others) > MAX_NAMES_OF_ONE:
                raise ValueError(
                    f"{name!r:.80} has {len(others)} other names, at most {MAX_NAMES_OF_ONE}"
                )
        for spelling, count in meanings.most_common(1):
            if count > MAX_NAMES_OF_ONE:
                raise ValueError(
                    f"{spelling!r:.80} stands for {count} things, at most {MAX_NAMES_OF_ONE}; a "
                    "name that means everything tells nothing apart"
                )
        return glossary

    @field_validator("edges")
    @classmethod
    def _check_edges(cls, edges: tuple[str, ...]) -> tuple[str, ...]:
        for field in edges:
            if not field.strip() or not field.isprintable():
                raise ValueError(f"an edge is the name of a metadata field, got {field!r}")
        return tuple(dict.fromkeys(edges))

    @field_validator("vector_search", mode="before")
    @classmethod
    def _check_search(cls, search: object) -> object:
        if search == "usearch":
            raise ValueError(
                'usearch was removed; take "ivf" for many vectors, or "quantized" for the '
                'results of "exact"'
            )
        if search not in get_args(VectorSearchName) and not callable(search):
            names = ", ".join(map(repr, get_args(VectorSearchName)))
            raise ValueError(f"must be {names}, or a callable that builds a search; got {search!r}")
        return search

    def spreading(self) -> SpreadingParameters:
        """Return all constants of spreading."""
        if isinstance(self.recall, SpreadingParameters):
            return self.recall
        return SpreadingParameters(**self.recall.model_dump())

    def with_build(self, saved: Mapping[str, Any]) -> Settings:
        """Return these settings with build settings that were saved with an index."""
        known = {name: saved[name] for name in self.build() if name in saved}
        return self.model_copy(update=known | {"edges": tuple(known.get("edges", self.edges))})

    def build(self) -> dict[str, Any]:
        """Return the settings that are saved with the index."""
        return {
            "language": self.language,
            "text_tags": self.text_tags,
            "keep_text": self.keep_text,
            "edges": sorted(self.edges),
        }
