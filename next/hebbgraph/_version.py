"""The version, read by the build and by ``hebbgraph.__version__``."""

__version__ = "0.1.0"
