"""How long ranges take against a bare gather of the rows of the pairs, in one run.

Run: python benchmarks/bench_ranges.py [--rows 100000] [--pairs 1000000] [--rank 64]

Each line is the median over rounds of a range and of a bare gather of the same rows,
taken in turn, so that a ratio means the same on any machine. Bounded diagonal ranges
use a tenth of the pairs.
"""

from __future__ import annotations

import argparse
import statistics
import time
from typing import TYPE_CHECKING

import numpy as np

from embaudit.core.parallel import row_blocks
from embaudit.gauges import Diagonal, GeneralLinear, Translation
from embaudit.linalg.nearest import neighbours
from embaudit.linalg.pairs import draw_pairs
from embaudit.model import FactorModel
from embaudit.ranges import certified_neighbours, cosine_range

if TYPE_CHECKING:
    from collections.abc import Callable


def seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def in_turn(
    first: Callable[[], object], second: Callable[[], object], rounds: int
) -> tuple[float, float]:
    times = [(seconds(first), seconds(second)) for _ in range(rounds)]
    return tuple(statistics.median(column) for column in zip(*times, strict=True))  # type: ignore[return-value]


def gather(x: np.ndarray, pairs: np.ndarray) -> float:
    """Read both rows of each pair, a block at a time, and touch every number."""
    total = 0.0
    for block in row_blocks(len(pairs), x.shape[1], budget=2**21):
        i, j = pairs[block].T
        total += float(x[i].sum() + x[j].sum())
    return total


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--pairs", type=int, default=1_000_000)
    parser.add_argument("--rank", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    draw = np.random.default_rng(0)
    x = draw.normal(size=(given.rows, given.rank))
    model = FactorModel.from_user_item(x, x[::-1])
    head = FactorModel.from_softmax(x)
    pairs = draw_pairs(given.rows, given.pairs, rng=0)
    k = given.rank
    cases = {
        "linear, same side": (model, GeneralLinear(k, max_condition=2.0), "right", 1),
        "linear, cross": (model, GeneralLinear(k, max_condition=2.0), "cross", 1),
        "translation": (head, Translation(k, max_shift=1.0), "right", 1),
        "diagonal, unbounded": (model, Diagonal(k), "right", 1),
        "diagonal, κ = 1.25": (model, Diagonal(k, max_condition=1.25), "right", 10),
        "diagonal, κ = 2": (model, Diagonal(k, max_condition=2.0), "right", 10),
        "diagonal, κ = 10": (model, Diagonal(k, max_condition=10.0), "right", 10),
        "diagonal, κ = 2, positive rows": (
            FactorModel.from_vectors(np.abs(x)),
            Diagonal(k, max_condition=2.0),
            "right",
            10,
        ),
        "diagonal, κ = 2, cross": (model, Diagonal(k, max_condition=2.0), "cross", 10),
    }
    print(f"{given.rows:,} rows of rank {k}, {given.pairs:,} pairs")
    for name, (of, group, role, thinning) in cases.items():
        chosen = pairs[::thinning]
        bare, taken = in_turn(
            lambda chosen=chosen: gather(x, chosen),
            lambda of=of, group=group, role=role, chosen=chosen: cosine_range(
                of, group, role=role, pairs=chosen
            ),
            given.rounds,
        )
        speed = len(chosen) / taken
        print(
            f"{name:32} {taken / bare:6.2f} x the bare gather  {speed:12,.0f} pairs/s"
        )
    rows = np.arange(min(2000, given.rows))
    bare, taken = in_turn(
        lambda: neighbours(x, 10, rows=rows),
        lambda: certified_neighbours(model, rows=rows),
        given.rounds,
    )
    name = f"certificates of {len(rows):,} rows"
    print(f"{name:32} {taken / bare:6.2f} x the bare top-10 search")


if __name__ == "__main__":
    main()
