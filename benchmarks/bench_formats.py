"""Vectors of every format that is read in blocks, against reading the file.

    python benchmarks/bench_formats.py [--rows 1000000] [--only f16.npy lists.parquet]

Rows have 64 numbers, and each file is read in a process of its own. The script prints
the processor time of a plain read, of opening with a check of every number, and of one
pass for the mean and the Gram matrix, and the largest memory of the process without
mapped files, temporary ones included.
"""

from __future__ import annotations

import argparse
import multiprocessing
import tempfile
import threading
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
import pyarrow as pa
from bench_audit import own_memory
from bench_svd import MIB
from pyarrow import feather, parquet

from embaudit import load

RANK = 64


def rows_of(n: int) -> np.ndarray:
    draw = np.random.default_rng(0)
    return draw.standard_normal((n, RANK), dtype=np.float32) * np.geomspace(
        1, 0.1, RANK, dtype=np.float32
    )


def lists(x: np.ndarray) -> pa.Table:
    vectors = pa.FixedSizeListArray.from_arrays(pa.array(x.reshape(-1)), RANK)
    return pa.table({"id": np.arange(len(x)), "vector": vectors})


def wide(x: np.ndarray) -> pa.Table:
    return pa.table(
        {"id": np.arange(len(x)), **{f"d{i}": x[:, i] for i in range(RANK)}}
    )


def gguf_of(x: np.ndarray, path: Path) -> None:
    import gguf

    kind = gguf.GGMLQuantizationType[path.stem]
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_tensor("output.weight", gguf.quantize(x, kind), raw_dtype=kind)
    for write in (
        writer.write_header_to_file,
        writer.write_kv_data_to_file,
        writer.write_tensors_to_file,
    ):
        write()
    writer.close()


FILES: dict[str, Callable[[np.ndarray, Path], None]] = {
    "f32.npy": lambda x, path: np.save(path, x),
    "f16.npy": lambda x, path: np.save(path, x.astype(np.float16)),
    "lists.parquet": lambda x, path: parquet.write_table(lists(x), path),
    "wide.parquet": lambda x, path: parquet.write_table(wide(x), path),
    "lists.feather": lambda x, path: feather.write_feather(
        lists(x), str(path), compression="uncompressed"
    ),
    "wide.feather": lambda x, path: feather.write_feather(
        wide(x), str(path), compression="lz4"
    ),
    "F16.gguf": gguf_of,
    "Q8_0.gguf": gguf_of,
}
"""How each file is written."""


def plainly_read(path: Path) -> float:
    """Read a file that is in the page cache, and return the processor time."""
    buffer = bytearray(2**23)
    start = time.process_time()
    with path.open("rb") as file:
        while file.readinto(buffer):
            pass
    return time.process_time() - start


def passed(path: Path) -> tuple[float, float, float, int]:
    """Return the times of a plain read, of opening and of one pass, and the memory.

    The memory is the largest of the process beyond its memory before.
    """
    plainly_read(path)
    times = [plainly_read(path)]

    def work() -> None:
        start = time.process_time()
        side = load(path, kind="vectors").right_side
        assert side.rows.shape[1] == RANK
        times.append(time.process_time() - start)
        start = time.process_time()
        assert side.moments is not None
        times.append(time.process_time() - start)

    memory = watched(work)
    read, opened, summed = times
    return read, opened, summed, memory


def watched(work: Callable[[], None]) -> int:
    """Do some work, and return the largest memory of its own."""
    before, largest, ended = own_memory("self"), [0], threading.Event()

    def watch() -> None:
        while not ended.wait(0.005):
            largest[0] = max(largest[0], own_memory("self"))

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        work()
    finally:
        ended.set()
        watcher.join()
    return max(largest[0] - before, 0)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--only", nargs="+", choices=sorted(FILES), default=list(FILES))
    options = parser.parse_args()
    x = rows_of(options.rows)
    print("file               size  plain read  opening  one pass  own memory")
    for name in options.only:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, name)
            FILES[name](x, path)
            with ProcessPoolExecutor(
                1, mp_context=multiprocessing.get_context("spawn")
            ) as child:
                read, opened, summed, memory = child.submit(passed, path).result()
            print(
                f"{name:<14} {path.stat().st_size / MIB:>5,.0f} MiB {read:>8.2f} s "
                f"{opened:>6.2f} s {summed:>7.2f} s {memory / MIB:>7,.0f} MiB",
                flush=True,
            )


if __name__ == "__main__":
    main()
