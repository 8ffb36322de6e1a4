"""The experiments of three papers: ``hebbgraph bench --paper {bambookg,bio_rag,nakg} [SET …]``."""
