"""The truth (a database) and what is derived from it."""
