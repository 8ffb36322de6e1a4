"""Recognises which prompts continue an earlier one: the turns of an agent with a memory."""

from __future__ import annotations

import hashlib
import threading
import uuid
from collections import OrderedDict
from collections.abc import Iterator, Sequence

__all__ = ["PromptHistory"]

#: Conversations remembered, those used last.
_MAX_CONVERSATIONS = 256
#: Fewest messages of a prompt to continue: a question and its sources.
_MIN_MESSAGES = 2


class PromptHistory:
    """Recognises a conversation by the messages of its prompts.

    An agent's memory, or its context, gives a model the messages of earlier turns again, with
    their sources. So the next prompt starts with the whole prompt of the last turn.

    Examples
    --------
    >>> history = PromptHistory()
    >>> turn = ["Cite your sources.", "Who built the Petrel?", "[k7] Ida Moss built the Petrel."]
    >>> conversation = history.note(turn)
    >>> history.find([*turn, "Ida Moss [k7].", "When?"]) == conversation
    True
    >>> history.find(["Cite.", "Who?"]) is None
    True
    """

    def __init__(self) -> None:
        self._by_digest: OrderedDict[bytes, str] = OrderedDict()
        self._lock = threading.Lock()

    def find(self, messages: Sequence[str]) -> str | None:
        """Return the conversation that these messages continue, if there is one."""
        if not self._by_digest:
            return None
        with self._lock:
            known = [self._by_digest.get(digest) for digest in _prefix_digests(messages)]
        return next((name for name in reversed(known) if name is not None), None)

    def note(self, messages: Sequence[str], conversation: str | None = None) -> str:
        """Remember the prompt of a turn; return its conversation, a new one if none is given."""
        conversation = conversation or f"talk-{uuid.uuid4()}"
        digests = list(_prefix_digests(messages))
        with self._lock:
            if digests:
                self._by_digest[digests[-1]] = conversation
                self._by_digest.move_to_end(digests[-1])
            while len(self._by_digest) > _MAX_CONVERSATIONS:
                self._by_digest.popitem(last=False)
        return conversation


def _prefix_digests(messages: Sequence[str]) -> Iterator[bytes]:
    """Yield a digest of each long enough prefix, the shortest first."""
    digest = hashlib.sha256()
    for count, message in enumerate(messages, 1):
        digest.update(hashlib.sha256(message.encode("utf-8", "replace")).digest())
        if count >= _MIN_MESSAGES:
            yield digest.copy().digest()
