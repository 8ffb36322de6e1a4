"""BambooKG's tables 1 and 2 [1]_: size and speed of contexts, and whether they hold the answer.

The paper gives the whole context of a recall to GPT-4o, and lets it judge the answer. Here no model
reads: the share of questions whose answer (other than yes and no) stands in the context is an upper
bound for any reader. The second table asks whether communities of tags, which the paper leaves
open, keep contexts short: a context is cut to the paths that stay in the community of their cue.

References
----------
.. [1] Arikutharam and Ukolov (2025), BambooKG, arXiv:2510.25724, section 4.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import string
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

import networkx as nx
import numpy as np
from usebench.metrics import all_relevant_at_k, recall_at_k
from usebench.records import Event, Passage, UseSet
from usebench.searches import Bm25, Dense
from usebench.tables import markdown, number

from hebbgraph import HebbianIndex
from hebbgraph_bench.embedding import CachedModel
from hebbgraph_bench.sets import add_options, model_of, opened_set, write_json

__all__ = ["add_arguments", "holds_answer", "run", "tokens_in"]

_WHOLE, _CUTS = 10_000, (5, 10)
_SHARES = (0.25, 0.5, 1.0)
_Search = Callable[[str, int], list[str]]
_Values = dict[str, list[float]]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this experiment."""
    add_options(parser)


def run(options: argparse.Namespace) -> int:
    """Measure and print."""
    model, figures = model_of(options), []
    for name in options.sets:
        uses = opened_set(name, options, order="shuffled")
        rows = _queries(Path(name))
        systems = _contexts(uses, rows, Path(name), model)
        kinds = [_kind(uses.name, rows.get(event.id, {})) for event in uses.events]
        for kind in sorted(set(kinds)):
            at = [place for place, other in enumerate(kinds) if other == kind]
            print(_table(f"{kind}: {len(at)} questions", systems, at), end="\n\n")
        grown = [_communities(uses, share, options.seed) for share in _SHARES]
        heads = list(grown[0])
        lines = [[f"{n:,.0f}" if n > 1 else number(n) for n in row.values()] for row in grown]
        print(markdown(f"{uses.name}: contexts within communities", heads, lines), end="\n\n")
        figures.append({"name": uses.name, "kinds": kinds, "systems": systems, "grown": grown})
    write_json(options, {"sets": figures})
    if model is not None:
        model.close()
    return 0


# -- contexts ---------------------------------------------------------------------------------


def _contexts(
    uses: UseSet, rows: Mapping[str, Any], folder: Path, model: CachedModel | None
) -> dict[str, _Values]:
    """Return the values of each question by system."""
    rag = Bm25() if model is None else Dense(model)
    rag.add(uses.passages)
    texts = {passage.id: passage.full_text for passage in uses.passages}
    found = {}

    def measure(name: str, search: _Search, cuts: Sequence[int] = _CUTS) -> None:
        for cut in cuts:
            shown = f"{name}, whole context" if cut == _WHOLE else f"{name}, top {cut}"
            found[shown] = _values(uses.events, rows, texts, search, cut)

    def named(index: HebbianIndex, strategy: str) -> _Search:
        return lambda text, k: [hit.id for hit in index.recall(text, k, strategy=strategy)]

    measure("RAG, BM25" if model is None else "RAG, dense", rag.search)
    with HebbianIndex.open(":memory:", embedder=model) as index:
        _fill(index, uses.passages)
        measure("BambooKG 5-3", named(index, "bambookg"), (_WHOLE, *_CUTS))
        if (folder / "tags.jsonl").exists():
            with HebbianIndex.open(":memory:") as tagged:
                _fill(tagged, uses.passages, _tags(folder / "tags.jsonl"))
                search = named(tagged, "bambookg")
                measure("BambooKG 5-3, an LLM's tags", search, (_WHOLE, *_CUTS))
        measure("Bio-RAG", named(index, "bio_rag"))
        if model is not None:
            measure("NAKG, untrained", named(index, "nakg"))
        measure("spreading", named(index, "spreading"))
    return found


def _values(
    events: Sequence[Event],
    rows: Mapping[str, Any],
    texts: Mapping[str, str],
    search: _Search,
    cut: int,
) -> _Values:
    values: _Values = {name: [] for name in ("answer", "gold", "R", "chunks", "tokens", "ms")}
    for event in events:
        search(event.question, cut)  # a model embeds each question once, outside of the time
        began = perf_counter()
        ranked = search(event.question, cut)
        values["ms"].append(1e3 * (perf_counter() - began))
        context, depth = [texts[id_] for id_ in ranked], max(len(ranked), 1)
        values["answer"].append(holds_answer(rows.get(event.id, {}).get("answers", ()), context))
        values["gold"].append(all_relevant_at_k(ranked, event.relevant, depth))
        values["R"].append(recall_at_k(ranked, event.relevant, depth))
        values["chunks"].append(len(ranked))
        values["tokens"].append(sum(map(tokens_in, context)))
    return values


def holds_answer(answers: Iterable[str], texts: Iterable[str]) -> float:
    """1 if a text holds an answer as whole words, 0 if not; NaN without one that can be found.

    Examples
    --------
    >>> holds_answer(["The 35"], ["In 1935."]), holds_answer(["35"], ["It is 35."])
    (0.0, 1.0)
    """
    phrases = [f" {words} " for words in map(_normal, answers) if words not in ("", "yes", "no")]
    if not phrases:
        return float("nan")
    padded = [f" {_normal(text)} " for text in texts]
    return float(any(words in text for text in padded for words in phrases))


def _normal(text: str) -> str:
    """Return words in lower case without articles and punctuation, as SQuAD's script does."""
    plain = text.lower().translate(str.maketrans("", "", string.punctuation))
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", plain).split())


def tokens_in(text: str) -> int:
    """Count about as many tokens as a model reads, without its tokenizer.

    Examples
    --------
    >>> tokens_in("Hebb wrote it in 1949.")  # Hebb wrote it in 194 9 .
    7
    """
    return len(re.findall(r"[^\W\d_]{1,8}|\d{1,3}|[^\w\s]", text))


def _table(title: str, systems: Mapping[str, _Values], at: Sequence[int]) -> str:
    def mean(values: Sequence[float]) -> float | None:
        known = [values[place] for place in at if not np.isnan(values[place])]
        return float(np.mean(known)) if known else None

    rows = []
    for name, values in systems.items():
        cells = [number(mean(values["answer"])), number(mean(values["gold"]))]
        cells += [f"{mean(values['chunks']):.1f}", f"{mean(values['tokens']):,.0f}"]
        rows.append([name, *cells, f"{np.median([values['ms'][place] for place in at]):.1f}"])
    heads = ("system", "answer in context", "all gold", "chunks", "tokens", "ms (median)")
    return markdown(title, heads, rows)


# -- communities ------------------------------------------------------------------------------


def _communities(uses: UseSet, share: float, seed: int) -> dict[str, float]:
    """Return figures of BambooKG's whole context, and of its part within communities.

    Louvain parts the tags. All gold stays, and so many other passages that a share of all does.
    """
    gold = {id_ for event in uses.events for id_ in event.relevant}
    others = [passage.id for passage in uses.passages if passage.id not in gold]
    wanted = max(int(share * len(uses.passages)) - len(gold), 0)
    kept = gold.union(random.Random(seed).sample(others, min(wanted, len(others))))
    passages = [passage for passage in uses.passages if passage.id in kept]
    tokens = {passage.id: tokens_in(passage.full_text) for passage in passages}
    rows = []
    with HebbianIndex.open(":memory:") as index:
        _fill(index, passages)
        graph = index.to_networkx()
        parts = nx.community.louvain_communities(graph, seed=seed)
        home = {tag: place for place, part in enumerate(parts) for tag in part}
        for event in uses.events:
            hits = index.recall(event.question, _WHOLE, strategy="bambookg").hits
            for shown in (hits, [hit for hit in hits if len(_homes(hit, home)) == 1]):
                ids = [hit.id for hit in shown]
                found = recall_at_k(ids, event.relevant, max(len(ids), 1))
                rows.append((sum(tokens[id_] for id_ in ids), found))
    whole, inside = np.mean(rows[::2], axis=0).tolist(), np.mean(rows[1::2], axis=0).tolist()
    return {
        "chunks": len(passages),
        "communities": len(parts),
        "largest": max(map(len, parts), default=0) / max(len(home), 1),
        "tokens": whole[0],
        "R": whole[1],
        "tokens inside": inside[0],
        "R inside": inside[1],
    }


def _homes(hit: Any, home: Mapping[str, int]) -> set[int | None]:
    """Return the communities of the tags on the path to a hit."""
    return {home.get(step.value) for step in hit.path if step.kind == "tag"}


# -- reading ----------------------------------------------------------------------------------


def _fill(
    index: HebbianIndex, passages: Iterable[Passage], tags: Mapping[str, Any] | None = None
) -> None:
    given = tags or {}
    index.add(
        {"id": p.id, "title": p.title, "text": p.text, "tags": given.get(p.id, ())}
        for p in passages
    )


def _tags(file: Path) -> dict[str, list[str]]:
    """Return the first ten entities that a language model found in each passage."""
    lines = map(json.loads, file.read_text("utf-8").splitlines())
    return {line["id"]: line["entities"][:10] for line in lines}


def _queries(folder: Path) -> dict[str, Any]:
    """Return the questions with their answers and hops, by id; nothing of the packaged set."""
    file = folder / "queries.jsonl"
    lines = map(json.loads, file.read_text("utf-8").splitlines() if file.exists() else ())
    return {str(line["id"]): line for line in lines}


def _kind(name: str, row: Mapping[str, Any]) -> str:
    """Return the part of the paper's tables that a question belongs to."""
    hops = re.match(r"\d", str(row.get("type", "")))
    kind = next((known for known in ("hotpotqa", "musique") if known in name), name)
    return f"{kind}, {hops[0]} hops" if hops else kind
