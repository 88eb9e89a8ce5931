"""Run tests again and again in one copy of the project; what does not depend on the changed file is imported once.

Each line read holds a file of the project, tests and a limit in seconds as JSON, each line written the exit status of
pytest. A child of its own runs the tests, and imports the file and what is built on it anew.
"""

from __future__ import annotations

import ast
import gc
import json
import os
import pkgutil
import resource
import sys
from contextlib import redirect_stdout
from importlib import import_module
from pathlib import Path

import pytest

PROJECT = "embaudit"
QUIET = ["-q", "-p", "no:cacheprovider", "-p", "no:randomly", "-p", "no:cov", "-p", "no:xdist"]
QUIET += ["-W", "ignore:Module already imported"]


def import_everything() -> dict[str, set[str]]:
    """Import the project; return for each of its files the modules that import it first of all, by its name there."""
    found: dict[str, set[str]] = {}
    for module in pkgutil.walk_packages(import_module(PROJECT).__path__, f"{PROJECT}."):
        if not module.name.endswith("__main__"):
            for name in imported_by(Path(str(import_module(module.name).__file__))):
                found.setdefault(name, set()).add(module.name)
    return found


def imported_by(path: Path) -> set[str]:
    """List what a file imports when it is imported; what its functions import, they find anew."""
    names: set[str] = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ImportFrom):
            names |= {str(node.module), *(f"{node.module}.{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
    return names


def forget(path: str, importers: dict[str, set[str]]) -> None:
    """Forget the module of a file, those that are built on it, and what lies in a package that is."""
    waiting = [path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")]
    seen = set(waiting)
    while waiting:
        name = waiting.pop()
        module, (package, _, last) = sys.modules.pop(name, None), name.rpartition(".")
        # `from package import module` takes what the package still holds, without looking for the file.
        if module is not None and getattr(sys.modules.get(package), last, None) is module:
            delattr(sys.modules[package], last)
        within = {other for other in sys.modules if other.startswith(f"{name}.")}
        fresh = (importers.get(name, set()) | within) - seen
        seen |= fresh
        waiting += fresh


def see_tests(places: list[str]) -> None:
    """Let plugins look at tests and at what they import, which takes longer than most tests do; then forget these."""
    known = {name: set(vars(module)) for name, module in sys.modules.items() if name.split(".")[0] == PROJECT}
    with Path(os.devnull).open("w") as silent, redirect_stdout(silent):
        pytest.main([*QUIET, "--collect-only", *places])
    for name, module in list(sys.modules.items()):
        if Path.cwd() / "tests" in Path(getattr(module, "__file__", None) or "/").parents:
            del sys.modules[name]
    # What a package looked for when it was first asked for it, it must find anew.
    for name, names in known.items():
        for asked in set(vars(sys.modules[name])) - names:
            delattr(sys.modules[name], asked)


def run(path: str, tests: list[str], limit: int, importers: dict[str, set[str]]) -> int:
    """Run pytest in a child; one that is killed, or computes longer than the limit in seconds, has failed."""
    child = os.fork()
    if not child:
        resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
        silent = os.open(os.devnull, os.O_RDWR)
        for stream in range(3):
            os.dup2(silent, stream)
        forget(path, importers)
        os._exit(int(pytest.main([*QUIET, "-x", *tests])))
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


if __name__ == "__main__":
    built = import_everything()
    see_tests(sys.argv[1:])
    # What is here stays as it is: children need not look through it.
    gc.freeze()
    for line in sys.stdin:
        print(run(*json.loads(line), built), flush=True)
