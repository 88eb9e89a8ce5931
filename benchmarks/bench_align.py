"""Align a retrained model of 1,000,000 users and 100,000 items in 64 dimensions.

Run from the root of a checkout: `python benchmarks/bench_align.py`. The new model is
the old one in other axes, with noise of a fifth of each row, and its rows are shuffled
and matched by ids. Bound: fitting the rotation, and measuring angles and mixed lists,
take at most 10 s, and at most 500 MB of memory beyond both models.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from bench_fix import Memory

from embaudit.gauges import GeneralLinear
from embaudit.model import FactorModel
from embaudit.serving.align import align

SIZES = {"users": 1_000_000, "items": 100_000}
RANK = 64


def make_models(scale: float, dtype: str) -> tuple[FactorModel, FactorModel]:
    """Draw the old model, and the new one in other axes."""
    draw = np.random.default_rng(0)
    spread = np.geomspace(1, 0.1, RANK)
    old, new = {}, {}
    gauge = GeneralLinear(RANK, max_condition=10.0).sample(rng=1)
    maps = {"users": gauge.left, "items": gauge.right}
    for side, number in SIZES.items():
        n = int(number * scale)
        rows = draw.standard_normal((n, RANK)) * spread
        noise = 0.2 * draw.standard_normal((n, RANK)) * spread
        order = draw.permutation(n)
        name = side.removesuffix("s")
        old |= {f"{name}_factors": rows.astype(dtype), f"{name}_ids": np.arange(n)}
        moved = ((rows + noise) @ maps[side])[order]
        new |= {f"{name}_factors": moved.astype(dtype), f"{name}_ids": order}
    return FactorModel.from_user_item(**old), FactorModel.from_user_item(**new)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", type=float, default=1.0, help="share of the rows")
    parser.add_argument("--dtype", choices=("float32", "float64"), default="float32")
    arguments = parser.parse_args()
    old, new = make_models(arguments.scale, arguments.dtype)
    with Memory() as memory:
        start, processor = time.perf_counter(), time.process_time()
        found = align(old, new)
        wall = time.perf_counter() - start
        processor = time.process_time() - processor
    print(f"{old} in {arguments.dtype}")
    print(
        f"align: {wall:.1f} s, {processor:.1f} s of processor time, "
        f"{memory.used:.0f} MB"
    )
    print(found)


if __name__ == "__main__":
    main()
