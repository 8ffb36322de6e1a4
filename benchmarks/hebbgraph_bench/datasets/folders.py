"""Sets that are a folder: hebbgraph's own layout, and BEIR's.

Own layout::

    corpus.jsonl    {"id", "title", "text", "url"?, "links"?: [url], and any other field, stored as
                     metadata}
    queries.jsonl   {"id", "question", "supporting_ids", "answers"?, "grades"?, "also_ids"?,
                     "type"? (or "hops"), "group"?, "rewording"?, "split"?,
                     "scenario"?, "history"?: [text, or an object of texts]}
    variants.jsonl  {"id", "paraphrase_light"?, "paraphrase_heavy"?, "keywords"?,
                     "follow_up"?, "follow_up_supporting_ids"?}               (optional file)
    tags.jsonl      {"id", "entities"?, "triples"?: [[subject, relation, object]]}  (optional)

BEIR [1]_::

    corpus.jsonl    {"_id", "title", "text", "metadata"?}
    queries.jsonl   {"_id", "text"}
    qrels/SPLIT.tsv query-id <tab> corpus-id <tab> score, below one heading line

References
----------
.. [1] Thakur et al. (2021), BEIR: A Heterogeneous Benchmark for Zero-shot Evaluation of
   Information Retrieval Models, NeurIPS Datasets and Benchmarks.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from hebbgraph.errors import DatasetError
from hebbgraph.records import Chunk

from hebbgraph_bench.datasets.reading import Row, build_chunk, clean, read_json_lines, read_text
from hebbgraph_bench.datasets.records import NAMESPACE, Dataset, Extraction, Query, Variant

__all__ = ["read_beir_folder", "read_own_folder"]

_REWORDINGS = ("paraphrase_light", "paraphrase_heavy", "keywords")


def read_own_folder(folder: Path) -> Dataset:
    """Read a folder in hebbgraph's own layout.

    Questions without a relevant chunk are skipped and counted.
    """
    corpus = _read_corpus(folder / "corpus.jsonl", "id")
    variants = _read_variants(folder / "variants.jsonl", corpus)
    queries: dict[str, Query] = {}
    skipped = 0
    for row in read_json_lines(folder / "queries.jsonl"):
        query_id = row.get_id("id")
        if query_id in queries:
            raise row.fault(f"unique ids, got {query_id!r} again")
        relevant = _read_ids(row, "supporting_ids", corpus) | _read_grades(row, corpus)
        text = row.get_text("question")
        reworded, own_relevant = variants.pop(query_id, ({}, {}))
        relevant = {chunk_id: grade for chunk_id, grade in relevant.items() if grade > 0}
        if not relevant:
            skipped += 1
            continue
        queries[query_id] = Query(
            id=query_id,
            text=text,
            relevant=relevant,
            answers=row.get_texts("answers"),
            type=row.get_text("type", default="") or _hops(row),
            group=row.get_text("group", default="") or None,
            variants={
                name: Variant(words, own_relevant.get(name, relevant))
                for name, words in {**_read_rewording(row), **reworded}.items()
            },
            also=tuple(_read_ids(row, "also_ids", corpus)),
            history=_read_history(row),
            split=row.get_text("split", default="") or None,
            namespace=None if (name := row.fields.get(NAMESPACE)) is None else str(name),
        )
    if variants:
        unknown = next(iter(variants))
        raise DatasetError(
            f"{folder / 'variants.jsonl'}: expected ids of queries.jsonl, got {unknown!r}"
        )
    reasons = {"no relevant chunk": skipped} if skipped else {}
    extractions = _read_extractions(folder / "tags.jsonl", corpus)
    return Dataset(folder.name, _with_text(corpus), tuple(queries.values()), reasons, extractions)


def read_beir_folder(folder: Path, split: str | None = None) -> Dataset:
    """Read a BEIR folder.

    Parameters
    ----------
    folder : Path
        Holds ``corpus.jsonl``, ``queries.jsonl`` and ``qrels``.
    split : str, optional
        The stem of a file in ``qrels``. By default ``test``, or the only file.
        Questions that the split does not judge are skipped and counted.
    """
    corpus = _read_corpus(folder / "corpus.jsonl", "_id")
    texts: dict[str, str] = {}
    for row in read_json_lines(folder / "queries.jsonl"):
        query_id = row.get_id("_id")
        if query_id in texts:
            raise row.fault(f"unique ids, got {query_id!r} again")
        texts[query_id] = row.get_text("text")
    judged = _read_qrels(_choose_split(folder / "qrels", split), texts, corpus)
    queries = tuple(
        Query(id=query_id, text=text, relevant=judged[query_id])
        for query_id, text in texts.items()
        if query_id in judged
    )
    unjudged = len(texts) - len(queries)
    reasons = {"not judged in this split": unjudged} if unjudged else {}
    return Dataset(folder.name, _with_text(corpus), queries, reasons)


def _read_corpus(path: Path, id_field: str) -> dict[str, Chunk]:
    corpus: dict[str, Chunk] = {}
    for row in read_json_lines(path):
        chunk_id = row.get_id(id_field)
        if chunk_id in corpus:
            raise row.fault(f"unique ids, got {chunk_id!r} again")
        extra: dict[str, Any] = {
            key: value
            for key, value in row.fields.items()
            if key not in (id_field, "title", "text", "metadata", "url", "links")
        }
        metadata = row.fields.get("metadata")
        if metadata is not None and not isinstance(metadata, dict):
            raise row.fault(f"an object in 'metadata', got {metadata!r}")
        corpus[chunk_id] = build_chunk(
            row,
            chunk_id,
            row.get_text("title", default=""),
            row.get_text("text"),
            **{**extra, **(metadata or {})},
        )
    if not corpus:
        raise DatasetError(f"{path}:1: expected at least one chunk, got an empty file")
    return corpus


def _with_text(corpus: Mapping[str, Chunk]) -> tuple[Chunk, ...]:
    """Drop chunks without any text, which no index accepts (cranfield has two)."""
    return tuple(chunk for chunk in corpus.values() if chunk.text.strip() or chunk.title.strip())


def _read_ids(row: Row, name: str, corpus: Collection[str]) -> dict[str, int]:
    """Read a list of chunk ids, each with grade 1."""
    ids = row.get_texts(name, required=name == "supporting_ids")
    for chunk_id in ids:
        if chunk_id not in corpus:
            raise row.fault(f"ids of corpus.jsonl in {name!r}, got {chunk_id!r}")
    return dict.fromkeys(ids, 1)


def _read_grades(row: Row, corpus: Collection[str]) -> dict[str, int]:
    grades = row.fields.get("grades")
    if grades is None:
        return {}
    if not isinstance(grades, dict):
        raise row.fault(f"an object of chunk id to grade in 'grades', got {grades!r}")
    for chunk_id, grade in grades.items():
        if chunk_id not in corpus:
            raise row.fault(f"ids of corpus.jsonl in 'grades', got {chunk_id!r}")
        if not isinstance(grade, int) or isinstance(grade, bool):
            raise row.fault(f"an integer grade for {chunk_id!r}, got {grade!r}")
    return grades


def _hops(row: Row) -> str | None:
    hops = row.get_text("hops", default="")
    return f"{hops}-hop" if hops else None


def _read_rewording(row: Row) -> dict[str, str]:
    text = row.get_text("rewording", default="")
    return {"rewording": text} if text.strip() else {}


def _read_history(row: Row) -> tuple[str, ...]:
    """Read earlier turns: a scenario, then turns, each a text or an object of texts."""
    turns = [row.get_text("scenario", default="")]
    for turn in row.get_list("history") if row.fields.get("history") is not None else ():
        texts = list(turn.values()) if isinstance(turn, dict) else [turn]
        if not all(isinstance(text, str) for text in texts):
            raise row.fault(f"texts, or objects of texts, in 'history', got {turn!r}")
        turns.append(" ".join(map(clean, texts)))
    return tuple(turn for turn in turns if turn.strip())


_Reworded = tuple[dict[str, str], dict[str, Mapping[str, int]]]


def _read_variants(path: Path, corpus: Collection[str]) -> dict[str, _Reworded]:
    """Read variants of questions, and the judgements of variants that have their own."""
    variants: dict[str, _Reworded] = {}
    if not path.exists():
        return variants
    for row in read_json_lines(path):
        query_id = row.get_id("id")
        if query_id in variants:
            raise row.fault(f"unique ids, got {query_id!r} again")
        texts = {name: row.get_text(name) for name in _REWORDINGS if name in row.fields}
        relevant: dict[str, Mapping[str, int]] = {}
        if "follow_up" in row.fields:
            texts["follow_up"] = row.get_text("follow_up")
            if follow_up_relevant := _read_ids(row, "follow_up_supporting_ids", corpus):
                relevant["follow_up"] = follow_up_relevant
        variants[query_id] = (texts, relevant)
    return variants


def _read_extractions(path: Path, corpus: Collection[str]) -> dict[str, Extraction]:
    """Read the entities and triples that a model extracted, if the file exists."""
    extractions: dict[str, Extraction] = {}
    if not path.exists():
        return extractions
    for row in read_json_lines(path):
        chunk_id = row.get_id("id")
        if chunk_id not in corpus or chunk_id in extractions:
            raise row.fault(f"each id of corpus.jsonl at most once, got {chunk_id!r}")
        triples = []
        for triple in row.get_list("triples") if "triples" in row.fields else ():
            if not isinstance(triple, list) or not all(isinstance(part, str) for part in triple):
                raise row.fault(f"[subject, relation, object] in 'triples', got {triple!r}")
            if len(triple) == 3:  # HippoRAG skips malformed triples, too
                triples.append((triple[0], triple[1], triple[2]))
        extractions[chunk_id] = Extraction(row.get_texts("entities"), tuple(triples))
    return extractions


def _choose_split(folder: Path, split: str | None) -> Path:
    splits = sorted(path.stem for path in folder.glob("*.tsv"))
    chosen = split or ("test" if "test" in splits or len(splits) != 1 else splits[0])
    if chosen not in splits:
        names = ", ".join(splits) or "no .tsv file"
        raise DatasetError(f"{folder}: expected the split {chosen}.tsv, got {names}")
    return folder / f"{chosen}.tsv"


def _read_qrels(
    path: Path, queries: Collection[str], corpus: Collection[str]
) -> dict[str, dict[str, int]]:
    judged: dict[str, dict[str, int]] = {}
    for number, line in enumerate(read_text(path).splitlines(), 1):
        cells = line.split("\t")
        if not line.strip() or (number == 1 and not cells[-1].strip().lstrip("-").isdigit()):
            continue
        place = f"{path}:{number}"
        if len(cells) != 3:
            raise DatasetError(
                f"{place}: expected query-id, corpus-id and score between tabs, got {line!r}"
            )
        query_id, chunk_id, score = (cell.strip() for cell in cells)
        if query_id not in queries:
            raise DatasetError(f"{place}: expected an id of queries.jsonl, got {query_id!r}")
        if chunk_id not in corpus:
            raise DatasetError(f"{place}: expected an id of corpus.jsonl, got {chunk_id!r}")
        try:
            grade = int(score)
        except ValueError as error:
            raise DatasetError(f"{place}: expected an integer score, got {score!r}") from error
        if grade > 0:
            judged.setdefault(query_id, {})[chunk_id] = grade
    return judged
