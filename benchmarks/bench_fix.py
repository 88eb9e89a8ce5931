"""Position and fix of factors on disk, against copying the files.

The factors are 5,000,000 × 64 and 500,000 × 64 numbers in float32. Run from the root of
a checkout: `python benchmarks/bench_fix.py`. Everything is timed in one run, each way
twice in turn, so look at the ratios. Bound: at most twice the time of reading and
writing the files, and at most 500 MB of memory beyond the blocks being written. The
files are in the page cache for both, which makes copying fast.

Measured on 2 cores beside other work, in one run: opening and position took 0.2 of the
time of copying, with 20 MB; opening and fixing both sides 1.4, with 110 MB; opening and
writing prediction vectors of the users 1.4, with 90 MB.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import threading
import time
from pathlib import Path

import numpy as np

from embaudit.canonical import position
from embaudit.model import FactorModel
from embaudit.remedy import fix

SIZES = {"users": 5_000_000, "items": 500_000}
RANK = 64


def make_files(folder: Path, scale: float) -> dict[str, Path]:
    paths = {name: folder / f"{name}.npy" for name in SIZES}
    draw = np.random.default_rng(0)
    for name, path in paths.items():
        n = int(SIZES[name] * scale)
        stored = np.lib.format.open_memmap(
            path, mode="w+", dtype=np.float32, shape=(n, RANK)
        )
        for start in range(0, n, 250_000):
            size = (min(250_000, n - start), RANK)
            stored[start : start + 250_000] = draw.standard_normal(
                size, dtype=np.float32
            ) * np.geomspace(1, 0.1, RANK)
        stored.flush()
    return paths


def copy(paths: dict[str, Path], folder: Path) -> None:
    """Read and write in plain chunks, with the data on disk at the end, as in fix."""
    buffer = bytearray(2**23)
    view = memoryview(buffer)
    for path in paths.values():
        with path.open("rb") as source, (folder / "copy.bin").open("wb") as target:
            while size := source.readinto(buffer):
                target.write(view[:size])
            target.flush()
            os.fsync(target.fileno())
    (folder / "copy.bin").unlink()


def opened(paths: dict[str, Path]) -> FactorModel:
    return FactorModel.from_user_item(
        *(np.load(path, mmap_mode="r") for path in paths.values())
    )


class Memory:
    """Highest private memory of this process while the block runs, in MB.

    Pages of files do not count.
    """

    def __enter__(self) -> Memory:
        self.before, self.peak, self.done = self.now(), 0.0, False
        self.thread = threading.Thread(target=self.watch)
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.done = True
        self.thread.join()

    def watch(self) -> None:
        """Look again and again."""
        while not self.done:
            self.peak = max(self.peak, self.now())
            time.sleep(0.01)

    @staticmethod
    def now() -> float:
        """Return the private memory in MB."""
        lines = Path("/proc/self/status").read_text().splitlines()
        return (
            next(int(line.split()[1]) for line in lines if line.startswith("RssAnon"))
            / 1e3
        )

    @property
    def used(self) -> float:
        """Return by how much it rose."""
        return self.peak - self.before


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", type=float, default=1.0, help="share of the rows")
    parser.add_argument(
        "--folder",
        type=Path,
        help="where to put 4 GB of files; a temporary folder by default",
    )
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=arguments.folder) as name:
        folder = Path(name)
        paths = make_files(folder, arguments.scale)
        ways = {
            "read and write": lambda: copy(paths, folder),
            "open and check": lambda: opened(paths),
            "open, position": lambda: position(opened(paths)),
            "open, fix balanced, .npz": lambda: fix(opened(paths), "balanced").write(
                folder / "m.npz", force=True
            ),
            "open, fix prediction users, .npy": lambda: fix(
                opened(paths), "prediction", role="left"
            ).write(folder / "v.npy", force=True),
        }
        times: dict[str, list[float]] = {way: [] for way in ways}
        memory: dict[str, float] = {}
        for _ in range(2):
            for way, run in ways.items():
                with Memory() as used:
                    start = time.perf_counter()
                    run()
                    times[way].append(time.perf_counter() - start)
                memory[way] = max(memory.get(way, 0), used.used)
        base = min(times["read and write"])
        for way in ways:
            best = min(times[way])
            print(
                f"{way:34s} {best:6.2f} s  {best / base:5.2f} × copying  "
                f"{memory[way]:6.0f} MB"
            )


if __name__ == "__main__":
    main()
