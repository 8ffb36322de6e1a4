"""Proof: every figure of docs/proof.md, from the shared sets and PyPI alone.

``stages`` runs what is not there yet and keeps one JSON each; ``plan`` lists the stages;
``models`` fetches models, ``sets`` takes titles away or shuffles them; ``retrieval``, ``rivals``,
``use``, ``poisoning`` and ``answers`` measure; ``page`` writes the tables. Run it with
``make proof``, or ``python -m hebbgraph_bench.proof --help``.

Nothing was chosen by the published sets.
"""
