"""Learning rules: how one feedback changes the weights of the edges it touches.

A rule is a pure function on arrays, selected by name or passed in::

    def my_rule(weight, credit, length, *, learning_rate, w_max, w_min):
        return weight + learning_rate * credit

Decay and caps are not part of a rule.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

__all__ = ["RULES", "W_MAX", "LearningRule", "bio_rag", "hebb"]

#: The largest weight of an edge: it is a share of mass.
W_MAX = 1.0


class LearningRule(Protocol):
    """Signature of a learning rule; a plain function will do."""

    def __call__(
        self,
        weight: NDArray[np.float64],
        credit: NDArray[np.float64],
        length: NDArray[np.float64],
        /,
        *,
        learning_rate: float,
        w_max: float,
        w_min: float,
    ) -> NDArray[np.float64]:
        """Return the new weights; ``weight`` is not modified."""
        ...


def hebb(
    weight: NDArray[np.float64],
    credit: NDArray[np.float64],
    length: NDArray[np.float64],
    /,
    *,
    learning_rate: float,
    w_max: float = W_MAX,
    w_min: float = 0.0,
) -> NDArray[np.float64]:
    """Strengthen edges that led to a citation and weaken the others, with soft bounds.

    ``w + learning_rate * credit * (w_max - w)`` for positive credit, and
    ``w + learning_rate * |credit| * (w_min - w)`` for negative credit. Changes slow down
    near either bound, so weights stay in [w_min, w_max] [1]_.

    Parameters
    ----------
    weight : ndarray of float64, shape (n_edges,), in [w_min, w_max]
    credit : ndarray of float64, shape (n_edges,), in [-1, 1]
        Presynaptic times postsynaptic activity: positive for a cited chunk, negative for
        a chunk that was shown but not cited.
    length : ndarray of float64, shape (n_edges,), at least 1
        Number of edges on the path from the query; not used by this rule.
    learning_rate : float, in (0, 1], per feedback
    w_max, w_min : float

    Returns
    -------
    ndarray of float64, shape (n_edges,)

    References
    ----------
    .. [1] Gerstner, Kistler, Naud and Paninski (2014), Neuronal Dynamics, section 19.2.

    Examples
    --------
    >>> one = np.ones(1)
    >>> hebb(0.5 * one, one, one, learning_rate=0.1)
    array([0.55])
    >>> hebb(0.5 * one, -one, one, learning_rate=0.1)
    array([0.45])
    """
    bound = np.where(credit >= 0, w_max, w_min)
    return weight + learning_rate * np.abs(credit) * (bound - weight)


def bio_rag(
    weight: NDArray[np.float64],
    credit: NDArray[np.float64],
    length: NDArray[np.float64],
    /,
    *,
    learning_rate: float,
    w_max: float = W_MAX,
    w_min: float = 0.0,
) -> NDArray[np.float64]:
    """Bio-RAG's rule: ``w + learning_rate * relevance / path length``, clipped.

    The paper's reinforcement is additive and does not saturate [1]_. Clipping is ours: a
    weight is a share of mass. The paper's decay, ``w ← (1 − λ) w`` for edges that an
    event does not reinforce, corresponds to the setting
    ``half_life_events = log 2 / -log(1 - λ)``.

    Parameters
    ----------
    weight : ndarray of float64, shape (n_edges,), in [w_min, w_max]
    credit : ndarray of float64, shape (n_edges,), in [-1, 1]
        The paper's relevance Δ. Negative credit is ours.
    length : ndarray of float64, shape (n_edges,), at least 1
    learning_rate : float, in (0, 1], per feedback
    w_max, w_min : float

    References
    ----------
    .. [1] Phago Research Group (2026), Bio-RAG, section 2.3.

    Examples
    --------
    >>> one = np.ones(1)
    >>> bio_rag(0.5 * one, one, 2 * one, learning_rate=0.1)
    array([0.55])
    """
    return np.clip(weight + learning_rate * credit / length, w_min, w_max)


RULES: Mapping[str, LearningRule] = {"hebb": hebb, "bio_rag": bio_rag}
