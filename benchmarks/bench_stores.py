"""Tables of vectors in stores, against what their own clients take to read the same columns.

    python benchmarks/bench_stores.py [--rows 1000000] [--rounds 5] [--only lancedb duckdb]

Rows of 64 numbers with an id. The client reads ids and vectors into one table of Arrow; `load` reads them into a model,
checks every number, and holds the vectors in a temporary file. The two take turns, each in a process of its own. What is
printed are medians of the processor time and of the time on the clock, the median of their paired ratios, and the largest
memory: mapped files, temporary ones too, are not counted. A client that is not installed is passed over.
"""

from __future__ import annotations

import argparse
import multiprocessing
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from bench_audit import own_memory
from bench_formats import lists, rows_of, watched
from bench_svd import MIB

from embaudit import load

WRITTEN_AT_ONCE = 200_000
"""Rows."""
SMALL_ROWS = 1_000
"""Rows of the store that is read first."""


def write_lancedb(folder: Path, x: np.ndarray) -> Path:
    import lancedb

    database = lancedb.connect(str(folder))
    rows = lists(x)
    table = database.create_table("items", rows.slice(0, WRITTEN_AT_ONCE))
    for start in range(WRITTEN_AT_ONCE, len(x), WRITTEN_AT_ONCE):
        table.add(rows.slice(start, WRITTEN_AT_ONCE))
    return folder


def read_lancedb(folder: Path) -> Any:
    import lancedb

    table = lancedb.connect(str(folder)).open_table("items")
    return table.search().select(["id", "vector"]).to_arrow()


def write_duckdb(folder: Path, x: np.ndarray) -> Path:
    import duckdb

    path = folder / "items.duckdb"
    with duckdb.connect(str(path)) as database:
        database.register("given", lists(x))
        database.execute("CREATE TABLE items AS SELECT * FROM given")
    return path


def read_duckdb(path: Path) -> Any:
    import duckdb

    with duckdb.connect(str(path), read_only=True) as database:
        relation = database.sql("SELECT id, vector FROM items")
        return relation.to_arrow_table()


@dataclass(frozen=True)
class Store:
    """How a store is written and read by its client."""

    write: Callable[[Path, np.ndarray], Path]
    read: Callable[[Path], Any]


STORES = {
    "lancedb": Store(write_lancedb, read_lancedb),
    "duckdb": Store(write_duckdb, read_duckdb),
}


@dataclass(frozen=True)
class Cost:
    """What one read took."""

    cpu: float
    """Seconds of the processor."""
    clock: float
    """Seconds on the clock."""
    memory: int
    """Bytes, at most."""


def cost_of(name: str, path: Path, small: Path, *, is_ours: bool) -> Cost:
    """Read a store, after a read of a small one that loads all modules."""
    read = load if is_ours else STORES[name].read
    read(small)
    times: list[float] = []

    def work() -> None:
        start, clock = time.process_time(), time.perf_counter()
        result = read(path)
        times.extend((time.process_time() - start, time.perf_counter() - clock))
        del result

    memory = watched(work)
    return Cost(times[0], times[1], memory)


def compared(name: str, n_rows: int, rounds: int) -> str:
    """Return the line of one store."""
    spawn = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory() as folder:
        rows = rows_of(n_rows)
        paths = []
        for size in (n_rows, SMALL_ROWS):
            place = Path(folder, str(size))
            place.mkdir()
            paths.append(STORES[name].write(place, rows[:size]))
        del rows
        pairs = []
        for _ in range(rounds + 1):
            costs = []
            for is_ours in (False, True):
                with ProcessPoolExecutor(1, spawn) as pool:
                    job = pool.submit(cost_of, name, *paths, is_ours=is_ours)
                    costs.append(job.result())
            pairs.append(costs)
    # The first round reads files that are not in the page cache yet.
    pairs = pairs[1:]
    client, ours = zip(*pairs, strict=True)
    cpu = median(b.cpu / a.cpu for a, b in pairs)
    clock = median(b.clock / a.clock for a, b in pairs)
    cells = [
        name,
        f"{median(x.cpu for x in client):.2f} s",
        f"{median(x.cpu for x in ours):.2f} s",
        f"{cpu:.2f}",
        f"{median(x.clock for x in client):.2f} s",
        f"{median(x.clock for x in ours):.2f} s",
        f"{clock:.2f}",
        f"{median(x.memory for x in client) / MIB:.0f} MiB",
        f"{median(x.memory for x in ours) / MIB:.0f} MiB",
    ]
    return "| " + " | ".join(cells) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", nargs="*", choices=STORES, default=[*STORES])
    options = parser.parse_args()
    assert own_memory("self")
    print(f"{options.rows:,} rows × 64 with ids; client first, then embaudit\n")
    print("| store | CPU | | ratio | clock | | ratio | memory | |")
    print("|---|---|---|---|---|---|---|---|---|")
    for name in options.only:
        if find_spec(name) is None:
            print(f"{name} is not installed")
        else:
            print(compared(name, options.rows, options.rounds), flush=True)


if __name__ == "__main__":
    main()
