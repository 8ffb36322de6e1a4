"""Every figure of docs/proof.md, from the shared sets and PyPI alone.

``plan`` lists the stages; ``stages`` runs missing ones and stores one JSON file each; ``models``
fetches models; ``sets`` removes or shuffles titles; ``retrieval``, ``rivals``, ``use``,
``poisoning`` and ``answers`` measure; ``page`` writes the tables. Run it with ``make proof``, or
``python -m hebbgraph_bench.proof --help``.

The published sets were not used to tune anything.
"""
