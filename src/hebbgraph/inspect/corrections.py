"""Check a correction of tags and commit it."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterable
from typing import get_args

import numpy as np

from hebbgraph.errors import NotFoundError, ParameterError
from hebbgraph.formulas.adjacency import LinkKind
from hebbgraph.graph.tag_graph import TagGraph
from hebbgraph.limits import MAX_CORRECTIONS, MAX_ID, MAX_SPLIT, MAX_TAGS
from hebbgraph.namespace import Namespace
from hebbgraph.records import CorrectionKind, TagCorrection
from hebbgraph.text import display, phrase_key

__all__ = ["correct_tags", "is_tag", "undo_tag_correction"]


def correct_tags(
    namespace: Namespace,
    kind: CorrectionKind,
    tags: str | Iterable[str],
    *,
    into: str | None,
    chunks: Iterable[str] | None,
    actor: str | None,
) -> TagCorrection:
    """See ``index.tags.correct``."""
    if kind not in get_args(CorrectionKind):
        raise ParameterError(f"kind is one of {', '.join(get_args(CorrectionKind))}, got {kind!r}")
    if actor is not None and not (
        isinstance(actor, str) and 0 < len(actor) <= MAX_ID and actor.isprintable()
    ):
        raise ParameterError(f"an actor is a printable str of 1 to {MAX_ID}, got {actor!r:.80}")
    names = _as_list("tags", tags)
    if not names or len(names) > MAX_TAGS:
        raise ParameterError(f"{kind} takes 1 to {MAX_TAGS} tags, got {len(names)}")
    if len(names) > 1 and kind in ("rename", "split"):
        raise ParameterError(f"{kind} takes one tag, got {len(names)}")
    keys = tuple(dict.fromkeys(_key(tag) for tag in names))
    if (into is None) != (kind == "mute"):
        rule = "takes no into" if kind == "mute" else "needs into, the tag in their place"
        raise ParameterError(f"{kind} {rule}; got into={into!r}")
    target = None if into is None else _key(into)
    ids = _split_ids(kind, chunks)
    if len(namespace.truth.corrections.all()) >= MAX_CORRECTIONS:
        raise ParameterError(
            f"{MAX_CORRECTIONS} corrections are in force, which is the most; undo some"
        )
    with namespace.reading():
        _check_tags(namespace.derived.graph, kind, keys, target)
    if kind == "split" and (unknown := set(ids) - namespace.truth.rows_of(ids).keys()):
        raise NotFoundError(f"the index holds no chunk {min(unknown)!r}")
    correction = TagCorrection(
        id=uuid.uuid4().hex,
        kind=kind,
        tags=keys,
        into=target,
        chunks=ids,
        actor=actor,
        created_at=time.time(),
    )
    namespace.truth.corrections.append(correction)
    namespace.bring_up_to_date()
    return correction


def undo_tag_correction(namespace: Namespace, correction: TagCorrection | str) -> bool:
    """See ``index.tags.undo``."""
    id_ = correction.id if isinstance(correction, TagCorrection) else correction
    if not isinstance(id_, str):
        raise ParameterError(f"undo takes a TagCorrection or its id, got {correction!r:.80}")
    undone = namespace.truth.corrections.remove(id_)
    if undone:
        namespace.bring_up_to_date()
    return undone


def _as_list(what: str, values: str | Iterable[str]) -> list[str]:
    if not isinstance(values, Iterable):
        raise ParameterError(f"{what} is a str or an iterable of str, got {values!r:.80}")
    return [values] if isinstance(values, str) else list(values)


def _key(tag: str) -> str:
    if not isinstance(tag, str):
        raise ParameterError(f"a tag is a str, got {type(tag).__name__}")
    key = phrase_key(tag)
    if not key:
        raise ParameterError(
            f"{tag!r:.80} cannot be a tag: it takes a word of two letters or more, and at most "
            "12 words"
        )
    return key


def _split_ids(kind: CorrectionKind, chunks: Iterable[str] | None) -> tuple[str, ...]:
    names = [] if chunks is None else _as_list("chunks", chunks)
    if not all(isinstance(name, str) for name in names):
        raise ParameterError("chunks are ids")
    ids = tuple(dict.fromkeys(names))
    if bool(ids) != (kind == "split"):
        rule = "needs chunks, those that get the new tag" if not ids else "takes no chunks"
        raise ParameterError(f"{kind} {rule}")
    if len(ids) > MAX_SPLIT:
        raise ParameterError(f"a split names at most {MAX_SPLIT} chunks, got {len(ids)}")
    return ids


def _check_tags(
    graph: TagGraph, kind: CorrectionKind, keys: tuple[str, ...], into: str | None
) -> None:
    """Raise unless these are tags, and the new name of a tag is none yet."""
    tags = {
        key
        for key in {*keys, into or keys[0]}
        if (number := graph.phrases.number(key)) is not None and is_tag(graph, number)
    }
    for key in keys:
        if key not in tags:
            raise NotFoundError(
                f"no chunk holds the tag {display(key)!r}; hebbgraph tags show lists them"
            )
    if kind == "rename" and into in tags and into not in keys:
        raise ParameterError(
            f"{display(into)!r} is a tag already; merge {display(keys[0])!r} into it instead"
        )
    if into is not None and keys == (into,):
        raise ParameterError(f"{display(into)!r} would stay as it is")


def is_tag(graph: TagGraph, number: int) -> bool:
    """Return whether a phrase is a tag of some chunk, not an address or the like."""
    tag = np.array([number])
    return bool(graph.df(tag)[0] > 0 and graph.link_kinds(tag)[0] == LinkKind.PHRASE)
