"""`embaudit audit` of softmax heads of many dimensions, against one matrix product.

Run from the root of a checkout: `python benchmarks/bench_heads.py` (the two small
heads, a minute), with `--large` for 32,000 and 128,000 labels of 4,096 dimensions too
(some minutes, 6 GB of disk), or with `--sizes 32000x4096`. Small heads are `.npy` files
in float32, large ones safetensors in float16, with and without a final norm before
them. Each audit is a process of its own and alternates with a multiplication of all
rows by a k×k matrix in float32. The script prints medians, and the largest memory of a
process without the files that it maps.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from bench_audit import audited
from safetensors.numpy import save_file

SMALL, LARGE = [(1_000, 1_024), (800, 512)], [(32_000, 4_096), (128_000, 4_096)]
IN_FLOAT16 = 2**24
"""Entries from which a head is stored so."""
STEP = 4_096
UNUSED = 0.02
"""Share of rows that were hardly trained."""


def rows_of(n: int, k: int) -> np.ndarray:
    """Draw rows around a mean in 200 clusters, with different lengths.

    Some of the rows are close to the mean, as if hardly trained.
    """
    draw = np.random.default_rng(0)
    mean, centres = (
        0.4 * draw.standard_normal(k, dtype=np.float32),
        draw.standard_normal((200, k), dtype=np.float32) / 2,
    )
    rows = np.empty((n, k), dtype=np.float16 if n * k >= IN_FLOAT16 else np.float32)
    for start in range(0, n, STEP):
        block = rows[start : start + STEP]
        lengths = np.where(
            draw.random((len(block), 1)) < UNUSED,
            0.05,
            draw.lognormal(0, 0.3, (len(block), 1)),
        )
        own = (
            draw.standard_normal(block.shape, dtype=np.float32)
            + centres[draw.integers(0, 200, len(block))]
        )
        block[:] = (mean + lengths * own) / np.sqrt(k)
    return rows


def arguments_of(folder: Path, rows: np.ndarray) -> Iterator[tuple[str, list[str]]]:
    """Write a head, and yield what to call each audit and what to ask for."""
    if rows.dtype == np.float32:
        np.save(folder / "head.npy", rows)
        yield "", [str(folder / "head.npy"), "--kind", "head"]
        return
    gains = np.exp(
        0.4 * np.random.default_rng(1).standard_normal(rows.shape[1])
    ).astype(np.float16)
    save_file(
        {"lm_head.weight": rows, "model.norm.weight": gains},
        folder / "model.safetensors",
    )
    config = {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "tie_word_embeddings": False,
    }
    sizes = {
        "vocab_size": len(rows),
        "hidden_size": rows.shape[1],
        "rms_norm_eps": 1e-5,
    }
    (folder / "config.json").write_text(json.dumps(config | sizes))
    yield "float16", [str(folder / "model.safetensors"), "--norm", "none"]
    yield "float16, norm", [str(folder)]


def bare_product(rows: np.ndarray) -> float:
    """Return the processor time of multiplying all rows by a k×k matrix, in blocks."""
    square, start = np.eye(rows.shape[1], dtype=np.float32), time.process_time()
    for begin in range(0, len(rows), STEP):
        np.sum(rows[begin : begin + STEP].astype(np.float32) @ square)
    return time.process_time() - start


def main() -> None:
    """Audit each size and print a line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", nargs="+", help="such as 32000x4096")
    parser.add_argument("--large", action="store_true", help="the large heads too")
    parser.add_argument("--rounds", type=int, default=3)
    chosen = parser.parse_args()
    given = [
        tuple(int(part) for part in size.split("x")) for size in chosen.sizes or ()
    ]
    print(
        "           head                    time  processor   own memory  "
        "processor / product"
    )
    for n, k in given or [*SMALL, *(LARGE if chosen.large else ())]:
        with tempfile.TemporaryDirectory() as folder:
            rows = rows_of(n, k)
            for name, arguments in arguments_of(Path(folder), rows):
                rounds = [
                    (*audited(*arguments), bare_product(rows))
                    for _ in range(chosen.rounds)
                ]
                elapsed, used, memory, bare = (
                    statistics.median(values) for values in zip(*rounds, strict=True)
                )
                print(
                    f"{n:>8,} x {k:>5,} {name:<14} {elapsed:>7.1f} s {used:>8.1f} s "
                    f"{memory / 2**20:>8.0f} MiB {used / bare:>20.0f}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
