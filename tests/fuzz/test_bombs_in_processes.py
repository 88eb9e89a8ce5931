"""Commands on small hostile files end soon and use little memory.

Each command runs in a process of its own, because the largest memory of a process never
decreases.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import cache
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pytest
from fuzz.bombs import BOMBS
from pyarrow import parquet

SECONDS = 10
"""CPU time, which depends less on what else the machine does than time on the clock."""
MEBIBYTE = 2**20
FREE = 200 * MEBIBYTE
TIMES_FILE = 4
COMMANDS = {"formats": (), "audit": ("--quick", "--n-starts", "0")}
QUICK = {
    "zeros.npz",
    "fill.h5",
}

MEASURE = """
import json, os, resource, subprocess, sys, threading

def limit():
    resource.setrlimit(resource.RLIMIT_CPU, (60, 60))
    resource.setrlimit(resource.RLIMIT_AS, (2**33, 2**33))

with open("stdout", "wb") as out, open("stderr", "wb") as error:
    child = subprocess.Popen(
        sys.argv[1:],
        stdin=subprocess.DEVNULL,
        stdout=out,
        stderr=error,
        preexec_fn=limit,
    )
    timer = threading.Timer(300, child.kill)
    timer.start()
    _, status, used = os.wait4(child.pid, 0)
    timer.cancel()
print(json.dumps([status, used.ru_utime + used.ru_stime, used.ru_maxrss]))
"""
"""Runs a command from a small process: Linux counts memory of the parent as the
child's.

The limits let a runaway command fail instead of the machine.
"""


class Ended(NamedTuple):
    """How a command ended."""

    code: int
    seconds: float
    peak: int
    """Bytes."""
    text: str


def run(folder, command, path):
    arguments = ["-m", "embaudit", command, str(path), *COMMANDS[command]]
    measured = subprocess.run(
        [sys.executable, "-S", "-c", MEASURE, sys.executable, *arguments],
        cwd=folder,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    status, seconds, kibibytes = json.loads(measured.stdout)
    text = (folder / "stdout").read_text() + (folder / "stderr").read_text()
    return Ended(os.waitstatus_to_exitcode(status), seconds, 1024 * kibibytes, text)


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """Return a function that tells how a command ends for a file of a kilobyte.

    The small file is Parquet if the hostile one is, so that the libraries that read
    Parquet do not count as memory of the hostile file.
    """
    folder = tmp_path_factory.mktemp("small")
    vectors = np.random.default_rng(0).normal(size=(20, 2))
    np.savez(folder / "small.npz", W=vectors)
    columns = pa.table({"e0": vectors[:, 0], "e1": vectors[:, 1]})
    parquet.write_table(columns, folder / "small.parquet")

    @cache
    def ended(command, suffix):
        path = folder / f"small{suffix if suffix == '.parquet' else '.npz'}"
        return run(folder, command, path)

    return ended


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[] if name in QUICK else [pytest.mark.slow])
        for name in BOMBS
    ],
)
def test_hostile_files_cost_little_time_and_memory(tmp_path, small, name, command):
    path = tmp_path / name
    BOMBS[name](path)
    ended = run(tmp_path, command, path)
    assert "Traceback" not in ended.text
    assert ended.code in (0, 1, 2), ended.text[-2000:]
    assert ended.seconds <= SECONDS
    grown = ended.peak - small(command, path.suffix).peak
    assert grown <= TIMES_FILE * path.stat().st_size + FREE, (
        f"{grown / MEBIBYTE:.0f} MiB"
    )
