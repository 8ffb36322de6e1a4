"""Formulas as pure functions on arrays; each says where it comes from."""
