"""Read evaluation sets of every layout into one record."""

from __future__ import annotations

from pathlib import Path

from hebbgraph.errors import DatasetError

from hebbgraph_bench.datasets.folders import read_beir_folder, read_own_folder
from hebbgraph_bench.datasets.published import read_hotpot_file, read_musique_file
from hebbgraph_bench.datasets.records import Dataset, Extraction, Query, Variant

__all__ = ["Dataset", "Extraction", "Query", "Variant", "load"]

_LAYOUTS = (
    "a folder with corpus.jsonl and queries.jsonl (BEIR's when it also has qrels/),"
    " a HotpotQA or 2WikiMultiHopQA .json, or a MuSiQue .jsonl"
)


def load(
    path: str | Path, *, seed: int = 0, queries: int | None = None, split: str | None = None
) -> Dataset:
    """Read an evaluation set; its files determine the layout.

    Parameters
    ----------
    path : str or Path
        A folder with ``corpus.jsonl`` and ``queries.jsonl`` (BEIR's when it also has
        ``qrels/``), a HotpotQA or 2WikiMultiHopQA ``.json``, or a MuSiQue ``.jsonl``.
    seed : int
        Seeds the order of the corpus (the published order leaks answers) and the sample of
        questions.
    queries : int, optional
        Sample at most this many questions; the corpus stays whole.
    split : str, optional
        BEIR only: the file in ``qrels`` to judge by; ``test`` by default.

    Returns
    -------
    Dataset

    Raises
    ------
    DatasetError
        With the file, the line and what was expected there.
    """
    source = Path(path)
    if source.is_dir():
        for name in ("corpus.jsonl", "queries.jsonl"):
            if not (source / name).is_file():
                raise DatasetError(f"{source}: expected {name} in it; a set is {_LAYOUTS}")
        beir = (source / "qrels").is_dir()
        dataset = read_beir_folder(source, split) if beir else read_own_folder(source)
    elif not source.exists():
        raise DatasetError(f"{source}: does not exist; a set is {_LAYOUTS}")
    elif source.suffix == ".json":
        dataset = read_hotpot_file(source)
    elif source.suffix == ".jsonl":
        dataset = read_musique_file(source)
    else:
        raise DatasetError(f"{source}: expected a folder, .json or .jsonl; a set is {_LAYOUTS}")
    if not dataset.queries:
        reasons = (
            ", ".join(f"{n} {reason}" for reason, n in dataset.skipped.items()) or "none there"
        )
        raise DatasetError(
            f"{source}: expected at least one question that can be judged ({reasons})"
        )
    dataset = dataset.shuffled(seed=seed)
    return dataset if queries is None else dataset.sampled(queries, seed=seed)
