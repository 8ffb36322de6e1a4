"""hebbgraph: a retriever that learns which passages belong together.

>>> from hebbgraph import HebbianIndex
>>> with HebbianIndex.open(":memory:") as index:
...     _ = index.add(["Synapses that fire together wire together."])
...     recall = index.recall("What do synapses do?", k=1)
>>> recall.hits[0].chunk.text
'Synapses that fire together wire together.'
"""

from __future__ import annotations

import warnings
from importlib import import_module
from typing import TYPE_CHECKING, Any

from hebbgraph._version import __version__
from hebbgraph.errors import (
    AccessError,
    BuildError,
    ClosedIndexError,
    ConnectionLostError,
    ConversionError,
    DamagedIndexError,
    DatasetError,
    DiskFullError,
    EmbeddingError,
    FeedbackError,
    FilterError,
    HebbgraphError,
    IndexLockedError,
    InvalidChunkError,
    MissingExtraError,
    ModelError,
    NamespaceNotFoundError,
    NewerVersionError,
    NotAnIndexError,
    NotFoundError,
    ParameterError,
    ReadOnlyIndexError,
    SettingsMismatchError,
    StorageError,
    TextSourceError,
    TooManyRequestsError,
)
from hebbgraph.extras import require
from hebbgraph.formulas.activation import SpreadingParameters
from hebbgraph.formulas.colony_parameters import ColonyParameters
from hebbgraph.formulas.dense_share import EvidenceWeights
from hebbgraph.hebbian_index import HebbianIndex
from hebbgraph.records import (
    AddReport,
    Chunk,
    Colony,
    Cue,
    DoctorReport,
    FailedChunk,
    Feedback,
    Finding,
    ForgetPreview,
    Forgetting,
    Hit,
    LearnedParameter,
    PathStep,
    PruneReport,
    Recall,
    Stale,
    TagCorrection,
    TaggingReport,
    Turn,
)
from hebbgraph.settings import LearningSettings, RecallSettings, RerankSettings, Settings

if TYPE_CHECKING:
    from hebbgraph.inspect.statistics import Stats
    from hebbgraph.pool import IndexPool
    from hebbgraph.recall import Ranking, RankStep, RecallOptions, Request, Strategy
    from hebbgraph.records.explanations import Causes, Explanation, LearnedEffect, Trace
    from hebbgraph.records.lesson_report import LessonReport
    from hebbgraph.records.neighborhood import Neighborhood, TagCount

__all__ = [
    "AccessError",
    "AddReport",
    "BuildError",
    "Causes",
    "Chunk",
    "ClosedIndexError",
    "Colony",
    "ColonyParameters",
    "ConnectionLostError",
    "ConversionError",
    "Cue",
    "DamagedIndexError",
    "DatasetError",
    "DiskFullError",
    "DoctorReport",
    "EmbeddingError",
    "EvidenceWeights",
    "Explanation",
    "FailedChunk",
    "Feedback",
    "FeedbackError",
    "FilterError",
    "Finding",
    "ForgetPreview",
    "Forgetting",
    "HebbgraphError",
    "HebbianIndex",
    "Hit",
    "IndexLockedError",
    "IndexPool",
    "InvalidChunkError",
    "LearnedEffect",
    "LearnedParameter",
    "LearningSettings",
    "LessonReport",
    "MissingExtraError",
    "ModelError",
    "NamespaceNotFoundError",
    "Neighborhood",
    "NewerVersionError",
    "NotAnIndexError",
    "NotFoundError",
    "ParameterError",
    "PathStep",
    "PruneReport",
    "RankStep",
    "Ranking",
    "ReadOnlyIndexError",
    "Recall",
    "RecallOptions",
    "RecallSettings",
    "Request",
    "RerankSettings",
    "Settings",
    "SettingsMismatchError",
    "SpreadingParameters",
    "Stale",
    "Stats",
    "StorageError",
    "Strategy",
    "TagCorrection",
    "TagCount",
    "TaggingReport",
    "TextSourceError",
    "TooManyRequestsError",
    "Trace",
    "Turn",
    "__version__",
]

#: Imported on first use, since they take longer to import than everything else.
_LAZY = {
    "IndexPool": "hebbgraph.pool",
    "RankStep": "hebbgraph.recall",
    "Ranking": "hebbgraph.recall",
    "RecallOptions": "hebbgraph.recall",
    "Request": "hebbgraph.recall",
    "Stats": "hebbgraph.inspect.statistics",
    "Strategy": "hebbgraph.recall",
    **dict.fromkeys(
        ("Causes", "Explanation", "LearnedEffect", "Trace"), "hebbgraph.records.explanations"
    ),
    "LessonReport": "hebbgraph.records.lesson_report",
    **dict.fromkeys(("Neighborhood", "TagCount"), "hebbgraph.records.neighborhood"),
}

#: Names that moved to other distributions and can be imported from here until 0.3.
_MOVED = {"BreadthFirstParameters": "papers", "NeuralRecall": "papers"}


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY})


def __getattr__(name: str) -> Any:
    if name in _MOVED:
        module = f"hebbgraph_{_MOVED[name]}"
        message = f"hebbgraph.{name} moved; import it from {module}"
        warnings.warn(message, DeprecationWarning, stacklevel=2)
        return getattr(require(module, extra=_MOVED[name], purpose=f"hebbgraph.{name}"), name)
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_LAZY[name]), name)
