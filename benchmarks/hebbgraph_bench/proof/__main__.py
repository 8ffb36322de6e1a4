"""Measure missing stages and write the page; see ``--help``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from time import monotonic

from hebbgraph.errors import HebbgraphError, MissingExtraError

from hebbgraph_bench.proof.answers import AnswerSettings
from hebbgraph_bench.proof.page import fill_tables
from hebbgraph_bench.proof.plan import Place, stages
from hebbgraph_bench.proof.stages import Results, Stage, chosen, differences, plain

__all__ = ["main"]

#: Questions for the small local model, and tokens of context for each: enough to see that the
#: model is too weak.
_LOCAL_QUESTIONS, _LOCAL_TOKENS = 10, 300


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return 1 if a stage failed, or a repetition gave other figures."""
    options = _parser().parse_args(arguments)
    questions = options.answers or (AnswerSettings.questions if options.url else _LOCAL_QUESTIONS)
    tokens = options.tokens or (AnswerSettings.tokens if options.url else _LOCAL_TOKENS)
    reader = AnswerSettings(
        questions=questions, tokens=tokens, url=options.url, model=options.model
    )
    environment = Place(options.shared, options.cache, options.queries, reader)
    results = Results(options.results)
    try:
        available = stages(environment, wide=options.wide)
        selected = chosen(available, options.stages)
        if options.again:
            differing = [stage for stage in selected if not _repeats(stage, results)]
            return int(bool(differing))
        failed = 0
        for number, stage in enumerate(selected, 1):
            if options.list:
                _say(f"{stage.name:48} {_state(stage, results)}")
            else:
                failed += not _run(stage, results, f"{number}/{len(selected)}", keep=options.keep)
        for page in options.page:
            page.write_text(fill_tables(page.read_text("utf-8"), results, available), "utf-8")
    except HebbgraphError as error:
        _say(str(error))
        return 1
    return int(bool(failed))


def _state(stage: Stage, results: Results) -> str:
    if results.read(stage.name) is None:
        return "missing"
    return "kept" if results.is_fresh(stage) else "stale"


def _run(stage: Stage, results: Results, place: str, *, keep: bool) -> bool:
    if results.is_fresh(stage) or (keep and results.read(stage.name)):
        _say(f"{place} {stage.name}: kept")
        return True
    began = monotonic()
    try:
        results.write(stage, stage.measure())
    except MissingExtraError as error:
        _say(f"{place} {stage.name}: not run: {error}")
        return True
    except HebbgraphError as error:
        _say(f"{place} {stage.name}: failed: {error}")
        return False
    _say(f"{place} {stage.name}: {monotonic() - began:.0f} s")
    return True


def _repeats(stage: Stage, results: Results) -> bool:
    """Measure again, and report figures that differ from the stored ones."""
    stored = results.read(stage.name)
    if stored is None:
        _say(f"{stage.name}: no stored result to compare with")
        return True
    changes = list(differences(stored["figures"], plain(stage.measure().figures)))
    _say(f"{stage.name}: {'the same figures' if not changes else f'{len(changes)} differ'}")
    for line in changes[:10]:
        _say(f"  {line}")
    return not changes


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="hebbgraph_bench.proof",
        description="Measure the figures of docs/proof.md and its appendix. Stored results that"
        " are still fresh are not measured again.",
    )
    add = parser.add_argument
    add("stages", nargs="*", help="names or patterns, such as rivals/*/LinearRAG; default: all")
    add("--shared", type=Path, default=Path("../shared"), help="folder with published/ and data/")
    add("--results", type=Path, default=Path("benchmarks/results"), help="one JSON a stage")
    add("--cache", type=Path, default=Path(".proof"), help="for models, vectors and answers")
    add(
        "--page",
        type=Path,
        nargs="+",
        default=[],
        help="write the tables into these pages, between their markers; with --list, from stored"
        " results",
    )
    add("--list", action="store_true", help="list the stages, and measure nothing")
    add("--wide", action="store_true", help="add stages that take hours and show little more")
    add("--again", action="store_true", help="measure stored stages again, and compare")
    add("--keep", action="store_true", help="keep the results of older code")
    add("--queries", type=int, help="sample at most this many questions per set, for a trial run")
    add(
        "--answers",
        type=int,
        help="questions to answer per set; default: 200 for a service, else 10",
    )
    add(
        "--tokens",
        type=int,
        help="tokens of context per answer; default: 800 for a service, else 300",
    )
    add("--url", help="an OpenAI-compatible service that answers; its key: OPENAI_API_KEY")
    add("--model", help="the service's model")
    return parser


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)  # noqa: T201


if __name__ == "__main__":
    sys.exit(main())
