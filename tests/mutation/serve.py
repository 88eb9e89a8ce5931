"""Run tests again and again in one copy of the project; what they import from elsewhere is imported once.

Each line read holds the arguments of pytest as JSON, each line written its exit status. A child of its own runs them,
and imports the project anew.
"""

from __future__ import annotations

import json
import os
import pkgutil
import signal
import sys
from importlib import import_module

import pytest

PROJECT = "embaudit"
QUIET = [
    "-q",
    "-p",
    "no:cacheprovider",
    "-p",
    "no:randomly",
    "-p",
    "no:cov",
    "-p",
    "no:xdist",
    "-W",
    "ignore:Module already imported",
]


def import_the_rest() -> None:
    """Import all that the project imports, then forget the project."""
    for module in pkgutil.walk_packages(import_module(PROJECT).__path__, f"{PROJECT}."):
        if not module.name.endswith("__main__"):
            import_module(module.name)
    for name in [name for name in sys.modules if name.split(".")[0] == PROJECT]:
        del sys.modules[name]


def run(arguments: list[str], limit: int) -> int:
    """Run pytest in a child; one that is killed, or takes longer than the limit in seconds, has failed."""
    child = os.fork()
    if not child:
        signal.alarm(limit)
        silent = os.open(os.devnull, os.O_RDWR)
        for stream in range(3):
            os.dup2(silent, stream)
        os._exit(int(pytest.main([*QUIET, *arguments])))
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


if __name__ == "__main__":
    # What a child compiles from a changed file must not be found by the next one.
    sys.dont_write_bytecode = True
    import_the_rest()
    for line in sys.stdin:
        print(run(json.loads(line), int(sys.argv[1])), flush=True)
