"""Blocks of the documentation that need another library run with it.

The blocks `python peers` and `console peers` of a page run in order, in a folder with
the files that the page calls the reader's own.
"""

from __future__ import annotations

import doctest
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from docs.pages import PAGES, Block, blocks, differences
from peers.sentences import document_sentences, query_sentences
from peers.small_networks import ENCODER, train_language_model, unpack_encoder
from peers.trained import installed

from embaudit.cli import main

if TYPE_CHECKING:
    from collections.abc import Callable

PYTHON, CONSOLE = "python peers", "console peers"
RECIPES = {
    page: recipe
    for page, path in PAGES.items()
    if (
        recipe := [
            block
            for block in blocks(path.read_text(encoding="utf-8"))
            if block.language in (PYTHON, CONSOLE)
        ]
    )
}
NEEDED = {
    "docs/encoder.md": ("transformers", ENCODER, "faiss-cpu"),
    "docs/classifier.md": ("transformers", "faiss-cpu"),
    "docs/reading.md": ("qdrant-client",),
}
"""Packages that the recipes of a page need."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Enter a folder with texts of the reader, one per line."""
    monkeypatch.chdir(tmp_path)
    sentences = [*document_sentences()[0], *query_sentences()[0]]
    Path("sentences.txt").write_text("".join(f"{text}\n" for text in sentences))
    return tmp_path


@pytest.fixture
def networks(folder: Path) -> dict[str, Callable[[], None]]:
    """Return functions that write the networks of the reader into the folder."""
    sentences = (folder / "sentences.txt").read_text().splitlines()
    return {
        "docs/encoder.md": lambda: unpack_encoder(folder / "my-encoder"),
        "docs/classifier.md": lambda: train_language_model(
            folder / "my-model", sentences
        ),
    }


def test_every_page_with_recipes_states_the_packages_that_it_needs() -> None:
    assert RECIPES.keys() == NEEDED.keys()


@pytest.mark.parametrize("page", RECIPES)
def test_recipes_with_other_libraries_print_what_is_shown(
    page: str,
    networks: dict[str, Callable[[], None]],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    missing = [package for package in NEEDED[page] if installed(package) is None]
    if missing:
        pytest.skip(f"not installed: {', '.join(missing)}")
    if page in networks:
        networks[page]()
    names: dict[str, Any] = {}
    for block in RECIPES[page]:
        if block.language == PYTHON:
            run_python(block, names, page)
        else:
            for command, shown in block.commands:
                capsys.readouterr()
                code = exit_code_of(command, monkeypatch)
                streams = capsys.readouterr()
                assert code == 0, f"{command}\n{streams.err}"
                assert not differences(shown, streams.out), f"{command}\n{streams.out}"


def run_python(block: Block, names: dict[str, Any], page: str) -> None:
    """Run a block with the names of the blocks before it, and add its names."""
    test = doctest.DocTestParser().get_doctest(block.text, names, page, page, 0)
    assert test.examples
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    failed = runner.run(test, clear_globs=False).failed
    names.update(test.globs)
    assert failed == 0


def exit_code_of(command: str, monkeypatch: pytest.MonkeyPatch) -> int:
    """Run a command of embaudit in this process, and return its exit code."""
    program, *arguments = shlex.split(command)
    assert program == "embaudit", command
    monkeypatch.setattr("sys.argv", [program, *arguments])
    with pytest.raises(SystemExit) as stopped:
        main()
    return int(stopped.value.code or 0)
