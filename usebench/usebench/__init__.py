"""usebench: how much better does a retriever find passages, the more it is used?

``records`` defines sets, ``protocol`` retrievers. ``prequential`` asks and teaches one retriever,
``experiment`` runs many under several kinds of feedback, ``tables`` prints the figures.
``searches`` and ``arms`` are retrievers to compare with. ``reading`` reads sets, ``history`` makes
one of a repository.
"""

from __future__ import annotations

from usebench._version import __version__
from usebench.bootstrap import Difference, paired_bootstrap
from usebench.errors import UsebenchError
from usebench.experiment import run
from usebench.protocol import Retriever
from usebench.reading import read_set
from usebench.records import Event, Feedback, Passage, UseSet

__all__ = [
    "Difference",
    "Event",
    "Feedback",
    "Passage",
    "Retriever",
    "UseSet",
    "UsebenchError",
    "__version__",
    "paired_bootstrap",
    "read_set",
    "run",
]
