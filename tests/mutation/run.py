"""Change the code at random places and see whether the tests notice: `make mutants`.

Every mutant is one small slip: an operator, a bound, a number, a text, `min` for `max`, a statement or a `raise` left
out. It is judged by the tests that run its line, in a copy of the project. What survives is printed: a place where the
code could be wrong and no test would say so, or a change that nobody can see from outside.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import json
import os
import random
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import Queue
from resource import RLIMIT_CPU, setrlimit

ROOT = Path(__file__).parents[2]
CACHE = ROOT / ".mutation_cache"
SECONDS = 40.0
"""Seconds that each of three choices of tests for one mutant may take, by the clock of the run that measured them."""
LIBRARIES = "hypothesis jinja2 joblib matplotlib.figure pandas pyarrow pytest rich scipy.stats sklearn.base typer"
PAIRS = {"<": "<=", ">": ">=", "==": "!=", "is": "is not", "in": "not in", "+": "-", "*": "/", "and": "or", "&": "|",
         "min": "max", "any": "all", "argmin": "argmax", "minimum": "maximum"}  # fmt: skip
SWAPPED = PAIRS | {new: old for old, new in PAIRS.items()} | {"**": "*"}
SYMBOL = re.compile(r"not in|is not|and|or|is|in|\*\*|//|[<>=!]=|[-+*/<>&|@%]")


class Source:
    """A text and the places of its pieces, which the syntax tree counts in bytes."""

    def __init__(self, text):
        self.data = text.encode()
        self.starts = [0, *(match.end() for match in re.finditer(rb"\n", self.data))]

    def span(self, node):
        return self.starts[node.lineno - 1] + node.col_offset, self.starts[
            node.end_lineno - 1
        ] + node.end_col_offset

    def replace(self, node, new):
        return *self.span(node), new

    def swap(self, left, right):
        start = self.span(left)[1]
        match = SYMBOL.search(self.data[start : self.span(right)[0]].decode())
        return (
            match
            and match[0] in SWAPPED
            and (start + match.start(), start + match.end(), SWAPPED[match[0]])
        )

    def rename(self, node, name):
        return name in SWAPPED and (
            self.span(node)[1] - len(name),
            self.span(node)[1],
            SWAPPED[name],
        )

    def negate(self, node):
        return self.replace(
            node.test, f"not ({self.data[slice(*self.span(node.test))].decode()})"
        )

    def constant(self, node):
        match node.value:
            case bool(value):
                return self.replace(node, repr(not value))
            case int(value) | float(value):
                return self.replace(
                    node,
                    repr(value + 1 if isinstance(value, int) else value * 10 or 1.0),
                )
            case str(value) if (
                value.strip() and self.data[self.span(node)[0]] in b"\"'"
            ):
                return self.replace(node, '""' if len(value) > 3 else '"XX"')


SLIPS = {
    ast.Compare: lambda node, text: (
        len(node.ops) == 1 and text.swap(node.left, node.comparators[0])
    ),
    ast.BinOp: lambda node, text: text.swap(node.left, node.right),
    ast.BoolOp: lambda node, text: text.swap(*node.values[:2]),
    ast.UnaryOp: lambda node, text: (
        isinstance(node.op, ast.Not) and (start := text.span(node)[0], start + 3, "")
    ),
    ast.Constant: lambda node, text: text.constant(node),
    ast.JoinedStr: lambda node, text: text.replace(node, '""'),
    ast.Name: lambda node, text: text.rename(node, node.id),
    ast.Attribute: lambda node, text: text.rename(node, node.attr),
    **dict.fromkeys(
        (ast.If, ast.While, ast.IfExp), lambda node, text: text.negate(node)
    ),
    **dict.fromkeys(
        (ast.Expr, ast.AugAssign, ast.Raise),
        lambda node, text: text.replace(node, "pass"),
    ),
    ast.Return: lambda node, text: node.value and text.replace(node.value, "None"),
    ast.keyword: lambda node, text: (
        node.arg
        and isinstance(node.value, ast.Name)
        and text.replace(node.value, "None")
    ),
}
"""What may be written wrong in each kind of node: start, end and the wrong text, or nothing."""


def is_code(node, parent):
    """Tell what runs from imports, docstrings, annotations, exports and whether `zip` checks lengths."""
    return not (
        isinstance(node, ast.Import | ast.ImportFrom | ast.arg)
        or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))
        or (
            isinstance(node, ast.If | ast.Assign)
            and re.match("if TYPE_CHECKING|__all__", ast.unparse(node))
        )
        or (isinstance(node, ast.keyword) and node.arg == "strict")
        or node
        in (getattr(parent, "returns", None), getattr(parent, "annotation", None))
    )


def mutants(text):
    """List line, start, end and replacement of every mutant of a source text."""
    source, waiting, changes = Source(text), [ast.parse(text)], []
    while waiting:
        parent = waiting.pop()
        for node in (
            child for child in ast.iter_child_nodes(parent) if is_code(child, parent)
        ):
            change = SLIPS.get(type(node), lambda *_: None)(node, source)
            if change and source.data[slice(*change[:2])].decode() != change[2]:
                changes.append((node.lineno, *change))
            # The sentence of an error is prose; whether it is raised is not.
            waiting += [] if isinstance(node, ast.Raise | ast.JoinedStr) else [node]
    return sorted(changes)


def measure(jobs):
    """Return the tests that run each line and the seconds of each test; kept until the code or a test changes."""
    from coverage.numbits import numbits_to_nums

    files = sorted([*ROOT.glob("embaudit/**/*.py"), *ROOT.glob("tests/**/*.py")])
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()[
        :16
    ]
    coverage, durations = (CACHE / f"{digest}.{end}" for end in ("coverage", "txt"))
    if not durations.exists():
        CACHE.mkdir(exist_ok=True)
        command = [sys.executable, "-m", "pytest", "-n", str(jobs), "--cov=embaudit", "--cov-context=test",
                   "--cov-report=", "--durations=0", "--durations-min=0", "-p", "no:cacheprovider"]  # fmt: skip
        environment = os.environ | {"COVERAGE_FILE": str(coverage)}
        run = subprocess.run(
            command,
            cwd=ROOT,
            env=environment,
            stdout=subprocess.PIPE,
            text=True,
            check=False,
        )
        if run.returncode:
            raise SystemExit(
                f"the tests must pass before the code is changed\n{run.stdout[-2000:]}"
            )
        durations.write_text(run.stdout)
    lines, seconds = defaultdict(lambda: defaultdict(set)), Counter()
    with sqlite3.connect(coverage) as base:
        tables = "line_bits join file on file.id = file_id join context on context.id = context_id"
        for path, context, bits in base.execute(
            f"select path, context, numbits from {tables} where context != ''"
        ):
            for line in numbits_to_nums(bits):
                lines["embaudit/" + path.rpartition("/embaudit/")[2]][line].add(
                    context.rpartition("|")[0]
                )
    for spent, test in re.findall(
        r"^(\d+\.\d+)s (?:setup|call) +(\S.*)$", durations.read_text(), re.MULTILINE
    ):
        seconds[test] += float(spent)
    return lines, seconds


def choose(lines, line, room, seconds):
    """List tests of a line, or of its file and the house where none runs it: its room's, what is kept, then quick ones.

    Behind them stand tests in the same files, for which another test may have made what they look at, and the longest
    of those that run the line, which are whole commands.
    """
    # What runs as a module is imported, as flags of dataclasses do, is held by laws about all modules.
    own = (
        f"tests/{room}/",
        f"embaudit/{room}",
        "tests/house/test_house.py",
        "tests/golden/",
    )
    touching, chosen = lines.get(line), {}
    touching = touching or set().union(
        *lines.values(), (test for test in seconds if test.startswith(own[2]))
    )
    quick = sorted(
        touching, key=lambda test: (not test.startswith(own), seconds[test], test)
    )
    files = {test.partition("::")[0] for test in touching}
    beside = sorted(
        set(seconds) - touching,
        key=lambda test: (not test.startswith(own), seconds[test], test),
    )
    for tests in (
        quick,
        (test for test in beside if test.partition("::")[0] in files),
        reversed(quick),
    ):
        spent = 0.0
        for test in tests:
            spent += seconds[test] + 0.02
            if spent > SECONDS and chosen:
                break
            chosen[test] = True
    return list(chosen)


def serve():
    """Run the tests of each line of JSON in a child that imports the changed project anew; print its exit status."""
    for name in LIBRARIES.split():
        __import__(name)
    for line in sys.stdin:
        child = os.fork()
        if not child:
            setrlimit(RLIMIT_CPU, (120, 120))
            for stream in range(3):
                os.dup2(os.open(os.devnull, os.O_RDWR), stream)
            options = [
                "-x",
                "-p",
                "no:cacheprovider",
                "-p",
                "no:cov",
                "-W",
                "ignore:Module already imported",
            ]
            os._exit(int(sys.modules["pytest"].main([*options, *json.loads(line)])))
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


def copy_project(project):
    """Copy the working tree, with the real inputs beside it, and start a server of tests in it."""
    listed = subprocess.check_output(
        ["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, text=True
    )
    for name in filter(lambda name: (ROOT / name).is_file(), listed.splitlines()):
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, project / name)
    (project.parent / "shared").symlink_to((ROOT.parent / "shared").resolve())
    settings = {
        "PYTHONPATH": str(project),
        "OPENBLAS_NUM_THREADS": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    command, pipes = (
        [sys.executable, __file__, "--serve"],
        {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE},
    )
    return subprocess.Popen(
        command, cwd=project, text=True, env=os.environ | settings, **pipes
    )


def main():
    """Draw mutants, judge them, report by room."""
    parser = argparse.ArgumentParser(description=__doc__)
    for name, default in (("--number", 300), ("--seed", 0), ("--jobs", 2)):
        parser.add_argument(name, type=int, default=default)
    parser.add_argument("--rooms", nargs="*", default=[], help="all of them by default")
    given = parser.parse_args()
    texts = {
        str(path.relative_to(ROOT)): path.read_text()
        for path in sorted(ROOT.glob("embaudit/**/*.py"))
    }
    rooms = {path: path.split("/")[1].removesuffix(".py") for path in texts}
    wanted = [path for path in texts if not given.rooms or rooms[path] in given.rooms]
    everything = [(path, *mutant) for path in wanted for mutant in mutants(texts[path])]
    sample = random.Random(given.seed).sample(
        everything, min(given.number, len(everything))
    )
    (lines, seconds), tally, free = measure(given.jobs), defaultdict(list), Queue()

    def is_noticed(mutant, is_changed=True):
        path, line, first, last, new = mutant
        tests, source, status = (
            choose(lines[path], line, rooms[path], seconds),
            texts[path].encode(),
            0,
        )
        project, server = free.get()
        (project / path).write_bytes(
            source[:first] + new.encode() + source[last:] if is_changed else source
        )
        if tests:
            print(json.dumps(tests), file=server.stdin, flush=True)
            status = int(server.stdout.readline())
        (project / path).write_bytes(source)
        free.put((project, server))
        return status != 0

    with (
        tempfile.TemporaryDirectory() as folder,
        ThreadPoolExecutor(given.jobs) as pool,
    ):
        for project in (
            Path(folder) / str(job) / "project" for job in range(given.jobs)
        ):
            free.put((project, copy_project(project)))
        if any(is_noticed(mutant, is_changed=False) for mutant in sample[:2]):
            raise SystemExit("the tests must pass before the code is changed")
        for mutant, noticed in zip(sample, pool.map(is_noticed, sample), strict=True):
            path, line, first, last, new = mutant
            tally[rooms[path]].append(noticed)
            tally["~ all"].append(noticed)
            old = " ".join(texts[path].encode()[first:last].decode().split())[:70]
            print(
                "."
                if noticed
                else f"\nsurvived  {path}:{line}  {old}  →  {new or '(nothing)'}",
                end="",
                flush=True,
            )
        while not free.empty():
            free.get()[1].kill()
    print(f"\n{len(sample)} of {len(everything)} mutants, seed {given.seed}")
    for room, outcomes in sorted(tally.items()):
        print(
            f"{room:12} {sum(outcomes):4} of {len(outcomes):4} noticed  {100 * sum(outcomes) / len(outcomes):.0f} %"
        )


if __name__ == "__main__":
    serve() if "--serve" in sys.argv else main()
