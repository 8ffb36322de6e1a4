"""``python -m hebbgraph``: the command line."""

from hebbgraph.cli import main

main()
