"""Routes that ask and look up: recalls, suggestions, passages, tags."""

from dataclasses import replace
from typing import Annotated, Any

import numpy as np
from fastapi import APIRouter, Path, Query

from hebbgraph import HebbianIndex, Ranking, RankStep, Recall, Request
from hebbgraph.errors import LessonError
from hebbgraph.records import Tag
from hebbgraph.records.base import MAX_ID, MAX_TAG
from hebbgraph.text.query import query_terms
from hebbgraph.text.tokens import phrase_key, tokenize
from hebbgraph_server import models
from hebbgraph_server.errors import RESPONSES, ApiError
from hebbgraph_server.observing import retrieval
from hebbgraph_server.suggesting import suggested
from hebbgraph_server.teaching import may_undo
from hebbgraph_server.tokens import Role
from hebbgraph_server.visits import Reader, Visit
from hebbgraph_server.why import Explainer, named, passage_of

router = APIRouter(prefix="/v1", responses=RESPONSES)
#: Hits that are kept of a recall, which bounds what a teacher can store.
_KEPT_HITS = 100
#: Hits whose lessons are looked up.
_MOST_RAISED = 10


@router.post("/recalls", tags=["read"])
async def ask(body: models.RecallBody, visit: Reader) -> models.Answer:
    """Find the passages that answer a question, and say why."""
    if body.id is not None or body.answer is not None:
        visit.check(Role.WRITE)  # a name may be one that somebody else waits for
    where = visit.where(body.where)

    def work(index: HebbianIndex) -> models.Answer:
        with retrieval(visit.namespace, body.k) as seen:
            found = index.recall(body.question, body.k, where=where, recall_id=body.id)
            seen(found)
        kept = body.keep and visit.token.may_teach and not index.read_only
        if kept:
            _keep(index, found, body.answer)
        explainer = Explainer(found, index)
        answer = models.Answer(
            **found.model_dump(include={"id", "namespace", "question", "confidence", "notes"}),
            kept=kept,
            words=explainer.words(),
            ignored=explainer.ignored(),
            names=explainer.names(),
            hits=explainer.hits(),
        )
        for hit in [hit for hit in answer.hits if hit.parts["learned"] > 0][:_MOST_RAISED]:
            hit.lesson = _raised_by(visit, index, found, hit)
        if body.compare:
            plain = index.recall(body.question, 100, where=where, steps=[_WithoutLessons()])
            ranks = {hit.id: hit.rank for hit in plain if hit.score > 0}
            for hit in answer.hits:
                hit.untaught_rank = ranks.get(hit.id)
            first = plain.hits[: body.k]
            answer.without_lessons = [models.Quote(**named(hit), rank=hit.rank) for hit in first]
        return answer

    return await visit.run(work)


def _keep(index: HebbianIndex, recall: Recall, answer: str | None) -> None:
    """Keep what lessons need of a recall, without what is long."""
    slim = {"title": "", "has": (), "lacks": ()}
    hits = tuple(hit.model_copy(update=slim) for hit in recall.hits[:_KEPT_HITS])
    try:
        index.keep(recall.model_copy(update={"hits": hits}), answer=answer)
    except LessonError:
        text = f"the id {recall.id!r:.80} is taken by another question; leave it out"
        raise ApiError(409, "conflict", text, "id") from None


def _raised_by(
    visit: Visit, index: HebbianIndex, recall: Recall, hit: models.Hit
) -> dict[str, Any] | None:
    """Return the lesson that cites a hit for the question most like this one."""
    found = []
    for lesson in index.lessons(chunk=hit.id):
        if hit.id in lesson.cited and not lesson.note:
            terms = query_terms(lesson.question, index.settings.language)
            shared = sum(weight for term, weight in recall.terms.items() if term in terms)
            found.append((shared, lesson.created, lesson))
    if not found:
        return None
    lesson = max(found, key=lambda row: row[:2])[2]
    who, verb = lesson.actor or "somebody", "first" if hit.rank == 1 else "raised"
    asked = f"“{lesson.question}”" if lesson.question else "an earlier question"
    text = f"{verb} because {who} marked it for {asked}"
    said = lesson.model_dump(include={"id", "actor", "question", "created"})
    return {"text": text, **said, "may_undo": may_undo(visit.token, lesson)}


class _WithoutLessons(RankStep):
    """Ranks by the scores without lessons."""

    def depth(self, k: int) -> int:
        return k + 200

    def rank(self, request: Request, ranking: Ranking) -> Ranking:
        if ranking.untaught is None:
            return ranking
        # In the order of ids, as of any recall; scores are multiplied by the confidence.
        ids = request.snapshot.ids(ranking.rows)
        scores = {row: round(ranking.untaught(row), 9) for row in ranking.rows.tolist()}
        rows = sorted(scores, key=lambda row: (-scores[row], ids[row]))
        shown = np.array([scores[row] for row in rows]) / (ranking.confidence or 1.0)
        return replace(ranking, rows=np.array(rows, np.int64), scores=shown)


@router.get("/suggestions", tags=["read"])
async def suggestions(visit: Reader) -> dict[str, list[str]]:
    """Suggest three questions, from headings of the documents."""

    def work(index: HebbianIndex) -> list[str]:
        ids = index.ids(visit.where())
        passages = map(passage_of, index.get(ids[:: len(ids) // 300 + 1]))
        return suggested((p.place or p.id, (p.headings or [p.title])[-1]) for p in passages)

    return {"questions": await visit.run(work)}


@router.get("/chunks/{id:path}", tags=["read"])
async def chunk(id: Annotated[str, Path(max_length=MAX_ID)], visit: Reader) -> models.Passage:
    """Return one passage, whole."""

    def work(index: HebbianIndex) -> models.Passage:
        found = visit.visible(index, [id])
        if not found:
            raise ApiError(404, "not_found", f"there is no passage {id!r:.80}")
        return passage_of(found[0]).model_copy(update={"text": found[0].text, "complete": True})

    return await visit.run(work)


@router.get("/tags", tags=["read"])
async def tags(
    visit: Reader,
    prefix: Annotated[str, Query(max_length=MAX_TAG)] = "",
    limit: Annotated[int, Query(ge=1, le=1_000)] = 50,
) -> dict[str, list[Tag]]:
    """List the tags that begin with something, those of most passages first."""
    visit.check_whole()
    return {"tags": await visit.run(lambda index: index.tags(prefix, limit=limit))}


@router.get("/tags/{tag:path}", tags=["read"])
async def tag_panel(
    tag: Annotated[str, Path(max_length=MAX_TAG)],
    visit: Reader,
    k: Annotated[int, Query(ge=1, le=200)] = 20,
) -> models.TagPanel:
    """Say what is known about a tag: passages by relevance, neighbors, and what links there."""
    visit.check_whole()
    key = phrase_key(tag)

    def holds(text: str) -> bool:
        return f" {key} " in f" {' '.join(tokenize(text))} "

    def work(index: HebbianIndex) -> models.TagPanel:
        tags = index.tags(key, limit=1_000) if key else []
        known = next((tag for tag in tags if phrase_key(tag.tag) == key), None)
        if known is None:
            raise ApiError(404, "not_found", f"no passage has the tag {tag!r:.80}")
        found = index.recall(tag, min(2 * max(k, known.chunks), 400))
        explainer = Explainer(found, index)
        linking = index.get(index.referring([h.id for h in found if holds(h.title)])[:k])
        return models.TagPanel(
            **known.model_dump(),
            hits=[
                passage_of(hit, explainer.marks(hit.text))
                for hit in found
                if holds(f"{hit.title}\n{hit.text}")
            ][:k],
            neighbors=index.neighbors(known.tag, k),
            linked_from=[models.Named(**named(chunk)) for chunk in linking],
        )

    return await visit.run(work)
