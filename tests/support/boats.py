"""Sixty boats that differ by name, year and builder."""

from __future__ import annotations

__all__ = ["BOATS"]

BOATS = [
    {"id": f"b{at}", "text": f"Boat {at} was built in {1800 + at} by builder {at} of Skerrow."}
    for at in range(60)
]
