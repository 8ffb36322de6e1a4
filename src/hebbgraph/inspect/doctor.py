"""Check all invariants of a namespace, and rebuild derived parts that violate one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import numpy as np

from hebbgraph.arrays import IntArray
from hebbgraph.derived.lexical import check_segments
from hebbgraph.derived.parts import Derived
from hebbgraph.derived.snapshot import load_snapshot
from hebbgraph.errors import (
    ClosedIndexError,
    ConnectionLostError,
    IndexLockedError,
    TextSourceError,
)
from hebbgraph.formulas.succession import latest_edges
from hebbgraph.graph.references import normal_address
from hebbgraph.graph.tag_graph import TagGraph
from hebbgraph.inspect.truth_problems import truth_problems
from hebbgraph.labels import counted
from hebbgraph.learning.forgetting import links
from hebbgraph.learning.memory import Memory
from hebbgraph.learning.survey import disbelieved, present, proposed, rejected
from hebbgraph.namespace import Namespace
from hebbgraph.records import DoctorReport, Finding, Part
from hebbgraph.store.feedback_log import FeedbackLog
from hebbgraph.store.texts import some_of
from hebbgraph.store.truth import Truth
from hebbgraph.text import lexical_terms
from hebbgraph.vectors.file import VectorFile
from hebbgraph.vectors.table import VectorTable

__all__ = ["examine"]

#: Errors that prevent a check and are no finding.
_NOT_DAMAGE = (ClosedIndexError, ConnectionLostError, IndexLockedError, TextSourceError)
#: Phrases that are searched for in both lexical indexes.
_PHRASES = 200
#: Examples named in a finding.
_EXAMPLES = 3
#: A chunk rejected for this many questions is noted.
_MIN_REJECTED = 3
#: Notes of one kind.
_MAX_NOTES = 20


def examine(namespace: Namespace, *, repair: bool) -> DoctorReport:
    """Check one namespace; see ``index.maintenance.doctor``."""
    truth, derived, log = namespace.truth, namespace.derived, namespace.log
    memory, colonies, recalls = namespace.memory, namespace.colonies, namespace.recalls
    language = namespace.settings.language
    stored = [
        *_guarded("database", lambda: truth_problems(truth)),
        *_guarded("feedback", lambda: _feedback_problems(log)),
    ]
    # A rebuild to compare derived parts with needs all texts as they were added.
    comparable = not any(finding.part == "texts" for finding in stored)
    derived_findings = list(_derived_problems(truth, derived, language, comparable))
    learned = list(_learned_problems(namespace))
    if repair and derived_findings:
        derived.start_over("the doctor found them wrong")
        derived.refresh()
        derived.save()
        remaining = {f.part for f in _derived_problems(truth, derived, language, comparable)}
        derived_findings = [
            finding.model_copy(update={"repaired": finding.part not in remaining})
            for finding in derived_findings
        ]
    if repair and learned:
        memory.remove_snapshot()  # the snapshot too, or it would be loaded again
        memory.reset()
        memory.refresh(derived.feedback)
        repaired = not list(_learned_problems(namespace))
        learned = [finding.model_copy(update={"repaired": repaired}) for finding in learned]
    optional: list[Finding] = []  # parts that an index can do without
    checks: list[tuple[Part, Callable[[], Iterable[str]], Callable[[], object]]] = [
        ("colonies", colonies.problems, colonies.start_over),
        ("recalls", recalls.problems, recalls.erase),
    ]
    for part, check, discard in checks:
        findings = list(_guarded(part, check))
        if findings and repair:
            discard()
        optional += [finding.model_copy(update={"repaired": repair}) for finding in findings]
    return DoctorReport(
        generation=truth.generation(),
        chunks=truth.count(),
        feedbacks=log.count(),
        findings=(*stored, *derived_findings, *learned, *optional),
        notes=(*_notes(truth, comparable), *_lesson_notes(memory)),
    )


def _guarded(part: Part, check: Callable[[], Iterable[str | Finding]]) -> Iterator[Finding]:
    """Yield the findings of a check; if it raises because of damage, that is a finding."""
    try:
        yield from [
            problem if isinstance(problem, Finding) else Finding(part=part, problem=problem)
            for problem in check()
        ]
    except _NOT_DAMAGE:
        raise
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        yield Finding(part=part, problem=f"cannot be read: {error}")


def _file_problems(derived: Derived) -> Iterator[Finding]:
    """Check the files, which may be damaged while memory is intact."""
    if (folder := derived.directory) is None:
        return

    def graph() -> Iterator[str]:
        load_snapshot(folder)
        yield from ()

    def lexical() -> Iterator[str]:
        with derived.locked():
            check_segments(folder / "lexical")
        yield from ()

    yield from _guarded("snapshot", graph)
    yield from _guarded("lexical", lexical)


def _derived_problems(
    truth: Truth, derived: Derived, language: str, comparable: bool
) -> Iterator[Finding]:
    yield from _file_problems(derived)

    def refresh() -> Iterator[str]:
        derived.refresh()
        yield from ()

    unreadable = list(_guarded("graph", refresh))
    yield from unreadable
    if unreadable or not comparable:
        return
    # Derive everything anew from the truth, in memory.
    fresh = Derived(truth, None, language=language, writable=True, wait_seconds=0.0)
    fresh.refresh()

    def graph() -> Iterator[str]:
        with derived.reading() as generation:
            if generation == fresh.graph.generation:  # else something was written meanwhile
                difference = _difference_of_graphs(derived.graph, fresh.graph)
                if difference is not None:
                    yield difference

    def lexical() -> Iterator[str]:
        with derived.reading() as generation:
            if generation != fresh.graph.generation:
                return
            rows, expected = derived.lexical.rows(), fresh.lexical.rows()
            if not np.array_equal(rows, expected):
                yield f"{len(rows)} rows, {len(expected)} expected"
                return
            for phrase in _some_phrases(fresh.graph, _PHRASES):
                terms = lexical_terms(phrase.split(" "), language)
                if terms and not np.array_equal(
                    np.sort(derived.lexical.rows_with_phrase(terms)),
                    np.sort(fresh.lexical.rows_with_phrase(terms)),
                ):
                    yield f"it finds other chunks for {phrase!r}"
                    return

    def vectors() -> Iterator[str]:
        with derived.reading() as generation:
            if generation != fresh.graph.generation:
                return
            rows = fresh.graph.rows[fresh.graph.alive]
            table, problem = derived.vectors, None
            if table is None:  # opened without an embedder: check the files that others use
                table, problem = _filed_vectors(truth, derived)
            if problem is not None:
                yield f"files are {problem}"
            if table is None:
                return
            if derived.vectors is None:  # later rows are not in the files yet
                rows = rows[rows <= table.last_row]
            yield from _vector_problems(truth, table, rows)

    yield from _guarded("graph", graph)
    yield from _guarded("lexical", lexical)
    yield from _guarded("vectors", vectors)


def _filed_vectors(truth: Truth, derived: Derived) -> tuple[VectorTable | None, str | None]:
    """Return the vectors in the files, if any are of the current model, and their problem."""
    state = derived.embedding
    if derived.directory is None or state is None:
        return None, None
    file = VectorFile(derived.directory, state, truth.history.knows)
    return (VectorTable.of(file, state) if file.name else None), file.problem


def _vector_problems(truth: Truth, table: VectorTable, rows: IntArray) -> Iterator[str]:
    """Compare the vectors of live rows with those of the database."""
    matrix, dtype = table.matrix, np.dtype(table.state.dtype)
    missing = different = 0
    surplus = int(np.count_nonzero(np.isin(rows, table.rows, assume_unique=True)))
    for row, vector in truth.embeddings.vectors(rows, table.state.epoch):
        at = int(np.searchsorted(table.rows, row))
        if at == len(table.rows) or table.rows[at] != row:
            missing += 1
            continue
        surplus -= 1
        different += not np.array_equal(matrix[at], np.frombuffer(vector, dtype=dtype))
    if missing:
        yield f"{missing} vectors of the database are missing"
    if different:
        yield f"{different} vectors differ from those of the database"
    if surplus:
        yield f"{surplus} vectors are not in the database"


def _feedback_problems(log: FeedbackLog) -> Iterator[str]:
    last = 0
    for seq, feedback in log.after(0):
        if seq <= last:
            yield f"sequence number {seq} follows {last}"
        last = seq
        shown = {chunk.chunk_id for chunk in feedback.known_chunks}
        if not {*feedback.cited, *feedback.rejected} <= shown:
            yield f"feedback {feedback.id}: what it cites was neither shown nor named"


def _learned_problems(namespace: Namespace) -> Iterator[Finding]:
    derived, memory = namespace.derived, namespace.memory
    memory.refresh(derived.feedback, derived.corrections)
    fresh = Memory(namespace.log, namespace.truth, namespace.settings.learning)
    fresh.refresh(derived.feedback, derived.corrections)
    difference = _difference_of_links(memory, fresh)
    if difference is not None:
        yield Finding(part="learned", problem=difference)


def _notes(truth: Truth, comparable: bool) -> Iterator[str]:
    if not comparable:
        yield "graph and vectors were not compared, since some texts are missing or have changed"
    yield from _shared_addresses(truth)
    state = truth.state().embedding
    if state is not None and (missing := truth.embeddings.count_to_embed(state.epoch)):
        yield f"no vector of {state.name!r} for {counted(missing, 'chunk')}: reembed() makes them"


def _shared_addresses(truth: Truth) -> Iterator[str]:
    """Name the addresses of several documents; a link to one leads to all of them."""
    documents: dict[str, set[str]] = {}
    for document, addresses in truth.addresses():
        for address in addresses:
            documents.setdefault(normal_address(address), set()).add(document)
    shared = sorted(address for address, claimants in documents.items() if len(claimants) > 1)
    for address in shared[:_MAX_NOTES]:
        yield f"address {address!r} is claimed by {some_of(sorted(documents[address]))}"
    if len(shared) > _MAX_NOTES:
        yield f"addresses claimed by several documents: {len(shared) - _MAX_NOTES} more"


def _lesson_notes(memory: Memory) -> Iterator[str]:
    """Yield what a person should decide about lessons."""
    yield from _rejected(memory)
    yield from _proposed(memory)
    for old, new in _contradicted(memory)[:_MAX_NOTES]:
        yield (
            f"chunk {old!r} no longer counts as outdated by {new!r}: what was vouched for since "
            "leads back to it in a circle, and the latest word holds"
        )
    for voice, n, weight, disputed in disbelieved(memory)[:_MAX_NOTES]:
        counts = f"{weight:.2f}".lstrip("0") if weight >= 0.005 else "next to nothing"
        why = (
            "others who are believed more say otherwise"
            if disputed
            else "search disagrees and nobody confirms them"
        )
        yield (
            f"lessons {f'of {voice!r}' if voice else 'without an actor'}: {n:,} count {counts} "
            f"each, as {why}; trusted=True vouches for what is right"
        )


def _contradicted(memory: Memory) -> list[tuple[str, str]]:
    """Return trusted (old, new) pairs that later ones overruled by closing a circle.

    A pair whose exact opposite was said later is left out, since that was deliberate.
    """
    with memory.lock.held():
        pairs = {
            rows: (old, new)
            for (old, _, new), rows in present(memory, memory.outdated(trusted=True))
        }
        in_force = set(latest_edges(list(pairs)))
        return [pair for rows, pair in pairs.items() if not {rows, rows[::-1]} & in_force]


def _rejected(memory: Memory) -> Iterator[str]:
    """Name the chunks that are rejected for several questions; they may be wrong or malicious."""
    often = [(id_, n) for id_, n in rejected(memory).items() if n >= _MIN_REJECTED]
    for id_, n in sorted(often, key=lambda item: -item[1])[:_MAX_NOTES]:
        yield f"chunk {id_!r} is rejected for {n} questions: delete it, if it is wrong"


def _proposed(memory: Memory) -> Iterator[str]:
    """Name the chunks that only untrusted actors call outdated."""
    pairs = sorted(proposed(memory).items(), key=lambda item: -item[1])
    for (old, new), n_actors in pairs[:_MAX_NOTES]:
        yield (
            f"{counted(n_actors, 'believed actor')} called {old!r} outdated by {new!r}: if so, "
            f"reinforce(..., outdated={{{old!r}: {new!r}}}, trusted=True)"
        )


def _difference_of_links(actual: Memory, expected: Memory) -> str | None:
    """Return how two folds of a log differ, or None."""
    if len(actual.lessons) != len(expected.lessons):
        return f"{counted(len(actual.lessons), 'lesson')}, {len(expected.lessons)} expected"
    weights, rebuilt = links(actual), links(expected)
    if weights.keys() != rebuilt.keys():
        return f"links: {_difference_of_sets(set(weights), set(rebuilt))}"
    wrong = [link for link, weight in weights.items() if abs(weight - rebuilt[link]) > 1e-12]
    return f"{counted(len(wrong), 'different weight')}, e.g. of {wrong[0]}" if wrong else None


def _difference_of_graphs(actual: TagGraph, expected: TagGraph) -> str | None:
    """Return how two graphs of the same chunks differ, or None.

    Chunks are compared by row and tags by phrase, since their numbers differ.
    """
    if (rows := _live_rows(actual)) != (expected_rows := _live_rows(expected)):
        return f"chunks: {_difference_of_sets(rows, expected_rows)}"
    if (keys := _vocabulary(actual)) != (expected_keys := _vocabulary(expected)):
        return f"phrases of the vocabulary: {_difference_of_sets(keys, expected_keys)}"
    postings = zip(_postings(actual), _postings(expected), strict=True)
    for (row, tags), (_, expected_tags) in postings:
        if tags != expected_tags:
            return f"tags of row {row}: {_difference_of_sets(tags, expected_tags)}"
    if _frequencies(actual) != _frequencies(expected):
        return "document frequencies differ"
    return None


def _difference_of_sets(actual: set[object], expected: set[object]) -> str:
    parts = [
        f"{len(items)} {problem}, e.g. {', '.join(map(repr, sorted(items, key=str)[:_EXAMPLES]))}"
        for items, problem in ((actual - expected, "too many"), (expected - actual, "missing"))
        if items
    ]
    return "; ".join(parts)


def _live_rows(graph: TagGraph) -> set[object]:
    return set(graph.rows[graph.alive].tolist())


def _vocabulary(graph: TagGraph) -> set[object]:
    return {graph.phrases.keys[n] for n in np.flatnonzero(graph.phrases.in_vocabulary).tolist()}


def _postings(graph: TagGraph) -> Iterator[tuple[int, set[object]]]:
    """Yield (row, its tags and whether each is its title), rows ascending."""
    keys = graph.phrases.keys
    for slot in np.flatnonzero(graph.alive).tolist():
        tags, is_title = graph.incidence.row(slot)
        postings: set[object] = {
            (keys[tag], title) for tag, title in zip(tags.tolist(), is_title.tolist(), strict=True)
        }
        yield int(graph.rows[slot]), postings


def _frequencies(graph: TagGraph) -> dict[str, int]:
    numbers = np.flatnonzero(graph.phrases.in_vocabulary)
    counts = graph.df(numbers).tolist()
    return {
        graph.phrases.keys[n]: count
        for n, count in zip(numbers.tolist(), counts, strict=True)
        if count
    }


def _some_phrases(graph: TagGraph, count: int) -> list[str]:
    """Return an even sample of the vocabulary."""
    numbers = np.flatnonzero(graph.phrases.in_vocabulary)
    step = max(1, len(numbers) // count)
    return [graph.phrases.keys[number] for number in numbers[::step].tolist()]
