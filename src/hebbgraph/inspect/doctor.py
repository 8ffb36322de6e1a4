"""Check all invariants, and rebuild derived parts that violate one."""

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
from hebbgraph.learning.memory import Memory
from hebbgraph.learning.preview import links
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

#: What stands in the way of a check, and is no finding of it.
_NOT_DAMAGE = (ClosedIndexError, ConnectionLostError, IndexLockedError, TextSourceError)
_PHRASES = 200
_SHOWN = 3
_REJECTED = 3
_ADDRESSES = 20


def examine(namespace: Namespace, *, repair: bool) -> DoctorReport:
    """Check one namespace; see ``index.maintenance.doctor``."""
    truth, derived, log = namespace.truth, namespace.derived, namespace.log
    memory, colonies, recalls = namespace.learned, namespace.colonies, namespace.recalls
    language = namespace.settings.language
    found = [
        *_guarded("database", lambda: truth_problems(truth)),
        *_guarded("feedback", lambda: _feedback_problems(log)),
    ]
    # Derived parts are compared with a rebuild, for which all texts must be as they were added.
    comparable = not any(finding.part == "texts" for finding in found)
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
        memory.discard()  # or its snapshot would be read again
        memory.reset()
        memory.refresh(derived.feedback)
        mended = not list(_learned_problems(namespace))
        learned = [finding.model_copy(update={"repaired": mended}) for finding in learned]
    optional: list[Finding] = []  # parts that an index can do without
    checks: list[tuple[Part, Callable[[], Iterable[str]], Callable[[], object]]] = [
        ("colonies", colonies.problems, colonies.start_over),
        ("recalls", recalls.problems, recalls.erase),
    ]
    for part, check, put_away in checks:
        wrong = list(_guarded(part, check))
        if wrong and repair:
            put_away()
        optional += [finding.model_copy(update={"repaired": repair}) for finding in wrong]
    return DoctorReport(
        generation=truth.generation(),
        chunks=truth.count(),
        feedbacks=log.count(),
        findings=(*found, *derived_findings, *learned, *optional),
        notes=(*_notes(truth, comparable), *_taught(memory)),
    )


def _guarded(part: Part, check: Callable[[], Iterable[str | Finding]]) -> Iterator[Finding]:
    """Report an exception of a check as a finding: it hit what it looks for."""
    try:
        yield from [
            found if isinstance(found, Finding) else Finding(part=part, problem=found)
            for found in check()
        ]
    except _NOT_DAMAGE:
        raise
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        yield Finding(part=part, problem=f"cannot be read: {error}")


def _file_problems(derived: Derived) -> Iterator[Finding]:
    """Files come first: memory may be intact while the disk is not."""
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
    # Everything, derived from the truth alone, in memory.
    fresh = Derived(truth, None, language=language, writable=True, wait_seconds=0.0)
    fresh.refresh()

    def graph() -> Iterator[str]:
        with derived.held() as generation:
            if generation == fresh.graph.generation:  # or a writer came in between
                found = _difference_of_graphs(derived.graph, fresh.graph)
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
            for phrase in _some_phrases(fresh.graph, _PHRASES):
                terms = lexical_terms(phrase.split(" "), language)
                if terms and not np.array_equal(
                    np.sort(derived.lexical.rows_with_phrase(terms)),
                    np.sort(fresh.lexical.rows_with_phrase(terms)),
                ):
                    yield f"it finds other chunks for {phrase!r}"
                    return

    def vectors() -> Iterator[str]:
        with derived.held() as generation:
            if generation != fresh.graph.generation:
                return
            rows = fresh.graph.rows[fresh.graph.alive]
            table, problem = derived.vectors, None
            if table is None:  # without an embedder: others continue from the files
                table, problem = _filed_vectors(truth, derived)
            if problem is not None:
                yield f"files are {problem}"
            if table is None:
                return
            if derived.vectors is None:  # later rows are read from the database
                rows = rows[rows <= table.last_row]
            yield from _vector_problems(truth, table, rows)

    yield from _guarded("graph", graph)
    yield from _guarded("lexical", lexical)
    yield from _guarded("vectors", vectors)


def _filed_vectors(truth: Truth, derived: Derived) -> tuple[VectorTable | None, str | None]:
    """Return the vectors in the files, and what is wrong with the files.

    None if there are no files, or they are of a former model.
    """
    state = derived.embedding
    if derived.directory is None or state is None:
        return None, None
    file = VectorFile(derived.directory, state, truth.history.knows)
    return (VectorTable.of(file, state) if file.name else None), file.problem


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
        yield f"{other} vectors differ from those of the truth"
    if more:
        yield f"{more} vectors are held that the truth does not have"


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
    derived, memory = namespace.derived, namespace.learned
    memory.refresh(derived.feedback, derived.corrections)
    fresh = Memory(namespace.log, namespace.truth, namespace.settings.learning)
    fresh.refresh(derived.feedback, derived.corrections)
    difference = _difference_of_links(memory, fresh)
    if difference is not None:
        yield Finding(part="learned", problem=difference)


def _notes(truth: Truth, comparable: bool) -> Iterator[str]:
    if not comparable:
        yield "graph and vectors were not compared, since some texts are not as they were added"
    yield from _shared_addresses(truth)
    state = truth.state().embedding
    if state is not None and (missing := truth.embeddings.count_to_embed(state.epoch)):
        yield f"no vector of {state.name!r} for {counted(missing, 'chunk')}: reembed() makes them"


def _shared_addresses(truth: Truth) -> Iterator[str]:
    """Name the addresses that chunks of several documents have; links are shared among them."""
    documents: dict[str, set[str]] = {}
    for document, addresses in truth.addresses():
        for address in addresses:
            documents.setdefault(normal_address(address), set()).add(document)
    shared = sorted(address for address, claimed in documents.items() if len(claimed) > 1)
    for address in shared[:_ADDRESSES]:
        yield f"address {address!r} is claimed by {some_of(sorted(documents[address]))}"
    if len(shared) > _ADDRESSES:
        yield f"addresses claimed by several documents: {len(shared) - _ADDRESSES} more"


def _taught(memory: Memory) -> Iterator[str]:
    """Say what of lessons a person should decide."""
    yield from _rejected(memory)
    yield from _proposed(memory)
    for old, new in _contradicted(memory)[:_ADDRESSES]:
        yield (
            f"chunk {old!r} no longer counts as outdated by {new!r}: what was vouched for since "
            "leads back to it in a circle, and the latest word holds"
        )
    for voice, n, weight, disputed in disbelieved(memory)[:_ADDRESSES]:
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
    """Return what the application said is outdated, by what, and what it said since leads back.

    Not if it said the opposite: whoever does so knows.
    """
    with memory.lock.held():
        said = {
            rows: (old, new)
            for (old, _, new), rows in present(memory, memory.outdated(trusted=True))
        }
        kept = set(latest_edges(list(said)))
        return [said[one] for one in said if not {one, one[::-1]} & kept]


def _rejected(memory: Memory) -> Iterator[str]:
    """Name the chunks that are rejected for several questions: they may be wrong, or poison."""
    times = rejected(memory)
    often = sorted((id_ for id_, n in times.items() if n >= _REJECTED), key=lambda id_: -times[id_])
    for id_ in often[:_ADDRESSES]:
        yield f"chunk {id_!r} is rejected for {times[id_]} questions: delete it, if it is wrong"


def _proposed(memory: Memory) -> Iterator[str]:
    """Name the chunks that are said to hold no longer, by nobody who is vouched for."""
    said = sorted(proposed(memory).items(), key=lambda one: -one[1])
    for (old, new), n_actors in said[:_ADDRESSES]:
        yield (
            f"chunk {old!r} is outdated by {new!r}, as {n_actors} who are believed say: if so, "
            f"reinforce(..., outdated={{{old!r}: {new!r}}}, trusted=True)"
        )


def _difference_of_links(found: Memory, expected: Memory) -> str | None:
    """Return how two folds of a log differ, or None."""
    if len(found.lessons) != len(expected.lessons):
        return f"{counted(len(found.lessons), 'lesson')}, {len(expected.lessons)} expected"
    one, other = links(found), links(expected)
    if one.keys() != other.keys():
        return (
            f"links: {_sets_apart(set(one.keys() - other.keys()), set(other.keys() - one.keys()))}"
        )
    off = [link for link, weight in one.items() if abs(weight - other[link]) > 1e-12]
    return f"{counted(len(off), 'different weight')}, e.g. of {off[0]}" if off else None


def _difference_of_graphs(found: TagGraph, expected: TagGraph) -> str | None:
    """Return how two graphs over the same truth differ, or None.

    Chunks are compared by row and tags by phrase, as numbers differ.
    """
    for name, one, other in (
        (
            "chunks",
            set(found.rows[found.alive].tolist()),
            set(expected.rows[expected.alive].tolist()),
        ),
        ("phrases of the vocabulary", _vocabulary(found), _vocabulary(expected)),
    ):
        if one != other:
            return f"{name}: {_sets_apart(one - other, other - one)}"
    for (row, one), (_, other) in zip(_postings(found), _postings(expected), strict=True):
        if one != other:
            return f"tags of row {row}: {_sets_apart(one - other, other - one)}"
    frequencies = [_frequencies(graph) for graph in (found, expected)]
    if frequencies[0] != frequencies[1]:
        return "document frequencies differ"
    return None


def _sets_apart(more: set[object], less: set[object]) -> str:
    """Describe elements that only one of two sets has."""
    parts = [
        f"{len(some)} {what}, e.g. {', '.join(map(repr, sorted(some, key=str)[:_SHOWN]))}"
        for some, what in ((more, "too many"), (less, "missing"))
        if some
    ]
    return "; ".join(parts)


def _vocabulary(graph: TagGraph) -> set[object]:
    return {graph.phrases.keys[n] for n in np.flatnonzero(graph.phrases.in_vocabulary).tolist()}


def _postings(graph: TagGraph) -> Iterator[tuple[int, set[object]]]:
    """Yield (row, its tags and whether each is its title), rows ascending."""
    keys = graph.phrases.keys
    for slot in np.flatnonzero(graph.alive).tolist():
        tags, is_title = graph.incidence.row(slot)
        held: set[object] = {
            (keys[tag], own) for tag, own in zip(tags.tolist(), is_title.tolist(), strict=True)
        }
        yield int(graph.rows[slot]), held


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
