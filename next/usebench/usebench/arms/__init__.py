"""Simple ways to learn from citations, each in a few lines: what a clever one has to beat."""
