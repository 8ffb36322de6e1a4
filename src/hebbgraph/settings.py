"""Settings, by what changing them costs.

Build settings are saved with the index: opening it with others is an error that says what
to do. Everything else is free at each open.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from hebbgraph.errors import ParameterError

__all__ = ["Language", "Settings"]

Language = Literal[
    "none", "arabic", "armenian", "basque", "catalan", "danish", "dutch", "english", "estonian",
    "finnish", "french", "german", "greek", "hindi", "hungarian", "indonesian", "irish",
    "italian", "lithuanian", "nepali", "norwegian", "portuguese", "romanian", "russian",
    "serbian", "spanish", "swedish", "tamil", "turkish", "yiddish",
]  # fmt: skip


class Settings(BaseModel):
    """How an index is built, kept and read.

    Parameters
    ----------
    language : str
        Build setting. The Snowball stemmer for words in Latin script; words in other
        scripts get their own. ``"none"`` switches stemming off.
    vector_dtype : {"float16", "float32"}
        How vectors are kept in the database; half precision takes half the space and
        costs about 1e-3 of a cosine. Settled by the first vector.
    vector_search : {"exact", "usearch"}
        How the nearest vectors are found; ``"usearch"`` (an extra) is approximate and
        pays from some 50,000 chunks on.
    batch_size : int, in [1, 100000]
        Chunks that ``add`` commits at once.
    write_wait_seconds : float, at least 0
        How long a writer waits for another one before it gives up.
    keep_recalls : int, at least 0
        How many recalls are kept to be found by id, for late feedback; 0 keeps none.

    Examples
    --------
    >>> Settings(language="german").language
    'german'
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    language: Language = "english"
    vector_dtype: Literal["float16", "float32"] = "float16"
    vector_search: Literal["exact", "usearch"] = "exact"
    batch_size: int = Field(default=1000, ge=1, le=100_000)
    write_wait_seconds: float = Field(default=30.0, ge=0.0)
    keep_recalls: int = Field(default=10_000, ge=0)

    def __init__(self, **values: Any) -> None:
        try:
            super().__init__(**values)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            field = ".".join(str(part) for part in first["loc"])
            raise ParameterError(
                f"settings: {field}: {first['msg']}, got {first['input']!r}"
            ) from error

    def build(self) -> dict[str, Any]:
        """Return the settings that are saved with the index."""
        return {"language": self.language}
