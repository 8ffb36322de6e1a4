"""What each part of spreading is worth: switch it off or change it, one part at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from hebbgraph.arrays import FloatArray
from hebbgraph.formulas.activation import SpreadingParameters
from hebbgraph.formulas.bootstrap import Difference, paired_bootstrap

from hebbgraph_bench.datasets import Dataset
from hebbgraph_bench.embedding import CachingEmbedder
from hebbgraph_bench.ours import HebbianRetriever
from hebbgraph_bench.protocol import judge
from hebbgraph_bench.tables import Grid

__all__ = ["AS_IT_IS", "VARIANTS", "AblationResult", "ablate", "as_dict", "grid"]

AS_IT_IS = "as it is"

#: The changes of each variant; ``as it is`` is the default, to which all are compared.
VARIANTS: Mapping[str, Mapping[str, Any]] = {
    "no graph": {"half_saturation": 1e12},
    "no title salience": {"title_salience": 1.0},
    "no inhibition": {"inhibition": 1.0},
    "no leak": {"leak": 1e-9},
    "no cues": {"cue_share": 0.0},
    "more cues": {"cue_share": 0.7},
    "all tags of a chunk": {"tags_per_chunk": 10**6},
    "title salience 8": {"title_salience": 8.0},
    "1 step": {"n_steps": 1},
    "2 steps": {"n_steps": 2},
    "3 steps": {"n_steps": 3},
    "4 steps": {"n_steps": 4},
    "1 seed": {"n_seeds": 1},
    "10 seeds": {"n_seeds": 10},
    "20 seeds": {"n_seeds": 20},
    "wide seeds": {"n_seeds": 50, "sharpness": 1.0},
    "no hub cut": {"hub_share": 1.0, "hub_floor": 10**9, "hub_cap": 10**9},
    "narrow beam": {"beam": 4},
    "no beam over tags": {"tag_beam": 10**9},
    "co-mentions count fully": {"mention_credit": 1.0},
    "co-mentions count nothing": {"mention_credit": 0.0},
    "no doubt in direct evidence": {"doubt": 0.0},
    "evidence read plainly": {"evidence_power": 1.0},
}


@dataclass(frozen=True, slots=True)
class AblationResult:
    """Variants on one set.

    ``values`` holds one value per question, by variant and metric; ``as it is`` comes first.
    """

    name: str
    values: Mapping[str, Mapping[str, FloatArray]]

    def difference(self, variant: str, metric: str, *, seed: int = 0) -> Difference:
        """Compare a variant with the default: below 0, the part is useful."""
        return paired_bootstrap(
            self.values[variant][metric], self.values[AS_IT_IS][metric], seed=seed
        )


def ablate(
    dataset: Dataset,
    *,
    embedder: CachingEmbedder | None = None,
    k: int = 10,
    variants: Mapping[str, Mapping[str, Any]] = VARIANTS,
    on_variant: Callable[[str], object] | None = None,
) -> AblationResult:
    """Ask every question under every variant of the same index.

    Parameters
    ----------
    dataset : Dataset
        Indexed once.
    embedder : CachingEmbedder, optional
    k : int
    variants : mapping of name to changed parameters
        Variants that change nothing are skipped.
    on_variant : callable, optional
        Called with each name before it starts.

    Returns
    -------
    AblationResult
    """
    default = SpreadingParameters()
    changed = {name: replace(default, **change) for name, change in variants.items()}
    values: dict[str, dict[str, FloatArray]] = {}
    retriever = HebbianRetriever("spreading", embedder=embedder)
    try:
        retriever.index([chunk for chunk in dataset.corpus if chunk.title or chunk.text])
        for name, parameters in {AS_IT_IS: default, **changed}.items():
            if parameters == default and name != AS_IT_IS:
                continue
            if on_variant is not None:
                on_variant(name)
            retriever.use(parameters)
            rankings = [
                query.credited([hit.id for hit in retriever.retrieve(query.text, k)])
                for query in dataset.queries
            ]
            values[name] = judge(rankings, [query.relevant for query in dataset.queries], k)
    finally:
        retriever.close()
    return AblationResult(dataset.name, values)


def grid(results: Sequence[AblationResult], metric: str, *, seed: int = 0) -> Grid:
    """Lay out one row per variant, one column per set, and the mean over sets.

    A cell is the variant minus the default with its 95 % interval, and an asterisk if that
    excludes 0. The row ``as it is`` has the values themselves.
    """
    names = list(dict.fromkeys(name for result in results for name in result.values))
    rows = []
    for name in names:
        cells, means = [], []
        for result in results:
            if name == AS_IT_IS:
                mean = float(result.values[name][metric].mean())
                cells.append(f"{mean:.3f}")
            else:
                difference = result.difference(name, metric, seed=seed)
                mean = difference.mean
                sure = "*" if difference.low > 0 or difference.high < 0 else ""
                cells.append(f"{mean:+.3f} [{difference.low:+.3f}, {difference.high:+.3f}]{sure}")
            means.append(mean)
        rows.append((name, *cells, f"{np.mean(means):{'.3f' if name == AS_IT_IS else '+.3f'}}"))
    return Grid(
        f"{metric}: each variant minus {AS_IT_IS}",
        ("variant", *(result.name for result in results), "mean"),
        rows,
    )


def as_dict(
    results: Sequence[AblationResult],
    variants: Mapping[str, Mapping[str, Any]] = VARIANTS,
    *,
    seed: int = 0,
) -> dict[str, Any]:
    """Return means and differences of every metric as JSON-serialisable data."""
    return {
        "parameters": asdict(SpreadingParameters()),
        "variants": {name: dict(change) for name, change in variants.items()},
        "sets": {
            result.name: {
                name: {
                    metric: {"mean": float(values.mean())}
                    | (
                        {}
                        if name == AS_IT_IS
                        else _plain(result.difference(name, metric, seed=seed))
                    )
                    for metric, values in by_metric.items()
                }
                for name, by_metric in result.values.items()
            }
            for result in results
        },
    }


def _plain(difference: Difference) -> dict[str, Any]:
    fields = asdict(difference)
    return {"difference": fields.pop("mean"), **fields}
