"""How long simulating takes against one pass of exponential clocks, in one run.

The pass draws a clock for every user and item. Run `python
benchmarks/bench_simulate.py`.
"""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable

import numpy as np

from embaudit.core.parallel import row_blocks
from embaudit.simulate import simulate_interactions


def seconds(function: Callable[[], object]) -> float:
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def all_clocks(n_users: int, n_items: int) -> None:
    """Do the least work of a race for every user: one logarithm for every pair."""
    rng = np.random.default_rng(0)
    for rows in row_blocks(n_users, n_items):
        np.log(rng.standard_exponential((rows.stop - rows.start, n_items)))


def main() -> None:
    for n_users, n_items, max_items in (
        (20_000, 1_000, 1_000),
        (20_000, 20_000, 1_000),
        (50_000, 20_000, 50),
    ):

        def simulate(n: int = n_users, p: int = n_items, k: int = max_items) -> object:
            return simulate_interactions(n, p, max_items=k)

        simulated, clocks = (
            seconds(simulate),
            seconds(lambda n=n_users, p=n_items: all_clocks(n, p)),
        )
        tracemalloc.start()
        nnz = simulate_interactions(n_users, n_items, max_items=max_items).matrix.nnz
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        beyond = max(0, peak - 12 * nnz) / 2**20
        print(
            f"{n_users:>7,} x {n_items:>6,}, up to {max_items:>5,} items: "
            f"{simulated:6.2f} s = {simulated / clocks:5.2f} x one pass of clocks; "
            f"{nnz:>11,} pairs; {beyond:5.0f} MiB beyond the result"
        )


if __name__ == "__main__":
    main()
