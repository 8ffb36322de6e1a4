"""Feedback, read through corrections to tags: what was learned about a tag follows it."""

from __future__ import annotations

from collections.abc import Sequence

from hebbgraph.graph.corrections import corrected_phrases
from hebbgraph.records import Cue, Feedback, TagCorrection
from hebbgraph.store.feedback_rows import phrases_of

__all__ = ["corrected_feedback"]


def corrected_feedback(feedback: Feedback, corrections: Sequence[TagCorrection]) -> Feedback:
    """Return a feedback as if the tags had been corrected when it was given.

    A cue that was merged teaches about the tag in its place, a muted one nothing; a path over a
    muted tag is left out. Splits change nothing: which part a question meant is not known.

    Examples
    --------
    >>> cues = (Cue(tag="nyc", weight=2.0), Cue(tag="ferry", weight=1.0))
    >>> merged = TagCorrection(id="1", kind="merge", tags=("nyc",), into="new york")
    >>> feedback = Feedback(id="f", namespace="n", recall_id="r", cues=cues)
    >>> [cue.tag for cue in corrected_feedback(feedback, [merged]).cues]
    ['new york', 'ferry']
    """
    phrases = set(phrases_of(feedback))
    now = corrected_phrases(phrases, corrections)
    if all(now[phrase] == phrase for phrase in phrases):
        return feedback
    cues: dict[str, Cue] = {}
    for cue in feedback.cues:
        tag = now[cue.tag]
        if tag is not None and (tag not in cues or cues[tag].weight < cue.weight):
            cues[tag] = cue.model_copy(update={"tag": tag})
    paths = []
    for path in feedback.paths:
        values = [now[step.value] if step.kind == "tag" else step.value for step in path]
        if None not in values:
            paths.append(
                tuple(
                    step.model_copy(update={"value": value})
                    for step, value in zip(path, values, strict=True)
                )
            )
    return feedback.model_copy(update={"cues": tuple(cues.values()), "paths": tuple(paths)})
