"""Compare two safetensors files of two gigabytes: time beyond reading, peak memory.

Run `python benchmarks/bench_blocks.py --gigabytes 2 --dtype bfloat16`. The files are
made in a temporary folder and removed. Reading alone and comparing run in turn, each in
a process of its own, so that both times of a ratio come from one run.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from embaudit.core.words import counted

DTYPES = {"float32": ("F32", 4), "bfloat16": ("BF16", 2), "float16": ("F16", 2)}


def write_file(path: Path, gigabytes: float, dtype: str, seed: int) -> None:
    """Write tensors shaped like a language model's, a piece at a time.

    The last tensor has fewer rows, so that the file has the given size. A file has at
    least one row, however small this size is.
    """
    code, width = DTYPES[dtype]
    n_columns = 2_048
    bytes_per_row = n_columns * width
    n_left = max(1, int(gigabytes * 1e9 / bytes_per_row))
    header, offset, shapes = {}, 0, []
    for i, n_rows in enumerate([32_000] + [4_096] * 400):
        shape = (min(n_rows, n_left), n_columns)
        if shape[0] == 0:
            break
        end = offset + shape[0] * bytes_per_row
        header[f"layers.{i}.weight"] = {
            "dtype": code,
            "shape": shape,
            "data_offsets": [offset, end],
        }
        offset = end
        n_left -= shape[0]
        shapes.append(shape)
    text = json.dumps(header).encode()
    rng = np.random.default_rng(seed)
    noise = rng.standard_normal(2**22, dtype=np.float32)
    with path.open("wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for shape in shapes:
            values = np.resize(np.roll(noise, int(rng.integers(2**22))), shape)
            file.write(encode(values, dtype))


def encode(values: np.ndarray, dtype: str) -> bytes:
    if dtype == "bfloat16":
        return (values.view(np.uint32) >> 16).astype(np.uint16).tobytes()
    return values.astype(dtype).tobytes()


def read_only(paths: list[str]) -> dict[str, float]:
    """Read both files as the comparison does, in turns, and do nothing with them."""
    buffer, start = bytearray(2**20), time.perf_counter()
    with (
        Path(paths[0]).open("rb", buffering=0) as x,
        Path(paths[1]).open("rb", buffering=0) as y,
    ):
        while x.readinto(buffer) and y.readinto(buffer):
            pass
    return {"seconds": time.perf_counter() - start}


def peak_megabytes() -> float:
    """Return the largest memory of this process in MB."""
    # getrusage would also count the memory of the parent process.
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    return int(status.split("VmHWM:")[1].split()[0]) / 1000


def compare(paths: list[str], blocks: str) -> dict[str, float]:
    from embaudit.blocks import block_cosines

    start = time.perf_counter()
    result = block_cosines(*paths, blocks)
    seconds = time.perf_counter() - start
    return {
        "seconds": seconds,
        "peak_mb": peak_megabytes(),
        "blocks": len(result),
        "global": result.global_cosine,
    }


def run(*arguments: str) -> dict[str, float]:
    done = subprocess.run(
        [sys.executable, __file__, *arguments],
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gigabytes", type=float, default=2.0)
    parser.add_argument("--dtype", choices=DTYPES, default="bfloat16")
    parser.add_argument("--blocks", nargs="+", default=["tensors", "rows"])
    parser.add_argument("--task", nargs="+", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.task:
        kind, *paths = options.task
        result = (
            read_only(paths) if kind == "read" else compare(paths, options.blocks[0])
        )
        print(json.dumps(result))
        return
    with tempfile.TemporaryDirectory() as folder:
        paths = [str(Path(folder) / f"{side}.safetensors") for side in "xy"]
        for seed, path in enumerate(paths):
            write_file(Path(path), options.gigabytes, options.dtype, seed)
        for blocks in options.blocks:
            read = run("--task", "read", *paths)["seconds"]
            done = run("--blocks", blocks, "--task", "compare", *paths)
            beyond = done["seconds"] - read
            print(
                f"{options.gigabytes:g} GB {options.dtype} by {blocks:8s}: "
                f"reading {read:.1f} s, comparing {done['seconds']:.1f} s, "
                f"beyond reading {beyond:.1f} s, peak {done['peak_mb']:.0f} MB, "
                f"{counted(done['blocks'], 'block')}"
            )


if __name__ == "__main__":
    main()
