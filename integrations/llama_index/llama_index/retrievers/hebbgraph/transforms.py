"""Steps of an ingestion: the core's splitter, and its tagger over an LLM."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from llama_index.core.async_utils import run_jobs
from llama_index.core.extractors import BaseExtractor
from llama_index.core.llms import LLM
from llama_index.core.node_parser import NodeParser
from llama_index.core.schema import BaseNode, NodeRelationship, TextNode
from llama_index.core.utils import get_tqdm_iterable
from pydantic import SerializeAsAny

from hebbgraph import Chunk
from hebbgraph.splitter import Splitter
from hebbgraph.tagger import LLMTagger
from llama_index.retrievers.hebbgraph.nodes import hide, lasting_id, text_of

__all__ = ["HebbianNodeParser", "TagExtractor"]

_BATCH = 8  # texts that one prompt quotes


class HebbianNodeParser(NodeParser):
    r"""Split Markdown and plain text at headings, into nodes with stable ids.

    An edit of one section leaves the ids of others as they are. ``file_path``, ``url`` or
    ``source`` in a document's metadata is its address, from which relative links start.

    Parameters
    ----------
    chunk_tokens : (int, int)
        Least and most tokens of a node; see :class:`hebbgraph.splitter.Splitter`.

    Examples
    --------
    >>> from llama_index.core import Document
    >>> parser = HebbianNodeParser(chunk_tokens=(1, 16))
    >>> text = "# Brain\n\nIt learns.\n\n## Sleep\n\nIt rests."
    >>> for node in parser.get_nodes_from_documents([Document(text=text)]):
    ...     node.metadata["title"], node.get_content()[-9:]
    ('Brain', 't learns.')
    ('Brain: Sleep', 'It rests.')
    """

    chunk_tokens: tuple[int, int] = (200, 1200)

    def _parse_nodes(
        self, nodes: Sequence[BaseNode], show_progress: bool = False, **kwargs: Any
    ) -> list[BaseNode]:
        splitter, parsed = Splitter(chunk_tokens=self.chunk_tokens), list[BaseNode]()
        for document in get_tqdm_iterable(nodes, show_progress, "Parsing nodes"):
            given, title = document.metadata, document.metadata.get("title")
            places = (given.get(name) for name in ("file_path", "url", "source"))
            chunks = splitter.split(
                text_of(document),
                title=title if isinstance(title, str) else "",
                document_id=lasting_id(document),
                address=next((p for p in places if isinstance(p, str) and p.strip()), None),
            )
            parsed += [_node(chunk, document) for chunk in chunks]
        return parsed


def _node(chunk: Chunk, document: BaseNode) -> BaseNode:
    own = {"title": chunk.title, "headings": chunk.metadata["headings"]}
    own |= {name: [*getattr(chunk, name)] for name in ("addresses", "references")}
    node = TextNode(
        id_=chunk.id,
        text=chunk.text,
        metadata={name: value for name, value in own.items() if value},
        excluded_embed_metadata_keys=document.excluded_embed_metadata_keys,
        excluded_llm_metadata_keys=document.excluded_llm_metadata_keys,
        relationships={NodeRelationship.SOURCE: document.as_related_node_info()},
    )
    hide(node, "headings", "addresses", "references")
    return node


class TagExtractor(BaseExtractor):
    """Write tags that an LLM finds into ``metadata["tags"]``, hidden from what models read.

    Parameters
    ----------
    llm : LLM
    tags, domain, vocabulary
        As for :class:`hebbgraph.tagger.LLMTagger`.

    Examples
    --------
    >>> from llama_index.core.llms import MockLLM
    >>> class Model(MockLLM):
    ...     def complete(self, prompt, **kwargs):
    ...         answer = '{"texts": [{"number": 1, "tags": ["Ida Moss"]}]}'
    ...         return super().complete(prompt).model_copy(update={"text": answer})
    >>> TagExtractor(llm=Model())([TextNode(text="Ida Moss built the Petrel.")])[0].metadata
    {'tags': ['Ida Moss']}
    """

    llm: SerializeAsAny[LLM]
    tags: int = 10
    domain: str | None = None
    vocabulary: list[str] | None = None
    disable_template_rewrite: bool = True
    show_progress: bool = False

    @property
    def tagger(self) -> LLMTagger:
        """The same while an index is built, for ``tagger=`` of all classes here."""
        options: Any = {name: getattr(self, name) for name in ("tags", "domain", "vocabulary")}
        return LLMTagger(lambda prompt: self.llm.complete(prompt).text, **options)

    async def aextract(self, nodes: Sequence[BaseNode]) -> list[dict[str, Any]]:
        """Return the tags of each node, after those that it already has."""
        texts = {at: text for at, node in enumerate(nodes) if (text := text_of(node)).strip()}
        chunks = [Chunk(text=text) for text in texts.values()]
        batches = [chunks[start : start + _BATCH] for start in range(0, len(chunks), _BATCH)]
        jobs = [asyncio.to_thread(self.tagger, batch) for batch in batches]
        done = await run_jobs(jobs, show_progress=self.show_progress, workers=self.num_workers)
        new = dict(zip(texts, (tags for batch in done for tags in batch), strict=True))
        given = (node.metadata.get("tags") or [] for node in nodes)
        old = [[tags] if isinstance(tags, str) else tags for tags in given]
        both = [list(dict.fromkeys([*tags, *new.get(at, [])])) for at, tags in enumerate(old)]
        return [{"tags": tags} if tags else {} for tags in both]

    def process_nodes(self, *args: Any, **kwargs: Any) -> list[BaseNode]:
        """Write tags into the metadata of nodes."""
        # LlamaIndex's own takes any RuntimeError for a misused event loop.
        with ThreadPoolExecutor(1) as pool:
            return pool.submit(asyncio.run, self.aprocess_nodes(*args, **kwargs)).result()

    async def aprocess_nodes(self, *args: Any, **kwargs: Any) -> list[BaseNode]:
        """Async twin of :meth:`process_nodes`."""
        tagged = await super().aprocess_nodes(*args, **kwargs)
        for node in tagged:
            hide(node, "tags")
        return tagged
