"""Which tests judge a mutant: those that touch its line, quick and narrow ones first, as many as time allows."""

from __future__ import annotations

import ast
import hashlib
import re
import resource
import shutil
import sqlite3
import subprocess
import sys
import time
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from copies import Copy
    from mutate import Mutant

ENOUGH = 20.0
"""Seconds for the tests of one mutant, as long as they take while it is noted which lines they touch."""
MOST = 300
"""Tests of one mutant at most: to look for a thousand takes longer than to run those that tell."""
AT_HOME = 10
"""Times as long that a test of the room itself may take: what thousands of tests touch, these look at."""
UNFIT = ("tests/core/test_parallel.py",)
"""Tests that fail in a child of the server, whatever the code: workers of loky take its modules for the server's."""
DURATION = re.compile(r"^(\d+\.\d\d)s (setup|call) +(\S.*)$", re.MULTILINE)


@dataclass
class Tests:
    """What tests touch and how long they take, in a run without a mutant."""

    lines: dict[str, dict[int, set[str]]] = field(default_factory=lambda: defaultdict(lambda: defaultdict(set)))
    """For each line of each file of code, the tests that run it."""
    seconds: Counter[str] = field(default_factory=Counter)
    """How long each test takes by itself, and what each file of tests prepares for all of its own."""

    def read(self, coverage: Path, durations: Path) -> None:
        """Add what a run has left."""
        from coverage.numbits import numbits_to_nums

        share, text = durations.read_text().split("\n", 1)
        for taken, step, test in DURATION.findall(text):
            if file_of(test) not in UNFIT:
                self.seconds[test if step == "call" else file_of(test)] += float(share) * float(taken)
        with sqlite3.connect(coverage) as base:
            rows = base.execute(
                "select file.path, context.context, line_bits.numbits from line_bits "
                "join file on file.id = file_id join context on context.id = context_id"
            )
            for path, context, bits in rows:
                touched = self.lines["embaudit/" + path.rpartition("/embaudit/")[2]]
                test = context.rpartition("|")[0]
                for line in numbits_to_nums(bits) if file_of(test) not in UNFIT else ():
                    touched[line].add(test)

    @cached_property
    def breadth(self) -> Counter[str]:
        """How many lines each test touches."""
        return Counter(name for lines in self.lines.values() for names in lines.values() for name in names)

    def chosen(self, mutant: Mutant, text: str) -> tuple[list[str], float]:
        """Return the tests of a mutant and how long they take without it.

        After those that touch its line come the others of their files: what is made once for several tests was touched
        by the first of them alone. A line that runs at import is run within whichever test is the first to need it,
        which says nothing of the others: it has those that touch its file, or are named after it, and the others of
        their files.
        """
        is_called = mutant.line in lines_of_functions(text)
        touching = self.lines[mutant.path].get(mutant.line, set()) - {""} if is_called else set()
        touching = touching or self._at_home(mutant.path)
        files = {file_of(test) for test in touching}
        beside = {test for test in self.seconds if "::" in test and file_of(test) in files} - touching
        of_file = Counter(test for names in self.lines[mutant.path].values() for test in names)
        home = f"tests/{room_of(Path(mutant.path))}/"
        ordered = [*self._in_order(touching, of_file, home), *self._in_order(beside, of_file, home)]
        return self._in_time(list(dict.fromkeys(ordered))[:MOST])

    def _at_home(self, path: str) -> set[str]:
        own = set().union(*self.lines[path].values()) - {""}
        # Tests of a table touch no function of the file that it stands in.
        names = [f"/test_{part}" for part in Path(path).with_suffix("").parts[2:]]
        return own | {test for test in self.seconds if "::" in test and any(name in test for name in names)}

    def _in_order(self, tests: Iterable[str], of_file: Counter[str], home: str) -> list[str]:
        """Put quick tests first, and those that look at little else than a file; of its room rather than of others."""

        def effort(test: str) -> float:
            # What a file prepares comes with whichever of its tests is the first.
            seconds = 0.005 + self.seconds[test] + self.seconds[file_of(test)]
            return seconds * self.breadth[test] / max(1, of_file[test]) / (AT_HOME if test.startswith(home) else 1)

        return sorted(tests, key=lambda test: (effort(test), test))

    def _in_time(self, tests: Sequence[str]) -> tuple[list[str], float]:
        """Take tests until their time is over, file by file: what a file prepares is made once."""
        taken, spent = defaultdict(list), 0.0
        for test in tests:
            file = file_of(test)
            cost = self.seconds[test] + (0 if file in taken else self.seconds[file])
            if not taken or spent + cost <= ENOUGH:
                taken[file].append(test)
                spent += cost
        return [test for tests_of_file in taken.values() for test in tests_of_file], spent


def file_of(test: str) -> str:
    """Name the file of a test."""
    return test.split("::")[0]


def lines_of_functions(text: str) -> set[int]:
    """Tell which lines of a file run when a function is called; the others run when the file is imported."""
    functions = (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef | ast.Lambda))
    bodies = (node.body if isinstance(node.body, list) else [node.body] for node in functions)
    return {line for body in bodies for line in range(body[0].lineno, (body[-1].end_lineno or 0) + 1)}


def measure(copy: Copy, places: Mapping[str, Sequence[str]], jobs: int, kept: Path) -> Tests:
    """Run the tests of places once, each to see which code of some rooms they touch; where neither changed, nothing."""
    found = Tests()
    for place, rooms in places.items():
        key = kept / fingerprint(copy.project, place, rooms)
        coverage, durations = key.with_suffix(".coverage"), key.with_suffix(".txt")
        if not durations.exists():
            _measure(copy, place, rooms, jobs, coverage, durations)
        found.read(coverage, durations)
    return found


def fingerprint(project: Path, place: str, rooms: Sequence[str]) -> str:
    """Name what it depends on which lines of rooms the tests of a place touch."""
    code = (path for path in project.glob("embaudit/**/*.py") if room_of(path.relative_to(project)) in rooms)
    tests = [project / place] if place.endswith(".py") else project.glob(f"{place}/**/*.py")
    files = {*code, *project.glob("tests/*.py"), *tests}
    digest = hashlib.sha256(repr((place, sorted(rooms))).encode())
    for path in sorted(files):
        digest.update(str(path.relative_to(project)).encode() + path.read_bytes())
    return digest.hexdigest()[:20]


def room_of(path: Path) -> str:
    """Name the room of a file of the package."""
    return path.parts[1].removesuffix(".py")


def _measure(copy: Copy, place: str, rooms: Sequence[str], jobs: int, coverage: Path, durations: Path) -> None:
    covered = [f"--cov=embaudit.{room}" for room in rooms]
    command = [sys.executable, "-m", "pytest", place, *covered, "--cov-context=test", "--cov-report="]
    command += ["--durations=0", "--durations-min=0", "-p", "no:cacheprovider", "-p", "no:randomly", "-n", str(jobs)]
    begin, before = time.monotonic(), _computed()
    done = subprocess.run(command, cwd=copy.project, env=copy.environment, capture_output=True, check=False, text=True)
    if done.returncode:
        raise SystemExit(f"the tests must pass before the code is changed\n{done.stdout[-2000:]}")
    coverage.parent.mkdir(exist_ok=True)
    shutil.move(copy.project / ".coverage", coverage)
    # Where others compute too, a clock tells more than a test takes.
    share = min(1.0, (_computed() - before) / (time.monotonic() - begin) / jobs)
    durations.write_text(f"{share:.3f}\n{done.stdout}")


def _computed() -> float:
    """Seconds that processes which this one started, and which ended, have computed."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
