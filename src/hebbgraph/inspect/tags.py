"""``index.tags``: find tags, show their neighbours, correct them."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping

import numpy as np

from hebbgraph.arguments import check_ids, check_str
from hebbgraph.calling import in_thread
from hebbgraph.errors import NotFoundError, ParameterError
from hebbgraph.inspect.corrections import correct_tags, is_tag, undo_tag_correction
from hebbgraph.inspect.neighborhood import neighborhood, tags_named, tags_of_chunk
from hebbgraph.inspect.room import Room
from hebbgraph.records import CorrectionKind, TagCorrection
from hebbgraph.records.neighborhood import Neighborhood, TagCount
from hebbgraph.text import display, phrase_key

__all__ = ["Tags"]

_MOST_NODES = 2_000
_MOST_TAGS = 10_000


class Tags(Room):
    """The tags of an index: found, seen with their neighbours, corrected."""

    def find(
        self, containing: str = "", *, chunk: str | None = None, limit: int = 100
    ) -> list[TagCount]:
        """Return tags by name, or those of a chunk, the most frequent first.

        Parameters
        ----------
        containing : str
            Part of the name; a tag with exactly this name comes first.
        chunk : str, optional
            Only the tags of the chunk with this id.
        limit : int, from 1 to 10000
        """
        parts = self._parts()
        check_str(containing, "containing")
        _check_limit(limit, _MOST_TAGS)
        if chunk is not None:
            check_ids([chunk], "a chunk id")
            if containing:
                raise ParameterError("tags takes containing or chunk, not both")
        with parts.reading():
            graph = parts.derived.graph
            if chunk is None:
                return tags_named(graph, containing, limit)
            rows = parts.truth.rows_of([chunk])
            slots = graph.slots_of(np.array([*rows.values()], np.int64))
            if not len(slots):
                raise NotFoundError(f"the index holds no chunk {chunk!r}")
            return tags_of_chunk(graph, int(slots[0]), limit)

    def around(self, tag: str, *, limit: int = 500) -> Neighborhood:
        """Return the tags that share most chunks with a tag, and the chunks that hold it.

        Hubs, which recalls cut, are listed separately. Work and answer are bounded however large
        the index is; for a tag of more than 20,000 chunks, a sample is read.

        Parameters
        ----------
        tag : str
        limit : int, from 1 to 2000
            Of tags, including this one.

        Raises
        ------
        NotFoundError
            If no chunk holds the tag; the error names similar tags.

        Examples
        --------
        >>> with HebbianIndex.open(":memory:") as index:
        ...     report = index.add([
        ...         {"title": "Petrel", "text": "The Petrel was built by Ida Moss."},
        ...         {"title": "Ida Moss", "text": "Ida Moss was born in Tessel Bay."},
        ...     ])
        ...     [(node.tag, node.weight) for node in index.tags.around("ida moss").nodes]
        [('ida moss', 2), ('petrel', 1)]
        """
        parts = self._parts()
        check_str(tag, "a tag")
        _check_limit(limit, _MOST_NODES)

        def titles(rows: list[int]) -> Mapping[int, tuple[str, str]]:
            outlines = parts.truth.outlines(rows).items()
            return {row: (outline.chunk.id, outline.chunk.title) for row, outline in outlines}

        with parts.reading():
            graph = parts.derived.graph
            number = graph.phrases.number(phrase_key(tag))
            if number is None or not is_tag(graph, number):
                similar = [other.tag for other in tags_named(graph, tag, 3)]
                hint = f"; there are {', '.join(map(repr, similar))}" if similar else ""
                name = display(phrase_key(tag) or tag)
                raise NotFoundError(f"no chunk holds the tag {name!r}{hint}")
            return neighborhood(
                graph,
                number,
                limit,
                hub_cut=parts.settings.spreading().hub_cut(graph.n_chunks),
                titles=titles,
                colony=parts.colonies.last_by_slot(graph),
            )

    def correct(
        self,
        kind: CorrectionKind,
        tags: str | Iterable[str],
        *,
        into: str | None = None,
        chunks: Iterable[str] | None = None,
        actor: str | None = None,
    ) -> TagCorrection:
        """Merge, rename, mute or split tags.

        Texts and the tags found in them stay unchanged. A correction applies on top of them, in
        all processes and for chunks added later too, until it is undone.

        Parameters
        ----------
        kind : {"merge", "rename", "mute", "split"}
            ``merge``: chunks and questions that name one of ``tags`` have ``into`` instead.
            ``rename``: the same for one tag, with a name that is no tag yet.
            ``mute``: chunks no longer hold ``tags``, and questions no longer name them.
            ``split``: the given ``chunks`` hold ``into`` instead of the tag. A question that
            names the tag is about both, but activation no longer passes from one to the other.
        tags : str or iterable of str
            Tags that chunks hold now, earlier corrections included.
        into : str, optional
        chunks : iterable of str, optional
            Ids, for ``split``.
        actor : str, optional
            Who makes the correction.

        Raises
        ------
        NotFoundError
            If no chunk holds a tag, or there is no such chunk.
        ParameterError

        Examples
        --------
        >>> with HebbianIndex.open(":memory:") as index:
        ...     report = index.add([{"id": "a", "title": "Sea Cow", "text": "It grazes on kelp."},
        ...                         {"id": "b", "text": "A Sea Cow rests. Manatees graze."}])
        ...     correction = index.tags.correct("rename", "sea cow", into="manatee")
        ...     index.recall("What does a manatee eat?").cues[0].tag
        'manatee'
        """
        return correct_tags(self._parts(), kind, tags, into=into, chunks=chunks, actor=actor)

    def corrections(self) -> list[TagCorrection]:
        """Return the corrections in force, the oldest first."""
        return list(self._parts().truth.corrections.all())

    def undo(self, correction: TagCorrection | str) -> bool:
        """Undo a correction, by its record or id; return whether it was in force.

        Afterwards recalls are as if it had never been made.
        """
        return undo_tag_correction(self._parts(), correction)

    def __call__(
        self, containing: str = "", *, chunk: str | None = None, limit: int = 100
    ) -> list[TagCount]:
        """Deprecated: :meth:`find`; this goes in 0.3."""
        warnings.warn(
            "index.tags() is index.tags.find() now; the old name goes in 0.3",
            DeprecationWarning,
            stacklevel=2,
        )
        return self.find(containing, chunk=chunk, limit=limit)

    afind = in_thread(find)
    aaround = in_thread(around)
    acorrect = in_thread(correct)
    acorrections = in_thread(corrections)
    aundo = in_thread(undo)


def _check_limit(limit: int, most: int) -> None:
    if not isinstance(limit, int) or isinstance(limit, bool) or not 1 <= limit <= most:
        raise ParameterError(f"limit lies in 1 to {most}, got {limit!r}")
