"""Run a command under limits, and print its exit status and what it used, as JSON.

This is a program, `python measured_process.py COMMAND ...`, because it has to be small:
Linux counts the memory of a parent as memory of its child until the child has started
its own program. The output of the command goes to the files `stdout` and `stderr` of
the current folder.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import threading
from pathlib import Path

# A runaway command fails at these limits, before the machine does.
MOST_CPU_SECONDS = 60
MOST_BYTES = 8 * 2**30
MOST_SECONDS = 300


def limit_resources() -> None:
    """Limit the processor time and the address space of this process."""
    resource.setrlimit(resource.RLIMIT_CPU, (MOST_CPU_SECONDS, MOST_CPU_SECONDS))
    resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))


def main() -> None:
    """Print the wait status, the CPU seconds and the peak memory in KiB."""
    with Path("stdout").open("wb") as output, Path("stderr").open("wb") as errors:
        child = subprocess.Popen(
            sys.argv[1:],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=errors,
            preexec_fn=limit_resources,
        )
        timer = threading.Timer(MOST_SECONDS, child.kill)
        timer.start()
        _, status, usage = os.wait4(child.pid, 0)
        timer.cancel()
    cpu_seconds = usage.ru_utime + usage.ru_stime
    print(json.dumps([status, cpu_seconds, usage.ru_maxrss]))


if __name__ == "__main__":
    main()
