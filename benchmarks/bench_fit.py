"""`embaudit fit` from a table of ratings to a file: its time, by stages, and memory.

    python benchmarks/bench_fit.py [--size small|csv|parquet] [--rank 50]

The ratings are those of `bench_svd.py` with ids that are no row numbers, ordered as if
by time, and with a column of times. "csv" are 10 million ratings in 250 MB of text,
"parquet" are 100 million. The command is a process of its own; the stages are those of
a second run in this process.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
from bench_svd import MIB, ratings
from pyarrow import csv, parquet

from embaudit.io import read_interactions, save
from embaudit.solvers import ProductPenaltyMF

SIZES = {
    "small": (14_000, 5_000, 1_000_000, ".csv"),
    "csv": (138_000, 27_000, 10_000_000, ".csv"),
    "parquet": (1_000_000, 60_000, 100_000_000, ".parquet"),
}
ALPHA = 100.0


def make_file(folder: str, size: str) -> Path:
    """Write the ratings, each with a time, in random order."""
    n, p, entries, suffix = SIZES[size]
    rng = np.random.default_rng(0)
    X = ratings(n, p, entries, rng).tocoo()
    users, items = rng.permutation(2 * n)[:n] + 1, rng.permutation(8 * p)[:p] + 1
    order = rng.permutation(entries)
    columns = {
        "userId": users[X.row[order]],
        "movieId": items[X.col[order]],
        "rating": X.data[order],
        "timestamp": rng.integers(800_000_000, 1_700_000_000, entries),
    }
    path = Path(folder, "ratings").with_suffix(suffix)
    (csv.write_csv if suffix == ".csv" else parquet.write_table)(
        pa.table(columns), path
    )
    return path


def own_memory(pid: int) -> int:
    """Read the largest memory of a process in bytes, with the files that it mapped."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    return next(
        (int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM")), 0
    )


def fitted(path: Path, rank: int) -> None:
    """Fit in a process of its own; print its time, processor time and memory."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    command = [
        sys.executable,
        "-m",
        "embaudit",
        "fit",
        str(path),
        "--objective",
        "product",
        "--n-components",
        str(rank),
    ]
    command += [
        "--alpha",
        str(ALPHA),
        "--out",
        str(path.with_name("model.npz")),
        "--quiet",
    ]
    with subprocess.Popen(
        command, env=os.environ | {"OPENBLAS_NUM_THREADS": "1"}
    ) as process:
        largest = 0
        while process.poll() is None:
            largest = max(largest, own_memory(process.pid))
            time.sleep(0.02)
    assert process.returncode == 0, process.returncode
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print(
        f"the command: {time.perf_counter() - start:.1f} s, processor {used:.1f} s, "
        f"largest memory {largest / MIB:,.0f} MiB",
        flush=True,
    )


def stages(path: Path, rank: int) -> None:
    """Do in this process what the command does; print how long each stage takes."""
    times = [time.perf_counter()]
    data = read_interactions(path)
    times.append(time.perf_counter())
    estimator = ProductPenaltyMF(rank, alpha=ALPHA, random_state=0).fit(data.matrix)
    times.append(time.perf_counter())
    model = estimator.model(data.matrix, user_ids=data.user_ids, item_ids=data.item_ids)
    save(model, path.with_name("again.npz"))
    times.append(time.perf_counter())
    read, fit, write = np.diff(times)
    print(
        f"reading {read:.1f} s, factorising {fit:.1f} s ({estimator.svd_solver_}), "
        f"model and file {write:.1f} s"
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--size", choices=sorted(SIZES), default="csv")
    parser.add_argument("--rank", type=int, default=50)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = make_file(folder, options.size)
        n, p, entries, _ = SIZES[options.size]
        megabytes = path.stat().st_size / 1e6
        print(
            f"{entries:,} ratings of {n:,} × {p:,} in {megabytes:,.0f} MB of "
            f"{path.suffix[1:]}"
        )
        fitted(path, options.rank)
        if options.size != "parquet":
            stages(path, options.rank)


if __name__ == "__main__":
    main()
