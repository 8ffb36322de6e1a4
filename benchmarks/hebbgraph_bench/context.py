"""The text that a model reads for a ranking."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from hebbgraph.records import Chunk

from hebbgraph_bench import metrics
from hebbgraph_bench.baselines import passage_text
from hebbgraph_bench.datasets import Query

__all__ = ["Context"]


class Context:
    """Chunks as a model would read them: title and text.

    Parameters
    ----------
    chunks : sequence of Chunk

    Attributes
    ----------
    texts : dict of chunk id to str
    tokens : dict of chunk id to int
    megabytes : float
        UTF-8 text of all chunks; 1 MB is 10**6 bytes.
    """

    def __init__(self, chunks: Sequence[Chunk]) -> None:
        self.texts = {chunk.id: passage_text(chunk) for chunk in chunks}
        self.tokens = {
            chunk_id: metrics.context_tokens([text]) for chunk_id, text in self.texts.items()
        }
        self.megabytes = sum(len(text.encode()) for text in self.texts.values()) / 1e6

    def count_tokens(self, ranked: Sequence[str]) -> int:
        """Count the tokens of these chunks together."""
        return sum(self.tokens[chunk_id] for chunk_id in ranked)

    def holds_answer(self, query: Query, ranked: Sequence[str]) -> float:
        """1 if an answer is in these chunks, 0 if not, NaN without a checkable answer."""
        findable = [
            answer
            for answer in query.answers
            if metrics.normalize_answer(answer) not in ("", "yes", "no", "noanswer")
        ]
        if not findable:
            return float("nan")
        return metrics.answer_in_context(findable, (self.texts[chunk_id] for chunk_id in ranked))

    def enough_for(self, tokens: int) -> int:
        """Return a number of chunks whose shortest already exceed ``tokens`` together."""
        filled = np.cumsum(sorted(self.tokens.values()))
        return max(1, min(int(np.searchsorted(filled, tokens, side="right")) + 1, len(filled)))

    def fitting(self, ranked: Sequence[str], tokens: int) -> Sequence[str]:
        """Return the longest prefix of ``ranked`` within ``tokens``."""
        filled = np.cumsum([self.tokens[chunk_id] for chunk_id in ranked])
        return ranked[: int(np.searchsorted(filled, tokens, side="right"))]
