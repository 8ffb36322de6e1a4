"""The parameters of colonies; apart from the algorithm, so settings need not import it."""

from __future__ import annotations

from dataclasses import dataclass

from hebbgraph.formulas.parameters import check_positive, check_range, former_fields

__all__ = ["ColonyParameters"]


@former_fields("alpha", "beta", "gamma", "tau")
@dataclass(frozen=True, slots=True)
class ColonyParameters:
    """How chunks are joined by edges and partitioned into colonies.

    Parameters
    ----------
    resolution : float, positive
        Larger values make more, smaller colonies.
    nearest : int, at least 1
        Number of strongest edges kept per chunk.
    max_df : int, at least 2
        Tags of more chunks create no edges.

    Raises
    ------
    ParameterError
        If a value lies outside its range.
    """

    resolution: float = 1.0
    nearest: int = 16
    max_df: int = 100

    def __post_init__(self) -> None:
        check_positive(self, ("resolution",))
        check_range(self, ("nearest",), 1)
        check_range(self, ("max_df",), 2)
