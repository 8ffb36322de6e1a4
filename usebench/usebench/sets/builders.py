"""The builders by name, and the cards of all sets."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from usebench.errors import ParameterError
from usebench.sets import beam, feedbackqa, git, multihop_rag, musique_lag, or_sharc, wildgraph
from usebench.sets.reading import Card

__all__ = ["BUILDERS", "CARDS", "build"]

#: Functions of the clone or folder to read, and the folder to write.
BUILDERS: dict[str, Callable[[Path, Path], None]] = {
    "beam": beam.build,
    "feedbackqa": feedbackqa.build,
    "git": git.build_git,
    "multihop-rag": multihop_rag.build,
    "musique-lag": musique_lag.build,
    "or-sharc": or_sharc.build,
    "wildgraphbench": wildgraph.build,
}

CARDS: tuple[Card, ...] = tuple(
    module.CARD
    for module in (feedbackqa, git, musique_lag, multihop_rag, or_sharc, wildgraph, beam)
)


def build(name: str, source: Path, out: Path) -> None:
    """Build a set from a clone or folder.

    Raises
    ------
    ParameterError
        If no builder has this name.
    SetError
        If the source does not hold what the builder reads.
    """
    if name not in BUILDERS:
        raise ParameterError(f"sets are {', '.join(sorted(BUILDERS))}; got {name!r}")
    BUILDERS[name](Path(source), Path(out))
