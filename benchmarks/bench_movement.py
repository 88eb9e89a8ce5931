"""A pass over all pairs of an audit against the bare matrix product of the same rows, in turn, in one process.

Run `python benchmarks/bench_movement.py [--rows 3000] [--rank 64] [--rounds 7]`; the ratio is what holds elsewhere.
Where numba is installed, the compiled pass and that of numpy are measured.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable

import numpy as np
from threadpoolctl import threadpool_limits

from embaudit.foundation.parallel import parallel_map
from embaudit.kernels import tally
from embaudit.kernels.pairs import n_pairs
from embaudit.kernels.rows import unit_rows
from embaudit.kernels.tally import TILE, tally_all_pairs


def seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def bare_products(before: np.ndarray, after: np.ndarray) -> None:
    """Multiply the same tiles and throw them away."""

    def strip(start: int) -> float:
        rows = slice(start, start + TILE)
        return sum(float((x[rows] @ x[start:].T)[0, 0]) for x in (before, after))

    sum(parallel_map(strip, range(0, len(before), TILE)))


def main() -> None:
    parser = argparse.ArgumentParser()
    for name, default in (("rows", 3000), ("rank", 64), ("rounds", 7)):
        parser.add_argument(f"--{name}", type=int, default=default)
    given = parser.parse_args()
    draw = np.random.default_rng(0)
    before = unit_rows(draw.standard_normal((given.rows, given.rank)) + 0.3)
    after = unit_rows(before + 0.3 * draw.standard_normal(before.shape))
    with threadpool_limits(limits=1, user_api="blas"):
        for name, least in (("numpy", 10**18), *([("numba", 0)] if tally.has_numba() else [])):
            tally.COMPILED = least
            report(name, before, after, given.rounds)


def report(name: str, before: np.ndarray, after: np.ndarray, rounds: int) -> None:
    """Measure one pass and the bare products in turn, and print the medians."""
    tally_all_pairs(before, after)
    times = [
        (seconds(lambda: tally_all_pairs(before, after)), seconds(lambda: bare_products(before, after)))
        for _ in range(rounds)
    ]
    pairs = n_pairs(len(before))
    ratio = statistics.median(ours / bare for ours, bare in times)
    ours, bare = (statistics.median(column) for column in zip(*times, strict=True))
    print(
        f"{pairs:,} pairs at rank {before.shape[1]}, {name}: pass {ours:.3f} s, bare products {bare:.3f} s, "
        f"ratio {ratio:.2f}; {ours / pairs * 1e9:.1f} ns a pair, twenty equivalent models of one role {20 * ours:.1f} s"
    )


if __name__ == "__main__":
    main()
