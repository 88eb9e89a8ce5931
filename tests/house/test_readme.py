"""The README stays true: its commands run, its Python is a doctest, its tables name what exists."""

from __future__ import annotations

import doctest
import re
import shlex
import tomllib
from pathlib import Path

import numpy as np
import pytest

from embaudit.auditing.glossary import CODES
from embaudit.auditing.objectives import OBJECTIVES
from embaudit.cli import main
from embaudit.io import Format, formats
from embaudit.io.catalogue import PACKAGES

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
BLOCKS = re.findall(r"```console\n(.*?)```", README, re.DOTALL)
COMMANDS = [line.removeprefix("$ ") for block in BLOCKS for line in block.splitlines() if line.startswith("$ ")]


@pytest.fixture
def example_files(tmp_path, monkeypatch):
    """Write the small files that the README's commands are about."""
    monkeypatch.chdir(tmp_path)
    draw = np.random.default_rng(0)
    pairs = sorted({(u, i) for u, i in zip(*draw.integers([90, 70], size=(4000, 2)).T, strict=True)})
    rows = "".join(f"{u},{i},{draw.integers(1, 6)}\n" for u, i in pairs)
    Path("ratings.csv").write_text("userId,movieId,rating\n" + rows)
    titles = "".join(f"{i},Film {i} (19{i:02}),19{i // 10}0s\n" for i in range(1, 70))
    Path("movies.csv").write_text("movieId,title,decade\n0,Toy Story (1995),1990s\n" + titles)
    np.savez("head.npz", W=draw.standard_normal((12, 4)), b=draw.standard_normal(12))
    Path("labels.txt").write_text("".join(f"label {i}\n" for i in range(12)))
    for name in ("update", "gradient"):
        np.savez(f"{name}.npz", **{f"layer{i}": draw.standard_normal((4, 3)) for i in range(3)})
    people = draw.integers(2, size=(300, 3))
    Path("admissions.csv").write_text("men,admitted,department\n" + "".join(f"{m},{a},{d}\n" for m, a, d in people))


@pytest.mark.usefixtures("without_attacks")
def test_every_command_runs(example_files, monkeypatch):
    assert len(COMMANDS) > 5
    for command in COMMANDS:
        program, *arguments = shlex.split(command)
        assert program == "embaudit"
        monkeypatch.setattr("sys.argv", ["embaudit", *arguments])
        with pytest.raises(SystemExit) as stopped:
            main()
        assert not stopped.value.code, command


def test_every_python_example_holds():
    python = "\n".join(re.findall(r"```python\n(.*?)```", README, re.DOTALL))
    test = doctest.DocTestParser().get_doctest(python, {}, "README", "README.md", 0)
    assert test.examples
    assert doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(test).failed == 0


def test_every_objective_is_listed():
    assert set(re.findall(r"^\| `([a-z][a-z-]*)` \|", README, re.MULTILINE)) == set(OBJECTIVES)


def test_the_table_of_codes_is_that_of_the_glossary():
    rows = [f"| {code.name} | {code.severity} | {code.title} |" for code in CODES.values()]
    table = "\n".join(["| code | severity | meaning |", "|---|---|---|", *rows])
    assert f"\n\n{table}\n\n" in README, f"replace the table of the README by\n{table}"


def test_the_table_of_formats_is_that_of_the_reader():
    def row(one: Format) -> str:
        able = "reads, writes" if one.writes else "reads"
        files = " ".join("folder" if suffix == "/" else suffix for suffix in one.suffixes)
        return f"| {one.name} | {files} | {able} | {one.what} | {one.holds} | {one.needs} |"

    table = "\n".join(
        ["| format | files | | from | holds | extra |", "|---|---|---|---|---|---|", *map(row, formats())]
    )
    assert f"\n\n{table}\n\n" in README, f"replace the table of the README by\n{table}"


def test_every_extra_of_a_format_is_one_of_the_package():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert {one.needs for one in formats()} - {""} == set(extras) - {"fast"} == set(PACKAGES)


def test_every_picture_and_link_is_there():
    targets = re.findall(r"\]\(([^)]+)\)", README)
    assert len(targets) >= 3
    for target in targets:
        assert (ROOT / target).exists(), target


def test_the_two_commands_exist():
    makefile = (ROOT / "Makefile").read_text()
    for target in ("demo", "test"):
        assert f"`make {target}`" in README
        assert re.search(rf"^{target}:", makefile, re.MULTILINE)
    assert "make test" in (ROOT / ".ci" / "run").read_text()


def test_the_citation_is_of_this_version():
    from embaudit import __version__

    cited = (ROOT / "CITATION.cff").read_text()
    assert f"\nversion: {__version__}\n" in cited
    assert cited.startswith("cff-version: 1.2.0\n")
    for number in ("2403.05440", "2603.29488"):
        assert number in cited
        assert number in README
