"""An audit on the workers of MPI, for real: mpiexec starts them, and the numbers are those of threads."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import embaudit as ea

WORKERS = 2
SCRIPT = """
import json, os, sys
import numpy as np
from mpi4py.futures import MPIPoolExecutor
import embaudit as ea
from embaudit.foundation.executors import spread

if __name__ == "__main__":
    folder = sys.argv[1]
    model = ea.FactorModel(*(np.load(f"{folder}/{side}.npy", mmap_mode="r") for side in ("left", "right")))
    with MPIPoolExecutor() as pool, ea.work_on(pool):
        workers = sorted(set(spread(lambda _: os.getpid(), range(200))))
        found = ea.audit(model, n_gauges=2, rng=0).to_dict()
    with open(f"{folder}/found.json", "w") as file:
        json.dump({"own": os.getpid(), "workers": workers, "found": found}, file)
"""


def mpiexec() -> str:
    pytest.importorskip("mpi4py")
    command = shutil.which("mpiexec", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    return command or pytest.skip("no mpiexec")


def test_an_audit_on_workers_of_mpi_is_that_of_threads(tmp_path: Path) -> None:
    command = mpiexec()
    draw = np.random.default_rng(8)
    sides: dict[str, Any] = {
        "left": draw.normal(size=(3_000, 6)),
        "right": draw.normal(size=(70_000, 6)).astype(np.float32),
    }
    for side, rows in sides.items():
        np.save(tmp_path / f"{side}.npy", rows)
    (tmp_path / "script.py").write_text(SCRIPT)
    subprocess.run(
        [command, "-n", str(1 + WORKERS), sys.executable, "-m", "mpi4py.futures", "script.py", str(tmp_path)],
        cwd=tmp_path, check=True, capture_output=True, timeout=600,
    )  # fmt: skip
    there = json.loads((tmp_path / "found.json").read_text())
    assert 1 <= len(there["workers"]) <= WORKERS
    assert there["own"] not in there["workers"]
    model = ea.FactorModel(*(np.load(tmp_path / f"{side}.npy", mmap_mode="r") for side in sides))
    with ea.work_on(f"threads:{WORKERS}"):
        here = ea.audit(model, n_gauges=2, rng=0).to_dict()
    assert there["found"] == json.loads(json.dumps(here))
