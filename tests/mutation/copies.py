"""A copy of the project in which one place may be changed, and the tests run."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mutate import Mutant

ROOT = Path(__file__).parents[2]


def copy_of_project(folder: Path) -> Path:
    """Copy what git knows and what it does not ignore, with the real inputs beside it where there are any."""
    names = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout.splitlines()  # fmt: skip
    target = folder / "project"
    for name in names:
        if (ROOT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, target / name)
    if (ROOT.parent / "shared").exists():
        (folder / "shared").symlink_to((ROOT.parent / "shared").resolve())
    return target


class Copy:
    """A copy of the project, and a process that runs tests in it."""

    def __init__(self, folder: Path, places: Sequence[str]) -> None:
        self.project, self.time = copy_of_project(folder), 0
        self.environment = os.environ | {"PYTHONPATH": str(self.project), "OPENBLAS_NUM_THREADS": "1"}
        self.server = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("serve.py")), *places],
            cwd=self.project, env=self.environment, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip

    def passes(self, path: str, tests: Sequence[str], seconds: float) -> bool:
        """Whether tests pass where a file was changed; what computes far longer than expected hangs, and has failed."""
        if not tests:
            return True
        assert self.server.stdin is not None
        assert self.server.stdout is not None
        print(json.dumps([path, tests, int(5 + 2 * seconds)]), file=self.server.stdin, flush=True)
        return int(self.server.stdout.readline()) == 0

    def notices(self, mutant: Mutant, tests: Sequence[str], seconds: float) -> bool:
        """Whether a test fails where a mutant stands."""
        path = self.project / mutant.path
        text, self.time = path.read_text(), self.time + 1
        path.write_text(mutant.applied(text))
        # Bytecode is found by the second: no two mutants may share theirs.
        os.utime(path, (self.time, self.time))
        try:
            return not self.passes(mutant.path, tests, seconds)
        finally:
            path.write_text(text)
