"""Pass 2: find every known phrase in a text."""

from __future__ import annotations

from collections.abc import Iterator

__all__ = ["PhraseMatcher"]

# A phrase that no longer phrase extends is its bare id; otherwise a node, which keeps
# its own id, if any, under the empty string (no token is empty).
_Node = dict[str, "int | _Node"]
_OWN = ""


class PhraseMatcher:
    """The current vocabulary, and the search for its phrases in tokens.

    A trie over tokens, made of dictionaries and the smallest that will do: one entry a
    phrase, and one dictionary for each beginning that several words follow or that is
    longer than a word. Walking it needs no string to be built, so it takes less than
    half the time of looking up joined tokens by the lengths that a first token allows;
    and phrases come and go in constant time, which an automaton over characters does
    not allow. What is found depends on the phrases held alone, never on how they came.

    Examples
    --------
    >>> matcher = PhraseMatcher()
    >>> matcher.add("new york", 1)
    >>> matcher.add("new york times", 2)
    >>> matcher.match("the new york times of new york".split())
    [2, 1]
    """

    def __init__(self) -> None:
        self._root: _Node = {}
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def __contains__(self, key: str) -> bool:
        return self.get(key) is not None

    def __iter__(self) -> Iterator[str]:
        stack: list[tuple[str, _Node]] = [("", self._root)]
        while stack:
            prefix, node = stack.pop()
            for token, child in node.items():
                key = f"{prefix} {token}" if prefix and token else prefix or token
                if isinstance(child, int):
                    yield key
                else:
                    stack.append((key, child))

    def get(self, key: str) -> int | None:
        """Return the id of the phrase with this key, or None."""
        node: int | _Node | None = self._root
        for token in key.split(" "):
            if node is None or isinstance(node, int):
                return None
            node = node.get(token)
        if isinstance(node, dict):
            node = node.get(_OWN)
        return node if isinstance(node, int) else None

    def add(self, key: str, phrase_id: int) -> None:
        """Add a phrase; the id of one that is already there is replaced.

        Parameters
        ----------
        key : str
            From :func:`hebbgraph.text.tokens.phrase_key`, not empty.
        phrase_id : int
            What :meth:`match` returns for it.
        """
        node = self._root
        *parents, last = key.split(" ")
        for token in parents:
            child = node.get(token)
            if not isinstance(child, dict):
                child = {} if child is None else {_OWN: child}
                node[token] = child
            node = child
        held = node.get(last)
        if isinstance(held, dict):
            node, last = held, _OWN
            held = node.get(_OWN)
        self._size += held is None
        node[last] = phrase_id

    def discard(self, key: str) -> None:
        """Remove a phrase, if it is there."""
        path: list[tuple[_Node, str]] = []
        node: int | _Node | None = self._root
        for token in key.split(" "):
            if node is None or isinstance(node, int):
                return
            path.append((node, token))
            node = node.get(token)
        if isinstance(node, dict):
            path.append((node, _OWN))
            node = node.get(_OWN)
        if node is None:
            return
        self._size -= 1
        # Back to the smallest form, which the phrases that are left would have made.
        while path:
            parent, token = path.pop()
            del parent[token]
            if not path:
                return
            above, name = path[-1]
            own = parent.get(_OWN)
            if len(parent) == 1 and isinstance(own, int):
                above[name] = own
                return
            if parent:
                return

    def spans(self, tokens: list[str]) -> list[tuple[int, int, int]]:
        """Find the known phrases, leftmost first, the longest at each place, disjoint.

        Parameters
        ----------
        tokens : list of str
            From :func:`hebbgraph.text.tokens.tokenize`.

        Returns
        -------
        list of (int, int, int)
            Start, stop and phrase id, in order; ``tokens[start:stop]`` is the phrase.
        """
        found: list[tuple[int, int, int]] = []
        size = len(tokens)
        taken = 0  # tokens before this belong to a phrase
        # Most tokens open no phrase: they are sorted out before any Python code runs.
        for start, node in enumerate(map(self._root.get, tokens)):
            if node is None or start < taken:
                continue
            if isinstance(node, int):
                taken = start + 1
                found.append((start, taken, node))
                continue
            best = node.get(_OWN)
            stop = best_stop = start + 1
            while stop < size:
                child = node.get(tokens[stop])
                if child is None:
                    break
                stop += 1
                if isinstance(child, int):
                    best, best_stop = child, stop
                    break
                node = child
                if (own := node.get(_OWN)) is not None:
                    best, best_stop = own, stop
            if isinstance(best, int):
                taken = best_stop
                found.append((start, taken, best))
        return found

    def match(self, tokens: list[str]) -> list[int]:
        """Return the ids of the known phrases in the order of :meth:`spans`.

        Duplicates are kept: a phrase that occurs twice is listed twice.
        """
        return [phrase_id for _, _, phrase_id in self.spans(tokens)]
