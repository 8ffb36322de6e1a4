"""Titles of a set: published, removed, or shuffled among passages."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path
from typing import Literal, TypeAlias, get_args

from hebbgraph_bench.datasets import Dataset, load

__all__ = ["TITLES", "Titles", "retitled", "titled"]

Titles: TypeAlias = Literal["published", "none", "shuffled"]
TITLES: tuple[Titles, ...] = get_args(Titles)
_SEED = 0


def titled(path: Path, titles: Titles) -> Dataset:
    """Read a set with its own titles, none, or those of other passages."""
    dataset = load(path)
    if titles == "none":
        return dataset.untitled()
    return retitled(dataset, seed=_SEED) if titles == "shuffled" else dataset


def retitled(dataset: Dataset, *, seed: int) -> Dataset:
    """Move each title to another passage, to see what a graph gains from false names.

    Examples
    --------
    >>> from hebbgraph.records import Chunk
    >>> corpus = tuple(Chunk(id=name, title=name.upper(), text=name) for name in "abc")
    >>> [chunk.title for chunk in retitled(Dataset("letters", corpus, ()), seed=0).corpus]
    ['B', 'C', 'A']
    """
    order = list(range(len(dataset.corpus)))
    random.Random(seed).shuffle(order)
    # A single cycle through the shuffled order, so no passage keeps its title.
    source_of = {row: order[place - 1] for place, row in enumerate(order)}
    corpus = tuple(
        chunk.model_copy(update={"title": dataset.corpus[source_of[row]].title})
        for row, chunk in enumerate(dataset.corpus)
    )
    return replace(dataset, corpus=corpus)
