"""From rows and scores to hits: break ties, fill up to k, fetch chunks, spell out paths."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from itertools import islice

import numpy as np

from hebbgraph.arrays import DECIMALS
from hebbgraph.errors import DamagedIndexError
from hebbgraph.filters import Rows
from hebbgraph.formulas.paths import Path, PathNode
from hebbgraph.recall.strategies import Ranking, Request
from hebbgraph.recall.words import first_by_id
from hebbgraph.records import Chunk, Hit, PathStep, Recall
from hebbgraph.store.chunks import StoredChunk, chunks_by_row, loaded
from hebbgraph.text.characters import fold
from hebbgraph.text.compounds import compounds
from hebbgraph.text.tokens import display, lexical_terms, tokenize


def cut(request: Request, ranking: Ranking, k: int) -> Ranking:
    """Return the k best rows, best first; ties go to the smaller id."""
    at = first_by_id(request.snapshot, ranking.rows, ranking.scores.round(DECIMALS), k)
    return replace(ranking, rows=ranking.rows[at], scores=ranking.scores[at])


def filled_up(request: Request, ranking: Ranking, k: int) -> Ranking:
    """Fill a ranking up to k with chunks that take part, at score 0, in the order of their ids."""
    taken = Rows(np.sort(ranking.rows))
    others = ~taken if request.allowed is None else request.allowed & ~taken
    condition = "NOT row = ANY(?)" if others.all_but else "row = ANY(?)"
    found = request.snapshot.session.rows(
        f"SELECT row FROM $chunk WHERE {condition} ORDER BY id LIMIT ?",
        others.rows.tolist(),
        k - len(ranking.rows),
    )
    rows = np.array([row for (row,) in found], np.int64)
    return replace(
        ranking,
        rows=np.concatenate((ranking.rows, rows)),
        scores=np.concatenate((ranking.scores, np.zeros(len(rows)))),
    )


def where_callable(
    request: Request, ranking: Ranking, passes: Callable[[Chunk], bool], k: int
) -> Ranking:
    """Return the first k rows whose chunks a caller's function passes."""
    rows = ranking.rows.tolist()
    chunks = chunks_by_row(request.snapshot.session, rows)
    kept = list(islice((n for n, row in enumerate(rows) if passes(chunks[row].chunk())), k))
    return replace(ranking, rows=ranking.rows[kept], scores=ranking.scores[kept])


def make_hits(request: Request, ranking: Ranking, min_score: float | None) -> tuple[Hit, ...]:
    """Fetch chunks and build the hits."""
    confidence = 1.0 if ranking.confidence is None else ranking.confidence
    ranked = zip(ranking.rows.tolist(), ranking.scores.round(DECIMALS).tolist(), strict=True)
    scores = {row: round(min(score * confidence, 1.0), 12) for row, score in ranked}
    if min_score is not None:
        scores = {row: score for row, score in scores.items() if score >= min_score and score > 0}
    paths = {
        row: ranking.path(row) if score > 0 else (PathNode("chunk", row, 0.0),)
        for row, score in scores.items()
    }
    nodes = {(node.kind, node.id) for path in paths.values() for node in path}
    chunks = chunks_by_row(
        request.snapshot.session, {row for kind, row in nodes if kind == "chunk"} | paths.keys()
    )
    keys = request.snapshot.keys(tag for kind, tag in nodes if kind == "tag")
    typed = spelled(request)
    holds = request.question.search.holds(list(typed), np.array(list(scores), np.int64))
    hits = []
    for at, (row, score) in enumerate(scores.items()):
        if (chunk := chunks.get(row)) is None:
            raise DamagedIndexError("a posting names a chunk that does not exist; call rebuild()")
        words, vectors = (None, None) if request.searched is None else request.searched.parts(row)
        has = dict.fromkeys(token for word, token in typed.items() if holds[word][at])
        lacks = dict.fromkeys(token for token in typed.values() if token not in has)
        hits.append(
            Hit.model_construct(
                id=chunk.id,
                document_id=chunk.document_id,
                title=chunk.title,
                text=chunk.text,
                metadata=loaded(chunk.metadata),
                score=score,
                rank=at + 1,
                path=_steps(paths[row], chunks, keys),
                has=tuple(has),
                lacks=tuple(lacks),
                words=words,
                vectors=vectors,
                graph=ranking.arrived(row),
                untaught=score if ranking.untaught is None else round(ranking.untaught(row), 12),
                digest=chunk.digest,
            )
        )
    return tuple(hits)


def spelled(request: Request) -> dict[str, str]:
    """Return the words of the question, each as it was typed."""
    language, text = request.settings.language, request.question.text
    typed = {fold(word): word for word in re.findall(r"\w+", text.lower())}
    tokens = tokenize(text)
    for whole, parts, _ in compounds(text):
        tokens += (whole, *parts)
    spelling: dict[str, str] = {}
    for token in tokens:
        words = lexical_terms([token], language)
        for word in words[:1] if token.isascii() else words:
            spelling.setdefault(word, typed.get(token, token))
    return {word: spelling.get(word, word) for word in request.question.words}


def _steps(
    path: Path, chunks: dict[int, StoredChunk], keys: dict[int, str]
) -> tuple[PathStep, ...]:
    """Spell out a path, starting at the question."""
    steps = [PathStep(kind="question")]
    for kind, node, weight in path:
        if kind == "tag":
            value, title = display(keys[node]), ""
        else:
            value, title = chunks[node].id, chunks[node].title
        steps.append(PathStep(kind=kind, value=value, title=title, weight=weight))
    return tuple(steps)


def numbered(recall: Recall, k: int) -> Recall:
    """Keep the first k hits of a recall, and number them from 1."""
    first = enumerate(recall.hits[:k], start=1)
    hits = (hit if hit.rank == n else hit.model_copy(update={"rank": n}) for n, hit in first)
    return recall.model_copy(update={"hits": tuple(hits)})
