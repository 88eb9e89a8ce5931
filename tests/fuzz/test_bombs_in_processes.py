"""Commands on small hostile files end soon and use little memory.

Each command runs in a process of its own, because the largest memory of a process never
decreases.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from fuzz import measured_process
from fuzz.bombs import BOMBS
from pyarrow import parquet

MOST_CPU_SECONDS = 10
"""Processor time depends less on other work of the machine than time on the clock."""
MEBIBYTE = 2**20
FREE_BYTES = 200 * MEBIBYTE
"""Memory that a hostile file may take in any case."""
BYTES_PER_BYTE = 4
"""Memory that a hostile file may take in addition, for each byte of the file."""

OPTIONS = {"formats": (), "audit": ("--quick", "--n-starts", "0")}
"""Commands that read the hostile files, with their options."""
QUICK_BOMBS = {"zeros.npz", "fill.h5"}
"""Hostile files of `make test`; the others take `make test-slow`."""


@dataclass(frozen=True)
class Run:
    """A command that has ended."""

    exit_code: int
    cpu_seconds: float
    peak_bytes: int
    output: str
    """Standard output and standard error."""


@dataclass(frozen=True)
class BombRun:
    """A command that has ended on a hostile file."""

    command: str
    path: Path
    run: Run


def run_command(command: str, path: Path, folder: Path) -> Run:
    """Run `embaudit COMMAND PATH` in a folder, in a process of its own."""
    arguments = [command, str(path), *OPTIONS[command]]
    measured = subprocess.run(
        [
            *(sys.executable, "-I", "-S", measured_process.__file__),
            *(sys.executable, "-m", "embaudit", *arguments),
        ],
        cwd=folder,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    status, cpu_seconds, peak_kibibytes = json.loads(measured.stdout)
    return Run(
        exit_code=os.waitstatus_to_exitcode(status),
        cpu_seconds=cpu_seconds,
        peak_bytes=1024 * peak_kibibytes,
        output=(folder / "stdout").read_text() + (folder / "stderr").read_text(),
    )


def bomb_cases() -> list:
    """List each hostile file with each command."""
    cases = []
    for name in BOMBS:
        marks = [] if name in QUICK_BOMBS else [pytest.mark.slow]
        for command in OPTIONS:
            case = pytest.param((name, command), marks=marks, id=f"{command} {name}")
            cases.append(case)
    return cases


@pytest.fixture(scope="module", params=bomb_cases())
def bomb_run(request, tmp_path_factory) -> BombRun:
    """A command that ran on a hostile file, once for all tests."""
    name, command = request.param
    folder = tmp_path_factory.mktemp("bomb")
    path = folder / name
    BOMBS[name](path)
    return BombRun(command, path, run_command(command, path, folder))


@pytest.fixture(scope="module")
def harmless_files(tmp_path_factory) -> Path:
    """A folder with the same 20 rows in `small.npz` and in `small.parquet`."""
    folder = tmp_path_factory.mktemp("small")
    vectors = np.random.default_rng(0).normal(size=(20, 2))
    np.savez(folder / "small.npz", W=vectors)
    columns = pa.table({"e0": vectors[:, 0], "e1": vectors[:, 1]})
    parquet.write_table(columns, folder / "small.parquet")
    return folder


@cache
def run_on_harmless_file(command: str, path: Path) -> Run:
    return run_command(command, path, path.parent)


def test_a_hostile_file_ends_a_command_with_a_documented_exit_code(
    bomb_run: BombRun,
) -> None:
    assert bomb_run.run.exit_code in (0, 1, 2), bomb_run.run.output[-2000:]


def test_a_hostile_file_prints_no_traceback(bomb_run: BombRun) -> None:
    assert "Traceback" not in bomb_run.run.output


def test_a_hostile_file_costs_little_processor_time(bomb_run: BombRun) -> None:
    assert bomb_run.run.cpu_seconds <= MOST_CPU_SECONDS


def test_a_hostile_file_costs_little_more_memory_than_a_harmless_one(
    bomb_run: BombRun, harmless_files: Path
) -> None:
    """The harmless file is Parquet if the hostile one is.

    So the libraries that read Parquet do not count as memory of the hostile file.
    """
    is_parquet = bomb_run.path.suffix == ".parquet"
    harmless = harmless_files / ("small.parquet" if is_parquet else "small.npz")
    before = run_on_harmless_file(bomb_run.command, harmless)
    growth = bomb_run.run.peak_bytes - before.peak_bytes
    allowed = FREE_BYTES + BYTES_PER_BYTE * bomb_run.path.stat().st_size
    assert growth <= allowed, f"{growth / MEBIBYTE:.0f} MiB"
