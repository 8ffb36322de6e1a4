"""What serving adds to a recall, what it bears, and how long its views take on a large index.

::

    python -m hebbgraph_bench.serving overhead SET…                       # served against local
    python -m hebbgraph_bench.serving clients SET… --seconds 300          # 50 clients, while adding
    python -m hebbgraph_bench.serving views SET… --chunks 1000000 --keep DIR

The server is a process of its own, as ``hebbgraph serve`` runs it, but for the limit of requests.

- **overhead**: each question is asked of the index in this process and of the server over it, in
  turns; the median of the differences. *CPU* is what both processes take for it, which others on
  the machine disturb less.
- **clients**: threads of this process ask, and every twentieth time teach, without a pause; one
  more adds 100 chunks at a time. How late the server's event loop wakes up is from its metrics.
- **views**: what the page asks for, on recombined chunks (:mod:`.scale`), some of them taught. The
  time is the server's own, from its metrics.
"""
