"""Run every benchmark of this folder in turn, and keep what they print.

`python benchmarks/run.py` takes some twenty minutes on two idle cores. With `--quick`,
the same scripts run at sizes that take less than three minutes together. The file that
is written says on which machine, with which versions and next to which load they ran.
"""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import sys
import time
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

HERE = Path(__file__).parent
QUICK = {
    "bench_svd.py": ["--size", "small"],
    "bench_commands.py": ["--scale", "0.2", "--rounds", "1"],
    "bench_audit.py": ["--sizes", "50000"],
    "bench_ranges.py": ["--rows", "20000", "--pairs", "40000", "--rounds", "1"],
    "bench_heads.py": ["--sizes", "800x512", "--rounds", "1"],
    "bench_fix.py": ["--scale", "0.05"],
    "bench_align.py": ["--scale", "0.05"],
    "bench_copies.py": ["--rows", "10000", "--lists", "100"],
    "bench_served.py": ["--scale", "0.2", "--rounds", "1"],
    "bench_blocks.py": ["--gigabytes", "0.5"],
    "bench_simulate.py": [],
    "bench_fit.py": ["--size", "small"],
    "bench_formats.py": ["--rows", "100000"],
    "bench_text.py": ["--rows", "20000", "--repeats", "3"],
    "bench_tables.py": ["--rows", "100000", "--rounds", "3"],
}
"""The arguments of a quick run, for every script there is."""
NAMED = ("numpy", "scipy", "embaudit")


def machine() -> Iterator[str]:
    """Say what the figures are of, a line at a time."""
    information = Path("/proc/cpuinfo")
    lines = information.read_text().splitlines() if information.exists() else []
    model = next(
        (
            line.split(":", 1)[1].strip()
            for line in lines
            if line.startswith("model name")
        ),
        platform.machine(),
    )
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    cores = (
        len(os.sched_getaffinity(0))
        if hasattr(os, "sched_getaffinity")
        else os.cpu_count()
    )
    yield f"- {model}, {cores} cores, {memory:.0f} GiB of memory, {platform.system()}"
    yield f"- Python {platform.python_version()}, " + ", ".join(
        f"{name} {_version(name)}" for name in NAMED
    )
    yield f"- load before: {os.getloadavg()[0]:.1f}"


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "missing"


def measured(script: str, arguments: list[str]) -> tuple[str, bool]:
    """Run one script; return its output as a section, and whether it ended well."""
    command = [sys.executable, str(HERE / script), *arguments]
    start = time.perf_counter()
    done = subprocess.run(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        env=os.environ | {"OPENBLAS_NUM_THREADS": "1"},
    )
    ended = "" if done.returncode == 0 else f", exit code {done.returncode}"
    title = " ".join([script, *arguments])
    taken = time.perf_counter() - start
    return (
        f"## {title} ({taken:.0f} s{ended})\n\n```\n{done.stdout.strip()}\n```\n",
        done.returncode == 0,
    )


def main() -> int:
    """Run the scripts one after the other; return 1 if one of them failed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--quick", action="store_true", help="small sizes, less than three minutes"
    )
    parser.add_argument(
        "--out",
        type=Path,
        default=HERE / "measured.md",
        help="where to keep what was measured",
    )
    parser.add_argument("--only", nargs="+", choices=sorted(QUICK), default=list(QUICK))
    given = parser.parse_args()
    sections, well = ["# Measured\n\n" + "\n".join(machine()) + "\n"], True
    for script in given.only:
        section, fine = measured(script, QUICK[script] if given.quick else [])
        print(section, flush=True)
        sections.append(section)
        well = well and fine
        # Kept after each script: what was measured outlives an interruption.
        given.out.write_text("\n".join(sections))
    return 0 if well else 1


if __name__ == "__main__":
    sys.exit(main())
