"""An oracle for phrase matching: a token trie in plain dictionaries.

The product matches phrases with :class:`hebbgraph.graph.phrases.PhraseTable`, in arrays
and many texts at once. This matcher does the same one text at a time; tests hold the two
against each other, and the PageRank baseline of the benchmarks uses it.
"""

from __future__ import annotations

from collections.abc import Iterator

__all__ = ["PhraseMatcher"]

# A leaf is a bare phrase id. An inner node keeps the id of the phrase that ends there, if
# any, under the empty string (no token is empty).
_Node = dict[str, "int | _Node"]
_OWN = ""


class PhraseMatcher:
    """Finds the leftmost longest phrases of a vocabulary in a list of tokens.

    A trie over tokens in nested dictionaries. Phrases are added and discarded in time
    independent of the vocabulary, which an Aho-Corasick automaton does not allow.
    The trie depends only on the phrases it holds, never on the history of changes.

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
        """Add a phrase, or replace the id of an existing one.

        Parameters
        ----------
        key : str
            From :func:`hebbgraph.text.tokens.phrase_key`, not empty.
        phrase_id : int
            Id that :meth:`match` returns.
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
        """Remove a phrase, if present."""
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
        # Prune, so that the trie is the one that the remaining phrases would build.
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
        """Find phrases from left to right, the longest at each position, without overlap.

        Parameters
        ----------
        tokens : list of str
            From :func:`hebbgraph.text.tokens.tokenize`.

        Returns
        -------
        list of (int, int, int)
            Start, stop and phrase id, in order; the phrase is ``tokens[start:stop]``.
        """
        found: list[tuple[int, int, int]] = []
        size = len(tokens)
        taken = 0  # tokens before this position are consumed
        # Most tokens begin no phrase; map() rejects them without running Python code.
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
        """Return the phrase ids in the order of :meth:`spans`, duplicates included."""
        return [phrase_id for _, _, phrase_id in self.spans(tokens)]
