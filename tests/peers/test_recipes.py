"""Blocks of the documentation that need another library run with it."""

from __future__ import annotations

import doctest
import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[1] / "docs"))
from pages import PAGES, blocks

PEERS = "python peers"
RECIPES = {
    page: [b.text for b in blocks(path.read_text("utf-8")) if b.language == PEERS] for page, path in PAGES.items()
}


@pytest.mark.parametrize("page", [page for page, texts in RECIPES.items() if texts])
def test_a_recipe_with_another_library_runs(page: str) -> None:
    pytest.importorskip("transformers")
    test = doctest.DocTestParser().get_doctest("\n".join(RECIPES[page]), {}, page, page, 0)
    assert doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(test).failed == 0
