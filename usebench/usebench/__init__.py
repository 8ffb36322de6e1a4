"""usebench: how much better does a retriever find passages, the more it is used?

``records`` defines sets, ``protocol`` retrievers. ``prequential`` asks and teaches one retriever,
``experiment`` runs many under several kinds of feedback, ``tables`` prints the figures. ``drivers``
and ``arms`` are retrievers to compare with; ``sets`` reads and builds sets.
"""

from __future__ import annotations

from usebench._version import __version__
from usebench.bootstrap import Difference, paired_bootstrap
from usebench.errors import UsebenchError
from usebench.experiment import run
from usebench.protocol import Retriever
from usebench.records import Event, Feedback, Passage, UseSet
from usebench.sets.plain import read_set

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
