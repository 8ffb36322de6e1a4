"""A client of ``hebbgraph serve``."""
