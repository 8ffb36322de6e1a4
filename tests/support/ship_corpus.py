"""A little corpus with facts that take two documents."""

from __future__ import annotations

from hebbgraph import Chunk

__all__ = ["CORPUS"]

CORPUS = [
    Chunk(
        id="petrel",
        title="Petrel (schooner)",
        text="The Petrel was a schooner built by Ida Moss for the ice trade.",
        metadata={"kind": "ship", "year": 1871, "flags": ["wood", "sail"]},
        document_id="ships",
    ),
    Chunk(
        id="heron",
        title="Heron (barque)",
        text="The Heron carried slate until Ida Moss sold it to Corin Vale.",
        metadata={"kind": "ship", "year": 1880, "flags": ["iron"]},
        document_id="ships",
    ),
    Chunk(
        id="moss",
        title="Ida Moss",
        text="Ida Moss was born in Tessel Bay and learned her craft from Corin Vale.",
        metadata={"kind": "person", "born": {"year": 1840, "place": "Tessel Bay"}},
        document_id="people",
    ),
    Chunk(
        id="vale",
        title="Corin Vale",
        text="Corin Vale kept the yard at Gannet Point and wrote about knots.",
        metadata={"kind": "person", "born": {"year": 1811, "place": "Gannet Point"}},
        document_id="people",
    ),
    Chunk(
        id="bay",
        title="Tessel Bay",
        text="Tessel Bay freezes in winter; its lighthouse burned in 1902.",
        metadata={"kind": "place", "draft": True},
        document_id="places",
    ),
    Chunk(
        id="point",
        title="Gannet Point",
        text="Gannet Point is a headland with a yard, a chapel and no road.",
        metadata={"kind": "place", "draft": False},
        document_id="places",
    ),
    Chunk(
        id="knots",
        text="A bowline holds under load and unties when the load is gone.",
        metadata={"kind": "note", "year": None},
    ),
    Chunk(id="bare", text="Slate splits along its cleavage when it is dry."),
]
