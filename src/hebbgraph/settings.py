"""Settings of an index. Those marked *build* are stored in it; opening with others is an error."""

from __future__ import annotations

from typing import Any, ClassVar

import Stemmer
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from hebbgraph.errors import ParameterError
from hebbgraph.text.context import SEARCHED_FIELDS
from hebbgraph.text.tokens import AUTO


class Settings(BaseModel):
    """How an index is built and read.

    Parameters
    ----------
    language : str
        *Build.* The Snowball stemmer for words in Latin script; other scripts have their own. By
        default, ``"auto"``, each text is stemmed in its own language. ``"none"`` turns stemming
        off.
    search_metadata : tuple of str
        *Build.* Metadata fields whose words are searched with the text: headings, subject,
        summary, keywords, questions and the file name. ``()`` for none.
    edges : tuple of str
        *Build.* Metadata fields whose values join chunks: two chunks with the same ``author`` are
        one step apart.
    stop_tags : tuple of str
        Tags that connect nothing and are no cues.
    vectors : float, in [0, 1], optional
        The share of vectors in direct evidence; words have the rest. None starts from .55, or .25
        where the embedder does not see the order of words, and lessons move it.
    approximate : bool
        Whether an HNSW index finds the nearest of many vectors, nearly all of them (extra ``ann``);
        where a filter is given, and without a file, search stays exact.
    graph : float, in [0, 1], optional
        Weight of the activation that arrives over the graph. None starts from 1, and lessons move
        it.
    quorum : int, at least 1
        *Build.* How many actors must say the same of a question before it moves anything, unless
        the application vouches for it (``trusted=True``).
    keep_questions : bool
        Whether lessons keep the text of their questions. If not, they still keep hashed words and
        the embedding, which learning needs.
    wait : float, at least 0
        Seconds that a writer waits for another one, and erasing for readers.

    Examples
    --------
    >>> Settings(language="german", stop_tags=["chapter"]).stop_tags
    ('chapter',)
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    BUILD: ClassVar = ("language", "search_metadata", "edges", "quorum")

    language: str = AUTO
    search_metadata: tuple[str, ...] = SEARCHED_FIELDS
    edges: tuple[str, ...] = ()
    stop_tags: tuple[str, ...] = ()
    vectors: float | None = Field(default=None, ge=0.0, le=1.0)
    approximate: bool = False
    graph: float | None = Field(default=None, ge=0.0, le=1.0)
    quorum: int = Field(default=1, ge=1)
    keep_questions: bool = False
    wait: float = Field(default=30.0, ge=0.0)

    def __init__(self, **values: Any) -> None:
        try:
            super().__init__(**values)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            field = ".".join(map(str, first["loc"]))
            message = first["msg"].removeprefix("Value error, ")
            raise ParameterError(f"Settings.{field}: {message}, got {first['input']!r}") from error

    @field_validator("language")
    @classmethod
    def _is_known(cls, value: str) -> str:
        if value not in (AUTO, "none") and value not in Stemmer.algorithms():
            raise ValueError(f"'auto', 'none' or one of {', '.join(Stemmer.algorithms())}")
        return value

    def build(self) -> dict[str, Any]:
        """Return the settings that are stored in the index."""
        return self.model_dump(mode="json", include=set(self.BUILD))
