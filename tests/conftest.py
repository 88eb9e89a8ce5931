"""Fixtures for all tests."""

from __future__ import annotations

import gc
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import settings

from embaudit.cli import main
from embaudit.core.progress import reporting

if TYPE_CHECKING:
    from collections.abc import Callable

SHARED_DATA = Path(__file__).parents[1].parent / "shared" / "data"

collect_ignore_glob = ["conftest.py", "*/conftest.py"]
"""They hold no doctests, and those of two folders cannot be imported under one name."""

settings.register_profile("embaudit", deadline=None, max_examples=50, derandomize=True)
settings.load_profile("embaudit")


TOGETHER = re.compile(
    r"tests/(?:reproduce|report)/|tests/(?:truth|auditing)/\w+|tests/(?:canonical/test_balance|cli/test_gate_)"
    r"|tests/fuzz/test_bombs_in_processes|tests/docs/test_blocks.*|test_notebooks\.py::\D*(?P<notebook>\d+)_"
)
"""Tests that share models trained or audited, commands that ran, or a browser: of
pages, of the figures, of one such file or notebook.

Pages of the documentation share nothing, and each takes long.
"""


def scope(nodeid: str) -> str:
    """Which tests one process runs in a row: those that share what takes long, or those
    of one function.
    """
    shared = TOGETHER.search(nodeid)
    return shared[shared.lastgroup or 0] if shared else nodeid.split("[")[0]


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Compute what tests share once a run, not once a process; the largest groups start
    first.
    """
    from xdist.scheduler import LoadScopeScheduling

    class Together(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            return scope(nodeid)

    return Together(config, log)


def pytest_collection_finish():
    """Leave thousands of collected tests out of each collection of garbage: they live
    until the end.
    """
    gc.collect()
    gc.freeze()


@pytest.fixture
def told():
    """Count the steps that are reported while the test runs, by what they are called
    and how many there shall be.
    """
    counts = Counter()

    def report(steps, title, total):
        for step in steps:
            counts[title, total] += 1
            yield step

    with reporting(report):
        yield counts


@pytest.fixture(scope="session")
def shared_data() -> Callable[[str], Path]:
    """Return a function that finds a real input, or skips the test if it is absent."""

    def find(name: str) -> Path:
        path = SHARED_DATA / name
        if not path.exists():
            pytest.skip(f"the real input {name} is not beside this checkout")
        return path

    return find


@pytest.fixture
def screen(snapshot):
    """Return the stored text of this test; `pytest --snapshot-update` writes it."""
    from screens import PlainText  # the peers' environment has no syrupy

    return snapshot.use_extension(PlainText)


@pytest.fixture(scope="session")
def drawn_heads() -> Path:
    """Return the folder of two synthetic heads: only one of them raises findings."""
    return Path(__file__).parents[1] / "data" / "heads"


@dataclass(frozen=True)
class Result:
    """What a command did."""

    code: int
    out: str
    err: str


@pytest.fixture
def embaudit(monkeypatch, capsys, tmp_path):
    """Return a function that runs `embaudit ARGS` in an empty folder."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments):
        monkeypatch.setattr("sys.argv", ["embaudit", *map(str, arguments)])
        with pytest.raises(SystemExit) as stopped:
            main()
        streams = capsys.readouterr()
        return Result(int(stopped.value.code or 0), streams.out, streams.err)

    return run


@pytest.fixture
def ratings(tmp_path):
    """Write a small table of ratings with titles beside it."""
    draw = np.random.default_rng(0)
    lines = ["userId,movieId,rating"]
    seen = {
        (u, i)
        for u, i in zip(
            draw.integers(30, size=400), draw.integers(20, size=400), strict=True
        )
    }
    lines += [f"{u},{i},{draw.integers(1, 6)}" for u, i in sorted(seen)]
    path = tmp_path / "ratings.csv"
    path.write_text("\n".join(lines) + "\n")
    (tmp_path / "movies.csv").write_text(
        "movieId,title\n" + "".join(f'{i},"Film, number {i}"\n' for i in range(20))
    )
    return path
