"""Compare approximate with exact vector search: R@10, milliseconds, bytes.

    nearest N [--dimension D]

Vectors are made up: texts of some thousand subjects, which differ in 64 directions, and questions
near one text each. Each call prints one line of JSON. Times are wall time at the median.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hebbgraph.arrays import highest
from hebbgraph.store.nearest import Nearest, update_nearest

_QUESTIONS, _DIRECTIONS = 200, 64
_CANDIDATES = 240  # what a recall asks for


def vectors(number: int, dimension: int) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    rng = np.random.default_rng(1)
    directions = rng.standard_normal((_DIRECTIONS, dimension)).astype(np.float32)
    subjects = rng.standard_normal((number // 100 + 1, _DIRECTIONS)).astype(np.float32)
    texts = np.empty((number, dimension), np.float32)
    for start in range(0, number, 1 << 16):
        part = texts[start : start + (1 << 16)]
        noise = rng.standard_normal((len(part), _DIRECTIONS)).astype(np.float32)
        part[:] = (subjects[rng.integers(0, len(subjects), len(part))] + noise) @ directions
        part /= np.linalg.norm(part, axis=1, keepdims=True)
    near = rng.standard_normal((_QUESTIONS, _DIRECTIONS)).astype(np.float32) @ directions
    near /= np.linalg.norm(near, axis=1, keepdims=True)
    asked = texts[rng.integers(0, number, _QUESTIONS)] + 0.5 * near
    return texts, asked / np.linalg.norm(asked, axis=1, keepdims=True)


def measure(number: int, dimension: int) -> dict[str, Any]:
    texts, questions = vectors(number, dimension)
    stamps = np.random.default_rng(2).permutation(number).astype(np.int64)
    shares, taken = [], []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "measured.nearest"
        began = time.perf_counter()
        update_nearest(path, stamps, texts)
        built = time.perf_counter() - began
        near = Nearest(path, stamps, dimension)
        near.positions(questions[0], _CANDIDATES)
        for question in questions:
            began = time.perf_counter()
            exact = highest(np.vecdot(texts, question), 10)
            middle = time.perf_counter()
            found = near.positions(question, _CANDIDATES)
            found = found[highest(np.vecdot(texts[found], question), 10)]
            taken.append((middle - began, time.perf_counter() - middle))
            shares.append(len(np.intersect1d(exact, found)) / 10)
        size = path.stat().st_size
    exact_ms, near_ms = 1e3 * np.median(taken, axis=0)
    return {
        "vectors": number,
        "recall_at_10": round(float(np.mean(shares)), 4),
        "exact_ms": round(float(exact_ms), 2),
        "approximate_ms": round(float(near_ms), 2),
        "bytes_a_vector": round(size / number),
        "exact_bytes_a_vector": 4 * dimension + 16,
        "build_seconds": round(built, 1),
    }


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("number", type=int, metavar="N")
    parser.add_argument("--dimension", type=int, default=384, metavar="D")


def run(options: argparse.Namespace) -> int:
    print(json.dumps(measure(options.number, options.dimension)))
    return 0
