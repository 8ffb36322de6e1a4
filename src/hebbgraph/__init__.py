"""hebbgraph: a retriever that learns which passages belong together.

>>> from hebbgraph import HebbianIndex
>>> with HebbianIndex.open(":memory:") as index:
...     _ = index.add(["Synapses that fire together wire together."])
...     recall = index.recall("What do synapses do?", k=1)
>>> recall.hits[0].chunk.text
'Synapses that fire together wire together.'
"""

from __future__ import annotations

from hebbgraph._version import __version__
from hebbgraph.errors import (
    ClosedIndexError,
    ConnectionLostError,
    ConversionError,
    DamagedIndexError,
    DatasetError,
    DiskFullError,
    FeedbackError,
    FilterError,
    HebbgraphError,
    IndexLockedError,
    InvalidChunkError,
    MissingExtraError,
    NewerVersionError,
    NotAnIndexError,
    NotFoundError,
    ParameterError,
    ReadOnlyIndexError,
    SettingsMismatchError,
    StorageError,
    TextSourceError,
)
from hebbgraph.index import HebbianIndex
from hebbgraph.records import (
    AddReport,
    Chunk,
    Cue,
    Explanation,
    Hit,
    PathStep,
    Recall,
    TaggingReport,
)
from hebbgraph.settings import Settings

__all__ = [
    "AddReport",
    "Chunk",
    "ClosedIndexError",
    "ConnectionLostError",
    "ConversionError",
    "Cue",
    "DamagedIndexError",
    "DatasetError",
    "DiskFullError",
    "Explanation",
    "FeedbackError",
    "FilterError",
    "HebbgraphError",
    "HebbianIndex",
    "Hit",
    "IndexLockedError",
    "InvalidChunkError",
    "MissingExtraError",
    "NewerVersionError",
    "NotAnIndexError",
    "NotFoundError",
    "ParameterError",
    "PathStep",
    "ReadOnlyIndexError",
    "Recall",
    "Settings",
    "SettingsMismatchError",
    "StorageError",
    "TaggingReport",
    "TextSourceError",
    "__version__",
]
