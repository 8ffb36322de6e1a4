"""From rows and scores to hits: break ties, fill up to k, fetch chunks, spell out paths."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from hebbgraph.errors import DamagedIndexError
from hebbgraph.filters import Rows
from hebbgraph.formulas.paths import Path, PathNode
from hebbgraph.recall.strategies import Ranking, Request
from hebbgraph.recall.words import DECIMALS, first_by_id
from hebbgraph.records import Chunk, Hit, PathStep, Recall
from hebbgraph.store.chunks import StoredChunk, chunks_by_row
from hebbgraph.text.query import function_words
from hebbgraph.text.tokens import display, lexical_terms, tokenize

__all__ = ["cut", "filled_up", "make_hits", "numbered", "where_callable"]

_PAGE = 500


def cut(request: Request, ranking: Ranking, k: int) -> Ranking:
    """Return the k best rows, best first; ties go to the smaller id."""
    at = first_by_id(request.snapshot, ranking.rows, ranking.scores.round(DECIMALS), k)
    return replace(ranking, rows=ranking.rows[at], scores=ranking.scores[at])


def filled_up(request: Request, ranking: Ranking, k: int) -> Ranking:
    """Fill a ranking up to k with chunks that take part, at score 0, in the order of their ids."""
    rows, last, allowed = ranking.rows.tolist(), "", request.allowed
    session, n = request.snapshot.session, request.snapshot.n_chunks
    taken = set(rows)
    missing = min(k, allowed.count(n) if isinstance(allowed, Rows) else n) - len(rows)
    if missing > 0 and isinstance(allowed, Rows) and not allowed.all_but:
        others = [row for row in allowed.rows.tolist() if row not in taken]
        sql = "SELECT row FROM $chunk WHERE row = ANY(?) ORDER BY id LIMIT ?"
        rows += [row for (row,) in session.rows(sql, others, missing)]
        missing = 0
    while missing > 0:
        page = session.rows(
            "SELECT row, id FROM $chunk WHERE id > ? ORDER BY id LIMIT ?", last, _PAGE
        )
        if not page:
            break
        last = page[-1][1]
        found = np.array([row for row, _ in page])
        if allowed is not None:
            found = found[allowed(found)]
        new = [row for row in found.tolist() if row not in taken][:missing]
        rows += new
        missing -= len(new)
    zeros = np.zeros(len(rows) - len(ranking.rows))
    scores = np.concatenate((ranking.scores, zeros))
    return replace(ranking, rows=np.array(rows, np.int64), scores=scores)


def where_callable(
    request: Request, ranking: Ranking, passes: Callable[[Chunk], bool], k: int
) -> Ranking:
    """Return the first k rows whose chunks a caller's function passes."""
    kept: list[int] = []
    for start in range(0, len(ranking.rows), _PAGE):
        rows = ranking.rows[start : start + _PAGE].tolist()
        chunks = chunks_by_row(request.snapshot.session, rows)
        kept += (start + at for at, row in enumerate(rows) if passes(chunks[row].chunk()))
        if len(kept) >= k:
            break
    return replace(ranking, rows=ranking.rows[kept[:k]], scores=ranking.scores[kept[:k]])


def make_hits(request: Request, ranking: Ranking, min_score: float | None) -> tuple[Hit, ...]:
    """Fetch chunks and build the hits."""
    confidence = 1.0 if ranking.confidence is None else ranking.confidence
    shown = [round(min(score * confidence, 1.0), 12) for score in ranking.scores.tolist()]
    pairs = [
        (row, score)
        for row, score in zip(ranking.rows.tolist(), shown, strict=True)
        if min_score is None or (score > 0 and score >= min_score)
    ]
    paths = {
        row: ranking.path(row) if score > 0 else (PathNode("chunk", row, 0.0),)
        for row, score in pairs
    }
    on_paths = {node.id for path in paths.values() for node in path if node.kind == "chunk"}
    chunks = chunks_by_row(request.snapshot.session, on_paths | paths.keys())
    rows = np.array([row for row, _ in pairs], np.int64)
    on_paths = {node.id for path in paths.values() for node in path if node.kind == "tag"}
    keys = request.snapshot.keys(on_paths)
    spelled = _spelled(request)
    holds = {word: request.question.search.holds(word, rows) for word in spelled}
    evidence = vars(request).get("evidence")  # unless the strategy did not search
    hits = []
    for at, (row, score) in enumerate(pairs):
        if (chunk := chunks.get(row)) is None:
            raise DamagedIndexError("a posting names a chunk that is not there; call rebuild()")
        words, vectors = (None, None) if evidence is None else evidence.parts(row)
        has = [spelled[word] for word in spelled if holds[word][at]]
        lacks = [token for word, token in spelled.items() if not holds[word][at]]
        hits.append(
            Hit.model_construct(
                id=chunk.id,
                document_id=chunk.document_id,
                title=chunk.title,
                text=chunk.text,
                metadata=chunk.fields(),
                score=score,
                rank=at + 1,
                path=_steps(paths[row], chunks, keys),
                has=tuple(dict.fromkeys(has)),
                lacks=tuple(token for token in dict.fromkeys(lacks) if token not in has),
                words=words,
                vectors=vectors,
                graph=ranking.arrived(row),
                untaught=score if ranking.untaught is None else round(ranking.untaught(row), 12),
                digest=chunk.digest,
            )
        )
    return tuple(hits)


def _spelled(request: Request) -> dict[str, str]:
    """Return the words of the question, each as it was typed."""
    language = request.settings.language
    ignored = function_words(language)
    spelled: dict[str, str] = {}
    for token in tokenize(request.question.text):
        if token not in ignored:
            for word in lexical_terms([token], language):
                spelled.setdefault(word, token)
    return {word: spelled.get(word, word) for word in request.question.words}


def _steps(
    path: Path, chunks: dict[int, StoredChunk], keys: dict[int, str]
) -> tuple[PathStep, ...]:
    """Spell out a path, starting at the question."""
    steps = [PathStep(kind="question")]
    for node in path:
        if node.kind == "tag":
            value, title = display(keys[node.id]), ""
        else:
            value, title = chunks[node.id].id, chunks[node.id].title
        steps.append(
            PathStep.model_construct(kind=node.kind, value=value, title=title, weight=node.weight)
        )
    return tuple(steps)


def numbered(recall: Recall, k: int) -> Recall:
    """Keep the first k hits of a recall, and number them from 1."""
    hits = tuple(
        hit if hit.rank == rank else hit.model_copy(update={"rank": rank})
        for rank, hit in enumerate(recall.hits[:k], start=1)
    )
    return recall.model_copy(update={"hits": hits})
