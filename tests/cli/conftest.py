"""The command line run in this process: fast, and with its exit code and both streams at hand."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from embaudit.cli import main


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
    seen = {(u, i) for u, i in zip(draw.integers(30, size=400), draw.integers(20, size=400), strict=True)}
    lines += [f"{u},{i},{draw.integers(1, 6)}" for u, i in sorted(seen)]
    path = tmp_path / "ratings.csv"
    path.write_text("\n".join(lines) + "\n")
    (tmp_path / "movies.csv").write_text("movieId,title\n" + "".join(f'{i},"Film, number {i}"\n' for i in range(20)))
    return path
