"""Test helpers and suites for your own strategies, stores and adapters."""
