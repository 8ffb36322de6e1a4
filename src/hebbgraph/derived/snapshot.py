"""The graph on disk, as one file of arrays.

A snapshot only saves time. If it is missing or damaged, or the log of changes does not reach back
to it, the graph is rebuilt from the truth.
"""

from __future__ import annotations

from pathlib import Path

from hebbgraph.array_file import read_arrays, write_arrays
from hebbgraph.artifacts import remove
from hebbgraph.graph.phrases import PhraseArrays
from hebbgraph.graph.tag_graph import GraphArrays, TagGraph

__all__ = ["GRAPH_NAME", "discard_snapshot", "load_snapshot", "save_snapshot"]

GRAPH_NAME = "graph.arrays"
#: Raised when arrays, tokens or the rules of the vocabulary change.
_VERSION = 6


def save_snapshot(directory: Path, graph: TagGraph) -> None:
    """Replace the snapshot in a folder that the caller has locked."""
    arrays, phrases = graph.arrays()
    facts = {"commit": [graph.generation, graph.mark]}
    directory.mkdir(parents=True, exist_ok=True)
    write_arrays(directory / GRAPH_NAME, _VERSION, facts, arrays._asdict() | phrases._asdict())


def load_snapshot(directory: Path) -> TagGraph | None:
    """Read the snapshot; None if there is none of this version.

    Raises
    ------
    DamagedPartError
        If it is not what was written.
    OSError
        If the file system fails. The snapshot may be intact.
    """
    if (file := read_arrays(directory / GRAPH_NAME, _VERSION)) is None:
        return None
    generation, mark = file.facts["commit"]
    return TagGraph(
        generation,
        GraphArrays(*map(file.arrays.__getitem__, GraphArrays._fields)),
        PhraseArrays(*map(file.arrays.__getitem__, PhraseArrays._fields)),
        mark=mark,
    )


def discard_snapshot(directory: Path) -> None:
    """Remove the snapshot. Processes that have mapped it can still read it."""
    remove(directory / GRAPH_NAME)
