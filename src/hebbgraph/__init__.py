"""hebbgraph: a retriever that learns which passages belong together.

>>> from hebbgraph import HebbianIndex
>>> with HebbianIndex.open(":memory:") as index:
...     report = index.add([{"id": "a", "text": "Owls hunt voles at night."}])
...     recall = index.recall("What do owls hunt?")
>>> recall[0].id
'a'
"""

from hebbgraph.embedders import SentenceTransformerEmbedder
from hebbgraph.errors import HebbgraphError
from hebbgraph.index import HebbianIndex
from hebbgraph.protocols import Embedder, Tagger, VectorSearch
from hebbgraph.recall.strategies import Ranking, RankStep, Request, Strategy
from hebbgraph.records import AddReport, Chunk, Cue, DeleteReport, Hit, Lesson, PathStep, Recall
from hebbgraph.settings import Settings

__all__ = [
    "AddReport",
    "Chunk",
    "Cue",
    "DeleteReport",
    "Embedder",
    "HebbgraphError",
    "HebbianIndex",
    "Hit",
    "Lesson",
    "PathStep",
    "RankStep",
    "Ranking",
    "Recall",
    "Request",
    "SentenceTransformerEmbedder",
    "Settings",
    "Strategy",
    "Tagger",
    "VectorSearch",
    "__version__",
]

__version__ = "0.2.0"
