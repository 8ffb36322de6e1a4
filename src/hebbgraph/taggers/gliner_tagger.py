"""Tags from GLiNER: entities of types that you describe in plain words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hebbgraph.errors import ParameterError
from hebbgraph.extras import require
from hebbgraph.records import Chunk
from hebbgraph.taggers.output import clean_tags

__all__ = ["GlinerTagger"]


class GlinerTagger:
    """A GLiNER model as a tagger (extra ``gliner``, which brings torch).

    Parameters
    ----------
    model : str or gliner.GLiNER
        A loaded model, or the name or path of one ("urchade/gliner_small-v2.1").
    labels : sequence of str
        Entity types to look for, in the vocabulary of the model.
    threshold : float, in [0, 1]
        Minimal score of an entity.
    tags_per_chunk : int, at least 1
        Number of entities to keep, by score.

    Raises
    ------
    MissingExtraError
        If gliner is not installed.
    """

    def __init__(
        self,
        model: Any = "urchade/gliner_small-v2.1",
        *,
        labels: Sequence[str] = ("person", "organization", "location", "event", "work", "term"),
        threshold: float = 0.5,
        tags_per_chunk: int = 16,
    ) -> None:
        if not labels:
            raise ParameterError("labels must name at least one entity type, got none")
        self.model_name = model if isinstance(model, str) else type(model).__name__
        self.model = _load(model) if isinstance(model, str) else model
        self.labels = list(labels)
        self.threshold = threshold
        self.tags_per_chunk = tags_per_chunk

    @property
    def name(self) -> str:
        """Model and labels."""
        return f"gliner:{self.model_name}:{','.join(self.labels)}"

    def __call__(self, chunk: Chunk, /) -> tuple[str, ...]:
        """Tag one chunk."""
        entities = self.model.predict_entities(chunk.text, self.labels, threshold=self.threshold)
        best = sorted(entities, key=lambda entity: -float(entity["score"]))
        phrases = (entity["text"] for entity in best)
        return clean_tags(phrases, self.tags_per_chunk, lambda tag: True)


def _load(name: str) -> Any:
    return require("gliner", extra="gliner", purpose="GLiNERTagger").GLiNER.from_pretrained(name)
