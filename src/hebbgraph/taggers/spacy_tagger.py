"""Tags from a spaCy pipeline: entities and, optionally, noun phrases."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

from hebbgraph.errors import ParameterError
from hebbgraph.extras import require
from hebbgraph.protocols import AnswerStore
from hebbgraph.records import Chunk, TaggingReport
from hebbgraph.taggers.output import clean_tags

__all__ = ["SpacyTagger"]

#: Entity types of OntoNotes that name no concept.
_NUMBERS = frozenset(("CARDINAL", "ORDINAL", "PERCENT", "MONEY", "QUANTITY", "DATE", "TIME"))


class SpacyTagger:
    """A spaCy pipeline as a tagger (extra ``spacy``).

    Parameters
    ----------
    pipeline : str or spacy.Language
        A loaded pipeline, or the name or path of one ("en_core_web_sm").
    labels : collection of str, optional
        Entity types to use; by default all but numbers, dates and amounts.
    noun_phrases : bool
        Also use base noun phrases, if the pipeline has a parser.
    tags_per_chunk : int, at least 1
    batch_size : int, at least 1

    Raises
    ------
    MissingExtraError
        If spaCy is not installed.
    ParameterError
        If spaCy does not find the pipeline.
    """

    def __init__(
        self,
        pipeline: Any = "en_core_web_sm",
        *,
        labels: Collection[str] | None = None,
        noun_phrases: bool = False,
        tags_per_chunk: int = 16,
        batch_size: int = 64,
    ) -> None:
        if isinstance(pipeline, str):
            pipeline = _load(pipeline)
        self.pipeline = pipeline
        self.labels = labels
        self.noun_phrases = noun_phrases
        self.tags_per_chunk = tags_per_chunk
        self.batch_size = batch_size

    @property
    def name(self) -> str:
        """Language, name and version of the pipeline."""
        meta = self.pipeline.meta
        return f"spacy:{meta['lang']}_{meta['name']}:{meta['version']}"

    def __call__(self, chunk: Chunk, /) -> tuple[str, ...]:
        """Tag one chunk."""
        return self._tags(self.pipeline(chunk.text))

    def tag_chunks(
        self,
        chunks: Sequence[Chunk],
        /,
        *,
        store: AnswerStore | None = None,
        on_progress: Callable[[int], object] | None = None,
    ) -> tuple[list[tuple[str, ...]], TaggingReport]:
        """Tag many chunks. Answers are not stored, since they are cheap to compute again."""
        tags = []
        texts = (chunk.text for chunk in chunks)
        for document in self.pipeline.pipe(texts, batch_size=self.batch_size):
            tags.append(self._tags(document))
            if on_progress is not None:
                on_progress(len(tags))
        return tags, TaggingReport(tagged=len(tags))

    def _tags(self, document: Any) -> tuple[str, ...]:
        return clean_tags(self._phrases(document), self.tags_per_chunk, lambda tag: True)

    def _phrases(self, document: Any) -> Iterable[str]:
        for entity in document.ents:
            if entity.label_ in self.labels if self.labels else entity.label_ not in _NUMBERS:
                yield entity.text
        if self.noun_phrases and document.has_annotation("DEP"):
            for phrase in document.noun_chunks:
                yield phrase.text


def _load(name: str) -> Any:
    spacy = require("spacy", extra="spacy", purpose="SpacyTagger")
    try:
        return spacy.load(name)
    except OSError as error:
        raise ParameterError(
            f"spaCy does not find the pipeline {name!r}; run python -m spacy download {name}"
        ) from error
