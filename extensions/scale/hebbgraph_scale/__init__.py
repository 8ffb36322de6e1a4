"""hebbgraph on more than one core, among many vectors, and in PostgreSQL.

Installed with ``pip install "hebbgraph[scale]"``.

================  =======================================================================
``build``         an index by many workers: processes, or a cluster of Ray
``commands``      ``hebbgraph build``
``ivf``           ``Settings(vector_search="ivf")``: approximate, from inverted lists
``quantized``     ``Settings(vector_search="quantized")``: exact, from eight-bit codes
``postgresql``    an index at ``postgresql+psycopg://...``
``directions``    the principal directions that both searches turn vectors onto
================  =======================================================================

hebbgraph loads these by name, as entry points; nothing here has to be imported.
"""
