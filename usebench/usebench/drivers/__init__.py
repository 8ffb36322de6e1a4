"""Retrievers that pass feedback over, and other people's memories."""
