"""Cost of dates and languages for recalls that use neither.

``python -m hebbgraph_bench.unused`` asks each question of one index twice in a row, with and
without the steps that look for dates and for names in other languages, alternating which comes
first. It measures CPU time of one process, so other load changes little. The interval is a
bootstrap over questions of the ratio of sums.
"""

from __future__ import annotations

import argparse
import gc
from collections.abc import Sequence
from time import process_time
from typing import NamedTuple

import numpy as np
from hebbgraph import HebbianIndex, Settings
from hebbgraph.recall.recaller import Recaller
from hebbgraph.recall.step_list import StepList
from rich.console import Console

from hebbgraph_bench.against import ratio_of_sums
from hebbgraph_bench.changing.corpus import documents, timed_questions
from hebbgraph_bench.tables import Grid

__all__ = ["Cost", "main", "measure"]


class Cost(NamedTuple):
    """Recall time with the steps divided by the time without them, with its 95 % interval."""

    ratio: float
    low: float
    high: float
    milliseconds: float


def measure(*, rounds: int = 15, seed: int = 0) -> Cost:
    """Compare recalls of chunks that say nothing about time, in one language."""
    chunks = [
        version.model_copy(update={"id": f"{version.id}/{number}", "valid_from": None})
        for versions in documents() for number, version in enumerate(versions)
    ]  # fmt: skip
    questions = [question.text for question in timed_questions() if not question.says_when]
    with HebbianIndex.open(":memory:", settings=Settings(keep_recalls=0)) as index:
        index.add(chunks)
        parts = index.parts
        full, bare = Recaller(parts, StepList(parts)), Recaller(parts)
        seconds = np.zeros((2, len(questions)))
        for recaller in (full, bare):
            for question in questions:
                recaller.recall(question)
        gc.disable()
        try:
            for turn in range(rounds):
                for number, question in enumerate(questions):
                    for arm in ((0, 1), (1, 0))[(turn + number) % 2]:
                        began = process_time()
                        (full, bare)[arm].recall(question)
                        seconds[arm, number] += process_time() - began
        finally:
            gc.enable()
    ratio, low, high = ratio_of_sums(seconds[0], seconds[1], seed)
    return Cost(ratio, low, high, 1e3 * seconds[0].sum() / (rounds * len(questions)))


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; see the module."""
    parser = argparse.ArgumentParser(
        description="What time and languages cost a recall that uses neither.",
        prog="hebbgraph_bench.unused",
    )
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args(arguments)
    cost = measure(rounds=options.rounds)
    figures = (f"{cost.ratio:.3f}", f"{cost.low:.3f}", f"{cost.high:.3f}")
    row = (f"{cost.milliseconds:.2f}", *figures)
    Grid("Recalls that use neither", ("ms", "with / without", "low", "high"), [row]).print(
        Console()
    )


if __name__ == "__main__":
    main()
