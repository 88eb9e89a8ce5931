"""Every block of code of the README and the documentation runs and prints the output
shown below it.
"""

from __future__ import annotations

import doctest
import json
import re
import shlex
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from networks.adapters import write_adapter
from pages import PAGES, ROOT, Block, blocks, differences

from embaudit.cli import main

MADE = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
SHELL = (". .venv/bin/activate", "pip install .", "pip install 'embaudit[faiss]'")
"""What is typed beside commands of this project; the tests install nothing."""
FULL_SIZE = "embaudit reproduce netflix"
"""What draws the figure at its full size, as tests/reproduce does where tests may be
slow.
"""
ELSEWHERE = {"docs/gate.md"}
"""A recipe as a whole, which tests/house/test_gate_recipe.py follows."""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Enter a folder with the data of this project, and with small files such as
    readers have.
    """
    monkeypatch.chdir(tmp_path)
    Path("data").symlink_to(ROOT / "data")
    draw = np.random.default_rng(0)
    pairs = sorted(
        {
            (u, i)
            for u, i in zip(*draw.integers([90, 70], size=(4000, 2)).T, strict=True)
        }
    )
    rows = "".join(f"{u},{i},{draw.integers(1, 6)}\n" for u, i in pairs)
    Path("ratings.csv").write_text("userId,movieId,rating\n" + rows)
    titles = "".join(f"{i},Film {i} (19{i:02}),19{i // 10}0s\n" for i in range(1, 70))
    Path("movies.csv").write_text(
        "movieId,title,decade\n0,Toy Story (1995),1990s\n" + titles
    )
    np.savez("head.npz", W=draw.standard_normal((12, 4)), b=draw.standard_normal(12))
    Path("labels.txt").write_text("".join(f"label {i}\n" for i in range(12)))
    for name in ("update", "gradient"):
        np.savez(
            f"{name}.npz",
            **{f"layer{i}": draw.standard_normal((4, 3)) for i in range(3)},
        )
    np.save("states.npy", draw.standard_normal((40, 4)))
    people = draw.integers(2, size=(300, 3))
    Path("admissions.csv").write_text(
        "men,admitted,department\n" + "".join(f"{m},{a},{d}\n" for m, a, d in people)
    )
    # The vectors of docs/encoder.md, whose commands print their figures.
    rng = np.random.default_rng(0)
    topic = np.repeat(rng.normal(size=(12, 32)), 20, axis=0)
    texts = topic + 0.7 * rng.normal(size=(240, 32)) + 0.8
    encoder = np.eye(32) + 0.25 * rng.normal(size=(32, 32))
    np.save("texts.npy", texts)
    np.save("new-texts.npy", texts @ encoder)
    rng = np.random.default_rng(1)
    subjects = rng.normal(size=(12, 16))
    documents = np.repeat(subjects, 50, axis=0) + 0.5 * rng.normal(size=(600, 16))
    queries = subjects[rng.integers(12, size=1500)] + 0.5 * rng.normal(size=(1500, 16))
    documents[:20] *= 0.1
    queries[::60] = 2 * rng.normal(size=(25, 16))
    np.save("documents.npy", documents)
    np.save("queries.npy", queries)
    for name in ("adapter_one", "adapter_two"):
        modules = {f"layers.{i}": rng.normal(size=(2, 64, 4)) for i in range(2)}
        factors = {module: (b, a.T) for module, (b, a) in modules.items()}
        write_adapter(Path(name), factors)
    return tmp_path


@pytest.fixture
def typed(monkeypatch, capsys):
    """Return a function that does what a reader types, and compares what is printed
    with what the page shows.
    """
    known: dict[str, str] = {}

    def run(command: str, shown: str) -> None:
        program, *arguments = shlex.split(command)
        if program == "make":
            assert arguments[0] in MADE, command
        elif program != "embaudit":
            assert command in SHELL
        else:
            if command not in known:
                known[command] = printed_by(command, arguments)
            assert not differences(shown, known[command]), (
                f"{command}\n{known[command]}"
            )

    def printed_by(command: str, arguments: list[str]) -> str:
        monkeypatch.setattr("sys.argv", ["embaudit", *arguments])
        with pytest.raises(SystemExit) as stopped:
            main()
        streams = capsys.readouterr()
        assert not stopped.value.code, f"{command}\n{streams.err}"
        return streams.out

    return run


def of(page: str, language: str) -> list[Block]:
    return [
        block for block in blocks(PAGES[page].read_text()) if block.language == language
    ]


def with_blocks(language: str) -> list[str]:
    return [page for page in PAGES if page not in ELSEWHERE and of(page, language)]


def slow_but_readme(pages: list[str]) -> list[Any]:
    """Leave all pages but the README to the slow tests: they run many audits."""
    return [
        pytest.param(page, marks=[] if page == "README.md" else pytest.mark.slow)
        for page in pages
    ]


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("page", slow_but_readme(with_blocks("console")))
def test_every_command_runs_and_prints_what_is_shown(page, typed):
    for block in of(page, "console"):
        assert block.commands
        for command, shown in block.commands:
            if not command.startswith(FULL_SIZE):
                typed(command, shown)


@pytest.mark.slow
@pytest.mark.usefixtures("folder")
def test_what_takes_long_runs_and_prints_what_is_shown(typed):
    commands = [
        each
        for page in with_blocks("console")
        for block in of(page, "console")
        for each in block.commands
    ]
    assert (
        len([typed(*each) for each in commands if each[0].startswith(FULL_SIZE)]) == 1
    )


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("page", slow_but_readme(with_blocks("python")))
def test_every_python_example_holds(page):
    python = "\n".join(block.text for block in of(page, "python"))
    test = doctest.DocTestParser().get_doctest(python, {}, page, page, 0)
    assert test.examples
    assert all(">>> " in block.text for block in of(page, "python"))
    assert (
        doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(test).failed
        == 0
    )


@pytest.mark.parametrize("page", with_blocks("toml"))
def test_every_file_of_settings_is_one(page, folder, typed):
    for block in of(page, "toml"):
        settings = tomllib.loads(block.text)
        assert settings
        settings = settings.get("tool", {}).get("embaudit", settings)
        if "baseline" in settings:
            Path(settings["baseline"]).write_text(
                json.dumps({"schema_version": 1, "findings": []})
            )
        Path("embaudit.toml").write_text(block.text)
        np.save("vectors.npy", np.random.default_rng(0).standard_normal((20, 3)))
        options = "--n-gauges 1 --quiet --fail-on never --objective none"
        typed(f"embaudit audit vectors.npy {options}", "")


def test_there_is_no_block_that_no_test_runs():
    run = {"console", "python", "toml"}
    drawn = {"{image}", "{figure}", "{include}", "{toctree}", "{eval-rst}"}
    for page in set(PAGES) - ELSEWHERE:
        for block in blocks(PAGES[page].read_text()):
            language = block.language.split()[0] if block.language else ""
            assert (
                language in run or language in drawn or language.startswith("{grid")
            ), f"{page}: {block.language!r}"
