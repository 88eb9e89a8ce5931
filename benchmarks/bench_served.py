"""An audit that compares lists with those of an index, against an audit without.

    python benchmarks/bench_served.py [--scale 1.0] [--rounds 5] [--metric cosine]

The model has the shape of one of MovieLens: 610 users and 9,724 items of 50 columns.
Each audit is a process of its own with one thread. `embaudit audit` with and without
`--served` take turns in alternating order. What is printed are the medians of the
processor time, and the median of the paired differences. Bound: at most 0.5 s more.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
from pathlib import Path

import numpy as np
from bench_audit import audited

SIZES = {"users": 610, "items": 9_724}
RANK = 50
BOUND = 0.5
"""Seconds of processor time that `--served` may add."""


def make_files(folder: Path, scale: float) -> dict[str, Path]:
    """Write rows whose lengths differ, so that the measures list other items."""
    draw = np.random.default_rng(0)
    spread = np.geomspace(1, 0.1, RANK)
    paths = {}
    for side, number in SIZES.items():
        n = int(number * scale)
        lengths = draw.lognormal(0, 0.8, (n, 1))
        rows = draw.standard_normal((n, RANK)) * spread * lengths
        paths[side] = folder / f"{side}.npy"
        np.save(paths[side], rows.astype(np.float32))
    return paths


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--scale", type=float, default=1.0, help="share of the rows")
    parser.add_argument("--rounds", type=int, default=5, help="audits of each kind")
    parser.add_argument("--metric", choices=("cosine", "dot", "l2"), default="cosine")
    options = parser.parse_args()
    os.environ["EMBAUDIT_WORKERS"] = "1"
    seconds: dict[str, list[float]] = {"without": [], "with": []}
    with tempfile.TemporaryDirectory() as folder:
        paths = make_files(Path(folder), options.scale)
        model = [str(paths["items"]), "--left-file", str(paths["users"])]
        arguments = {"without": model, "with": [*model, "--served", options.metric]}
        for turn in range(options.rounds):
            for name in list(arguments)[:: -1 if turn % 2 else 1]:
                _, processor, _ = audited(*arguments[name])
                seconds[name].append(processor)
    for name, times in seconds.items():
        print(f"{name:<7} --served: {statistics.median(times):.2f} s of processor time")
    differences = [
        served - plain
        for plain, served in zip(seconds["without"], seconds["with"], strict=True)
    ]
    print(
        f"--served {options.metric} adds {statistics.median(differences):.2f} s "
        f"(from {min(differences):.2f} to {max(differences):.2f}; bound {BOUND} s)"
    )


if __name__ == "__main__":
    main()
