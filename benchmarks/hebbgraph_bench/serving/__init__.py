"""Overhead of serving, many clients at once, and the time of views on a large index.

::

    python -m hebbgraph_bench.serving overhead SET…                       # served against local
    python -m hebbgraph_bench.serving clients SET… --seconds 300          # 50 clients, while adding
    python -m hebbgraph_bench.serving views SET… --chunks 1000000 --keep DIR

The server runs in its own process, like ``hebbgraph serve``, but without the limit of requests.

- **overhead**: each question goes to the index in this process and to the server over it, in turns;
  the figure is the median of the differences. *CPU* is the processor time of both processes, which
  others on the machine disturb less.
- **clients**: threads of this process ask without a pause, and teach every twentieth time; one more
  adds 100 chunks at a time. The lag of the server's event loop is from its metrics.
- **views**: the requests of the page, on recombined chunks (:mod:`.scale`), with some lessons. The
  time is the server's own, from its metrics.
"""
