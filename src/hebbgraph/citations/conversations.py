"""The recalls of earlier turns in a conversation, which a later answer may cite."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Collection, Sequence

from hebbgraph.citations.credit import Recalled, namespace_of, pool_of

__all__ = ["MAX_CONVERSATIONS", "MAX_RECALLS", "Conversations"]

#: Conversations remembered; the one that was quiet longest is forgotten first.
MAX_CONVERSATIONS = 256
#: Recalls remembered of each, the latest.
MAX_RECALLS = 8


class Conversations:
    """The latest recalls of each conversation, bounded. Thread-safe.

    Examples
    --------
    >>> from hebbgraph import Recall
    >>> recall = Recall(id="r1", namespace="", strategy="", query="Who built it?")
    >>> conversations = Conversations()
    >>> conversations.note("thread-1", [Recalled(None, recall)])
    >>> [one.recall.id for one in conversations.earlier("thread-1")]
    ['r1']
    """

    def __init__(self) -> None:
        self._recalls: OrderedDict[tuple[str, str], list[Recalled]] = OrderedDict()
        self._lock = threading.RLock()

    def __len__(self) -> int:
        return len(self._recalls)

    def note(self, conversation: str, recalls: Sequence[Recalled]) -> None:
        """Remember the recalls of a turn, oldest first. Known ones keep their place.

        Tenants of a pool have conversations of their own, whatever these are called.
        """
        with self._lock:
            for one in recalls:
                held = self._recalls.setdefault((conversation, _tenant(one)), [])
                if all(one.recall.id != other.recall.id for other in held):
                    held.append(one)
                    del held[:-MAX_RECALLS]
                self._recalls.move_to_end((conversation, _tenant(one)))
            while len(self._recalls) > MAX_CONVERSATIONS:
                self._recalls.popitem(last=False)

    def earlier(
        self,
        conversation: str,
        *,
        but: Sequence[Recalled] = (),
        namespaces: Collection[str] | None = None,
    ) -> list[Recalled]:
        """Return the remembered recalls, oldest first, except those of the present turn.

        Parameters
        ----------
        conversation : str
        but : sequence of Recalled
            Those of the present turn.
        namespaces : collection of str, optional
            Those that the turn is about. Left out, no tenant's of a pool.
        """
        own = {one.recall.id for one in but}
        with self._lock:
            held = [
                one
                for (name, tenant), recalls in self._recalls.items()
                if name == conversation
                for one in recalls
                if (not tenant if namespaces is None else namespace_of(one.index) in namespaces)
            ]
        return [one for one in held if one.recall.id not in own]


def _tenant(recalled: Recalled) -> str:
    return "" if pool_of(recalled.index) is None else namespace_of(recalled.index)
