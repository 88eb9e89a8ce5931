"""Change the code at random places and see whether the tests notice: `make mutants`.

Each mutant runs tests that touch its line, in a copy of the project. What survives is printed: a place where the code
could be wrong and no test would say so, or one that changes nothing anybody can see.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import Queue
from typing import TYPE_CHECKING, TypeAlias, TypeVar

sys.path.insert(0, str(Path(__file__).parent))

from choose import measure, room_of
from copies import ROOT, Copy
from mutate import Mutant, mutants

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from choose import Tests

Item = TypeVar("Item")
Chosen: TypeAlias = dict[Mutant, tuple[list[str], float]]

KEPT = ROOT / ".mutation_cache"
"""Where it is kept which tests touch what, as long as neither changes."""
FEW = 30
"""Tests of each file that must pass in a copy before anything is changed."""
BESIDE = {
    "auditing": ["tests/truth"],
    "core": ["tests/linalg"],
    "movements": ["tests/auditing/test_traits.py", "tests/auditing/test_trait_checks.py"],
    "softmax": ["tests/auditing/test_heads.py", "tests/auditing/test_head_report.py"],
}
"""Tests of a room that stand outside the folder of its name."""


def files_of(place: Path) -> list[Path]:
    """List the code of a room, or a file by itself."""
    return [place] if place.suffix else list(place.rglob("*.py"))


def tests_of(rooms: Sequence[str]) -> dict[str, Sequence[str]]:
    """List where the tests of rooms are, each of which may notice what is wrong in any of them.

    All tests are those of a room without its own.
    """
    own = [
        [f"tests/{room}", *BESIDE.get(room, [])] if (ROOT / "tests" / room).is_dir() else ["tests"] for room in rooms
    ]
    places = dict.fromkeys(place for found in own for place in found)
    return {place: rooms for place in places if not any(place.startswith(f"{other}/") for other in places)}


def shared(copies: Sequence[Copy], work: Callable[[Copy, Item], bool], items: Sequence[Item]) -> Iterator[bool]:
    """Do work for all items, each in the first copy that is free."""
    free: Queue[Copy] = Queue()
    for copy in copies:
        free.put(copy)

    def done(item: Item) -> bool:
        copy = free.get()
        try:
            return work(copy, item)
        finally:
            free.put(copy)

    with ThreadPoolExecutor(len(copies)) as pool:
        yield from pool.map(done, items)


def require_a_start(copies: Sequence[Copy], chosen: Chosen) -> None:
    """Refuse to go on where tests fail although nothing was changed: every mutant of the file would seem noticed."""
    widest = {mutant.path: found for mutant, found in sorted(chosen.items(), key=lambda item: len(item[1][0]))}
    # All tests have passed where nothing was imported anew; what importing a file anew breaks, few tests tell.
    few = {path: (tests[:FEW], seconds) for path, (tests, seconds) in widest.items()}
    passed = shared(copies, lambda copy, path: copy.passes(path, *few[path]), list(few))
    failed = [path for path, right in zip(widest, passed, strict=True) if not right]
    if failed:
        raise SystemExit(f"the tests must pass before the code is changed; they do not of {', '.join(failed)}")


def judge(sample: Sequence[Mutant], copies: Sequence[Copy], chosen: Chosen) -> dict[Mutant, bool]:
    """Tell for each mutant whether a test failed."""
    results = {}
    noticed = shared(copies, lambda copy, mutant: copy.notices(mutant, *chosen[mutant]), sample)
    for mutant, found in zip(sample, noticed, strict=True):
        results[mutant] = found
        print("." if found else f"\nsurvived  {mutant}", end="", flush=True)
    print()
    return results


def choose(sample: Sequence[Mutant], tests: Tests) -> Chosen:
    """Choose the tests of each mutant."""
    texts = {path: (ROOT / path).read_text() for path in {mutant.path for mutant in sample}}
    return {mutant: tests.chosen(mutant, texts[mutant.path]) for mutant in sample}


def main() -> None:
    """Draw mutants, judge them, report by room."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--number", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rooms", nargs="+", default=["auditing", "comparison", "evaluation"])
    parser.add_argument("--tests", nargs="+", help="those of the rooms by default")
    parser.add_argument("--jobs", type=int, default=2)
    given, start = parser.parse_args(), time.monotonic()
    files = sorted(path for room in given.rooms for path in files_of(ROOT / "embaudit" / room))
    texts = {str(path.relative_to(ROOT)): path.read_text() for path in files}
    everything = [mutant for path, text in texts.items() for mutant in mutants(path, text)]
    sample = random.Random(given.seed).sample(everything, min(given.number, len(everything)))
    rooms = sorted({room_of(path.relative_to(ROOT)) for path in files})
    places = dict.fromkeys(given.tests, rooms) if given.tests else tests_of(rooms)
    with tempfile.TemporaryDirectory() as folder:
        copies = [Copy(Path(folder) / str(number), list(places)) for number in range(given.jobs)]
        tests = measure(copies[0], places, given.jobs, KEPT)
        chosen = choose(sample, tests)
        require_a_start(copies, chosen)
        results = judge(sample, copies, chosen)
    print(f"{len(results)} of {len(everything)} mutants, seed {given.seed}, {time.monotonic() - start:.0f} s")
    report(results)


def report(results: dict[Mutant, bool]) -> None:
    """Print the share noticed in each file and in each room."""
    places: dict[str, list[bool]] = defaultdict(list)
    for mutant, noticed in results.items():
        for place in (mutant.path, mutant.path.split("/")[1], "all"):
            places[place].append(noticed)
    for place, outcomes in sorted(places.items(), key=lambda item: (item[0] == "all", "/" not in item[0], item[0])):
        print(f"{place:45} {sum(outcomes):4} of {len(outcomes):4} noticed  {100 * sum(outcomes) / len(outcomes):.1f} %")


if __name__ == "__main__":
    main()
