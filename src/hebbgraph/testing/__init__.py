"""What tests of a user's own strategies, stores and adapters can build on."""
