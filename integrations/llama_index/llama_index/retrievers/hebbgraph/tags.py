"""TagExtractor: writes tags into the metadata of nodes, as a pipeline step."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Annotated, Any, TypeAlias

from llama_index.core.async_utils import run_jobs
from llama_index.core.extractors import BaseExtractor
from llama_index.core.llms import LLM
from llama_index.core.prompts import PromptTemplate
from llama_index.core.schema import BaseNode, MetadataMode, TransformComponent
from pydantic import Field, PlainSerializer, SerializeAsAny

from hebbgraph import Chunk
from hebbgraph.taggers.output import occurs_in, parse_phrases
from hebbgraph.text import candidates, display
from llama_index.retrievers.hebbgraph.nodes import TAGS_KEY, lines_of, node_to_chunk, set_hidden

__all__ = ["AS_NAME", "DEFAULT_TAG_PROMPT", "SkipEmbedding", "TagExtractor", "tags_of"]

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
_NAME_KINDS = ("name", "capital", "acronym", "code")


def _name(function: Any) -> str | None:
    """Name a callable for a pipeline's cache key; the same in every process."""
    if function is None:
        return None
    owner = function if hasattr(function, "__qualname__") else type(function)
    name = f"{owner.__module__}.{owner.__qualname__}"
    attributes = getattr(function, "__dict__", None) if owner is not function else None
    if attributes:
        name += repr(sorted((key, repr(value)) for key, value in attributes.items()))
    return name


#: Serialises a field by the name of its callable.
AS_NAME = PlainSerializer(_name)


class TagExtractor(BaseExtractor):
    r"""Writes tags into ``metadata["hebbgraph_tags"]``, where the index reads them.

    An index finds tags by itself. This adds tags by an LLM or another tagger as a pipeline step,
    which is cached and runs in worker processes.

    Parameters
    ----------
    tagger : callable, optional
        Chunk to tags; may be a coroutine function. For pipelines with several workers it
        must be picklable.
    llm : LLM, optional
        Asked for tags, ``num_workers`` requests at a time. Lists of any kind and JSON are read,
        apologies and explanations are not; with the default prompt, a tag must occur in the node.
        Without ``tagger`` and ``llm``, the tags are names and acronyms in the node's text.
    prompt : str
        With ``{text}`` and ``{max_tags}``.
    max_tags : int
        Most tags of a node; those that it already has come first.

    Notes
    -----
    Nodes are copied and keep their templates. Tags are excluded from what is embedded and from
    what an LLM reads.

    Examples
    --------
    >>> from llama_index.core.schema import TextNode
    >>> nodes = TagExtractor()([TextNode(text="The Petrel was built by Ida Moss.")])
    >>> nodes[0].metadata, nodes[0].excluded_llm_metadata_keys
    ({'hebbgraph_tags': 'petrel\nida moss'}, ['hebbgraph_tags'])
    """

    tagger: Annotated[Tagger | None, AS_NAME] = Field(default=None, description="Chunk to tags.")
    llm: SerializeAsAny[LLM] | None = Field(default=None, description="Asked for tags.")
    prompt: str = Field(default=DEFAULT_TAG_PROMPT, description="How the LLM is asked.")
    max_tags: int = Field(default=12, ge=1, description="Most tags of a node.")
    show_progress: bool = Field(default=False, description="Whether to show progress.")
    in_place: bool = Field(default=False, description="Whether to change the nodes given.")
    disable_template_rewrite: bool = Field(default=True, description="Keep node templates.")

    @classmethod
    def class_name(cls) -> str:
        """Class name."""
        return "HebbgraphTagExtractor"

    async def aextract(self, nodes: Sequence[BaseNode]) -> list[dict[str, Any]]:
        """Return the metadata to add to each node: its tags, if it has any."""
        jobs = [self._tags(node) for node in nodes]
        if self.llm is None and not inspect.iscoroutinefunction(self.tagger):
            results = [await job for job in jobs]
        else:
            results = await run_jobs(
                jobs, show_progress=self.show_progress, workers=self.num_workers
            )
        return [{TAGS_KEY: "\n".join(tags)} if tags else {} for tags in results]

    async def _tags(self, node: BaseNode) -> list[str]:
        tags = lines_of(node.metadata.get(TAGS_KEY))
        chunk = node_to_chunk(node)
        if self.tagger is not None:
            result = self.tagger(chunk)
            tags += await result if inspect.isawaitable(result) else result
        if self.llm is not None:
            text = node.get_content(metadata_mode=MetadataMode.NONE)
            answer = await self.llm.apredict(
                PromptTemplate(self.prompt), text=text, max_tags=str(self.max_tags)
            )
            phrases = parse_phrases(answer)
            if self.prompt == DEFAULT_TAG_PROMPT:  # which asks for words of the text
                phrases = list(filter(occurs_in(chunk), phrases))
            if not phrases:
                logger.info("the model named no tags for node %s: %.80r", node.node_id, answer)
            tags += phrases
        if self.tagger is None and self.llm is None:
            proposed = candidates(chunk.text, chunk.title)
            tags += [display(phrase.key) for phrase in proposed if phrase.kind in _NAME_KINDS]
        return _cleaned(tags)[: self.max_tags]

    async def aprocess_nodes(
        self,
        nodes: Sequence[BaseNode],
        excluded_embed_metadata_keys: list[str] | None = None,
        excluded_llm_metadata_keys: list[str] | None = None,
        **kwargs: Any,
    ) -> list[BaseNode]:
        """Add tags to nodes, and exclude them from what models read."""
        tagged = await super().aprocess_nodes(
            nodes, excluded_embed_metadata_keys, excluded_llm_metadata_keys, **kwargs
        )
        for node in tagged:
            if TAGS_KEY in node.metadata:
                set_hidden(node, TAGS_KEY, node.metadata[TAGS_KEY])
        return tagged


class SkipEmbedding(TransformComponent):
    """The last step of a pipeline without an embedding model, before a HebbianVectorStore.

    ``IngestionPipeline`` stores only nodes that have an embedding. This sets an empty one, which
    the store ignores.

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
    """Return the tags of a node and those that a tagger adds."""
    return _cleaned([*lines_of(node.metadata.get(TAGS_KEY)), *tagger(node_to_chunk(node))])


def _cleaned(tags: Iterable[str]) -> list[str]:
    stripped = (" ".join(str(tag).split()).strip(" .,;:\"'") for tag in tags)
    return list(dict.fromkeys(tag for tag in stripped if 0 < len(tag) <= _MAX_CHARACTERS))
