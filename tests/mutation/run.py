"""Change the code at random places and see whether the tests notice: `make mutants`.

Each mutant runs the tests that touch its line, in a copy of the project. What survives is printed: a place where the
code could be wrong and no test would say so. Mutants that change nothing anybody can see are listed in
`equivalent.txt` beside this file, each with its reason.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import Queue
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).parent))

from mutate import Mutant, mutants

if TYPE_CHECKING:
    from collections.abc import Sequence

ROOT = Path(__file__).parents[2]
EQUIVALENT = Path(__file__).with_name("equivalent.txt")
BESIDE = {"auditing": ["tests/truth"]}
"""Tests of a room that stand outside the folder of its name."""
LIMIT = 120
"""Seconds of computing after which a mutant counts as noticed: it hangs."""
MOST_TESTS = 200
"""Tests run for one mutant, those that touch its line and fewest others first."""


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
    """A copy of the project, and a process that runs tests in it; a run past its limit counts as failed."""

    def __init__(self, folder: Path) -> None:
        self.project, self.time = copy_of_project(folder), 0
        self.environment = os.environ | {"PYTHONPATH": str(self.project), "OPENBLAS_NUM_THREADS": "1"}
        self.server = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("serve.py")), str(LIMIT)],
            cwd=self.project, env=self.environment, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip

    def run(self, path: str, *arguments: str) -> int:
        """Return the exit status of pytest where a file was changed."""
        assert self.server.stdin is not None
        assert self.server.stdout is not None
        print(json.dumps([path, arguments]), file=self.server.stdin, flush=True)
        return int(self.server.stdout.readline())

    def notices(self, mutant: Mutant, tests: Sequence[str]) -> bool:
        """Whether a test fails where a mutant stands."""
        if not tests:
            return False
        path = self.project / mutant.path
        text, self.time = path.read_text(), self.time + 1
        path.write_text(mutant.applied(text))
        # Bytecode is found by the second: no two mutants may share theirs.
        os.utime(path, (self.time, self.time))
        try:
            return self.run(mutant.path, "-x", *tests) != 0
        finally:
            path.write_text(text)


def tests_by_line(copy: Copy, tests: Sequence[str], jobs: int) -> dict[str, dict[int, set[str]]]:
    """Run the tests once and note which of them touch which line of which file."""
    covered = ["--cov=embaudit", "--cov-context=test", "--cov-report=", "-n", str(jobs), "--dist", "worksteal"]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:randomly", *tests, *covered]
    done = subprocess.run(command, cwd=copy.project, env=copy.environment, capture_output=True, check=False)
    if done.returncode:
        raise SystemExit(f"the tests must pass before the code is changed\n{done.stdout.decode()[-2000:]}")
    from coverage.numbits import numbits_to_nums

    found: dict[str, dict[int, set[str]]] = defaultdict(lambda: defaultdict(set))
    with sqlite3.connect(copy.project / ".coverage") as base:
        rows = base.execute(
            "select file.path, context.context, line_bits.numbits from line_bits "
            "join file on file.id = file_id join context on context.id = context_id"
        )
        for path, context, bits in rows:
            lines = found[str(Path(path).relative_to(copy.project))]
            for line in numbits_to_nums(bits):
                lines[line].add(context.removesuffix("|run").removesuffix("|setup").removesuffix("|teardown"))
    return found


def lines_of_functions(text: str) -> set[int]:
    """Tell which lines of a file run when a function is called; the others run when the file is imported.

    That may happen within whichever test is the first to need the file, which says nothing of the others.
    """
    functions = (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef | ast.Lambda))
    bodies = (node.body if isinstance(node.body, list) else [node.body] for node in functions)
    return {line for body in bodies for line in range(body[0].lineno, (body[-1].end_lineno or 0) + 1)}


def chosen_tests(lines: dict[int, set[str]], mutant: Mutant, breadth: Counter[str]) -> list[str]:
    """Return the tests that touch a line, narrow ones first; for a line that runs at import, those of its file.

    A file that does nothing else has the tests that are named after it, or after its folder.
    """
    called = mutant.line in lines_of_functions((ROOT / mutant.path).read_text())
    touching = lines.get(mutant.line, set()) - {""} if called else set()
    if not touching and (not called or "" in lines.get(mutant.line, {""})):
        touching = set().union(*lines.values()) - {""}
        names = [f"/test_{part}" for part in Path(mutant.path).with_suffix("").parts[2:]]
        touching = touching or {test for test in breadth if any(name in test for name in names)}
    return sorted(touching, key=lambda name: (breadth[name], name))[:MOST_TESTS]


def files_of(place: Path) -> list[Path]:
    """List the code of a room, or a file by itself."""
    return [place] if place.suffix else list(place.rglob("*.py"))


def tests_of(rooms: Sequence[str]) -> list[str]:
    """List where the tests of rooms are, or of files in them; all tests for a room without a folder of its name."""
    names = {Path(room).parts[0] for room in rooms}
    if any(not (ROOT / "tests" / name).is_dir() for name in names):
        return ["tests"]
    return sorted({place for name in names for place in (f"tests/{name}", *BESIDE.get(name, []))})


def known_equivalents() -> set[str]:
    """Read the mutants nobody can notice."""
    if not EQUIVALENT.exists():
        return set()
    lines = EQUIVALENT.read_text().splitlines()
    return {line.split("  #")[0].strip() for line in lines if line.strip() and not line.startswith("#")}


def without_line(mutant: Mutant) -> str:
    """Name a mutant in a way that does not move with the lines above it."""
    path, rest = str(mutant).split("  ", 1)
    return f"{path.rsplit(':', 1)[0]}  {rest}"


def require_a_start(copy: Copy, tests: dict[Mutant, list[str]]) -> None:
    """Refuse to go on where tests fail although nothing was changed: every mutant of the file would seem noticed."""
    widest = {mutant.path: chosen for mutant, chosen in sorted(tests.items(), key=lambda item: len(item[1]))}
    failed = [path for path, chosen in widest.items() if chosen and copy.run(path, *chosen)]
    if failed:
        raise SystemExit(f"the tests must pass before the code is changed; they do not of {', '.join(failed)}")


def judge(
    sample: Sequence[Mutant], copies: Queue[Copy], tests: dict[Mutant, list[str]], jobs: int
) -> dict[Mutant, bool]:
    """Tell for each mutant whether a test failed."""

    def noticed(mutant: Mutant) -> bool:
        copy = copies.get()
        try:
            return copy.notices(mutant, tests[mutant])
        finally:
            copies.put(copy)

    with ThreadPoolExecutor(jobs) as pool:
        results = {}
        for mutant, found in zip(sample, pool.map(noticed, sample), strict=True):
            results[mutant] = found
            print("." if found else f"\nsurvived  {mutant}", end="", flush=True)
    print()
    return results


def main() -> None:
    """Draw mutants, judge them, report by room."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--number", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rooms", nargs="+", default=["auditing", "comparison", "evaluation"])
    parser.add_argument("--tests", nargs="+", help="those of the rooms by default")
    parser.add_argument("--jobs", type=int, default=2)
    given = parser.parse_args()
    files = sorted(path for room in given.rooms for path in files_of(ROOT / "embaudit" / room))
    everything = [m for path in files for m in mutants(str(path.relative_to(ROOT)), path.read_text())]
    skipped = known_equivalents()
    everything = [mutant for mutant in everything if without_line(mutant) not in skipped]
    sample = random.Random(given.seed).sample(everything, min(given.number, len(everything)))
    with tempfile.TemporaryDirectory() as folder:
        made = [Copy(Path(folder) / str(number)) for number in range(given.jobs)]
        touched = tests_by_line(made[0], given.tests or tests_of(given.rooms), given.jobs)
        copies: Queue[Copy] = Queue()
        for copy in made:
            copies.put(copy)
        breadth = Counter(name for lines in touched.values() for names in lines.values() for name in names)
        tests = {m: chosen_tests(touched.get(m.path, {}), m, breadth) for m in sample}
        require_a_start(made[0], tests)
        report(judge(sample, copies, tests, given.jobs), given, len(everything))


def report(results: dict[Mutant, bool], given: argparse.Namespace, total: int) -> None:
    """Print the share noticed in each file and in each room."""
    places: dict[str, list[bool]] = defaultdict(list)
    for mutant, noticed in results.items():
        places[mutant.path].append(noticed)
        places[mutant.path.split("/")[1]].append(noticed)
    print(f"{len(results)} of {total} mutants, seed {given.seed}")
    for place, outcomes in sorted(places.items(), key=lambda item: ("/" not in item[0], item[0])):
        print(f"{place:45} {sum(outcomes):4} of {len(outcomes):4} noticed  {100 * sum(outcomes) / len(outcomes):.1f} %")


if __name__ == "__main__":
    main()
