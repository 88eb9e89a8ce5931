"""`embaudit audit` of factors on disk, by size, against one matrix product.

Run from the root of a checkout: `python benchmarks/bench_audit.py` (some minutes), or
with `--sizes 200000` for one size only. Each audit is a process of its own. The script
prints its time, its processor time, the largest memory of its own (without the mapped
files) and the ratio of its processor time to that of multiplying all rows by a k×k
matrix and summing up, which is the least that measuring an equivalent model takes.
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

RANK = 64
STEP = 100_000


def make_file(path: Path, n: int, seed: int) -> None:
    """Write rows in forty clusters, with lengths that differ."""
    draw = np.random.default_rng(seed)
    centres = draw.standard_normal((40, RANK)) * np.linspace(1.5, 0.3, RANK)
    stored = np.lib.format.open_memmap(
        path, mode="w+", dtype=np.float32, shape=(n, RANK)
    )
    for start in range(0, n, STEP):
        size = min(STEP, n - start)
        rows = centres[draw.integers(0, 40, size)] + draw.standard_normal(
            (size, RANK)
        ) * np.linspace(1.2, 0.2, RANK)
        stored[start : start + size] = rows * draw.lognormal(0, 0.4, (size, 1))
    stored.flush()


def own_memory(pid: int | str) -> int:
    """Read how many bytes of memory are a process's own; mapped files are not."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    return next(
        (int(line.split()[1]) * 1024 for line in lines if line.startswith("RssAnon")), 0
    )


def measured(*arguments: str) -> tuple[float, float, int]:
    """Run embaudit in a process of its own.

    Return its wall time, its processor time and the largest memory of its own.
    """
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    command = [sys.executable, "-m", "embaudit", *arguments]
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "1"}
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.DEVNULL
    ) as process:
        largest = 0
        while process.poll() is None:
            largest = max(largest, own_memory(process.pid))
            time.sleep(0.02)
    assert process.returncode in (0, 1), process.returncode
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return time.perf_counter() - start, used, largest


def audited(*arguments: str) -> tuple[float, float, int]:
    """Measure an audit that prints nothing."""
    return measured("audit", *arguments, "--quiet")


def bare_product(*paths: Path) -> float:
    """Return the processor time of multiplying all rows by a k×k matrix, in blocks."""
    square, start = np.eye(RANK, dtype=np.float32), time.process_time()
    for path in paths:
        rows = np.load(path, mmap_mode="r")
        for begin in range(0, len(rows), 8_192):
            np.sum(rows[begin : begin + 8_192] @ square)
    return time.process_time() - start


def main() -> None:
    """Audit each size and print a line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--sizes", type=int, nargs="+", default=[50_000, 200_000, 500_000, 2_000_000]
    )
    parser.add_argument("--one-side", action="store_true", help="right rows alone")
    chosen = parser.parse_args()
    print("right rows  left rows     time  processor   own memory  processor / product")
    for size in chosen.sizes:
        with tempfile.TemporaryDirectory() as folder:
            right, left = Path(folder, "right.npy"), Path(folder, "left.npy")
            make_file(right, size, 0)
            others = [] if chosen.one_side else [left]
            for path in others:
                make_file(path, size // 4, 1)
            elapsed, used, memory = audited(
                str(right),
                *[text for path in others for text in ("--left-file", str(path))],
            )
            ratio = used / bare_product(right, *others)
            n_left = 0 if chosen.one_side else size // 4
            print(
                f"{size:>10,} {n_left:>10,} {elapsed:>7.1f} s {used:>8.1f} s "
                f"{memory / 2**20:>8.0f} MiB {ratio:>20.0f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
