"""Benchmarks also run on small inputs, so that a change of one can be tried quickly."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.mark.parametrize(
    ("gigabytes", "n_tensors", "n_rows"), [("0", 1, 1), ("0.0005", 1, 122)]
)
def test_blocks_of_small_files_are_compared(gigabytes, n_tensors, n_rows):
    """A row of bfloat16 takes 4,096 bytes, and a file holds at least one row."""
    command = [sys.executable, str(BENCHMARKS / "bench_blocks.py")]
    done = subprocess.run(
        [*command, "--gigabytes", gigabytes], capture_output=True, text=True, check=True
    )
    by_tensors, by_rows = done.stdout.splitlines()
    assert by_tensors.rpartition(", ")[2].split()[0] == str(n_tensors)
    assert by_rows.rpartition(", ")[2].split()[0] == str(n_rows)
