"""Processor time of reading vectors from CSV, against pyarrow and pandas, in turns.

    python benchmarks/bench_text.py [--rows 200000] [--columns 64] [--repeats 5]

The readers take turns in alternating order. What is printed are the medians of the
processor time, and the median ratios to it. The first turn warms the cache of the disk
and is not counted.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
from pyarrow import csv

import embaudit as ea


def write_table(path: Path, rows: int, columns: int) -> None:
    """Write ids, and numbers with six decimals."""
    values = np.random.default_rng(0).standard_normal((rows, columns))
    frame = pd.DataFrame(values).add_prefix("e")
    frame.insert(0, "id", np.arange(rows))
    frame.to_csv(path, index=False, float_format="%.6f")


def read_by_embaudit(path: Path) -> None:
    model = ea.load(path)
    assert np.isfinite(model.right[-1]).all()
    assert model.right_ids is not None


READERS: dict[str, Callable[[Path], object]] = {
    "pyarrow": csv.read_csv,
    "pandas": pd.read_csv,
    "embaudit": read_by_embaudit,
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for option, default in (("rows", 200_000), ("columns", 64), ("repeats", 5)):
        parser.add_argument(f"--{option}", type=int, default=default)
    options = parser.parse_args()
    seconds: dict[str, list[float]] = {name: [] for name in READERS}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "vectors.csv")
        write_table(path, options.rows, options.columns)
        for turn in range(options.repeats + 1):
            for name in list(READERS)[:: -1 if turn % 2 else 1]:
                start = time.process_time()
                READERS[name](path)
                if turn:
                    seconds[name].append(time.process_time() - start)
    for name, times in seconds.items():
        pairs = zip(seconds["embaudit"], times, strict=True)
        ratio = statistics.median(ours / theirs for ours, theirs in pairs)
        median = statistics.median(times)
        print(f"{name:<9} {median:.3f} s; embaudit takes {ratio:.2f} times as long")


if __name__ == "__main__":
    main()
