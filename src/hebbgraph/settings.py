"""Settings, by what changing them costs.

Build settings are saved with the index: opening it with others is an error that says what
to do. Everything else is free at each open.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from hebbgraph.errors import ParameterError
from hebbgraph.formulas.activation import SpreadingParameters
from hebbgraph.formulas.breadth_first import BreadthFirstParameters
from hebbgraph.formulas.communities import ColonyParameters
from hebbgraph.formulas.relevance import NeuralRecall
from hebbgraph.protocols import VectorSearchFactory, VectorSearchName

__all__ = ["AliasName", "FamilyName", "Language", "LearningSettings", "Settings"]

Language = Literal[
    "none", "arabic", "armenian", "basque", "catalan", "danish", "dutch", "english", "estonian",
    "finnish", "french", "german", "greek", "hindi", "hungarian", "indonesian", "irish",
    "italian", "lithuanian", "nepali", "norwegian", "portuguese", "romanian", "russian",
    "serbian", "spanish", "swedish", "tamil", "turkish", "yiddish",
]  # fmt: skip


AliasName = Literal["spelling", "acronyms", "vectors"]
FamilyName = Literal["cue", "pair", "episode", "path"]


class _Frozen(BaseModel):
    """A frozen model whose validation errors are ours."""

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)

    def __init__(self, **values: Any) -> None:
        try:
            super().__init__(**values)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            field = ".".join(str(part) for part in first["loc"])
            raise ParameterError(
                f"settings: {field}: {first['msg']}, got {first['input']!r}"
            ) from error


class LearningSettings(_Frozen):
    """How feedback becomes plastic weights, and how recalls read them.

    None of these is saved with the index: with other values the feedback log is read
    anew, and the weights are those that it would have led to from the start.

    Parameters
    ----------
    rule : str or LearningRule
        ``"hebb"`` (soft bounds), ``"bio_rag"`` (additive), or a function: see
        :mod:`hebbgraph.formulas.plasticity`.
    learning_rate : float, in (0, 1], per feedback
    w_max : float, in (0, 1]
        The largest weight of an edge.
    half_life_events : float, positive
        After so many further feedbacks a weight is worth half.
    families : tuple of {"cue", "pair", "episode", "path"}
        Which edges are learned: cue → cited chunk; cited chunk ↔ cited chunk; past query
        → cited chunk; tag → tag and tag → chunk on the path of a cited hit.
    inhibition : float, in [0, 1]
        Negative credit of a chunk that was shown in vain above a cited one; a rejected one
        has -1.
    inhibition_floor : float, in [0, 1]
        How far inhibition may go: a learned weight falls to minus this at most, and the
        direct evidence of a chunk to one minus this share of what it was.
    many_shown : int, at least 2
        With at least so many shown chunks, an answer that cites all of them teaches
        nothing.
    fan_out : int, at least 1
        The strongest learned edges of a node that take part in a recall.
    out_strength : float, positive
        Homeostasis: learned weights that leave a node are scaled down to this sum.
    cue_gain, pair_gain, path_gain : float, in [0, 1]
        How much of a node's activation passes over a learned edge of weight 1: from tags
        to chunks, from chunk to chunk, and from tag to tag. To a chunk it passes in
        proportion to the direct evidence for it.
    learned_steps : int, at least 0
        Steps of spreading, the one from the cues included, in which learned edges are
        followed. Further out they cost more than they bring.
    in_credit : float, positive
        Homeostasis: a chunk that was cited more often than this, in credits, is reached
        by learned edges that much more weakly.
    min_weight : float, in [0, 1]
        Learned edges that are weaker are passed over.
    actor_events : float, at least 0
        A named actor has influence of so many feedbacks in any case ...
    actor_share : float, in [0, 1]
        ... and of this share of everybody else's feedback; what goes beyond is scaled
        down.
    require_actor : bool
        Whether feedback must name its actor.
    episode_similarity : float, in [0, 1)
        Past queries are active above this cosine to the new one.
    episode_overlap : float, in [0, 1)
        The same without embeddings, for the weighted overlap of terms and tags.
    episode_agreement : float, at least 0
        How sharply a past query counts less the less direct evidence there is for any of
        the chunks that it led to: its likeness is multiplied with the best of it to this
        power, unless it asks the same.
    episode_gain : float, positive
        The activation that a chunk gets which past queries like this one led to as often
        as not; see :func:`hebbgraph.formulas.homeostasis.expectation`.
    episode_prior : float, positive
        How much past queries must be like this one, together, to be half believed.
    episode_share : float, in [0, 1]
        The activation that past queries give a chunk at most; what starts elsewhere is 1.
    episode_limit : int, at least 1
        Active past queries, at most.
    episode_merge : float, in [0, 1]
        Active past queries as similar as this to each other count as one.
    store_queries : bool
        Whether the log keeps the text of questions. Off: cue phrases, hashed words and
        the embedding are kept, for learning reads them; they too say much about a
        question.
    query_retention_days : float, at least 0
        Texts of questions older than this are erased from the log.

    Examples
    --------
    >>> LearningSettings(families=("cue", "pair")).rule
    'hebb'
    """

    rule: str | Callable[..., Any] = "hebb"
    learning_rate: float = Field(default=0.5, gt=0.0, le=1.0)
    w_max: float = Field(default=1.0, gt=0.0, le=1.0)
    half_life_events: float = Field(default=10_000.0, gt=0.0)
    families: tuple[FamilyName, ...] = ("cue", "pair", "episode", "path")
    inhibition: float = Field(default=0.5, ge=0.0, le=1.0)
    inhibition_floor: float = Field(default=0.5, ge=0.0, le=1.0)
    many_shown: int = Field(default=5, ge=2)
    fan_out: int = Field(default=16, ge=1)
    out_strength: float = Field(default=1.0, gt=0.0)
    in_credit: float = Field(default=10.0, gt=0.0)
    cue_gain: float = Field(default=0.15, ge=0.0, le=1.0)
    pair_gain: float = Field(default=0.1, ge=0.0, le=1.0)
    path_gain: float = Field(default=1.0, ge=0.0, le=1.0)
    learned_steps: int = Field(default=2, ge=0)
    min_weight: float = Field(default=0.02, ge=0.0, le=1.0)
    actor_events: float = Field(default=20.0, ge=0.0)
    actor_share: float = Field(default=0.1, ge=0.0, le=1.0)
    require_actor: bool = False
    episode_similarity: float = Field(default=0.55, ge=0.0, lt=1.0)
    episode_overlap: float = Field(default=0.3, ge=0.0, lt=1.0)
    episode_agreement: float = Field(default=8.0, ge=0.0)
    episode_gain: float = Field(default=0.2, gt=0.0)
    episode_prior: float = Field(default=0.3, gt=0.0)
    episode_share: float = Field(default=0.6, ge=0.0, le=1.0)
    episode_limit: int = Field(default=16, ge=1)
    episode_merge: float = Field(default=0.95, ge=0.0, le=1.0)
    store_queries: bool = False
    query_retention_days: float = Field(default=30.0, ge=0.0)


class Settings(_Frozen):
    """How an index is built, kept and read.

    Parameters
    ----------
    language : str
        Build setting. The Snowball stemmer for words in Latin script; words in other
        scripts get their own. ``"none"`` switches stemming off.
    text_tags : bool
        Build setting. Off: a chunk has its titles and the tags that were given to it, by
        a tagger with a vocabulary of its own, say, and none that its text proposes.
    keep_text : bool
        Build setting. Off: no copy of the texts is kept; they come from the store that
        ``HebbianIndex.open(texts=...)`` names. Titles, metadata and tags stay here.
    aliases : tuple of {"spelling", "acronyms", "vectors"}
        Which variants of one concept are joined by light edges of their own, derived and
        never merged; see :mod:`hebbgraph.graph.aliases`. None by default: they help some
        sets and harm others. ``"vectors"`` embeds the vocabulary in each process.
    alias_weight : float, in [0, 1]
        The share of a tag's activation that passes to each of its variants.
    vector_dtype : {"float16", "float32"}
        How vectors are kept in the database; half precision takes half the space and
        costs about 1e-3 of a cosine. Settled by the first vector.
    vector_search : {"exact", "quantized", "ivf"} or callable
        How the nearest vectors are found. ``"quantized"`` (an extra) gives the same results
        and pays from some 20,000 chunks on; ``"ivf"`` (an extra) gives almost the same and
        pays from 50,000 on. A callable builds a
        :class:`~hebbgraph.protocols.VectorSearch` of your own.
    batch_size : int, in [1, 100000]
        Chunks that ``add`` commits at once.
    write_wait_seconds : float, at least 0
        How long a writer waits for another one before it gives up.
    keep_recalls : int, at least 0
        How many recalls are kept to be found by id, for late feedback; 0 keeps none.
    recall : SpreadingParameters
        The constants of spreading; free at each open.
    breadth_first : BreadthFirstParameters
        The constants of Bio-RAG's search; free at each open.
    colonies : ColonyParameters
        How chunks are joined and split into colonies; free at each open.
    learning : LearningSettings
    neural : NeuralRecall
        How recalls read what :func:`hebbgraph.neural.train` has learned; free at each open.

    Examples
    --------
    >>> Settings(language="german").language
    'german'
    """

    language: Language = "english"
    text_tags: bool = True
    keep_text: bool = True
    aliases: tuple[AliasName, ...] = ()
    alias_weight: float = Field(default=0.5, ge=0.0, le=1.0)
    vector_dtype: Literal["float16", "float32"] = "float16"
    vector_search: VectorSearchName | VectorSearchFactory = "exact"
    batch_size: int = Field(default=1000, ge=1, le=100_000)
    write_wait_seconds: float = Field(default=30.0, ge=0.0)
    keep_recalls: int = Field(default=10_000, ge=0)
    recall: SpreadingParameters = SpreadingParameters()
    breadth_first: BreadthFirstParameters = BreadthFirstParameters()
    colonies: ColonyParameters = ColonyParameters()
    learning: LearningSettings = LearningSettings()
    neural: NeuralRecall = NeuralRecall()

    @field_validator("vector_search", mode="before")
    @classmethod
    def _known_search(cls, search: object) -> object:
        if search == "usearch":
            raise ValueError(
                'usearch was removed; take "ivf" for many vectors, or "quantized" for the '
                'results of "exact"'
            )
        if search not in get_args(VectorSearchName) and not callable(search):
            names = ", ".join(map(repr, get_args(VectorSearchName)))
            raise ValueError(f"takes {names}, or a callable that builds a search")
        return search

    def with_build(self, saved: Mapping[str, Any]) -> Settings:
        """Return these settings with build settings that were saved with an index."""
        known = {name: saved[name] for name in self.build() if name in saved}
        return self.model_copy(update=known)

    def build(self) -> dict[str, Any]:
        """Return the settings that are saved with the index."""
        return {
            "language": self.language,
            "text_tags": self.text_tags,
            "keep_text": self.keep_text,
        }
