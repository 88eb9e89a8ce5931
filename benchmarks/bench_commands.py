"""Whole commands on models of the size of MovieLens and on softmax heads.

    python benchmarks/bench_commands.py [--scale 1.0] [--rounds 3]

The recommender has 610 users and 9,724 items of 50 columns, the heads have 1,000 labels
of 1,024 columns and 800 labels of 512 columns. Each command is a process of its own,
and all commands take turns. The script prints the medians of the wall time and of the
processor time, and the largest memory of a process without the files that it maps.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from bench_audit import measured
from bench_heads import rows_of
from bench_served import make_files

HEADS = ((1_000, 1_024), (800, 512))
MIB = 2**20


def recommender(folder: Path, scale: float) -> list[str]:
    """Write the two sides of a recommender; return the arguments that name them."""
    paths = make_files(folder, scale)
    return [str(paths["items"]), "--left-file", str(paths["users"])]


def equivalent_model(model: list[str], path: Path, rng: int) -> None:
    """Write a random equivalent model to a file."""
    arguments = ["gauge", *model, "--rng", str(rng), "--out", str(path)]
    command = [sys.executable, "-m", "embaudit", *arguments]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def commands(folder: Path, scale: float) -> dict[str, list[str]]:
    """Write all inputs into a folder; return the arguments of each command."""
    model = recommender(folder, scale)
    one, other = folder / "one.npz", folder / "other.npz"
    equivalent_model(model, one, rng=0)
    equivalent_model(model, other, rng=1)
    written = ["--force", "--out", str(folder / "written.npz")]
    page = ["--force", "--out", str(folder / "page.html")]
    named = {
        "--help": ["--help"],
        "audit": ["audit", *model],
        "audit --out page.html": ["audit", *model, *page],
        "audit --quick": ["audit", *model, "--quick"],
        "fix --as prediction --unit": [
            "fix",
            *model,
            "--as",
            "prediction",
            "--unit",
            *written,
        ],
        "compare": ["compare", str(one), str(other), "--by-row"],
        "gauge": ["gauge", *model, *written],
        "formats": ["formats", str(one)],
    }
    for n, k in HEADS:
        head = folder / f"head-{n}.npy"
        np.save(head, rows_of(int(n * scale), int(k * scale)))
        named[f"audit of a head of {n:,} × {k:,}"] = [
            "audit",
            str(head),
            "--kind",
            "head",
        ]
    return named


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--scale", type=float, default=1.0, help="share of all sizes")
    parser.add_argument("--rounds", type=int, default=3, help="runs of each command")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        named = commands(Path(folder), options.scale)
        runs: dict[str, list[tuple[float, float, int]]] = {name: [] for name in named}
        for _ in range(options.rounds):
            for name, arguments in named.items():
                runs[name].append(measured(*arguments))
    print("| command | wall time | processor time | memory |")
    print("| --- | --- | --- | --- |")
    for name, values in runs.items():
        wall, processor, memory = zip(*values, strict=True)
        print(
            f"| {name} | {statistics.median(wall):.2f} s "
            f"| {statistics.median(processor):.2f} s | {max(memory) / MIB:,.0f} MiB |"
        )


if __name__ == "__main__":
    main()
