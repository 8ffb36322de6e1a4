"""Speed and size on many chunks, made by recombining the sentences of evaluation sets.

Measured in one process, on one disk:

- **indexing**: UTF-8 text over the time of one ``add`` without embedding, in wall and processor
  time (all threads together), and over its first and last tenth of writing. For comparison:
  Tantivy alone, in one thread with English stemming. ``sum(range(100))`` shows how fast the
  machine was.
- **recall**: time of one ``recall`` per question without embedding. For comparison, in turns in
  the same run: Tantivy's own search of the same terms for as many hits, and the time inside
  spreading. *CPU* is the processor time of the calling thread, which other processes on the
  machine disturb less.
- **reopening**: ``open`` and the first recall, after a ``close``.
- **resident memory**: allocations of a fresh process that opens the index and asks all questions;
  mapped files belong to the page cache.
- **changes**: adding 1,000 chunks (matching older chunks with new phrases is reported apart),
  learning, deleting, compacting, and the longest recall during compaction.

:mod:`.walks` compares spreading with PageRank on the same graph.
"""

from hebbgraph_bench.scale.corpus import ClusteredEmbedder, Population, Recombined
from hebbgraph_bench.scale.measure import measure_scale
from hebbgraph_bench.scale.report import ScaleResult, grid

__all__ = ["ClusteredEmbedder", "Population", "Recombined", "ScaleResult", "grid", "measure_scale"]
