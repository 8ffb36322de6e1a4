"""Everything that must always hold, checked; and derived parts built anew where it does not."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import numpy as np

from hebbgraph.arrays import IntArray
from hebbgraph.derived.parts import Derived
from hebbgraph.derived.rebuild import (
    difference_of_graphs,
    rebuilt,
    sets_apart,
    some_phrases,
)
from hebbgraph.errors import HebbgraphError
from hebbgraph.learning.weights import RawWeights
from hebbgraph.namespace import Namespace
from hebbgraph.records import DoctorReport, Finding
from hebbgraph.store.feedback_log import FeedbackLog
from hebbgraph.store.truth import Truth
from hebbgraph.text import lexical_terms
from hebbgraph.vectors.table import VectorTable

__all__ = ["examine"]

_PHRASES = 200


def examine(namespace: Namespace, *, repair: bool) -> DoctorReport:
    """Check one namespace; see :meth:`hebbgraph.HebbianIndex.doctor`."""
    truth, derived, log = namespace.truth, namespace.derived, namespace.log
    memory, colonies, recalls = namespace.learned, namespace.colonies, namespace.recalls
    language = namespace.settings.language
    found = [
        *_guarded("database", truth.problems),
        *_guarded("feedback", lambda: _by("feedback", _feedback_problems(log))),
    ]
    # What is derived is compared with what would be: from texts as they were.
    as_added = not any(finding.part == "texts" for finding in found)
    derived_findings = list(_derived_problems(truth, derived, language, as_added))
    learned = list(_learned_problems(namespace))
    if repair and derived_findings:
        derived.start_over()
        derived.refresh()
        derived.save()
        remaining = {f.part for f in _derived_problems(truth, derived, language, as_added)}
        derived_findings = [
            finding.model_copy(update={"repaired": finding.part not in remaining})
            for finding in derived_findings
        ]
    if repair and learned:
        memory.reset()
        memory.refresh(derived.feedback)
        mended = not list(_learned_problems(namespace))
        learned = [finding.model_copy(update={"repaired": mended}) for finding in learned]
    of_colonies = _guarded("colonies", lambda: _by("colonies", colonies.problems()))
    of_recalls = _guarded("recalls", lambda: _by("recalls", recalls.problems()))
    of_neural = _guarded("neural", lambda: _by("neural", derived.neural.problems()))
    set_aside: list[tuple[Finding, Callable[[], object]]] = [
        *((one, colonies.start_over) for one in of_colonies),
        *((one, derived.neural.remove) for one in of_neural),
        *((one, recalls.start_over) for one in of_recalls),
    ]
    if repair:
        for _, put_away in set_aside:
            put_away()
    optional = [one.model_copy(update={"repaired": repair}) for one, _ in set_aside]
    return DoctorReport(
        generation=truth.generation(),
        chunks=truth.count(),
        feedbacks=log.count(),
        findings=(*found, *derived_findings, *learned, *optional),
        notes=tuple(_notes(truth, as_added)),
    )


def _by(part: str, problems: Iterable[str]) -> Iterator[tuple[str, str]]:
    return ((part, problem) for problem in problems)


def _guarded(part: str, check: Callable[[], Iterable[tuple[str, str]]]) -> Iterator[Finding]:
    """Take a check that breaks down for a finding: it ran into what it looks for."""
    try:
        yield from [Finding(part=of, problem=problem) for of, problem in check()]
    except HebbgraphError:
        raise
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        yield Finding(part=part, problem=f"cannot be read: {error}")


def _derived_problems(
    truth: Truth, derived: Derived, language: str, as_added: bool
) -> Iterator[Finding]:
    # Files first: what is in memory may be whole while the disk is not.
    yield from _guarded("snapshot", lambda: _by("snapshot", derived.snapshot_problems()))
    yield from _guarded("lexical", lambda: _by("lexical", derived.lexical_problems()))
    derived.refresh()
    if not as_added:
        return
    fresh = rebuilt(truth, language)

    def graph() -> Iterator[str]:
        with derived.held() as generation:
            if generation == fresh.graph.generation:  # else a writer came in between
                found = difference_of_graphs(derived.graph, fresh.graph)
                if found is not None:
                    yield found

    def lexical() -> Iterator[str]:
        with derived.held() as generation:
            if generation != fresh.graph.generation:
                return
            held, live = derived.lexical.rows(), fresh.lexical.rows()
            if not np.array_equal(held, live):
                yield f"{len(held)} rows, {len(live)} expected"
                return
            for phrase in some_phrases(fresh.graph, _PHRASES):
                terms = lexical_terms(phrase.split(" "), language)
                if terms and not np.array_equal(
                    np.sort(derived.lexical.rows_with_phrase(terms)),
                    np.sort(fresh.lexical.rows_with_phrase(terms)),
                ):
                    yield f"the chunks that hold {phrase!r} are others"
                    return

    def vectors() -> Iterator[str]:
        with derived.held() as generation:
            if generation != fresh.graph.generation:
                return
            rows = fresh.graph.rows[fresh.graph.alive]
            table, problem = derived.vectors, None
            if table is None:  # opened without an embedder: others go on from the files
                table, problem = derived.filed_vectors()
            if problem is not None:
                yield f"files are {problem}"
            if table is None:
                return
            if derived.vectors is None:  # what came later they read from the database
                rows = rows[rows <= table.last_row]
            yield from _vector_problems(truth, table, rows)

    yield from _guarded("graph", lambda: _by("graph", graph()))
    yield from _guarded("lexical", lambda: _by("lexical", lexical()))
    yield from _guarded("vectors", lambda: _by("vectors", vectors()))


def _vector_problems(truth: Truth, table: VectorTable, rows: IntArray) -> Iterator[str]:
    """Compare the vectors of live rows with those of the truth."""
    held, matrix, kind = table.rows, table.matrix, np.dtype(table.state.dtype)
    lost = other = 0
    more = int(np.count_nonzero(np.isin(rows, held, assume_unique=True)))
    for row, vector in truth.embeddings.vectors(rows, table.state.epoch):
        at = int(np.searchsorted(held, row))
        if at == len(held) or held[at] != row:
            lost += 1
            continue
        more -= 1
        other += not np.array_equal(matrix[at], np.frombuffer(vector, dtype=kind))
    if lost:
        yield f"{lost} vectors of the truth are not held"
    if other:
        yield f"{other} vectors are other than those of the truth"
    if more:
        yield f"{more} vectors are held that the truth does not have"


def _feedback_problems(log: FeedbackLog) -> Iterator[str]:
    last = 0
    for seq, feedback in log.after(0):
        if seq <= last:
            yield f"sequence number {seq} follows {last}"
        last = seq
        shown = {chunk.chunk_id for chunk in feedback.shown}
        if not {*feedback.cited, *feedback.rejected} <= shown:
            yield f"feedback {feedback.id}: what it cites was not shown"


def _learned_problems(namespace: Namespace) -> Iterator[Finding]:
    state, memory = namespace.derived.feedback, namespace.learned
    memory.refresh(state)
    fresh = namespace.fresh_memory()
    fresh.refresh(state)
    difference = _difference_of_weights(memory.weights, fresh.weights)
    if difference is not None:
        yield Finding(part="learned", problem=difference)


def _notes(truth: Truth, as_added: bool) -> Iterator[str]:
    if not as_added:
        yield "graph and vectors were not compared, since some texts are not as they were added"
    state = truth.embeddings.state()
    if state is not None and (missing := truth.embeddings.count_to_embed(state.epoch)):
        yield f"{missing} chunks have no vector of {state.name!r}: reembed() makes them"


def _difference_of_weights(found: RawWeights, expected: RawWeights) -> str | None:
    """Say how two folds of a log differ; None if they are the same."""
    if found.n_events != expected.n_events:
        return f"{found.n_events} lessons, {expected.n_events} expected"
    one, other = _weights(found), _weights(expected)
    if one.keys() != other.keys():
        return (
            f"edges: {sets_apart(set(one.keys() - other.keys()), set(other.keys() - one.keys()))}"
        )
    off = [edge for edge, weight in one.items() if abs(weight - other[edge]) > 1e-12]
    return f"{len(off)} weights differ, e.g. of {off[0]}" if off else None


def _weights(weights: RawWeights) -> dict[tuple[object, ...], float]:
    """Return the weight of each edge by family and names, all actors together."""
    families, sources, targets = weights.all_edges()
    values = weights.weight(np.arange(len(weights))).tolist()
    total: dict[tuple[object, ...], float] = {}
    for family, source, target, value in zip(
        families.tolist(), sources.tolist(), targets.tolist(), values, strict=True
    ):
        edge = (family, weights.nodes[source], weights.nodes[target])
        total[edge] = total.get(edge, 0.0) + value
    return total
