"""Audit a large synthetic softmax head: time and peak memory beyond the head itself, in a process of its own.

    python benchmarks/bench_head.py [labels] [dimensions]

The rows stand in a file and are mapped, as the safetensors reader does, so that the operating system may drop
them. Most labels are drawn around a mean row; some are unused tokens close to it, which no input makes the argmax.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

UNUSED = 0.02
"""Share of rows that were hardly trained."""


def write_head(path: Path, n_labels: int, rank: int) -> None:
    draw = np.random.default_rng(0)
    mean = 0.4 * draw.standard_normal(rank)
    rows = np.lib.format.open_memmap(path, "w+", dtype=np.float32, shape=(n_labels, rank))
    for start in range(0, n_labels, 8192):
        block = rows[start : start + 8192]
        lengths = np.where(draw.random((len(block), 1)) < UNUSED, 0.05, 1.0)
        block[:] = mean + lengths * draw.standard_normal(block.shape)
    rows.flush()


def audit_once(path: Path) -> dict[str, object]:
    """Audit a mapped head and read the peak of this process, which began small."""
    from embaudit.auditing.head_report import head_report
    from embaudit.model import FactorModel

    rows = np.load(path, mmap_mode="r")
    start = time.perf_counter()
    report = head_report(FactorModel.from_softmax(rows))
    seconds = time.perf_counter() - start
    return {
        "labels": report.n_labels,
        "dimensions": report.rank,
        "seconds": round(seconds, 1),
        "head_mib": rows.nbytes // 2**20,
        "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 2**10,
        "argmax": repr(report.argmax),
        "largest_change": max(head.change for head in report.equivalents),
        "verdict": report.verdict,
    }


def main() -> None:
    if "--child" in sys.argv:
        sys.stdout.write(json.dumps(audit_once(Path(sys.argv[-1]))))
        return
    n_labels, rank = (int(x) for x in (*sys.argv[1:3], "128000", "1024")[:2]) if len(sys.argv) > 2 else (128_000, 1_024)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "head.npy"
        write_head(path, n_labels, rank)
        child = subprocess.run([sys.executable, __file__, "--child", str(path)], check=True, capture_output=True)
    result = json.loads(child.stdout)
    beyond = result["peak_mib"] - result["head_mib"]
    result["beyond_the_head_mib"] = beyond
    sys.stdout.write("\n".join(f"{name:>20}  {value}" for name, value in result.items()) + "\n")


if __name__ == "__main__":
    main()
