"""Which prompts go on where an earlier one ended: the turns of an agent with a memory."""

from __future__ import annotations

import hashlib
import threading
import uuid
from collections import OrderedDict
from collections.abc import Iterator, Sequence

__all__ = ["Talks"]

#: Talks remembered; the one that was quiet longest is forgotten first.
_MAX_TALKS = 256
#: A shorter prompt is none that could be gone on from: a question and what was found.
_FEWEST = 2


class Talks:
    """Recognises a talk by what was said in it.

    An agent's memory, or its context, hands a model the messages of earlier turns again, with
    the sources found then; so the prompt of the last turn is how the next one begins.

    Examples
    --------
    >>> talks = Talks()
    >>> turn = ["Cite your sources.", "Who built the Petrel?", "[k7] Ida Moss built the Petrel."]
    >>> talk = talks.note(turn)
    >>> talks.of([*turn, "Ida Moss [k7].", "When?"]) == talk, talks.of(["Cite.", "Who?", "[k7]"])
    (True, None)
    """

    def __init__(self) -> None:
        self._ended: OrderedDict[bytes, str] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, messages: Sequence[str]) -> str | None:
        """Return the talk that these messages go on with, if there is one."""
        if not self._ended:
            return None
        with self._lock:
            known = [self._ended[mark] for mark in _marks(messages) if mark in self._ended]
        return known[-1] if known else None

    def note(self, messages: Sequence[str], talk: str | None = None) -> str:
        """Remember where a turn ended; return its talk, a new one if none is given."""
        talk = talk or f"talk-{uuid.uuid4()}"
        marks = list(_marks(messages))
        with self._lock:
            if marks:
                self._ended[marks[-1]] = talk
                self._ended.move_to_end(marks[-1])
            while len(self._ended) > _MAX_TALKS:
                self._ended.popitem(last=False)
        return talk


def _marks(messages: Sequence[str]) -> Iterator[bytes]:
    """Yield a digest of each beginning that is long enough, the shortest first."""
    digest = hashlib.sha256()
    for count, message in enumerate(messages, 1):
        digest.update(hashlib.sha256(message.encode("utf-8", "replace")).digest())
        if count >= _FEWEST:
            yield digest.copy().digest()
