"""Tables of vectors in Parquet, LanceDB and DuckDB against a read by their own client.

    python benchmarks/bench_tables.py [--rows 1000000] [--rounds 5] [--only KIND ...]

KIND is parquet, shards, wide, lancedb or duckdb.

A row has an id and a vector of 64 numbers in float32. The client reads the ids and the
vectors into two NumPy arrays, of which the one of the vectors is contiguous. `load`
reads them into a model: it also checks that every number is finite and that no id is
repeated, and it keeps the vectors in a temporary file, which can exceed memory.

Each read is in a process of its own, after the imports and after one read of 1,000 rows
by the same reader, because both import modules when they first read. Client and
embaudit take turns, and the order alternates. The files are in the page cache. The
script prints the medians of the processor time (user and system, all threads), of its
user part and of the wall time, and the medians of the ratios of each pair. The system
part is what the kernel takes to hand out memory. On a virtual machine it differs by a
factor of five between runs of the same read, so compare versions by the user part. The
first pair is not timed: it fills the page cache and measures the largest memory that is
the process's own, so that mapped files are not counted. A client that is not installed
is skipped.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from statistics import median

import numpy as np
import pyarrow as pa
from bench_audit import own_memory
from bench_formats import RANK, lists, rows_of, watched, wide
from bench_svd import MIB
from pyarrow import dataset, parquet

import embaudit as ea

N_SHARDS = 16
WRITTEN_AT_ONCE = 200_000
"""Rows that are added to a LanceDB table at a time."""
SMALL_ROWS = 1_000
"""Rows of the table that is read before the clock starts."""


def write_parquet(folder: Path, x: np.ndarray) -> Path:
    path = folder / "items.parquet"
    parquet.write_table(lists(x), path)
    return path


def read_parquet(path: Path) -> pa.Table:
    # Mapped as embaudit maps it: about twice as fast as with a copy of the file.
    return parquet.read_table(path, memory_map=True)


def write_shards(folder: Path, x: np.ndarray) -> Path:
    rows = lists(x)
    cuts = np.linspace(0, len(x), N_SHARDS + 1).astype(int)
    for number, (start, stop) in enumerate(pairwise(cuts)):
        shard = rows.slice(start, stop - start)
        parquet.write_table(shard, folder / f"part-{number:03}.parquet")
    return folder


def read_shards(folder: Path) -> pa.Table:
    return dataset.dataset(folder, format="parquet").to_table()


def write_wide(folder: Path, x: np.ndarray) -> Path:
    path = folder / "items.parquet"
    parquet.write_table(wide(x), path)
    return path


def write_lancedb(folder: Path, x: np.ndarray) -> Path:
    import lancedb

    database = lancedb.connect(str(folder))
    rows = lists(x)
    table = database.create_table("items", rows.slice(0, WRITTEN_AT_ONCE))
    for start in range(WRITTEN_AT_ONCE, len(x), WRITTEN_AT_ONCE):
        table.add(rows.slice(start, WRITTEN_AT_ONCE))
    return folder


def read_lancedb(folder: Path) -> pa.Table:
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


def read_duckdb(path: Path) -> pa.Table:
    import duckdb

    with duckdb.connect(str(path), read_only=True) as database:
        return database.sql("SELECT id, vector FROM items").to_arrow_table()


@dataclass(frozen=True)
class Kind:
    """How a table is written, and read by its client."""

    client: str
    """The module of the client."""
    write: Callable[[Path, np.ndarray], Path]
    read: Callable[[Path], pa.Table]
    goal: float
    """Largest ratio of processor time, embaudit by client."""


KINDS = {
    "parquet": Kind("pyarrow", write_parquet, read_parquet, 1.5),
    "shards": Kind("pyarrow", write_shards, read_shards, 1.5),
    "wide": Kind("pyarrow", write_wide, read_parquet, 1.5),
    "lancedb": Kind("lancedb", write_lancedb, read_lancedb, 2),
    "duckdb": Kind("duckdb", write_duckdb, read_duckdb, 2),
}
"""One Parquet file, a folder of 16, one with a column per dimension, and two stores."""


def arrays_of(table: pa.Table) -> tuple[np.ndarray, np.ndarray]:
    """Return the ids and the vectors of a table."""
    ids = table["id"].to_numpy()
    if "vector" in table.column_names:
        numbers = table["vector"].combine_chunks().flatten().to_numpy()
        return ids, numbers.reshape(len(table), RANK)
    vectors = np.empty((len(table), RANK), np.float32)
    for place in range(RANK):
        vectors[:, place] = table[f"d{place}"].to_numpy()
    return ids, vectors


def read_by_client(name: str, path: Path) -> object:
    ids, vectors = arrays_of(KINDS[name].read(path))
    assert vectors.flags.c_contiguous
    assert vectors.shape == (len(ids), RANK)
    return ids, vectors


def read_by_embaudit(name: str, path: Path) -> object:
    del name
    model = ea.load(path)
    assert model.right.shape == (len(model.right_ids), RANK)
    return model


READERS = {"client": read_by_client, "embaudit": read_by_embaudit}


@dataclass(frozen=True)
class Cost:
    """Seconds that one read took."""

    cpu: float
    user: float
    wall: float


def timed(reader: str, name: str, path: Path, small: Path) -> Cost:
    """Read a table, after a small one that imports all modules."""
    read = READERS[reader]
    read(name, small)
    before, start = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter()
    result = read(name, path)
    after, wall = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter() - start
    del result
    user = after.ru_utime - before.ru_utime
    system = after.ru_stime - before.ru_stime
    return Cost(user + system, user, wall)


def largest_memory(reader: str, name: str, path: Path, small: Path) -> int:
    """Return the bytes of its own memory that a process takes to read a table."""
    read = READERS[reader]
    read(name, small)
    return watched(lambda: read(name, path))


def in_new_process(function: Callable[..., object], *arguments: object) -> object:
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, spawn) as pool:
        return pool.submit(function, *arguments).result()


def compared(name: str, n_rows: int, rounds: int) -> str:
    """Return the line of one kind of table."""
    with tempfile.TemporaryDirectory() as folder:
        rows = rows_of(n_rows)
        paths = []
        for size in (n_rows, SMALL_ROWS):
            place = Path(folder, str(size))
            place.mkdir()
            paths.append(KINDS[name].write(place, rows[:size]))
        del rows
        memory = {
            reader: in_new_process(largest_memory, reader, name, *paths)
            for reader in READERS
        }
        costs: dict[str, list[Cost]] = {reader: [] for reader in READERS}
        for number in range(rounds):
            for reader in list(READERS)[:: -1 if number % 2 else 1]:
                costs[reader].append(in_new_process(timed, reader, name, *paths))
    cells = [name]
    for clock in ("cpu", "user", "wall"):
        seconds = {
            reader: [getattr(cost, clock) for cost in costs[reader]]
            for reader in READERS
        }
        pairs = zip(seconds["embaudit"], seconds["client"], strict=True)
        cells += [f"{median(seconds[reader]):.2f} s" for reader in READERS]
        cells.append(f"{median(ours / theirs for ours, theirs in pairs):.2f}")
        if clock == "cpu":
            cells.append(f"{KINDS[name].goal:g}")
    cells += [f"{memory[reader] / MIB:.0f} MiB" for reader in READERS]
    return "| " + " | ".join(cells) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", nargs="+", choices=KINDS, default=list(KINDS))
    options = parser.parse_args()
    assert own_memory("self")
    size = f"{options.rows:,} rows × {RANK} with ids"
    print(f"{size}: first the client, then embaudit\n")
    titles = ["table", "CPU", "", "ratio", "goal", "user", "", "ratio"]
    titles += ["wall", "", "ratio", "memory", ""]
    print("| " + " | ".join(titles) + " |")
    print("|" + " --- |" * len(titles))
    for name in options.only:
        if find_spec(KINDS[name].client) is None:
            print(f"{KINDS[name].client} is not installed")
        else:
            print(compared(name, options.rows, options.rounds), flush=True)


if __name__ == "__main__":
    main()
