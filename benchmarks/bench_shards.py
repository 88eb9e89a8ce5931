"""Reading a folder of Parquet shards against pyarrow's own read of the same columns, in turns: wall and processor time.

    python benchmarks/bench_shards.py [--rows 1000000] [--columns 64] [--shards 16] [--repeats 7]

Each pair of reads is one after the other, in alternating order; what is reported are medians and their ratios. The
first pair warms the cache of the disk and is not counted.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import dataset, parquet

import embaudit as ea


def make_shards(folder: str, rows: int, columns: int, shards: int) -> None:
    """Write vectors of fixed size in float32 beside ids, in equal shards."""
    rng = np.random.default_rng(0)
    for number, ids in enumerate(np.array_split(np.arange(rows), shards)):
        values = pa.array(rng.standard_normal(len(ids) * columns, dtype=np.float32))
        vectors = pa.FixedSizeListArray.from_arrays(values, columns)
        parquet.write_table(
            pa.table({"id": ids, "vector": vectors}),
            Path(folder, f"part-{number:03}.parquet"),
        )


def read_by_pyarrow(folder: str) -> None:
    dataset.dataset(folder, format="parquet").to_table(columns=["id", "vector"])


def read_by_embaudit(folder: str) -> None:
    """Load the model and decode its rows, which are lazy until they are used."""
    model = ea.load(folder)
    assert np.isfinite(model.right[-1]).all()
    assert model.right_ids is not None


def timed(function: Callable[[str], None], folder: str) -> tuple[float, float]:
    """Return seconds on the wall and on all processors."""
    wall, processor = time.perf_counter(), time.process_time()
    function(folder)
    return time.perf_counter() - wall, time.process_time() - processor


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for option, default in (
        ("rows", 1_000_000),
        ("columns", 64),
        ("shards", 16),
        ("repeats", 7),
    ):
        parser.add_argument(f"--{option}", type=int, default=default)
    options = parser.parse_args()
    readers = {"pyarrow": read_by_pyarrow, "embaudit": read_by_embaudit}
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in readers}
    with tempfile.TemporaryDirectory() as folder:
        make_shards(folder, options.rows, options.columns, options.shards)
        for turn in range(options.repeats + 1):
            for name in list(readers)[:: -1 if turn % 2 else 1]:
                seconds = timed(readers[name], folder)
                if turn:
                    times[name].append(seconds)
    for place, what in enumerate(("wall", "processor")):
        medians = {
            name: statistics.median(pair[place] for pair in pairs)
            for name, pairs in times.items()
        }
        ratio = statistics.median(
            ours[place] / theirs[place]
            for ours, theirs in zip(times["embaudit"], times["pyarrow"], strict=True)
        )
        listed = ", ".join(f"{name} {median:.3f} s" for name, median in medians.items())
        print(f"{what}: {listed}; median ratio {ratio:.2f}")


if __name__ == "__main__":
    main()
