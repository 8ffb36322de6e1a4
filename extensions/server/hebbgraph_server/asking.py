"""Routes that ask and look up: recalls, suggestions, passages, tags."""

from typing import Annotated, Any

from fastapi import APIRouter, Path, Query

from hebbgraph import HebbianIndex, Lesson, Recall
from hebbgraph.errors import LessonError
from hebbgraph.records.base import MAX_ID, MAX_TAG
from hebbgraph.text.query import query_terms
from hebbgraph.text.tokens import phrase_key, tokenize
from hebbgraph_server import models
from hebbgraph_server.errors import RESPONSES, ApiError
from hebbgraph_server.observing import traced_recall
from hebbgraph_server.suggesting import suggested
from hebbgraph_server.teaching import may_undo, seen_of
from hebbgraph_server.tokens import Role
from hebbgraph_server.visits import Reader, Visit
from hebbgraph_server.why import Explainer, named, passage_of

router = APIRouter(prefix="/v1", responses=RESPONSES)
#: Hits that are kept of a recall, which bounds what a teacher can store.
_KEPT_HITS = 100
#: How far lessons may push a passage back that would be among the first without them.
_PUSHED = 200


@router.post("/recalls", tags=["read"])
async def ask(body: models.RecallBody, visit: Reader) -> models.Answer:
    """Find the passages that answer a question, and say why."""
    if body.id is not None or body.answer is not None:
        visit.check(Role.WRITE)  # a name may be one that somebody else waits for
    where = visit.where(body.where)

    def work(index: HebbianIndex) -> models.Answer:
        found = traced_recall(index, body.question, body.k, where=where, recall_id=body.id)
        kept = body.keep and visit.token.may_teach and not index.read_only
        if kept:
            _keep(index, found, body.answer)
        explainer = Explainer(found, index, counts=visit.token.filter is None)
        answer = models.Answer(
            **found.model_dump(include={"id", "namespace", "question", "confidence", "notes"}),
            kept=kept,
            words=explainer.words(),
            ignored=explainer.ignored(),
            names=explainer.names(),
            hits=explainer.hits(),
        )
        for hit in [hit for hit in answer.hits if hit.parts["learned"] > 0][:10]:
            hit.lesson = _raised_by(visit, index, found, hit)
        if body.compare:
            deep = index.recall(body.question, body.k + _PUSHED, where=where)
            plain = sorted(deep, key=lambda hit: (-round(hit.untaught, 9), hit.id))
            ranks = {hit.id: rank for rank, hit in enumerate(plain, 1) if hit.untaught > 0}
            for hit in answer.hits:
                hit.untaught_rank = ranks.get(hit.id)
            first = enumerate(plain[: body.k], 1)
            answer.without_lessons = [models.Quote(**named(hit), rank=at) for at, hit in first]
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
    """Return the lesson that cites a hit for the question most like this one, if it counts."""

    def likeness(lesson: Lesson) -> tuple[float, float]:
        terms = query_terms(lesson.question, index.settings.language)
        return sum(recall.terms.get(term, 0.0) for term in terms), lesson.created

    lessons = seen_of(visit, index, index.lessons(chunk=hit.id))
    said_so = [one for one in lessons if hit.id in one.cited and not one.note]
    lesson = max(said_so, key=likeness, default=None)
    if lesson is None or (not likeness(lesson)[0] and hit.parts["learned"] < 0.05):
        return None
    said = lesson.model_dump(include={"id", "actor", "question", "created"})
    return {**said, "may_undo": may_undo(visit.token, lesson)}


@router.get("/suggestions", tags=["read"])
async def suggestions(visit: Reader) -> dict[str, list[str]]:
    """Suggest what to ask: three headings of the documents."""

    def work(index: HebbianIndex) -> list[str]:
        ids = index.ids(visit.where())
        some = map(passage_of, index.get(ids[:: len(ids) // 300 + 1]))
        texts = ((p.place or p.id, f"## {(p.headings or [p.title])[-1]}\n{p.text}") for p in some)
        lines = ((at, line) for at, text in texts for line in text.split("\n") if line[:2] == "##")
        return suggested((at, line.strip("# ")) for at, line in lines)

    return {"questions": await visit.run(work)}


@router.get("/chunks/{id:path}", tags=["read"])
async def chunk(id: Annotated[str, Path(max_length=MAX_ID)], visit: Reader) -> models.Passage:
    """Return one passage, whole."""

    def work(index: HebbianIndex) -> models.Passage:
        if not (found := visit.visible(index, [id])):
            raise ApiError(404, "not_found", f"there is no passage {id!r:.80}")
        return passage_of(found[0]).model_copy(update={"text": found[0].text, "complete": True})

    return await visit.run(work)


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
        chunks = index.get([hit.id for hit in found])
        given = {chunk.id for chunk in chunks if key in map(phrase_key, chunk.tags)}
        holders = [hit for hit in found if hit.id in given or holds(f"{hit.title}\n{hit.text}")]
        explainer = Explainer(found, index)
        linking = index.get(index.referring([h.id for h in found if holds(h.title)])[:k])
        return models.TagPanel(
            **known.model_dump(),
            hits=[passage_of(hit, explainer.marks(hit, hit.text)) for hit in holders[:k]],
            neighbors=index.neighbors(known.tag, k),
            linked_from=[models.Named(**named(chunk)) for chunk in linking],
        )

    return await visit.run(work)
