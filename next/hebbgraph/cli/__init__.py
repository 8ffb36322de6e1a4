"""The command line: ``commands``; which ``files`` it reads; how it prints."""

from hebbgraph.cli.commands import app, main

__all__ = ["app", "main"]
