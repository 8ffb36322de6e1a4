"""What one chunk says by itself: its words, and the tags that it proposes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from enum import IntEnum
from itertools import chain
from typing import NamedTuple

from hebbgraph.arrays import Float32Array
from hebbgraph.records import Chunk
from hebbgraph.settings import Settings
from hebbgraph.store.terms import CAPITAL_WORTH, TITLE_WORTH
from hebbgraph.text.candidates import proposals
from hebbgraph.text.context import join_tokens, searched_text, text_words, tokenize_texts
from hebbgraph.text.references import edge_keys, named_by_links
from hebbgraph.text.shapes import languages_of


class ProposedAs(IntEnum):
    """What a chunk proposes a phrase as, by its kind; the numbers are stored."""

    TITLE = SUBJECT = 0
    GIVEN = 1
    NAME = TERM = 2  # a name, a code, or several words
    OPENER = MENTION = 3  # a word that only opens sentences, or occurs once
    CAPITAL = 4  # a single word with a capital
    NOUN = 5


#: Mentions that a proposal justifies, by :class:`ProposedAs`; a phrase with more mentions is
#: incidental. So one in four mentions must propose a name, and every mention an opener.
WORTH = (TITLE_WORTH, 0, 4, 1, CAPITAL_WORTH, 3)


class Prepared(NamedTuple):
    """A chunk ready to be written."""

    chunk: Chunk
    tokens: str  # of its title and its text, as lines
    words: Counter[str]
    length: int
    proposed: list[tuple[str, ProposedAs]]  # keys of phrases; one may be proposed as two things
    tagged: tuple[str, ...] | None = None  # by a tagger, if one was asked
    vector: Float32Array | None = None  # of unit length


def prepare(chunk: Chunk, tagged: Iterable[str] | None, settings: Settings) -> Prepared:
    """Read one chunk; raise InvalidChunkError if its metadata are no edges."""
    list(edge_keys(chunk, settings.edges))
    text = searched_text(chunk.text, chunk.metadata, settings.search_metadata)
    tokens = tokenize_texts(chunk.title, text)
    both = f"{chunk.title}\n\n{text}"
    spoken = languages_of(chain.from_iterable(tokens), both)
    given = [*chunk.tags, *(tagged or ())]
    words, length = text_words(tokens, both, settings.language, spoken, given)
    by_kind = proposals(text, chunk.title, given, spoken)
    for kind, keys in zip(("title", "given"), named_by_links(chunk), strict=True):
        by_kind.setdefault(kind, []).extend(keys)
    proposed = [
        (key, ProposedAs[kind.upper()])
        for kind, keys in by_kind.items()
        for key in dict.fromkeys(keys)
    ]
    kept = None if tagged is None else tuple(dict.fromkeys(tagged))
    return Prepared(chunk, join_tokens(tokens), words, length, proposed, kept)
