"""TagExtractor: tags into the metadata of nodes, as a step of a pipeline."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any, TypeAlias

from llama_index.core.async_utils import run_jobs
from llama_index.core.extractors import BaseExtractor
from llama_index.core.llms import LLM
from llama_index.core.prompts import PromptTemplate
from llama_index.core.schema import BaseNode, MetadataMode, TransformComponent
from pydantic import Field, SerializeAsAny, field_serializer

from hebbgraph import Chunk
from hebbgraph.taggers.output import occurs_in, parse_phrases
from hebbgraph.text import candidates, display
from llama_index.retrievers.hebbgraph.nodes import TAGS_KEY, listed, node_to_chunk

__all__ = ["DEFAULT_TAG_PROMPT", "SkipEmbedding", "TagExtractor"]

logger = logging.getLogger(__name__)

Tagger: TypeAlias = Callable[[Chunk], Iterable[str] | Awaitable[Iterable[str]]]

DEFAULT_TAG_PROMPT = """\
Name the up to {max_tags} most telling people, places, things and concepts that the text \
below is about, so that other texts about the same can be linked with it. One a line, as \
short noun phrases in the words of the text, and nothing else.

Text:
{text}

Names:
"""

_MAX_CHARACTERS = 120


class TagExtractor(BaseExtractor):
    r"""Writes tags into ``metadata["hebbgraph_tags"]``, where the index takes them from.

    An index finds tags without it. It is for tags made by an LLM or another tagger, within
    a pipeline: cached, in worker processes, and beside other extractors.

    Parameters
    ----------
    tagger : callable, optional
        A Chunk to tags; may be a coroutine function. For pipelines with several workers it
        must be picklable.
    llm : LLM, optional
        Asked for tags, ``num_workers`` at a time. Its answer may be a list of any kind or JSON;
        apologies and explanations are no tags, and with the default prompt a tag must occur in
        the node. Without ``tagger`` and ``llm``, names and
        acronyms as hebbgraph finds them in one chunk alone.
    prompt : str
        With ``{text}`` and ``{max_tags}``.
    max_tags : int
        At most so many a node; tags that a node already has come first.

    Notes
    -----
    Pure: nodes are copied, templates stay as they are, the tags are excluded from what is
    embedded and from what an LLM reads.

    Examples
    --------
    >>> from llama_index.core.schema import TextNode
    >>> nodes = TagExtractor()([TextNode(text="The Petrel was built by Ida Moss.")])
    >>> nodes[0].metadata, nodes[0].excluded_llm_metadata_keys
    ({'hebbgraph_tags': 'petrel\nida moss'}, ['hebbgraph_tags'])
    """

    tagger: Tagger | None = Field(default=None, description="Chunk to tags.")
    llm: SerializeAsAny[LLM] | None = Field(default=None, description="Asked for tags.")
    prompt: str = Field(default=DEFAULT_TAG_PROMPT, description="How the LLM is asked.")
    max_tags: int = Field(default=12, ge=1, description="At most so many tags a node.")
    show_progress: bool = Field(default=False, description="Whether to show progress.")
    in_place: bool = Field(default=False, description="Whether to change the nodes given.")
    disable_template_rewrite: bool = Field(default=True, description="Keep node templates.")

    @classmethod
    def class_name(cls) -> str:
        """Class name."""
        return "HebbgraphTagExtractor"

    @field_serializer("tagger")
    def _name_tagger(self, tagger: Tagger | None) -> str | None:
        return describe_callable(tagger)

    async def aextract(self, nodes: Sequence[BaseNode]) -> list[dict[str, Any]]:
        """Return the tags of each node, under ``hebbgraph_tags``; nodes without get none."""
        jobs = [self._tags(node) for node in nodes]
        if self.llm is None and (
            self.tagger is None or not inspect.iscoroutinefunction(self.tagger)
        ):
            found = [await job for job in jobs]
        else:
            found = await run_jobs(jobs, show_progress=self.show_progress, workers=self.num_workers)
        return [{TAGS_KEY: "\n".join(tags)} if tags else {} for tags in found]

    async def _tags(self, node: BaseNode) -> list[str]:
        tags = listed(node.metadata.get(TAGS_KEY))
        if self.tagger is not None:
            given = self.tagger(node_to_chunk(node))
            tags += await given if inspect.isawaitable(given) else given
        if self.llm is not None:
            text = node.get_content(metadata_mode=MetadataMode.NONE)
            answer = await self.llm.apredict(
                PromptTemplate(self.prompt), text=text, max_tags=str(self.max_tags)
            )
            tags += self._read(answer, node)
        if self.tagger is None and self.llm is None:
            chunk = node_to_chunk(node)
            kinds = ("name", "capital", "acronym", "code")
            tags += [
                display(found.key)
                for found in candidates(chunk.text, chunk.title)
                if found.kind in kinds
            ]
        return _cleaned(tags)[: self.max_tags]

    def _read(self, answer: str, node: BaseNode) -> list[str]:
        """Read a model's answer; what was asked for in the words of the text must be in it."""
        phrases = parse_phrases(answer)
        if self.prompt == DEFAULT_TAG_PROMPT:
            occurs = occurs_in(node_to_chunk(node))
            phrases = [phrase for phrase in phrases if occurs(phrase)]
        if not phrases:
            logger.info("the model named no tags for node %s: %.80r", node.node_id, answer)
        return phrases

    async def aprocess_nodes(
        self,
        nodes: Sequence[BaseNode],
        excluded_embed_metadata_keys: list[str] | None = None,
        excluded_llm_metadata_keys: list[str] | None = None,
        **kwargs: Any,
    ) -> list[BaseNode]:
        """Add tags to nodes, and exclude them from what models read."""
        done = await super().aprocess_nodes(
            nodes, excluded_embed_metadata_keys, excluded_llm_metadata_keys, **kwargs
        )
        for node in done:
            if TAGS_KEY in node.metadata:
                _exclude(node, TAGS_KEY)
        return done


class SkipEmbedding(TransformComponent):
    """The last step of a pipeline without an embedding model, before a HebbianVectorStore.

    ``IngestionPipeline`` stores only nodes that have an embedding. This gives them an empty
    one, which the store takes for none.

    Examples
    --------
    >>> from llama_index.core.schema import TextNode
    >>> SkipEmbedding()([TextNode(text="The Petrel")])[0].embedding
    []
    """

    @classmethod
    def class_name(cls) -> str:
        """Class name."""
        return "HebbgraphSkipEmbedding"

    def __call__(self, nodes: Sequence[BaseNode], **kwargs: Any) -> Sequence[BaseNode]:
        """Return copies with an empty embedding."""
        return [node.model_copy(update={"embedding": []}) for node in nodes]


def tags_of(node: BaseNode, tagger: Callable[[Chunk], Iterable[str]]) -> list[str]:
    """Return the tags that a node has and those that a tagger gives it."""
    return _cleaned([*listed(node.metadata.get(TAGS_KEY)), *tagger(node_to_chunk(node))])


def set_hidden(node: BaseNode, key: str, value: Any) -> None:
    """Write something into a node's metadata, excluded from what models read."""
    if isinstance(value, list):  # many stores take none
        value = "\n".join(value)
    node.metadata = {**node.metadata, key: value}
    _exclude(node, key)


def _exclude(node: BaseNode, key: str) -> None:
    # New lists: nodes cut from one document share theirs.
    for name in ("excluded_embed_metadata_keys", "excluded_llm_metadata_keys"):
        keys = getattr(node, name)
        if key not in keys:
            setattr(node, name, [*keys, key])


def _cleaned(tags: Iterable[str]) -> list[str]:
    stripped = (" ".join(str(tag).split()).strip(" .,;:\"'") for tag in tags)
    return list(dict.fromkeys(tag for tag in stripped if 0 < len(tag) <= _MAX_CHARACTERS))


def describe_callable(function: Any) -> str | None:
    """Name a callable for a pipeline's cache key; alike in every process."""
    if function is None:
        return None
    owner = function if hasattr(function, "__qualname__") else type(function)
    name = f"{owner.__module__}.{owner.__qualname__}"
    settings = getattr(function, "__dict__", None) if owner is not function else None
    if settings:
        name += repr(sorted((key, repr(value)) for key, value in settings.items()))
    return name
