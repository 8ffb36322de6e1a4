"""What requests and answers hold; docs/http.md explains them."""

from typing import Annotated, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from hebbgraph import Chunk
from hebbgraph.records import Neighbor, Tag
from hebbgraph.records.base import MAX_ID, MAX_QUESTION

Id: TypeAlias = Annotated[str, Field(min_length=1, max_length=MAX_ID)]
Ids: TypeAlias = Annotated[list[Id], Field(max_length=1_000)]
Where: TypeAlias = dict[str, JsonValue] | None


class Body(BaseModel):
    """The body of a request."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)


class RecallBody(Body):
    """A question."""

    question: str = Field(max_length=16 * MAX_QUESTION, examples=["How do I publish a package?"])
    k: int = Field(default=10, ge=1, le=100, description="hits")
    where: Where = Field(default=None, description='a filter: {"year": {"$gte": 2020}}')
    compare: bool = Field(default=False, description="also return the ranking without lessons")
    keep: bool = Field(default=True, description="keep it, so that it can be judged by its id")
    id: Id | None = Field(default=None, description="a name of your own (role write)")
    answer: Id | None = Field(default=None, description="the answer it is for (role write)")


class LessonBody(Body):
    """What somebody says of a recall or an answer."""

    recall: Id | None = Field(default=None, description="the id of a recall", examples=["ID"])
    answer: Id | None = Field(default=None, description="or the name of an answer")
    cited: Ids = Field(default=[], description="passages that answer it", examples=[["CHUNK"]])
    rejected: Ids = Field(default=[], description="passages that are wrong for it")
    rating: float | None = Field(default=None, ge=-1, le=1, description="1 good, -1 bad")
    shown: Ids | None = Field(default=None, description="what was read; by default all hits")
    actor: Id | None = Field(default=None, description="who says so, unless the token knows")
    trusted: bool | None = Field(default=None, description="false: a second name must agree")
    reason: str | None = Field(default=None, max_length=2_000)


class ChunksBody(Body):
    """Chunks to add; an id that exists is replaced."""

    chunks: list[Chunk] = Field(
        max_length=10_000, examples=[[{"id": "owl", "text": "Owls hunt voles."}]]
    )


class DeleteBody(Body):
    """Chunks to delete."""

    ids: Ids = Field(examples=[["owl"]])


class Mark(BaseModel):
    """A range of characters, end excluded, that is a word of the question; 1 is the rarest."""

    start: int
    end: int
    word: str
    weight: float


class Word(BaseModel):
    """A word of the question that so many passages hold; or why it does not count."""

    word: str
    passages: int | None = None
    weight: float = 0.0
    reason: str = ""


class Named(BaseModel):
    """A passage by name; the title is empty if it is gone."""

    id: str
    title: str = ""
    place: str | None = None


class Passage(Named):
    """A passage; ``complete`` is false if its text is cut."""

    headings: list[str]
    text: str
    complete: bool
    metadata: dict[str, JsonValue]
    marks: list[Mark] = []


class Quote(Named):
    """A passage by name, with its rank among the hits and a sentence of it, if these matter."""

    rank: int | None = None
    quote: str = ""
    marks: list[Mark] = []


class Hop(BaseModel):
    """How a passage was reached from another one."""

    kind: Literal["words", "tag", "link"]
    shared: list[str]
    source: Quote
    target: Quote
    text: str


class Hit(Passage):
    """A passage that a question found, and why; ``parts`` add up to the score."""

    rank: int
    score: float
    untaught: float
    untaught_rank: int | None = None
    why: str = ""
    has: list[str]
    lacks: list[str]
    adds: list[str] = []
    title_marks: list[Mark]
    parts: dict[str, float]
    hop: Hop | None
    lesson: dict[str, JsonValue] | None = None


class Answer(BaseModel):
    """The passages for a question."""

    id: str
    namespace: str
    question: str
    confidence: float | None
    kept: bool
    notes: list[str]
    words: list[Word]
    ignored: list[Word]
    names: list[str]
    hits: list[Hit]
    without_lessons: list[Quote] | None = None


class LessonOut(BaseModel):
    """A lesson; ``note`` says why it moves nothing, if so."""

    id: str
    recall: str
    question: str
    cited: list[Named]
    rejected: list[Named]
    weight: float
    actor: str | None
    trusted: bool
    reason: str | None
    created: float
    note: str
    may_undo: bool


class Lessons(BaseModel):
    """Lessons, newest first."""

    lessons: list[LessonOut]
    total: int


class Document(BaseModel):
    """A document."""

    place: str
    title: str
    passages: int


class Documents(BaseModel):
    """Documents by place."""

    documents: list[Document]
    total: int


class Upload(Document):
    """What an upload changes, or would."""

    preview: bool
    added: int
    unchanged: int
    deleted: int
    replaces: Document | None
    same_name: list[str]
    resting: int
    new: list[Passage]
    gone: list[Passage]


class TagPanel(Tag):
    """What is known about a tag."""

    hits: list[Passage]
    neighbors: list[Neighbor]
    linked_from: list[Named]
