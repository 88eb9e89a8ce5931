"""Judge a copy of 100,000 vectors in 384 dimensions.

Run from the root of a checkout: `OPENBLAS_NUM_THREADS=1 EMBAUDIT_WORKERS=1 python
benchmarks/bench_copies.py`. The vectors lie around 2,000 centres. Bound:
`compare_copies` with one format takes at most 3 times the processor time of one exact
search of the 10 nearest rows of as many queries.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np

from embaudit.linalg.nearest import neighbours
from embaudit.linalg.rows import sample_rows
from embaudit.model import FactorModel
from embaudit.serving import compare_copies

FORMATS = ("int8", "float16", "bfloat16", "int8-columns", "binary", "first:128")


def make_rows(n: int, k: int) -> np.ndarray:
    """Draw rows around centres, in float32."""
    draw = np.random.default_rng(0)
    centres = draw.standard_normal((max(2, n // 50), k), dtype=np.float32)
    rows = draw.standard_normal((n, k), dtype=np.float32)
    rows += centres[draw.integers(0, len(centres), n)]
    return rows


def processor_time(function: Callable[[], object]) -> float:
    """Return the seconds of processor time that a call takes."""
    start = time.process_time()
    function()
    return time.process_time() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--columns", type=int, default=384)
    parser.add_argument("--lists", type=int, default=400)
    parser.add_argument("--formats", nargs="+", default=FORMATS)
    arguments = parser.parse_args()
    model = FactorModel.from_vectors(make_rows(arguments.rows, arguments.columns))
    queries = sample_rows(arguments.rows, arguments.lists, np.random.default_rng(1))
    x = np.asarray(model.right)
    search = processor_time(lambda: neighbours(x, 10, rows=queries))
    print(f"{model}, {len(queries):,} lists; one search: {search:.1f} s")
    for name in arguments.formats:
        taken = processor_time(
            lambda name=name: compare_copies(model, name, n_lists=arguments.lists)
        )
        print(f"{name}: {taken:.1f} s, {taken / search:.2f} searches")


if __name__ == "__main__":
    main()
