"""The vectors of a namespace, and the ways to search them."""
