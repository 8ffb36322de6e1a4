"""Speed and size on many chunks, made by recombining the sentences of evaluation sets.

What is measured, in one process, on one disk:

- **indexing**: UTF-8 text over the time of one ``add``, embedding left out, by the wall and
  by the processor (all threads together), and of its first and last tenth of writing;
  beside it Tantivy's own, in one thread with English stemming. ``sum(range(100))`` tells
  how fast the machine was.
- **recall**: time of one ``recall`` a question, embedding left out; beside it, in turns in
  the same run, Tantivy's own search of the same terms for as many hits, and the time
  inside spreading alone. *CPU* is the processor time of the calling thread, which other
  processes on the machine disturb less.
- **reopening**: ``open`` and the first recall, after a ``close``.
- **resident memory**: what a fresh process allocates by opening and asking all questions;
  mapped files are the page cache's.
- **changes**: adding 1,000 chunks, matching older chunks with phrases that are new apart;
  learning, deleting, compacting, and the longest recall while that goes on.

:mod:`.walks` compares spreading with PageRank on the same graph.
"""

from hebbgraph_bench.scale.corpus import ClusteredEmbedder, Population, Recombined
from hebbgraph_bench.scale.measure import measure_scale
from hebbgraph_bench.scale.report import ScaleResult, grid

__all__ = ["ClusteredEmbedder", "Population", "Recombined", "ScaleResult", "grid", "measure_scale"]
