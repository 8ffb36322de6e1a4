"""The version, of which results keep a note."""

__version__ = "0.2.0"
