"""``python -m hebbgraph``: the command line."""

from hebbgraph.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
